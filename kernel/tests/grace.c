// SPDX-License-Identifier: GPL-2.0
/*
 * grace SECONDS: how long do grace periods of RCU last while tasks of a group are
 * preempted by others of it, which then use up all that it has?
 *
 * With CONFIG_RCU_BOOST a kernel thread waits for a lock that the preempted task is
 * given, after RCU_BOOST_DELAY. The thread's priority is the lowest, unless
 * rcutree.kthread_prio is another. The kernels of the tests do not have the option: with
 * it, other cases starve the threads of RCU.
 */
#include "rtt.h"
#include <glob.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

#define RUNTIME_US 40000
#define PERIOD_US 100000
#define ROUND (3 * SEC)
/* RCU_BOOST_DELAY, two periods, and what looking for the task takes. */
#define MOST (1200 * MS)

/* Most of a look-up of a path is one reader's section. */
static void look_up(void)
{
	struct stat st;

	for (;;) {
		relax();
		stat("/sys/devices/system/cpu/cpu0/../cpu0/../cpu0/../cpu0/../cpu0/online", &st);
	}
}

static void interrupt(void)
{
	for (;;) {
		sleep_until(now() + (50 + rnd(100)) * MS + rnd(1000) * 1000LL);
		burn(ROUND * RUNTIME_US / PERIOD_US);
	}
}

/* Is there a thread that boosts readers? */
static bool can_boost(void)
{
	char name[16] = "";
	bool found = false;
	glob_t comms;
	size_t i;
	int fd;

	if (glob("/proc/[0-9]*/comm", 0, NULL, &comms))
		return false;
	for (i = 0; i < comms.gl_pathc && !found; i++) {
		fd = open(comms.gl_pathv[i], O_RDONLY);
		found = fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 &&
			!strncmp(name, "rcub/", 5);
		close(fd);
	}
	globfree(&comms);
	return found;
}

int grace_main(int argc, char **argv)
{
	int64_t end, begin, took, longest = 0;
	int n = 0;
	pid_t pids[2];

	if (argc != 2)
		die("grace SECONDS");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	if (nr_cpus() < 2)
		skip("with one CPU nobody waits for a grace period");
	if (!can_boost())
		skip("no CONFIG_RCU_BOOST");
	cg_make("a");
	if (cg_set_rt("a", RUNTIME_US, PERIOD_US))
		die("group");
	pids[0] = fork_task("a", 0, 10);
	if (!pids[0])
		look_up();
	pids[1] = fork_task("a", 0, 20);
	if (!pids[1])
		interrupt();
	set_cpu(0, 1);
	end = now() + atoll(argv[1]) * SEC;
	while (now() < end) {
		begin = now();
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			skip("no membarrier");
		took = now() - begin;
		if (took > longest)
			longest = took;
		n++;
	}
	kill(pids[0], SIGKILL);
	kill(pids[1], SIGKILL);
	waitpid(pids[0], NULL, 0);
	waitpid(pids[1], NULL, 0);
	cg_remove("a");
	printf("longest of %d: %lld ms (%lld)\n", n, (long long)(longest / MS),
	       (long long)(MOST / MS));
	return longest > MOST;
}
