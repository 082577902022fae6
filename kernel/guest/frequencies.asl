// SPDX-License-Identifier: GPL-2.0
/*
 * The frequencies that the first CPU pretends to have: to set one, the driver acpi-cpufreq
 * writes a number to an I/O port that has no other use. The CPU stays as fast as it is.
 */
DefinitionBlock ("", "SSDT", 2, "NOVART", "FREQS", 1)
{
	External (\_SB.CPUS.C000, DeviceObj)

	Scope (\_SB.CPUS.C000)
	{
		Name (_PCT, Package ()
		{
			ResourceTemplate () { Register (SystemIO, 8, 0, 0x80) },
			ResourceTemplate () { Register (SystemIO, 8, 0, 0x80) }
		})
		// MHz, mW, us of a change, us without the bus, what is written, what is read
		Name (_PSS, Package ()
		{
			Package () { 2000, 2000, 10, 10, 0, 0 },
			Package () { 1000, 1000, 10, 10, 1, 1 }
		})
		Method (_PPC, 0) { Return (0) }
	}
}
