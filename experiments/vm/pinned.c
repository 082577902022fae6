// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic tasks in a virtual machine, each pinned to a vCPU: how long does each
 * job take?
 *
 * pinned JOBS MS BUSY VCPU,BLOCKS,T_US ...
 *
 * For so many ms, each task works BLOCKS every T_US, as SCHED_FIFO; the first has
 * the highest priority. With BUSY (1), tasks under SCHED_OTHER take what these
 * leave of each vCPU. JOBS: see jobs.c.
 */
#include "exp.h"

#define MAX_TASKS 16
#define MAX_VCPUS 8

struct task {
	struct periodic times;
	int vcpu;
};

static void be_busy(pid_t *pids)
{
	int i;

	for (i = 0; i < nr_cpus() && i < MAX_VCPUS; i++) {
		pids[i] = fork();
		if (!pids[i])
			for (;;)
				work_blocks(1000);
		set_cpu(pids[i], i);
	}
}

static void run_set(const struct task *tasks, int nr, int64_t ns, bool busy)
{
	int64_t begin = now() + (busy ? 2 * SEC : SEC / 4), end = begin + ns;
	pid_t pids[MAX_TASKS + MAX_VCPUS] = { 0 };
	int i;

	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		if (!pids[i])
			jobs_run(i, work_blocks, &tasks[i].times, begin, end);
		set_cpu(pids[i], tasks[i].vcpu);
		if (set_policy(pids[i], SCHED_FIFO, 80 - i))
			die("task %d: %s", i, strerror(errno));
	}
	if (busy)
		be_busy(pids + nr);
	sleep_until(end);
	for (i = 0; i < MAX_TASKS + MAX_VCPUS; i++) {
		if (pids[i]) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
	}
}

int pinned_main(int argc, char **argv)
{
	struct task tasks[MAX_TASKS];
	int i, nr = argc - 4;
	char *rest;

	if (nr < 1 || nr > MAX_TASKS)
		die("usage: pinned JOBS MS BUSY VCPU,BLOCKS,T_US ...");
	for (i = 0; i < nr; i++) {
		tasks[i].vcpu = strtoll(argv[4 + i], &rest, 10);
		tasks[i].times.c = strtoll(rest + 1, &rest, 10);
		tasks[i].times.t = strtoll(rest + 1, NULL, 10) * 1000;
	}
	jobs_make(nr);
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	run_set(tasks, nr, atoll(argv[2]) * MS, atoi(argv[3]));
	set_policy(0, SCHED_OTHER, 0);
	jobs_write(argv[1]);
	return 0;
}
