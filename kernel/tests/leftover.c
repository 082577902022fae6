// SPDX-License-Identifier: GPL-2.0
/*
 * leftover: a group's task that sleeps again before its budget ends leaves no timer
 * behind, which would interrupt, and reschedule, whoever runs then.
 *
 * Every ms there are two timer interrupts: the tick, and the one that wakes up the
 * task. With one CPU the tick never stops, as another task never sleeps.
 */
#include "rtt.h"

#define ROUNDS 1000
#define WORK (50 * 1000LL)
#define MOST 2.5

static long interrupts(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[512];
	long n = -1;

	while (file && fgets(line, sizeof(line), file) && n < 0)
		sscanf(line, " LOC: %ld", &n);
	if (n < 0)
		die("no LOC in /proc/interrupts");
	fclose(file);
	return n;
}

static void work(void)
{
	int64_t when = now() / MS * MS + MS / 2;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		sleep_until(when += MS);
		burn(WORK);
	}
	_exit(0);
}

int leftover_main(int argc, char **argv)
{
	pid_t task, other;
	double each;
	long before;

	(void)argv;
	if (argc != 1)
		die("leftover");
	if (nr_cpus() > 1 || !cg_has("cpu.rt_multi_runtime_us"))
		skip("several CPUs, or stock RT groups");
	if (cg_make("a") || cg_set_rt("a", 300, 1000))
		die("group");
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	other = fork();
	while (!other)
		relax();
	task = fork();
	if (!task) {
		if (cg_enter("a", getpid()) || set_policy(0, SCHED_FIFO, 5))
			die("task");
		work();
	}
	before = interrupts();
	waitpid(task, NULL, 0);
	each = (double)(interrupts() - before) / ROUNDS;
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	cg_remove("a");
	printf("%.3f timer interrupts in each of %d rounds (%.1f)\n", each, ROUNDS, MOST);
	return each > MOST;
}
