// SPDX-License-Identifier: GPL-2.0
/*
 * A task whose group has no runtime on its CPU can be killed, and is gone soon.
 *
 * And once its group gets runtime there, it runs with it at once.
 *
 * rescue
 *
 * First a child that a real-time task makes in a group at 0 (clone3(), on version
 * 2). Then, with two CPUs, a task with much memory whose group has runtime on the
 * other CPU only. And one that has a lock of the kernel when its group's runtime
 * is taken away, behind a task that never sleeps: who waits for the lock gets it.
 *
 * rescue many N (version 2)
 *
 * N groups at 0 have a child each that never sleeps; a group that has all that can be
 * reserved gets that nevertheless, and each child can be killed.
 */
#include <linux/sched.h>
#include <sys/syscall.h>

#include "rtt.h"

#define MEMORY (64 << 20)
#define PATIENCE_MS 3000
/* So little that what is left of it takes a rescue server some periods only. */
#define WRITE 16384
/* What the child's group gets then, and the longest that it may wait for it. */
#define RUNTIME_US 300
#define PERIOD_US 1000
/* All that the fair server leaves of the global limit. */
#define FULL_US 90000
#define FULL_PERIOD_US 100000
#define MANY_SECONDS 5
#define MAX_GAP (2 * (PERIOD_US - RUNTIME_US) * 1000LL + 100000)

/* Wait for a child that was killed; returns the time in ms, -1 if it is still there. */
static int gone_after(pid_t pid)
{
	int64_t began = now();
	int ms;

	kill(pid, SIGKILL);
	for (ms = 0; ms < PATIENCE_MS; ms += 10) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return (now() - began) / MS;
		sleep_until(now() + 10 * MS);
	}
	return -1;
}

/* A real-time child in a group without runtime; returns 0 to the child, as fork() does. */
static pid_t fork_into(const char *group)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	int fd = cg_open(group);
	pid_t pid;

	if (fd < 0)
		die("open %s", group);
	args.cgroup = fd;
	set_policy(0, SCHED_FIFO, 5);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		return 0;
	set_policy(0, SCHED_OTHER, 0);
	close(fd);
	if (pid < 0)
		die("clone3: %s", strerror(errno));
	return pid;
}

/* One that notes its longest wait once it is told to. */
static pid_t child_in(const char *group, volatile int64_t *gap, volatile int *measure)
{
	pid_t pid = fork_into(group);
	int64_t last = 0, t;

	if (pid)
		return pid;
	for (;;) {
		relax();
		t = now();
		if (*measure && last && t - last > *gap)
			*gap = t - last;
		if (*measure)
			last = t;
	}
}

static pid_t large(const char *group)
{
	volatile int *ready = shared(sizeof(*ready));
	pid_t pid = fork();

	if (!pid) {
		volatile char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int i;

		for (i = 0; i < MEMORY; i += 4096)
			memory[i] = 1;
		*ready = 1;
		for (;;)
			relax();
	}
	while (!*ready)
		sleep_until(now() + MS);
	set_cpu(pid, 0);
	if (cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, 5))
		die("large task in %s", group);
	return pid;
}

/* A task of CPU 0 that never sleeps; it writes to @file, if that is one. */
static pid_t busy(const char *group, int prio, int file)
{
	static char data[WRITE];
	pid_t pid = fork();

	if (!pid) {
		set_cpu(0, 0);
		for (;;) {
			relax();
			if (file >= 0 && pwrite(file, data, sizeof(data), 0) < 0)
				_exit(1);
		}
	}
	if (cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, prio))
		die("busy task in %s", group);
	return pid;
}

/*
 * While a file is written its inode is locked. How long, in ms, does it take
 * another to write there once the group of the first has no runtime on its CPU?
 */
static int held_up(const char *group, const int64_t *other_only)
{
	static const int64_t both[] = { 50000, 40000 };
	int file = open("/tmp/locked", O_RDWR | O_CREAT, 0600), ms = -1;
	pid_t writer, hog, pid;
	int64_t began;

	if (file < 0 || cg_set_rt_cpus(group, both, 2, 100000))
		die("set up");
	writer = busy(group, 5, file);
	sleep_until(now() + 200 * MS);
	hog = busy(group, 6, -1);
	sleep_until(now() + 200 * MS);
	if (cg_set_rt_cpus(group, other_only, 2, 100000))
		die("set up");

	began = now();
	pid = fork();
	if (!pid) {
		set_cpu(0, 1);
		_exit(pwrite(file, "x", 1, 0) != 1);
	}
	while (ms < 0 && now() < began + PATIENCE_MS * MS) {
		sleep_until(now() + 10 * MS);
		if (waitpid(pid, NULL, WNOHANG) == pid)
			ms = (now() - began) / MS;
	}
	kill(hog, SIGKILL);
	kill(writer, SIGKILL);
	waitpid(hog, NULL, 0);
	waitpid(writer, NULL, 0);
	if (ms < 0)
		waitpid(pid, NULL, 0);
	close(file);
	return ms;
}

