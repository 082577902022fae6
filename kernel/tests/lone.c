// SPDX-License-Identifier: GPL-2.0
/*
 * lone SECONDS: does a task that is alone in its group get the budgets of both CPUs, one
 * after the other, whatever the phase between them?
 */
#include "rtt.h"

#define GROUP "a"
#define RUNTIME_US 30000
#define PERIOD_US 100000
#define PERIOD (PERIOD_US * 1000LL)
#define STEP (5 * MS)
/* To come to rest. */
#define BEFORE (5 * PERIOD)
/* In percentage points: a budget more or less in five seconds is 0.6. */
#define TOLERANCE 1.0

/* Returns what the task had, in percent of one CPU. */
static double play(int64_t phase, int64_t window, volatile int64_t *had)
{
	int64_t at = now() + 2 * PERIOD, used;
	pid_t pid;

	if (cg_make(GROUP) || cg_set_rt(GROUP, RUNTIME_US, PERIOD_US))
		die("group: %s", strerror(errno));
	pid = fork_task(GROUP, 1, 10);
	if (!pid) {
		/* The second CPU's budget is used up when the first one's period begins. */
		sleep_until(at - PERIOD + phase);
		while (now() < at + BEFORE)
			relax();
		used = cputime();
		while (now() < at + BEFORE + window)
			relax();
		*had = cputime() - used;
		_exit(0);
	}
	sleep_until(at);
	set_cpus(pid, 0, 1);
	waitpid(pid, NULL, 0);
	cg_remove(GROUP);
	return 100.0 * *had / window;
}

int lone_main(int argc, char **argv)
{
	const double wanted = 2 * 100.0 * RUNTIME_US / PERIOD_US;
	volatile int64_t *had = shared(sizeof(*had));
	double worst = wanted, percent;
	int64_t phase;

	if (argc != 2)
		die("lone SECONDS");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	if (nr_cpus() < 2)
		skip("one CPU");
	for (phase = 0; phase < PERIOD - RUNTIME_US * 1000LL; phase += STEP) {
		percent = play(phase, atoll(argv[1]) * SEC, had);
		printf("%.1f ", percent);
		if (percent < worst)
			worst = percent;
	}
	printf("(%.0f)\n", wanted);
	return worst < wanted - TOLERANCE;
}
