/* SPDX-License-Identifier: Apache-2.0
 *
 * A boot sector: says a word on the serial line, then burns CPU on every vCPU. The first
 * vCPU lets go of PCI devices that are to be removed: QEMU's ACPI registers for it are at
 * 0xae00 (docs/specs/acpi_pci_hotplug). With CRASH, it ends itself after a while instead:
 * 1: by a fault that nothing can handle, which resets the machine; 2: by a panic. With
 * ALOOF, no vCPU asks QEMU for anything any more, so that none of its threads ever waits for
 * another.
 */
    .set PCI_DOWN, 0xae04
    .set PCI_EJECT, 0xae08
    .set PANIC, 0x505               /* pvpanic on the ISA bus */
    .set A_WHILE, 200000000
    .set NOW_AND_THEN, 10000000
    .code16
    .globl _start
_start:
    cli
    xor %ax, %ax
    mov %ax, %ds
    mov %ax, %es
    mov %ax, %ss
    mov $0x3f8, %dx                 /* the first serial line */
.ifdef ALOOF
    mov $0xff, %al                  /* no interrupt of a device, the timer's included */
    out %al, $0x21
    out %al, $0xa1
.endif
    mov $word, %si
1:  lodsb
    test %al, %al
    jz 2f
    out %al, %dx
    jmp 1b
2:  movb $0xea, 0x8000              /* a jump of the other vCPUs to 0:others */
    movw $others, 0x8001
    movw $0, 0x8003
    lgdtl gdtr
    mov %cr0, %eax
    or $1, %al
    mov %eax, %cr0
    ljmp $8, $protected
others:
.ifdef ALOOF
    jmp others
.endif
    mov $NOW_AND_THEN, %ecx
1:  dec %ecx
    jnz 1b
    pause                           /* QEMU frees a device only when all vCPUs pause */
    jmp others
    .code32
protected:
    mov $16, %ax
    mov %ax, %ds
    movl $0x000c4500, 0xfee00300    /* INIT to all others */
    mov $100000, %ecx
1:  dec %ecx
    jnz 1b
    movl $0x000c4608, 0xfee00300    /* start them at 0x8000 */
.ifdef CRASH
    mov $A_WHILE, %ecx
1:  dec %ecx
    jnz 1b
.if CRASH == 1
    lidtl nothing
    int3
.else
    mov $1, %al
    mov $PANIC, %dx
    out %al, %dx
.endif
.endif
.ifdef ALOOF
1:  jmp 1b
.endif
1:  mov $NOW_AND_THEN, %ecx
2:  dec %ecx
    jnz 2b
    pause
    mov $PCI_DOWN, %dx
    inl %dx, %eax
    test %eax, %eax
    jz 1b
    mov $PCI_EJECT, %dx
    outl %eax, %dx
    jmp 1b
nothing:
    .word 0
    .long 0
word:
    .asciz "nova-rt\r\n"
    .balign 8
gdt:
    .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdtr:
    .word gdtr - gdt - 1
    .long gdt
/* Glance and Nova take a disk only if its first sector names a partition. */
    .org 446
    .byte 0x80, 0, 2, 0, 0x83, 0, 2, 0
    .long 1, 2047
    .org 510
    .word 0xaa55
