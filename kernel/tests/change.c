// SPDX-License-Identifier: GPL-2.0
/*
 * A changed runtime takes effect at once, and nobody else notices.
 *
 * change SECONDS INTERVAL_MS
 *
 * Group a has a task that never sleeps; its runtime changes every interval.
 * It must get the sum over the intervals of bandwidth times length, within one
 * point, far less than one budget per change. Group b keeps its 30%, within 0.1.
 */
#include "rtt.h"

#define PERIOD_US 100000

static const int64_t runtimes_us[] = { 10000, 50000, 30000, 5000, 40000 };

struct hog {
	int64_t cpu;
	volatile int stop;
};

static pid_t start_hog(const char *group, struct hog *hog)
{
	pid_t pid = fork();

	if (!pid) {
		while (!hog->stop)
			hog->cpu = cputime();
		_exit(0);
	}
	if (cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, 10))
		die("hog in %s", group);
	set_cpu(pid, 0);
	return pid;
}

int change_main(int argc, char **argv)
{
	int64_t interval, t, begin, a0, b0, last, changes;
	double expected = 0, a, b, off;
	struct hog *hogs = shared(2 * sizeof(*hogs));
	pid_t pids[2];
	int i;

	if (argc != 3)
		die("change SECONDS INTERVAL_MS");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	changes = atoll(argv[1]) * 1000 / atoll(argv[2]);
	interval = atoll(argv[2]) * MS;

	cg_make("a");
	cg_make("b");
	if (cg_set_rt("a", runtimes_us[0], PERIOD_US) || cg_set_rt("b", 30000, PERIOD_US))
		die("set up");
	set_cpu(0, 0);
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	pids[0] = start_hog("a", &hogs[0]);
	pids[1] = start_hog("b", &hogs[1]);

	/* b's period began with its hog: so both ends are at one phase of it. */
	begin = now() + PERIOD_US * 1000;
	sleep_until(begin);
	a0 = hogs[0].cpu;
	b0 = hogs[1].cpu;
	last = begin;
	for (i = 1; i <= changes; i++) {
		sleep_until(begin + i * interval);
		t = now();
		expected += (double)runtimes_us[(i - 1) % 5] / PERIOD_US * (t - last);
		last = t;
		if (i < changes && cg_set_rt("a", runtimes_us[i % 5], PERIOD_US))
			die("change %d", i);
	}
	a = hogs[0].cpu - a0;
	b = 100.0 * (hogs[1].cpu - b0) / (last - begin);

	for (i = 0; i < 2; i++) {
		hogs[i].stop = 1;
		waitpid(pids[i], NULL, 0);
	}
	set_policy(0, SCHED_OTHER, 0);
	cg_remove("a");
	cg_remove("b");
	off = 100 * (a - expected) / (last - begin);
	printf("a off by %.3f ms in %.0f ms (%lld changes) = %.3f points, b=%.3f%%\n",
	       (a - expected) / MS, expected / MS, (long long)changes, off, b);
	return off < -1 || off > 1 || b < 29.9 || b > 30.1;
}
