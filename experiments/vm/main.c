// SPDX-License-Identifier: GPL-2.0
/* The programs that run in the guest. */
#include "exp.h"

static const struct program programs[] = {
	{ "noise", noise_main },
	{ "pinned", pinned_main },
	{ "queueing", queueing_main },
	{ "taskset", taskset_main },
};

int main(int argc, char **argv)
{
	return run_program(programs, ARRAY_SIZE(programs), argc, argv);
}
