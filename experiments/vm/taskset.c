// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic tasks in a container: how long does each job take?
 *
 * taskset JOBS hcbs|fair SECONDS RUNTIME_US/PERIOD_US NEIGHBOUR C,T ...
 *
 * The tasks (us, shortest period first) run in a group of their own: under hcbs
 * with the given reservation, deadline-monotonic as SCHED_FIFO; under fair as
 * SCHED_OTHER, in a group whose weight is as large a part of the CPU. With a
 * NEIGHBOUR (1) another group has all the rest, and a task that never sleeps.
 *
 * JOBS: see jobs.c.
 */
#include "exp.h"

#define MAX_TASKS 16
#define SHARES 10240

static bool fair;

/* A group with a part of the CPU, whatever shares that out. */
static void make_group(const char *name, int64_t runtime, int64_t period)
{
	int err = cg_make(name);

	if (!err && fair)
		err = cg_write(name, "cpu.shares", "%lld",
			       (long long)(SHARES * runtime / period));
	else if (!err)
		err = cg_set_rt(name, runtime, period);
	if (err)
		die("group %s: %s", name, strerror(err));
}

static void enter(const char *group, pid_t pid, int prio)
{
	if (cg_enter(group, pid) || (!fair && set_policy(pid, SCHED_FIFO, prio)))
		die("%s: %s", group, strerror(errno));
}

static pid_t hog(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			work(MS);
	enter("neighbour", pid, 50);
	return pid;
}

static void run_set(const struct periodic *tasks, int nr, int64_t ns, bool neighbour)
{
	int64_t begin = now() + 100 * MS, end = begin + ns;
	pid_t pids[MAX_TASKS], other = 0;
	int i;

	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		if (!pids[i])
			jobs_run(i, work, &tasks[i], begin, end);
		enter("set", pids[i], 80 - i);
	}
	if (neighbour)
		other = hog();
	sleep_until(end);
	for (i = 0; i < nr; i++)
		kill(pids[i], SIGKILL);
	if (other) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	for (i = 0; i < nr; i++)
		waitpid(pids[i], NULL, 0);
}

int taskset_main(int argc, char **argv)
{
	struct periodic tasks[MAX_TASKS];
	int64_t runtime, period;
	int i, nr = argc - 6;
	bool neighbour;
	char *rest;

	if (nr < 1 || nr > MAX_TASKS)
		die("usage: taskset JOBS hcbs|fair SECONDS RUNTIME_US/PERIOD_US NEIGHBOUR C,T ...");
	fair = !strcmp(argv[2], "fair");
	runtime = strtoll(argv[4], &rest, 10);
	period = strtoll(rest + 1, NULL, 10);
	neighbour = atoi(argv[5]) && runtime < period;
	for (i = 0; i < nr; i++) {
		tasks[i].c = strtoll(argv[6 + i], &rest, 10) * 1000;
		tasks[i].t = strtoll(rest + 1, NULL, 10) * 1000;
	}
	jobs_make(nr);
	work_calibrate();
	make_group("set", runtime, period);
	if (neighbour)
		make_group("neighbour", period - runtime, period);
	/* What is forked must not run before it is in its group. */
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	run_set(tasks, nr, atoll(argv[3]) * SEC, neighbour);
	set_policy(0, SCHED_OTHER, 0);
	cg_remove("set");
	if (neighbour)
		cg_remove("neighbour");
	jobs_write(argv[1]);
	return 0;
}
