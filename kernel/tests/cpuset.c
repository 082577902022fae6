// SPDX-License-Identifier: GPL-2.0
/*
 * One root domain per CPU: only so may a SCHED_DEADLINE task be pinned. The
 * cpuset controller of v1 is at /cs, whatever has the cpu controller.
 */
#include "rtt.h"

static void write_to(const char *text, const char *fmt, int cpu)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), fmt, cpu);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die("%s to %s: %s", text, path, strerror(errno));
	close(fd);
}

/*
 * What a SCHED_DEADLINE task had is given back some time after its end. A stock
 * kernel that rebuilt the root domains in between gives back too much.
 */
static void balance(const char *text)
{
	usleep(500000);
	write_to(text, "/cs/cpuset.sched_load_balance", 0);
}

void cpusets_make(void)
{
	char path[80], number[16];
	int cpu;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		snprintf(path, sizeof(path), "/cs/cpu%d", cpu);
		snprintf(number, sizeof(number), "%d", cpu);
		if (mkdir(path, 0755) && errno != EEXIST)
			die("mkdir %s: %s", path, strerror(errno));
		write_to("0", "/cs/cpu%d/cpuset.mems", cpu);
		write_to(number, "/cs/cpu%d/cpuset.cpus", cpu);
	}
	balance("0");
}

void cpuset_enter(int cpu)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", getpid());
	write_to(number, cpu == ANY_CPU ? "/cs/cgroup.procs" : "/cs/cpu%d/cgroup.procs", cpu);
}

/* The folders stay, for the next time: their removal takes its time. */
void cpusets_leave(void)
{
	balance("1");
}
