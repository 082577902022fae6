// SPDX-License-Identifier: GPL-2.0
/*
 * stress SECONDS SEED: everything that can change under the scheduler does,
 * at random, for that long. The kernel must not complain, and the bandwidth
 * of every CPU is afterwards what it was before.
 *
 * A SCHED_FIFO task may starve one of lower priority in its group, on any
 * kernel, and if that is in an RCU read-side section, all who wait for the end
 * of a grace period: those who move tasks between groups or CPUs in and out,
 * and for them those who touch SCHED_DEADLINE tasks. So each kind of change
 * has a process of its own, and those that end the starvation, by other
 * priorities and runtimes, wait for nobody.
 */
#include "rtt.h"
#include <sys/syscall.h>

#define NR_GROUPS 4
#define NR_TASKS 12
#define DEADLINE 6

static struct {
	pid_t pids[NR_TASKS];
	unsigned int steps;
	volatile bool stop;
} *run;

static void name_of(unsigned int g, char *name)
{
	/* Two top-level groups, and one in each of them. */
	sprintf(name, g < 2 ? "s%u" : "s%u/t", g % 2);
}

/*
 * Leave SCHED_DEADLINE or enter it. Only a task itself may: on any kernel, the
 * bandwidth of one that is just being woken on another CPU is counted twice.
 */
static void change_own_class(void)
{
	if (sched_getscheduler(0) == DEADLINE) {
		set_policy(0, SCHED_OTHER, 0);
	} else {
		set_cpu(0, ANY_CPU);
		set_deadline(0, 1 * MS, 50 * MS);
	}
}

