// SPDX-License-Identifier: GPL-2.0
/*
 * ceiling SECONDS: does a group get all of its runtime whose task changes its priority
 * all the time?
 *
 * As a task does that takes and releases locks with a priority ceiling. It never sleeps.
 * Beside it the task of another group runs and sleeps at random, for up to its group's
 * runtime each.
 */
#include "rtt.h"

#define RUNTIME_US 30000
#define PERIOD_US 100000
#define BESIDE_US 60000
#define EVERY (500 * 1000LL)
/* In percentage points; at the ends a budget more or less, in whole periods. */
#define TOLERANCE 0.3

struct window {
	int64_t begin, end, used;
};

static pid_t start(const char *group, int64_t runtime_us)
{
	if (cg_make(group) || cg_set_rt(group, runtime_us, PERIOD_US))
		die("group: %s", strerror(errno));
	return fork_task(group, 0, 10);
}

static void change(struct window *window)
{
	int64_t used = cputime(), next = 0;
	int prio = 10;

	while (now() < window->end) {
		relax();
		if (now() < window->begin)
			used = cputime();
		if (now() < next)
			continue;
		next = now() + EVERY;
		prio ^= 1;
		set_policy(0, SCHED_FIFO, prio);
	}
	window->used = cputime() - used;
	_exit(0);
}

static void beside(void)
{
	for (;;) {
		burn(rnd(BESIDE_US) * 1000LL);
		sleep_until(now() + rnd(BESIDE_US) * 1000LL);
	}
}

int ceiling_main(int argc, char **argv)
{
	struct window *window = shared(sizeof(*window));
	double percent, wanted = 100.0 * RUNTIME_US / PERIOD_US;
	pid_t pids[2];

	if (argc != 2)
		die("ceiling SECONDS");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	window->begin = now() + SEC;
	window->end = window->begin + atoll(argv[1]) * SEC;
	pids[0] = start("a", RUNTIME_US);
	if (!pids[0])
		change(window);
	pids[1] = start("b", BESIDE_US);
	if (!pids[1])
		beside();
	waitpid(pids[0], NULL, 0);
	kill(pids[1], SIGKILL);
	waitpid(pids[1], NULL, 0);
	cg_remove("a");
	cg_remove("b");

	percent = 100.0 * window->used / (window->end - window->begin);
	printf("%.2f%% (%.0f)\n", percent, wanted);
	return percent < wanted - TOLERANCE || percent > wanted + TOLERANCE;
}
