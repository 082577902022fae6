// SPDX-License-Identifier: GPL-2.0
/* One binary for all programs that run in the guest. */
#include "exp.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} programs[] = {
	{ "queueing", queueing_main },
	{ "taskset", taskset_main },
};

int main(int argc, char **argv)
{
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; argc > 1 && i < ARRAY_SIZE(programs); i++)
		if (!strcmp(argv[1], programs[i].name))
			return programs[i].main(argc - 1, argv + 1);
	die("usage: exp PROGRAM ARGS...");
}
