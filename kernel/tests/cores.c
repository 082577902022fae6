// SPDX-License-Identifier: GPL-2.0
/*
 * cores SECONDS SEED: core scheduling. Tasks of two groups, and some of none, let
 * at random only these or those run beside them on the other thread of a core,
 * and move between the groups. All must get on, the kernel must not complain, and
 * the bandwidth of every CPU is afterwards what it was before.
 *
 * Nobody comes or goes as a CPU: with core scheduling the stock kernel crashes.
 */
#include "rtt.h"
#include <sys/prctl.h>

#define NR_TASKS 12
/* As linux/prctl.h has them since 5.14. */
#define CORE 62
#define CORE_CREATE 1
#define CORE_SHARE_TO 2
#define CORE_SHARE_FROM 3
#define ONE_TASK 0

static volatile unsigned int *rounds;
static pid_t pids[NR_TASKS];

/* Round robin at one priority: nobody starves but by the scheduler's fault. */
static void start(unsigned int i)
{
	static const char * const groups[] = { "k0", "k1", "" };
	pid_t pid = fork();

	if (!pid) {
		for (;;) {
			burn((1 + i % 4) * MS);
			usleep(1000 * (1 + i % 5));
			rounds[i]++;
		}
	}
	pids[i] = pid;
	cg_enter(groups[i % 3], pid);
	set_policy(pid, i % 3 < 2 ? SCHED_RR : SCHED_OTHER, i % 3 < 2 ? 10 : 0);
}

/* Make a task's tag, or give the caller's that of one task to another. */
static void change(void)
{
	pid_t pid = pids[rnd(NR_TASKS)];

	switch (rnd(4)) {
	case 0:
		prctl(CORE, CORE_CREATE, pid, ONE_TASK, 0);
		break;
	case 1:
		prctl(CORE, CORE_SHARE_FROM, pid, ONE_TASK, 0);
		prctl(CORE, CORE_SHARE_TO, pids[rnd(NR_TASKS)], ONE_TASK, 0);
		break;
	case 2:
		cg_enter(rnd(2) ? "k0" : "k1", pid);
		break;
	default:
		cg_set_rt("k1", 10000 + rnd(30) * 1000, 100000);
	}
}

static bool all_get_on(void)
{
	unsigned int before[NR_TASKS], i, tries;
	bool on = true;

	for (i = 0; i < NR_TASKS; i++)
		before[i] = rounds[i];
	for (tries = 0; tries < 50; tries++) {
		usleep(100000);
		for (on = true, i = 0; i < NR_TASKS; i++)
			on &= rounds[i] != before[i];
		if (on)
			return true;
	}
	for (i = 0; i < NR_TASKS; i++)
		if (rounds[i] == before[i])
			printf("task %u stood still for 5 s\n", i);
	return false;
}

int cores_main(int argc, char **argv)
{
	char before[BANDWIDTH_SIZE];
	int64_t end;
	unsigned int i, steps = 0;
	bool good = true;

	if (argc != 3)
		die("cores SECONDS SEED");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	if (prctl(CORE, CORE_CREATE, 0, ONE_TASK, 0))
		skip("no core scheduling: one thread a core?");
	seed = atoi(argv[2]);
	rounds = shared(NR_TASKS * sizeof(*rounds));
	bandwidth(before, sizeof(before));
	if (cg_make("k0") || cg_make("k1") || cg_set_rt("k0", 40000, 100000) ||
	    cg_set_rt("k1", 30000, 100000))
		die("groups: %s", strerror(errno));
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	for (i = 0; i < NR_TASKS; i++)
		start(i);
	for (end = now() + atoll(argv[1]) * SEC; good && now() < end;) {
		for (i = 0; i < 100; i++, steps++) {
			change();
			usleep(10000);
		}
		good = all_get_on();
	}
	for (i = 0; i < NR_TASKS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	cg_remove("k0");
	cg_remove("k1");
	good &= bandwidth_returns(before);
	printf("%u steps\n", steps);
	return !good;
}
