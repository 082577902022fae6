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
 * JOBS gets three numbers of 64 bits for each job that ended: its task, its
 * release and its response time (ns). A job that did not end by SECONDS has a
 * response time of -1.
 */
#include "exp.h"

#define MAX_TASKS 16
#define MAX_JOBS 100000
#define SHARES 10240

struct job {
	int64_t task, release, response;
};

/* Shared: the jobs of each task. */
static struct job (*jobs)[MAX_JOBS];
static int64_t *nr_jobs;
static bool fair;

static void run_jobs(int i, const struct periodic *task, int64_t begin, int64_t end)
{
	int64_t release;
	struct job *job;

	for (release = begin; release + task->t <= end; release += task->t) {
		job = &jobs[i][nr_jobs[i]];
		*job = (struct job){ i, release - begin, -1 };
		nr_jobs[i]++;
		sleep_until(release);
		work(task->c);
		job->response = now() - release;
	}
	_exit(0);
}

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
			run_jobs(i, &tasks[i], begin, end);
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

static void write_jobs(const char *path, int nr)
{
	FILE *file = fopen(path, "w");
	int i;

	if (!file)
		die("%s: %s", path, strerror(errno));
	for (i = 0; i < nr; i++)
		fwrite(jobs[i], sizeof(**jobs), nr_jobs[i], file);
	if (fclose(file))
		die("%s: %s", path, strerror(errno));
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
	jobs = shared(nr * sizeof(*jobs));
	nr_jobs = shared(nr * sizeof(*nr_jobs));
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
	write_jobs(argv[1], nr);
	return 0;
}
