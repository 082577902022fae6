// SPDX-License-Identifier: GPL-2.0
/*
 * slices: do SCHED_RR tasks take turns where their group's budget is shorter than a
 * tick?
 *
 * The budgets of all periods begin at the same phase of the tick, another one in each
 * round. So the tick may meet each budget or none.
 */
#include "rtt.h"

#define ROUNDS 5
#define GROUP "a"
#define RUNTIME_US 500
#define PERIOD_US 10000
#define SLICE_MS "10"
/* Ten slices. */
#define WINDOW (2 * SEC)
#define SHARE (50 * MS)
/* A slice, and what of it ends with a budget. */
#define TOLERANCE (12 * MS)

static void set_slice(const char *ms)
{
	int fd = open("/proc/sys/kernel/sched_rr_timeslice_ms", O_WRONLY);

	if (fd < 0 || write(fd, ms, strlen(ms)) < 0)
		die("slice: %s", strerror(errno));
	close(fd);
}

static pid_t start(volatile int64_t *used)
{
	pid_t pid;

	/* The task of the last round has left its own. */
	*used = 0;
	pid = fork();
	if (!pid) {
		set_cpu(0, 0);
		spin(used);
	}
	if (cg_enter(GROUP, pid) || set_policy(pid, SCHED_RR, 10))
		die("task: %s", strerror(errno));
	return pid;
}

static int64_t off_by(int64_t has)
{
	return has < SHARE ? SHARE - has : has - SHARE;
}

/* Returns how far the worse one is from its half of what both had. */
static int64_t play(volatile int64_t **used)
{
	int64_t was[2];
	pid_t pids[2];
	int i;

	if (cg_make(GROUP) || cg_set_rt(GROUP, RUNTIME_US, PERIOD_US))
		die("group: %s", strerror(errno));
	sleep_until(now() / MS * MS + 2 * MS + rnd(1000) * 1000LL);
	for (i = 0; i < 2; i++)
		pids[i] = start(used[i]);
	for (i = 0; i < 2; i++)
		was[i] = *used[i];
	sleep_until(now() + WINDOW);
	for (i = 0; i < 2; i++)
		was[i] = *used[i] - was[i];
	for (i = 0; i < 2; i++) {
		/* Do not wait for budget. */
		set_policy(pids[i], SCHED_OTHER, 0);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	cg_remove(GROUP);
	printf("%.1f and %.1f ms; ", (double)was[0] / MS, (double)was[1] / MS);
	return off_by(was[0]) > off_by(was[1]) ? off_by(was[0]) : off_by(was[1]);
}

int slices_main(int argc, char **argv)
{
	volatile int64_t *used[2] = { shared(sizeof(int64_t)), shared(sizeof(int64_t)) };
	int64_t off, worst = 0;
	int i;

	(void)argc;
	(void)argv;
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	set_slice(SLICE_MS);
	for (i = 0; i < ROUNDS; i++) {
		off = play(used);
		if (off > worst)
			worst = off;
	}
	/* The default. */
	set_slice("0");
	printf("off by %.1f ms\n", (double)worst / MS);
	return worst > TOLERANCE;
}
