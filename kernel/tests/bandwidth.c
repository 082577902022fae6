// SPDX-License-Identifier: GPL-2.0
/* The bandwidth that the kernel has promised, as its debug file shows it. */
#include "rtt.h"

/* Sum the fields over all CPUs into one line that can be compared. */
void bandwidth(char *buf, int size)
{
	static const char * const fields[] = {
		"dl_nr_running", "total_bw", "this_bw", "group_bw",
	};
	char line[256], *colon;
	FILE *f = fopen("/sys/kernel/debug/sched/debug", "r");
	unsigned int i;
	int n = 0;

	if (!f)
		die("no /sys/kernel/debug/sched/debug");
	buf[0] = 0;
	while (fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		for (i = 0; colon && i < ARRAY_SIZE(fields); i++)
			if (strstr(line, fields[i]))
				n += snprintf(buf + n, size - n, "%s=%lld ", fields[i],
					      atoll(colon + 1));
	}
	fclose(f);
}

bool bandwidth_returns(const char *before)
{
	char after[BANDWIDTH_SIZE];
	int tries;

	for (tries = 0; tries < 100; tries++) {
		bandwidth(after, sizeof(after));
		if (!strcmp(before, after))
			return true;
		usleep(100000);
	}
	printf("before: %s\nafter: %s\n", before, after);
	return false;
}
