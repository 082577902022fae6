// SPDX-License-Identifier: GPL-2.0
/*
 * confined: cpu.rt.max gives its runtime to the CPUs of the group's cpuset, so that two
 * groups on disjoint CPUs have most of theirs each; after a change of the cpuset it takes
 * another write. The cpuset controller moves from /cs to the hierarchy of version 2.
 */
#include "rtt.h"
#include <sys/mount.h>

#define MAX "cpu.rt.max"
#define MULTI "cpu.rt_multi_runtime_us"
#define PERCENT 80.0
/* Whoever reads the clocks waits for the groups, at both ends of the window. */
#define TOLERANCE 1.0
#define WINDOW (10 * SEC)

static int wrong;

static void write_or_say(const char *group, const char *file, const char *text, int expected)
{
	int err = cg_write(group, file, "%s", text);

	if (err == expected)
		return;
	wrong++;
	printf("%s > %s/%s: %s; ", text, group, file, err ? strerror(err) : "taken");
}

static void shows(const char *group, const char *expected)
{
	wrong += !cg_shows(group, MULTI, expected);
}

/* Version 1 lets go of a controller some time after it was unmounted. */
static void take_cpusets(void)
{
	int tries;

	if (umount("/cs"))
		die("umount /cs: %s", strerror(errno));
	for (tries = 0; cg_write("", "cgroup.subtree_control", "+cpuset"); tries++) {
		if (tries == 1000)
			die("no cpuset controller on version 2");
		usleep(10000);
	}
}

static void confine(void)
{
	write_or_say("a", "cpuset.cpus", "0", 0);
	write_or_say("b", "cpuset.cpus", "1", 0);
	write_or_say("a", MAX, "80000 100000", 0);
	write_or_say("b", MAX, "80000 100000", 0);
	shows("a", "80000 0");
	shows("b", "0 80000");
	/* One below has the cpuset of the one above, and no more than that has. */
	write_or_say("a/c", MAX, "20000 100000", 0);
	shows("a/c", "20000 0");
	write_or_say("a/c", MULTI, "1000 1000", EINVAL);
	write_or_say("a/c", MAX, "0 0", 0);
}

/* Not by itself; and only if the CPUs have as much left. */
static void follow(void)
{
	write_or_say("b", "cpuset.cpus", "0-1", 0);
	shows("b", "0 80000");
	write_or_say("b", MAX, "80000 100000", EINVAL);
	shows("b", "0 80000");
	write_or_say("b", MAX, "10000 100000", 0);
	shows("b", "10000 10000");
	write_or_say("b", MAX, "max", 0);
	shows("b", "-1 -1");
	write_or_say("b", "cpuset.cpus", "1", 0);
	write_or_say("b", MAX, "80000 100000", 0);
	shows("b", "0 80000");
}

/* A CPU that is offline counts where a group's cpuset has it, and nowhere else. */
static void plug(void)
{
	cpu_plug(1, false);
	write_or_say("a", MAX, "70000 100000", 0);
	shows("a", "70000 0");
	write_or_say("b", "cpuset.cpus", "0-1", 0);
	write_or_say("b", MAX, "20000 100000", 0);
	shows("b", "20000 20000");
	cpu_plug(1, true);
	write_or_say("b", "cpuset.cpus", "1", 0);
	write_or_say("a", MAX, "80000 100000", EINVAL);
	write_or_say("b", MAX, "80000 100000", 0);
	write_or_say("a", MAX, "80000 100000", 0);
	shows("a", "80000 0");
	shows("b", "0 80000");
}

/* Each group gets its share, beside SCHED_FIFO tasks of the root group. */
static void measure(void)
{
	static const char *const groups[] = { "a", "b", "", "" };
	volatile int64_t *used = shared(4 * sizeof(*used));
	int64_t was[2], begin, window;
	pid_t pids[4];
	double got;
	int i;

	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	for (i = 0; i < 4; i++) {
		pids[i] = fork_task(groups[i], i < 2 ? ANY_CPU : i - 2, i < 2 ? 50 : 98);
		if (!pids[i])
			spin(&used[i]);
	}
	sleep_until(now() + SEC);
	begin = now();
	for (i = 0; i < 2; i++)
		was[i] = used[i];
	sleep_until(begin + WINDOW);
	window = now() - begin;
	for (i = 0; i < 2; i++) {
		got = 100.0 * (used[i] - was[i]) / window;
		printf("%.3f%% (%.0f) ", got, PERCENT);
		wrong += got < PERCENT - TOLERANCE || got > PERCENT + TOLERANCE;
	}
	for (i = 0; i < 4; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

int confined_main(int argc, char **argv)
{
	static const char *const groups[] = { "a/c", "a", "b" };
	char before[BANDWIDTH_SIZE];
	size_t i;

	(void)argc;
	(void)argv;
	if (nr_cpus() != 2)
		skip("needs two CPUs");
	if (!cg_is_v2())
		skip("no cpu.rt.max on this hierarchy");
	take_cpusets();
	bandwidth(before, sizeof(before));
	if (cg_make("a") || cg_make("b") || cg_make("a/c"))
		die("groups");
	confine();
	follow();
	plug();
	if (!wrong)
		measure();
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		cg_remove(groups[i]);
	return !bandwidth_returns(before) || wrong;
}
