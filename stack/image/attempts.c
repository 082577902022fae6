// SPDX-License-Identifier: Apache-2.0
/*
 * What a container's root may try to take more than is reserved for the
 * container, or to harm its neighbours; and what it must be able to do.
 *
 *	attempts PRIORITY
 *
 * PRIORITY is the highest that it was granted. Each line that is printed is
 * the name of an attempt and the errno of its failure, 0 if it succeeded.
 * Whether one that succeeded did any harm is for the host to say.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup"
#define MOUNTED "/tmp/groups"
#define UNUSED __attribute__((unused))

static int limit;

/* Returns 0 or the errno, as the others do. */
static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

static const char *wanted_name, *wanted_text;
static int best;

static int put_if_named(const char *path, const struct stat *status, int kind,
			struct FTW *where)
{
	int error;

	(void)status;
	if (kind != FTW_F || strcmp(path + where->base, wanted_name))
		return 0;
	error = put(path, wanted_text);
	if (!error || best == ENOENT)
		best = error;
	return 0;
}

/* Write to all control files of this name that are in sight, here and where mounted. */
static int put_everywhere(const char *name, const char *text)
{
	wanted_name = name;
	wanted_text = text;
	best = ENOENT;
	nftw(CGROUPS, put_if_named, 16, FTW_PHYS);
	if (best)
		nftw(MOUNTED, put_if_named, 16, FTW_PHYS);
	return best;
}

static int mount_new(const char *type, const char *options)
{
	mkdir("/tmp/mounted", 0755);
	return mount(type, "/tmp/mounted", type, 0, options) ? errno : 0;
}

static int mount_own_groups(const char *type, const char *options)
{
	mkdir(MOUNTED, 0755);
	if (unshare(CLONE_NEWCGROUP))
		return errno;
	return mount(type, MOUNTED, type, 0, options) ? errno : 0;
}

static int remount_writable(const char *path, const char *how UNUSED)
{
	return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL) ? errno : 0;
}

/* A group below our own with more than our own. */
static int larger_subgroup(const char *name, const char *text)
{
	int error;

	if (mkdir(MOUNTED "/attempt", 0755))
		return errno;
	error = put(MOUNTED "/cgroup.subtree_control", "+cpu");
	if (!error)
		error = put(name, text);
	rmdir(MOUNTED "/attempt");
	return error;
}

/* A child in another group. */
static int clone_into(const char *group, const char *how UNUSED)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	int fd = open(group, O_RDONLY | O_DIRECTORY);
	long pid;

	if (fd < 0)
		return errno;
	args.cgroup = fd;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		_exit(0);
	close(fd);
	if (pid < 0)
		return errno;
	waitpid(pid, NULL, 0);
	return 0;
}

static int set_policy(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	struct sched_param none = { 0 };

	if (sched_setscheduler(0, policy, &param))
		return errno;
	sched_setscheduler(0, SCHED_OTHER, &none);
	return 0;
}

/* Under a priority so far above the limit. */
static int choose(const char *policy, const char *above)
{
	return set_policy(strcmp(policy, "rr") ? SCHED_FIFO : SCHED_RR, limit + atoi(above));
}

static int deadline(const char *what UNUSED, const char *how UNUSED)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = { sizeof(attributes), 6, 0, 0, 0, 9000000, 10000000, 10000000 };

	return syscall(SYS_sched_setattr, 0, &attributes, 0) ? errno : 0;
}

static int raise_limit(const char *what UNUSED, const char *how UNUSED)
{
	struct rlimit all = { 99, 99 };

	return setrlimit(RLIMIT_RTPRIO, &all) ? errno : 0;
}

static int nice_all(const char *what UNUSED, const char *how UNUSED)
{
	return setpriority(PRIO_PROCESS, 0, -20) ? errno : 0;
}