/* A task of CPU 0 that takes what its group has there; tells the time that it had. */
static pid_t hog_in(const char *group, volatile int64_t *used)
{
	pid_t pid = fork();

	if (!pid) {
		set_cpu(0, 0);
		for (;;) {
			relax();
			*used = cputime();
		}
	}
	if (cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, 5))
		die("hog in %s", group);
	return pid;
}

static int many(int n)
{
	volatile int64_t *used = shared(sizeof(*used));
	pid_t *children = calloc(n, sizeof(*children)), hog;
	int64_t began, had;
	double points;
	char name[16];
	int i, slowest = 0, ms;

	if (!cg_is_v2())
		skip("a child cannot be made in a group at 0");
	if (locks_sleep())
		skip("the children wait for each other's locks, and RCU for them");
	cg_make("full");
	if (cg_set_rt("full", FULL_US, FULL_PERIOD_US))
		die("set up");
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "stuck%d", i);
		cg_make(name);
		if (cg_set_rt(name, 0, PERIOD_US))
			die("set up");
		children[i] = fork_into(name);
		if (!children[i]) {
			set_cpu(0, 0);
			for (;;)
				relax();
		}
		set_cpu(children[i], 0);
	}
	hog = hog_in("full", used);
	sleep_until(now() + 500 * MS);

	began = now();
	had = *used;
	sleep_until(began + MANY_SECONDS * SEC);
	points = 100.0 * (*used - had) / (now() - began);

	gone_after(hog);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "stuck%d", i);
		ms = gone_after(children[i]);
		if (ms < 0)
			die("a child is still there after %d ms", PATIENCE_MS);
		slowest = ms > slowest ? ms : slowest;
		cg_remove(name);
	}
	cg_remove("full");
	printf("%d groups at 0 left %.2f of %.2f points, the last child took %d ms to die\n", n,
	       points, 100.0 * FULL_US / FULL_PERIOD_US, slowest);
	return points < 100.0 * FULL_US / FULL_PERIOD_US - 0.1;
}

int rescue_main(int argc, char **argv)
{
	static const int64_t other_only[] = { 0, 50000 };
	volatile int64_t *gap = shared(sizeof(*gap));
	volatile int *measure = shared(sizeof(*measure));
	int child = -2, task = -2, other = -2;
	pid_t pid;

	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("no runtimes per CPU");
	if (argc == 3 && !strcmp(argv[1], "many"))
		return many(atoi(argv[2]));
	if (argc != 1)
		die("rescue [many N]");

	cg_make("a");
	if (cg_is_v2()) {
		if (cg_set_rt("a", 0, PERIOD_US))
			die("set up");
		pid = child_in("a", gap, measure);
		sleep_until(now() + 500 * MS);
		child = gone_after(pid);

		pid = child_in("a", gap, measure);
		set_cpu(pid, 0);
		sleep_until(now() + 10 * MS);
		*measure = 1;
		if (cg_set_rt("a", RUNTIME_US, PERIOD_US))
			die("set up");
		sleep_until(now() + 500 * MS);
		*measure = 0;
		gone_after(pid);
	}
	if (nr_cpus() > 1) {
		if (cg_set_rt_cpus("a", other_only, 2, 100000))
			die("set up");
		pid = large("a");
		sleep_until(now() + 500 * MS);
		task = gone_after(pid);
		if (task != -1)
			other = held_up("a", other_only);
	}
	if (child != -1 && task != -1)
		cg_remove("a");
	printf("child gone after %d ms, task of %d MiB after %d ms, lock after %d ms (-1: never, -2: not tried), waited for runtime at most %.2f ms (%.2f)\n",
	       child, MEMORY >> 20, task, other, *gap / 1e6, MAX_GAP / 1e6);
	/* Where virtual CPUs take turns, their clocks say nothing of gaps. */
	return child == -1 || task == -1 || other == -1 || (nr_cpus() == 1 && *gap > MAX_GAP);
}
