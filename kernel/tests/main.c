// SPDX-License-Identifier: GPL-2.0
/* One binary for all test programs, to keep the guest's image small. */
#include "rtt.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} programs[] = {
	{ "share", share_main },
	{ "errno", errno_main },
	{ "faces", faces_main },
	{ "stat", stat_main },
	{ "change", change_main },
	{ "taskset", taskset_main },
	{ "pipeline", pipeline_main },
	{ "churn", churn_main },
	{ "stress", stress_main },
	{ "overhead", overhead_main },
};

/* Exit status of every program: 0 good, 1 bad, 2 skipped, 3 broken. */
int main(int argc, char **argv)
{
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; argc > 1 && i < ARRAY_SIZE(programs); i++)
		if (!strcmp(argv[1], programs[i].name))
			return programs[i].main(argc - 1, argv + 1);
	die("usage: rtt PROGRAM ARGS...");
}