static void task_body(unsigned int i)
{
	int64_t work = (1 + i % 4) * MS / 2;

	for (;;) {
		if (i % 3)
			burn(work);
		else
			burn_locked(work);
		usleep(4000 * (1 + i % 5));
		if (i % 4 == 1 && !fork())
			_exit(0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (i % 4 == 2)
			change_own_class();
	}
}

static void start_task(unsigned int i)
{
	char group[32];
	pid_t pid = fork();

	if (!pid)
		task_body(i);
	run->pids[i] = pid;
	name_of(rnd(NR_GROUPS), group);
	cg_enter(group, pid);
}

/* Put another task in the place of each one that was killed. */
static void replace_tasks(void)
{
	pid_t pid = waitpid(-1, NULL, WNOHANG);
	unsigned int i;

	for (i = 0; pid > 0 && i < NR_TASKS; i++)
		if (run->pids[i] == pid)
			start_task(i);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0;
	close(fd);
}

/* A task may be gone by now, and may not fit: both are fine. */
static void change_task(void)
{
	static const int policies[] = { SCHED_FIFO, SCHED_RR, SCHED_OTHER };
	pid_t pid = run->pids[rnd(NR_TASKS)];
	unsigned long mask;

	switch (rnd(6)) {
	case 0:
		mask = rnd(2) ? 1UL << rnd(nr_cpus()) : ~0UL;
		syscall(SYS_sched_setaffinity, pid, sizeof(mask), &mask);
		break;
	case 1:
		kill(pid, SIGKILL);
		break;
	default:
		if (sched_getscheduler(pid) == DEADLINE)
			return;
		set_policy(pid, policies[rnd(3)], 0);
		set_policy(pid, policies[rnd(2)], 1 + rnd(90));
	}
}

static void move_task(void)
{
	char group[32];

	name_of(rnd(NR_GROUPS), group);
	cg_enter(group, run->pids[rnd(NR_TASKS)]);
}

static void change_group(void)
{
	static const int periods[] = { 1000, 10000, 100000, 1000000 };
	unsigned int g = rnd(NR_GROUPS), period = periods[rnd(4)];
	unsigned int runtime = period / 100 * rnd(40);
	char group[32];

	name_of(g, group);
	/* The runtime must never be longer than the period. */
	cg_write(group, "cpu.rt_runtime_us", "%u", runtime);
	cg_write(group, "cpu.rt_period_us", "%u", period);
	cg_write(group, "cpu.rt_runtime_us", "%u", runtime);
	if (rnd(2))
		cg_write(group, "cpu.rt_multi_runtime_us", "%u %u",
			 rnd(nr_cpus()), period / 100 * rnd(40));
}

static void change_sessions(void)
{
	live_session(MS);
}

static void change_cpus(void)
{
	char path[80];

	if (rnd(2)) {
		write_file("/cs/cpuset.sched_load_balance", rnd(2) ? "0" : "1");
	} else if (nr_cpus() > 1) {
		sprintf(path, "/sys/devices/system/cpu/cpu%u/online",
			1 + rnd(nr_cpus() - 1));
		write_file(path, rnd(3) ? "1" : "0");
	}
}

/* What a process of its own does: one change after the other. */
struct changer {
	void (*change)(void);
	unsigned int pause_us;
	pid_t pid;
};

static void start_changer(struct changer *c, int64_t end)
{
	seed++;
	c->pid = fork();
	if (c->pid)
		return;

	set_policy(0, SCHED_FIFO, 99);
	while (end ? now() < end : !run->stop) {
		usleep(1000 + rnd(c->pause_us));
		c->change();
		__sync_fetch_and_add(&run->steps, 1);
	}
	_exit(0);
}

static void run_tasks(int64_t end)
{
	struct changer may_wait[] = {
		{ .change = move_task, .pause_us = 50000 },
		{ .change = change_cpus, .pause_us = 300000 },
		{ .change = change_sessions, .pause_us = 100000 },
	};
	struct changer never_wait[] = {
		{ .change = change_task, .pause_us = 20000 },
		{ .change = change_group, .pause_us = 100000 },
	};
	unsigned int i;

	for (i = 0; i < NR_TASKS; i++)
		start_task(i);
	for (i = 0; i < ARRAY_SIZE(may_wait); i++)
		start_changer(&may_wait[i], end);
	for (i = 0; i < ARRAY_SIZE(never_wait); i++)
		start_changer(&never_wait[i], 0);

	while (now() < end) {
		usleep(5000);
		replace_tasks();
	}
	for (i = 0; i < ARRAY_SIZE(may_wait); i++)
		waitpid(may_wait[i].pid, NULL, 0);
	run->stop = true;
	for (i = 0; i < ARRAY_SIZE(never_wait); i++)
		waitpid(never_wait[i].pid, NULL, 0);
}

/* End @pid without waiting for what a group's budget still lets it do. */
static void end_task(pid_t pid)
{
	if (sched_getscheduler(pid) != DEADLINE)
		set_policy(pid, SCHED_OTHER, 0);
	kill(pid, SIGKILL);
}

/* What the tasks have forked may wait for budget yet. */
static void end_group(unsigned int g)
{
	char group[32], procs[4096], *pid;

	name_of(g, group);
	if (cg_read(group, "cgroup.procs", procs, sizeof(procs)))
		return;
	for (pid = strtok(procs, "\n"); pid; pid = strtok(NULL, "\n"))
		end_task(atoi(pid));
}

static void settle(void)
{
	char path[80];
	int i;

	for (i = 0; i < NR_TASKS; i++)
		end_task(run->pids[i]);
	for (i = 0; i < NR_TASKS; i++)
		waitpid(run->pids[i], NULL, 0);
	for (i = 0; i < NR_GROUPS; i++)
		end_group(i);
	for (i = 1; i < nr_cpus(); i++) {
		sprintf(path, "/sys/devices/system/cpu/cpu%d/online", i);
		write_file(path, "1");
	}
	/*
	 * Tasks that leave SCHED_DEADLINE, or die, while the sched domains are
	 * rebuilt are taken off twice, on any kernel. Let it count again, once
	 * the last has given back its bandwidth: at its 0-lag time, which is
	 * the later the more it overran its runtime, as one may that has the
	 * lock that others wait for.
	 */
	usleep(5000000);
	write_file("/cs/cpuset.sched_load_balance", "0");
	write_file("/cs/cpuset.sched_load_balance", "1");
	if (cg_remove("s0/t") || cg_remove("s1/t") || cg_remove("s0") || cg_remove("s1"))
		die("rmdir: %s", strerror(errno));
}

int stress_main(int argc, char **argv)
{
	char before[BANDWIDTH_SIZE], group[32];
	bool same;
	int i;

	if (argc != 3)
		die("stress SECONDS SEED");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	seed = atoi(argv[2]);
	run = shared(sizeof(*run));
	ties_init();
	bandwidth(before, sizeof(before));
	for (i = 0; i < NR_GROUPS; i++) {
		name_of(i, group);
		cg_make(group);
		if (cg_set_rt(group, i < 2 ? 30000 : 10000, 100000))
			die("runtime of %s", group);
	}

	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	run_tasks(now() + atoll(argv[1]) * SEC);
	settle();

	same = bandwidth_returns(before);
	printf("%u steps\n", run->steps);
	return !same;
}
