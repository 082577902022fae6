// SPDX-License-Identifier: GPL-2.0
/*
 * beside: does a SCHED_DEADLINE task take the CPU that a group leaves?
 *
 * On two CPUs, a group's task and a SCHED_DEADLINE task run. Another, of a later
 * deadline, wakes up and waits. Soon after, the group's task sleeps, or its budget
 * ends. Then one CPU has nothing to do, and nobody may wait beside it.
 */
#include "rtt.h"

#define ROUNDS 10
#define GROUP "a"
#define GROUP_RUNTIME (10 * MS)
#define GROUP_PERIOD (100 * MS)
#define WORK (8 * MS)
/* When the third wakes up, after the second. */
#define LATER (1500 * 1000LL)
#define TOLERANCE (1 * MS)

/* Runs for @work from @begin on, and notes when it really began. */
struct actor {
	int64_t begin, work, began;
};

static pid_t start(struct actor *actor, int64_t runtime, int64_t period)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	/* The group's task on one CPU; the others wake up on the other. */
	set_cpu(0, !runtime);
	if (!runtime) {
		if (cg_enter(GROUP, getpid()) || set_policy(0, SCHED_FIFO, 50))
			die("group: %s", strerror(errno));
	} else {
		set_cpu(0, ANY_CPU);
		if (set_deadline(0, runtime, period))
			die("deadline: %s", strerror(errno));
	}
	sleep_until(actor->begin);
	actor->began = now();
	while (now() < actor->begin + actor->work)
		relax();
	/* The group's task leaves its CPU at once: to exit would take it a millisecond. */
	if (!runtime)
		pause();
	_exit(0);
}

/* How long the third waited after the group left its CPU, or 0. */
static int64_t play(struct actor *actors, int64_t work)
{
	int64_t begin = now() + SEC, left;
	pid_t pids[3];
	int i;

	/* The bandwidth of tasks that have ended is free again only later. */
	sleep_until(begin - SEC / 2);
	actors[0] = (struct actor) { .begin = begin - MS, .work = work };
	actors[1] = (struct actor) { .begin = begin, .work = 50 * MS };
	actors[2] = (struct actor) { .begin = begin + LATER };
	pids[0] = start(&actors[0], 0, 0);
	pids[1] = start(&actors[1], 60 * MS, 90 * MS);
	pids[2] = start(&actors[2], 30 * MS, 400 * MS);
	for (i = 1; i < 3; i++)
		waitpid(pids[i], NULL, 0);
	kill(pids[0], SIGKILL);
	waitpid(pids[0], NULL, 0);

	left = actors[0].begin + (work > GROUP_RUNTIME ? GROUP_RUNTIME : work);
	return actors[2].began > left ? actors[2].began - left : 0;
}

int beside_main(int argc, char **argv)
{
	struct actor *actors = shared(3 * sizeof(*actors));
	int64_t waited, worst[2] = { 0 };
	int i;

	(void)argc;
	(void)argv;
	if (nr_cpus() != 2)
		skip("not two CPUs");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	if (cg_make(GROUP) || cg_set_rt(GROUP, GROUP_RUNTIME / 1000, GROUP_PERIOD / 1000))
		die("group: %s", strerror(errno));
	for (i = 0; i < 2 * ROUNDS; i++) {
		waited = play(actors, i % 2 ? WORK : 2 * GROUP_RUNTIME);
		if (waited > worst[i % 2])
			worst[i % 2] = waited;
	}
	cg_remove(GROUP);
	printf("waited %.3f ms after the end of the budget, %.3f ms after that of the work\n",
	       (double)worst[0] / MS, (double)worst[1] / MS);
	return worst[0] > TOLERANCE || worst[1] > TOLERANCE;
}
