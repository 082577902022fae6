/* SPDX-License-Identifier: Apache-2.0
 *
 * A boot sector: says a word on the serial line, then burns CPU on every vCPU.
 */
    .code16
    .globl _start
_start:
    cli
    xor %ax, %ax
    mov %ax, %ds
    mov %ax, %es
    mov %ax, %ss
    mov $0x3f8, %dx                 /* the first serial line */
    mov $word, %si
1:  lodsb
    test %al, %al
    jz 2f
    out %al, %dx
    jmp 1b
2:  movw $0xfeeb, 0x8000            /* the jump of the other vCPUs */
    lgdtl gdtr
    mov %cr0, %eax
    or $1, %al
    mov %eax, %cr0
    ljmp $8, $protected
    .code32
protected:
    mov $16, %ax
    mov %ax, %ds
    movl $0x000c4500, 0xfee00300    /* INIT to all others */
    mov $100000, %ecx
1:  dec %ecx
    jnz 1b
    movl $0x000c4608, 0xfee00300    /* start them at 0x8000 */
2:  jmp 2b
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
