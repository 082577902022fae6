// SPDX-License-Identifier: GPL-2.0
/*
 * onlined: a CPU comes up that was not brought up at boot (maxcpus=). It has a fair
 * server, so that real-time tasks that never sleep, one of a group and one of the root
 * group, leave 5% to an ordinary task; and groups cannot have that promised before.
 */
#include "rtt.h"

#define PERIOD_US 10000
#define MOST_US 9000
#define RUNTIME_US 5000
#define WINDOW (10 * SEC)
/* 50 ms every 1000 ms, which begin when they are due, and last twice as long. */
#define FAIR 4.7
#define TOLERANCE 0.3

static pid_t start(const char *group, int prio, volatile int64_t *used)
{
	pid_t pid = fork_task(group, nr_cpus() - 1, prio);

	if (!pid)
		spin(used);
	return pid;
}

int onlined_main(int argc, char **argv)
{
	double wanted[3] = { FAIR, 100.0 * RUNTIME_US / PERIOD_US, 0 }, got[3];
	volatile int64_t *used = shared(3 * sizeof(*used));
	int64_t runtime[2] = { 0, MOST_US + 100 }, was[3];
	pid_t pids[3];
	int i, wrong = 0;

	(void)argc;
	(void)argv;
	if (nr_cpus() != 2 || sysconf(_SC_NPROCESSORS_ONLN) != 1)
		skip("needs two CPUs, of which one is not up");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	if (cg_make("a"))
		die("group: %s", strerror(errno));
	if (cg_set_rt_cpus("a", runtime, 2, PERIOD_US) != EINVAL) {
		printf("the fair server's share was promised; ");
		wrong++;
	}
	runtime[1] = MOST_US;
	if (cg_set_rt_cpus("a", runtime, 2, PERIOD_US)) {
		printf("all that it leaves was refused; ");
		wrong++;
	}
	runtime[1] = RUNTIME_US;
	if (cg_set_rt_cpus("a", runtime, 2, PERIOD_US))
		die("runtime: %s", strerror(errno));
	cpu_plug(1, true);
	pids[0] = start("", 0, &used[0]);
	pids[1] = start("a", 50, &used[1]);
	pids[2] = start("", 50, &used[2]);
	sleep_until(now() + SEC);
	for (i = 0; i < 3; i++)
		was[i] = used[i];
	sleep_until(now() + WINDOW);
	for (i = 0; i < 3; i++) {
		got[i] = 100.0 * (used[i] - was[i]) / WINDOW;
		printf("%.2f%% (%.0f) ", got[i], wanted[i]);
		wrong += got[i] < wanted[i] - TOLERANCE;
		kill(pids[i], SIGKILL);
	}
	for (i = 0; i < 3; i++)
		waitpid(pids[i], NULL, 0);
	cg_remove("a");
	return wrong != 0;
}
