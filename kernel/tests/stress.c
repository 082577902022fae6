// SPDX-License-Identifier: GPL-2.0
/*
 * stress SECONDS SEED: everything that can change under the scheduler does,
 * at random, for that long. The kernel must not complain, and the bandwidth
 * of every CPU is afterwards what it was before.
 */
#include "rtt.h"

#define NR_GROUPS 4
#define NR_TASKS 12

static pid_t pids[NR_TASKS];
static unsigned int seed;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static void name_of(unsigned int g, char *name)
{
	/* Two top-level groups, and one in each of them. */
	sprintf(name, g < 2 ? "s%u" : "s%u/t", g % 2);
}

static void task_body(unsigned int i)
{
	int64_t work = (1 + i % 4) * MS / 2;

	for (;;) {
		/*
		 * Nobody runs for ever: what a task of higher priority keeps
		 * from leaving an RCU reader would stall the whole machine.
		 */
		burn(work);
		usleep(4000 * (1 + i % 5));
		if (i % 4 == 1 && !fork())
			_exit(0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void start_task(unsigned int i)
{
	char group[32];

	pids[i] = fork();
	if (!pids[i])
		task_body(i);
	name_of(rnd(NR_GROUPS), group);
	cg_enter(group, pids[i]);
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

static void change_task(void)
{
	unsigned int i = rnd(NR_TASKS);
	static const int policies[] = { SCHED_FIFO, SCHED_RR, SCHED_OTHER };
	char group[32];

	switch (rnd(6)) {
	case 0:
		set_cpu(pids[i], rnd(2) ? (int)rnd(nr_cpus()) : ANY_CPU);
		break;
	case 1:
		name_of(rnd(NR_GROUPS), group);
		cg_enter(group, pids[i]);
		break;
	case 2:
		set_deadline(pids[i], 1 * MS, 50 * MS);
		break;
	case 3:
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		start_task(i);
		break;
	default:
		set_policy(pids[i], policies[rnd(3)], 0);
		set_policy(pids[i], policies[rnd(2)], 1 + rnd(90));
	}
}

static void change_group(void)
{
	static const int periods[] = { 1000, 10000, 100000, 1000000 };
	unsigned int g = rnd(NR_GROUPS), period = periods[rnd(4)];
	char group[32];

	name_of(g, group);
	cg_write(group, "cpu.rt_period_us", "%u", period);
	if (rnd(2))
		cg_write(group, "cpu.rt_runtime_us", "%u", period / 100 * rnd(40));
	else
		cg_write(group, "cpu.rt_multi_runtime_us", "%u %u",
			 rnd(nr_cpus()), period / 100 * rnd(40));
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

static void settle(void)
{
	char path[80];
	int i;

	for (i = 1; i < nr_cpus(); i++) {
		sprintf(path, "/sys/devices/system/cpu/cpu%d/online", i);
		write_file(path, "1");
	}
	write_file("/cs/cpuset.sched_load_balance", "1");
	/* A task may wait on a CPU without runtime: take it out to kill it. */
	for (i = 0; i < NR_TASKS; i++) {
		kill(pids[i], SIGKILL);
		cg_enter("", pids[i]);
		waitpid(pids[i], NULL, 0);
	}
	if (cg_remove("s0/t") || cg_remove("s1/t") || cg_remove("s0") || cg_remove("s1"))
		die("rmdir: %s", strerror(errno));
}

int stress_main(int argc, char **argv)
{
	char before[4096], after[4096], group[32];
	int64_t end;
	int i, steps = 0;

	if (argc != 3)
		die("stress SECONDS SEED");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	seed = atoi(argv[2]);
	bandwidth(before, sizeof(before));
	for (i = 0; i < NR_GROUPS; i++) {
		name_of(i, group);
		cg_make(group);
		if (cg_set_rt(group, i < 2 ? 30000 : 10000, 100000))
			die("runtime of %s", group);
	}
	for (i = 0; i < NR_TASKS; i++)
		start_task(i);

	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	for (end = now() + atoll(argv[1]) * SEC; now() < end; steps++) {
		usleep(1000 + rnd(20000));
		if (rnd(8))
			change_task();
		else if (rnd(3))
			change_group();
		else
			change_cpus();
	}
	settle();

	for (i = 0; i < 100; i++) {
		bandwidth(after, sizeof(after));
		if (!strcmp(before, after))
			break;
		usleep(100000);
	}
	if (strcmp(before, after))
		printf("before: %s\nafter: %s\n", before, after);
	printf("%d steps\n", steps);
	return strcmp(before, after) != 0;
}
