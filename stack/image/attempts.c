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

/* Write to all files of this name that are in sight, here and where mounted. */
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

static int runtimes(void)
{
	return put_everywhere("cpu.rt_multi_runtime_us", "19000 19000 19000 19000");
}

static int runtime(void)
{
	return put_everywhere("cpu.rt_runtime_us", "19000");
}

static int no_runtime(void)
{
	return put_everywhere("cpu.rt_runtime_us", "0");
}

static int period(void)
{
	return put_everywhere("cpu.rt_period_us", "10000");
}

static int maximum(void)
{
	return put_everywhere("cpu.rt.max", "19000 20000");
}

static int weight(void)
{
	return put_everywhere("cpu.weight", "10000");
}

static int pcpus(void)
{
	return put_everywhere("cpuset.cpus", "0-3");
}

static int leave(void)
{
	return put_everywhere("cgroup.procs", "0");
}

static int freeze(void)
{
	return put_everywhere("cgroup.freeze", "1");
}

static int mount_groups(void)
{
	mkdir(MOUNTED, 0755);
	if (unshare(CLONE_NEWCGROUP))
		return errno;
	return mount("cgroup2", MOUNTED, "cgroup2", 0, NULL) ? errno : 0;
}

static int mount_version_1(void)
{
	mkdir("/tmp/cpu", 0755);
	return mount("cgroup", "/tmp/cpu", "cgroup", 0, "cpu") ? errno : 0;
}

static int remount_writable(void)
{
	return mount(NULL, CGROUPS, NULL, MS_REMOUNT | MS_BIND, NULL) ? errno : 0;
}

/* A group below our own with more than our own. */
static int larger_subgroup(void)
{
	int error;

	if (mkdir(MOUNTED "/attempt", 0755))
		return errno;
	error = put(MOUNTED "/cgroup.subtree_control", "+cpu");
	if (!error)
		error = put(MOUNTED "/attempt/cpu.rt_multi_runtime_us",
			    "19000 19000 19000 19000");
	rmdir(MOUNTED "/attempt");
	return error;
}

/* A child in the root group. */
static int clone_above(void)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	int fd = open(CGROUPS, O_RDONLY | O_DIRECTORY);
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

static int above_limit(void)
{
	return set_policy(SCHED_FIFO, limit + 1);
}

static int deadline(void)
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

static int raise_limit(void)
{
	struct rlimit all = { 99, 99 };

	return setrlimit(RLIMIT_RTPRIO, &all) ? errno : 0;
}

static int nice_all(void)
{
	return setpriority(PRIO_PROCESS, 0, -20) ? errno : 0;
}

/* The kernel takes a mask of all, and leaves those of the cpuset. */
static int all_pcpus(void)
{
	cpu_set_t before, all;

	sched_getaffinity(0, sizeof(before), &before);
	memset(&all, 0xff, sizeof(all));
	if (sched_setaffinity(0, sizeof(all), &all))
		return errno;
	sched_getaffinity(0, sizeof(all), &all);
	return CPU_COUNT(&all) > CPU_COUNT(&before) ? 0 : EINVAL;
}

static int admission_off(void)
{
	return put("/proc/sys/kernel/sched_rt_runtime_us", "-1");
}

static int less_for_all(void)
{
	return put("/proc/sys/kernel/sched_rt_runtime_us", "1000");
}

static int debugfs(void)
{
	mkdir("/tmp/debug", 0755);
	return mount("debugfs", "/tmp/debug", "debugfs", 0, NULL) ? errno : 0;
}

static int interrupts(void)
{
	return put("/proc/irq/default_smp_affinity", "1");
}

static int kernel_work(void)
{
	return put("/sys/devices/virtual/workqueue/cpumask", "1");
}

static int pcpu_offline(void)
{
	return put("/sys/devices/system/cpu/cpu1/online", "0");
}

static int memory_device(void)
{
	if (mknod("/tmp/memory", S_IFCHR | 0600, makedev(1, 1)))
		return errno;
	return open("/tmp/memory", O_RDWR) < 0 ? errno : 0;
}

static int first_program(void)
{
	return put("/.nova-rt-init", "");
}

/* With a program of its own, it could even schedule (sched_ext). */
static int kernel_program(void)
{
	char attributes[128] = { 0 };

	return syscall(SYS_bpf, 5, attributes, sizeof(attributes)) < 0 ? errno : 0;
}

static int fifo(void)
{
	return set_policy(SCHED_FIFO, limit);
}

static int round_robin(void)
{
	return set_policy(SCHED_RR, limit);
}

static const struct {
	const char *name;
	int (*try)(void);
} ATTEMPTS[] = {
	{ "fifo", fifo },
	{ "round-robin", round_robin },
	{ "above-limit", above_limit },
	{ "raise-limit", raise_limit },
	{ "deadline", deadline },
	{ "nice", nice_all },
	{ "remount-writable", remount_writable },
	{ "mount-version-1", mount_version_1 },
	{ "mount-groups", mount_groups },
	{ "runtimes", runtimes },
	{ "runtime", runtime },
	{ "no-runtime", no_runtime },
	{ "period", period },
	{ "maximum", maximum },
	{ "weight", weight },
	{ "pcpus", pcpus },
	{ "all-pcpus", all_pcpus },
	{ "freeze", freeze },
	{ "leave", leave },
	{ "clone-above", clone_above },
	{ "larger-subgroup", larger_subgroup },
	{ "admission-off", admission_off },
	{ "less-for-all", less_for_all },
	{ "debugfs", debugfs },
	{ "interrupts", interrupts },
	{ "kernel-work", kernel_work },
	{ "pcpu-offline", pcpu_offline },
	{ "memory-device", memory_device },
	{ "first-program", first_program },
	{ "kernel-program", kernel_program },
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: attempts PRIORITY\n", stderr);
		return 2;
	}
	limit = atoi(argv[1]);
	for (size_t i = 0; i < sizeof(ATTEMPTS) / sizeof(*ATTEMPTS); i++) {
		printf("%s %d\n", ATTEMPTS[i].name, ATTEMPTS[i].try());
		fflush(stdout);
	}
	return 0;
}