/* The kernel takes a mask of all, and leaves those of the cpuset. */
static int all_pcpus(const char *what UNUSED, const char *how UNUSED)
{
	cpu_set_t before, all;

	sched_getaffinity(0, sizeof(before), &before);
	memset(&all, 0xff, sizeof(all));
	if (sched_setaffinity(0, sizeof(all), &all))
		return errno;
	sched_getaffinity(0, sizeof(all), &all);
	return CPU_COUNT(&all) > CPU_COUNT(&before) ? 0 : EINVAL;
}

static int memory_device(const char *path, const char *how UNUSED)
{
	if (mknod(path, S_IFCHR | 0600, makedev(1, 1)))
		return errno;
	return open(path, O_RDWR) < 0 ? errno : 0;
}

/* With a program of its own, it could even schedule (sched_ext). */
static int kernel_program(const char *what UNUSED, const char *how UNUSED)
{
	char attributes[128] = { 0 };

	return syscall(SYS_bpf, 5, attributes, sizeof(attributes)) < 0 ? errno : 0;
}

#define LARGER "19000 19000 19000 19000"
#define SYSCTL "/proc/sys/kernel/sched_rt_runtime_us"

static const struct {
	const char *name;
	int (*try)(const char *what, const char *how);
	const char *what, *how;
} ATTEMPTS[] = {
	{ "fifo", choose, "fifo", "0" },
	{ "round-robin", choose, "rr", "0" },
	{ "above-limit", choose, "fifo", "1" },
	{ "raise-limit", raise_limit, NULL, NULL },
	{ "deadline", deadline, NULL, NULL },
	{ "nice", nice_all, NULL, NULL },
	{ "remount-writable", remount_writable, CGROUPS, NULL },
	{ "mount-version-1", mount_new, "cgroup", "cpu" },
	{ "mount-groups", mount_own_groups, "cgroup2", NULL },
	{ "runtimes", put_everywhere, "cpu.rt_multi_runtime_us", LARGER },
	{ "runtime", put_everywhere, "cpu.rt_runtime_us", "19000" },
	{ "no-runtime", put_everywhere, "cpu.rt_runtime_us", "0" },
	{ "period", put_everywhere, "cpu.rt_period_us", "10000" },
	{ "maximum", put_everywhere, "cpu.rt.max", "19000 20000" },
	{ "weight", put_everywhere, "cpu.weight", "10000" },
	{ "pcpus", put_everywhere, "cpuset.cpus", "0-3" },
	{ "all-pcpus", all_pcpus, NULL, NULL },
	{ "freeze", put_everywhere, "cgroup.freeze", "1" },
	{ "leave", put_everywhere, "cgroup.procs", "0" },
	{ "clone-above", clone_into, CGROUPS, NULL },
	{ "larger-subgroup", larger_subgroup, MOUNTED "/attempt/cpu.rt_multi_runtime_us",
	  LARGER },
	{ "admission-off", put, SYSCTL, "-1" },
	{ "less-for-all", put, SYSCTL, "1000" },
	{ "debugfs", mount_new, "debugfs", NULL },
	{ "interrupts", put, "/proc/irq/default_smp_affinity", "1" },
	{ "kernel-work", put, "/sys/devices/virtual/workqueue/cpumask", "1" },
	{ "pcpu-offline", put, "/sys/devices/system/cpu/cpu1/online", "0" },
	{ "memory-device", memory_device, "/tmp/memory", NULL },
	{ "first-program", put, "/.nova-rt-init", "" },
	{ "kernel-program", kernel_program, NULL, NULL },
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: attempts PRIORITY\n", stderr);
		return 2;
	}
	limit = atoi(argv[1]);
	for (size_t i = 0; i < sizeof(ATTEMPTS) / sizeof(*ATTEMPTS); i++) {
		printf("%s %d\n", ATTEMPTS[i].name,
		       ATTEMPTS[i].try(ATTEMPTS[i].what, ATTEMPTS[i].how));
		fflush(stdout);
	}
	return 0;
}
