// SPDX-License-Identifier: GPL-2.0
/*
 * onset becomes|joins: a task that never sleeps becomes real-time in a group, or
 * comes to it as a real-time task, while it runs. Does it get its budget and no
 * more?
 *
 * Each round has a group of its own, and begins at another phase of the tick.
 * What was used is read while the group waits for its next period.
 */
#include "rtt.h"

#define ROUNDS 20
#define RUNTIME_US 100
#define PERIOD_US 100000
#define PRIO 50
/* For a timer's latency and a context switch. */
#define TOLERANCE_US 100
/* While another virtual CPU has its turn, the clock of this one runs. */
#define TURN_US 200
#define GROUP "a"

static int64_t used_us(void)
{
	char buf[4096];
	long long used;

	if (cg_read(GROUP, "cpu.rt_stat", buf, sizeof(buf)) ||
	    sscanf(buf, "0 used_usec=%lld", &used) != 1)
		die("no cpu.rt_stat");
	return used;
}

/* Becomes real-time at @when, if ever. */
static pid_t start(int64_t when)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	set_cpu(0, 0);
	while (now() < when)
		relax();
	if (set_policy(0, SCHED_FIFO, PRIO))
		die("policy: %s", strerror(errno));
	for (;;)
		relax();
}

static int64_t begin_round(bool joins, int64_t when)
{
	pid_t pid = start(joins ? 0 : when);
	int64_t used;

	if (!joins && cg_enter(GROUP, pid))
		die("enter: %s", strerror(errno));
	sleep_until(when);
	if (joins && cg_enter(GROUP, pid))
		die("enter: %s", strerror(errno));
	sleep_until(when + PERIOD_US * 1000 / 2);
	used = used_us();
	/* Do not wait for budget. */
	set_policy(pid, SCHED_OTHER, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return used;
}

int onset_main(int argc, char **argv)
{
	int64_t used, least = PERIOD_US, most = 0, bound;
	bool joins = argc == 2 && !strcmp(argv[1], "joins");
	int i;

	if (argc != 2 || (!joins && strcmp(argv[1], "becomes")))
		die("onset becomes|joins");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no statistics");
	if (joins && nr_cpus() < 2)
		skip("one CPU only");

	set_cpu(0, nr_cpus() - 1);
	for (i = 0; i < ROUNDS; i++) {
		if (cg_make(GROUP) || cg_set_rt(GROUP, RUNTIME_US, PERIOD_US))
			die("group: %s", strerror(errno));
		used = begin_round(joins, now() / MS * MS + 20 * MS + i * MS / ROUNDS);
		if (used < least)
			least = used;
		if (used > most)
			most = used;
		cg_remove(GROUP);
	}
	printf("used %lld to %lld us of %d\n", (long long)least, (long long)most, RUNTIME_US);
	bound = RUNTIME_US + TOLERANCE_US + (nr_cpus() > 1 ? TURN_US : 0);
	return most > bound || least < RUNTIME_US;
}
