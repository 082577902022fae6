// SPDX-License-Identifier: GPL-2.0
/*
 * A changed runtime takes effect at once, and nobody else notices.
 *
 * change SECONDS INTERVAL_MS
 *
 * Groups a and b have a task per CPU that never sleeps. The runtime of a
 * changes every interval: on each CPU it must get the sum over the intervals of
 * bandwidth times length, within 1 ms per change, a fifth of its smallest budget.
 * Group b keeps its 30%, within 0.1 points.
 */
#include "rtt.h"

#define PERIOD_US 100000
#define MAX_CPUS 8
#define MS_PER_CHANGE 1.0

static const int64_t runtimes_us[] = { 10000, 50000, 30000, 5000, 40000 };

struct hog {
	int64_t cpu;
	pid_t pid;
	volatile int stop;
};

static void start_hog(const char *group, int cpu, struct hog *hog)
{
	pid_t pid = fork();

	if (!pid) {
		while (!hog->stop) {
			relax();
			hog->cpu = cputime();
		}
		_exit(0);
	}
	/* Not by the child: what it wrote would be for all to see. */
	hog->pid = pid;
	if (cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, 10))
		die("hog in %s", group);
	set_cpu(pid, cpu);
}

static int64_t used(struct hog *hogs)
{
	int64_t sum = 0;
	int i;

	for (i = 0; i < nr_cpus(); i++)
		sum += hogs[i].cpu;
	return sum;
}

/* Change a's runtime until @changes are done; returns what was promised. */
static double change(int64_t begin, int64_t interval, int changes, int64_t *last)
{
	double expected = 0;
	int64_t t;
	int i;

	*last = begin;
	for (i = 1; i <= changes; i++) {
		sleep_until(begin + i * interval);
		t = now();
		expected += (double)runtimes_us[(i - 1) % 5] / PERIOD_US * (t - *last);
		*last = t;
		if (i < changes && cg_set_rt("a", runtimes_us[i % 5], PERIOD_US))
			die("change %d", i);
	}
	return expected * nr_cpus();
}

static void stop(struct hog *hogs)
{
	int i;

	for (i = 0; i < 2 * nr_cpus(); i++) {
		hogs[i].stop = 1;
		waitpid(hogs[i].pid, NULL, 0);
	}
}

int change_main(int argc, char **argv)
{
	struct hog *hogs = shared(2 * MAX_CPUS * sizeof(*hogs)), *b = hogs + nr_cpus();
	int64_t begin, last, a_used, b_used;
	double expected, a_off, b_share, tolerance;
	int i, changes;

	if (argc != 3)
		die("change SECONDS INTERVAL_MS");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	changes = atoi(argv[1]) * 1000 / atoi(argv[2]);
	tolerance = 100 * MS_PER_CHANGE / atoi(argv[2]);

	cg_make("a");
	cg_make("b");
	if (cg_set_rt("a", runtimes_us[0], PERIOD_US) || cg_set_rt("b", 30000, PERIOD_US))
		die("set up");
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	for (i = 0; i < nr_cpus(); i++) {
		start_hog("a", i, &hogs[i]);
		start_hog("b", i, &b[i]);
	}

	/* Both ends are at one phase of b's period, which began with its hog. */
	begin = now() + SEC;
	sleep_until(begin);
	a_used = used(hogs);
	b_used = used(b);
	expected = change(begin, atoll(argv[2]) * MS, changes, &last);
	a_off = 100 * (used(hogs) - a_used - expected) / (last - begin) / nr_cpus();
	b_share = 100.0 * (used(b) - b_used) / (last - begin) / nr_cpus();

	stop(hogs);
	set_policy(0, SCHED_OTHER, 0);
	cg_remove("a");
	cg_remove("b");
	printf("%d changes: a off by %.3f points (%.1f), b=%.3f%% (30)\n", changes, a_off,
	       tolerance, b_share);
	return a_off < -tolerance || a_off > tolerance || b_share < 29.9 || b_share > 30.1;
}
