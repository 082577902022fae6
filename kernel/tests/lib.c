// SPDX-License-Identifier: GPL-2.0
/* Clocks, cgroups and scheduling parameters for the test programs. */
#include "rtt.h"
#include <sys/syscall.h>
#include <sys/utsname.h>

#define CG "/cg"

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

int64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t cputime(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_until(int64_t t)
{
	struct timespec ts = { t / SEC, t % SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void relax(void)
{
	__builtin_ia32_pause();
}

void burn(int64_t cpu_ns)
{
	int64_t end = cputime() + cpu_ns;

	while (cputime() < end)
		relax();
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "broken: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(3);
}

void skip(const char *why)
{
	printf("skip: %s\n", why);
	exit(2);
}

bool cg_is_v2(void)
{
	return !access(CG "/cgroup.controllers", F_OK);
}

static void cg_path(char *path, const char *group, const char *file)
{
	snprintf(path, 256, CG "/%s/%s", group, file);
}

bool cg_has(const char *file)
{
	char path[256];

	cg_path(path, "", file);
	return !access(path, F_OK);
}

int cg_open(const char *group)
{
	char path[256];

	cg_path(path, group, "");
	return open(path, O_RDONLY | O_DIRECTORY);
}

int cg_write(const char *group, const char *file, const char *fmt, ...)
{
	char path[256], text[512];
	int fd, n, err = 0;
	va_list ap;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	cg_path(path, group, file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return errno;
	if (write(fd, text, n) != n)
		err = errno;
	close(fd);
	return err;
}

int cg_read(const char *group, const char *file, char *buf, int size)
{
	char path[256];
	int fd, n;

	cg_path(path, group, file);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return errno;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return errno;
	buf[n] = 0;
	return 0;
}

bool cg_shows(const char *group, const char *file, const char *expected)
{
	char value[512] = "";

	cg_read(group, file, value, sizeof(value));
	value[strcspn(value, "\n")] = 0;
	if (!strcmp(value, expected))
		return true;
	printf("%s/%s shows '%s' instead of '%s'; ", group, file, value, expected);
	return false;
}

int cg_make(const char *group)
{
	char path[256], parent[256], *slash;
	int err;

	cg_path(path, group, "");
	if (mkdir(path, 0755) && errno != EEXIST)
		return errno;
	if (!cg_is_v2())
		return 0;

	/* v2: the files appear once the parent hands the controller down. */
	snprintf(parent, sizeof(parent), "%s", group);
	slash = strrchr(parent, '/');
	*(slash ? slash : parent) = 0;
	err = cg_write(parent, "cgroup.subtree_control", "+cpu");
	return err;
}

int cg_remove(const char *group)
{
	char path[256];
	int tries;

	cg_path(path, group, "");
	/* A process that was just reaped may still be leaving. */
	for (tries = 0; tries < 1000; tries++) {
		if (!rmdir(path) || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		usleep(1000);
	}
	return errno;
}

int cg_enter(const char *group, pid_t pid)
{
	return cg_write(group, "cgroup.procs", "%d", pid);
}

int cg_set_rt(const char *group, int64_t runtime_us, int64_t period_us)
{
	int err = cg_write(group, "cpu.rt_period_us", "%lld", (long long)period_us);

	return err ?: cg_write(group, "cpu.rt_runtime_us", "%lld", (long long)runtime_us);
}

int cg_set_rt_cpus(const char *group, const int64_t *runtime_us, int n, int64_t period_us)
{
	int i, err = cg_write(group, "cpu.rt_period_us", "%lld", (long long)period_us);

	for (i = 0; !err && i < n; i++)
		err = cg_write(group, "cpu.rt_multi_runtime_us", "%d %lld", i,
			       (long long)runtime_us[i]);
	return err;
}

int set_policy(pid_t pid, int policy, int prio)
{
	struct sched_param sp = { .sched_priority = prio };

	return sched_setscheduler(pid, policy, &sp) ? errno : 0;
}

struct dl_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

int set_deadline(pid_t pid, int64_t runtime, int64_t period)
{
	struct dl_attr attr = {
		.size = sizeof(attr), .policy = 6,
		.runtime = runtime, .deadline = period, .period = period,
	};

	return syscall(SYS_sched_setattr, pid, &attr, 0) ? errno : 0;
}

void set_cpus(pid_t pid, int first, int last)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = first; i <= last; i++)
		CPU_SET(i, &set);
	if (sched_setaffinity(pid, sizeof(set), &set))
		die("sched_setaffinity %d-%d: %s", first, last, strerror(errno));
}

void set_cpu(pid_t pid, int cpu)
{
	if (cpu == ANY_CPU)
		set_cpus(pid, 0, nr_cpus() - 1);
	else
		set_cpus(pid, cpu, cpu);
}

pid_t fork_task(const char *group, int cpu, int prio)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	set_cpu(0, cpu);
	if (cg_enter(group, getpid()) || (prio && set_policy(0, SCHED_FIFO, prio)))
		die("task of %s: %s", group, strerror(errno));
	return 0;
}

void spin(volatile int64_t *used)
{
	for (;;) {
		relax();
		*used = cputime();
	}
}

void pass_byte(int in, int out, bool first, int rounds)
{
	char c = 0;
	int i;

	for (i = 0; i < rounds; i++) {
		if (first && write(out, &c, 1) != 1)
			_exit(1);
		if (read(in, &c, 1) != 1)
			_exit(1);
		if (!first && write(out, &c, 1) != 1)
			_exit(1);
	}
}

bool locks_sleep(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT_RT");
}

static int cpus;

/* Once, at the start: it is in sysfs, where one waits for CPUs that come or go. */
__attribute__((constructor)) static void count_cpus(void)
{
	cpus = sysconf(_SC_NPROCESSORS_CONF);
}

int nr_cpus(void)
{
	return cpus;
}

void cpu_plug(int cpu, bool in)
{
	const char *online = in ? "1" : "0";
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, online, 1) != 1)
		die("%s to %s: %s", online, path, strerror(errno));
	close(fd);
}

void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

unsigned int seed;

unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

int run_program(const struct program *programs, int n, int argc, char **argv)
{
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; argc > 1 && i < n; i++)
		if (!strcmp(argv[1], programs[i].name))
			return programs[i].main(argc - 1, argv + 1);
	die("usage: %s PROGRAM ARGS...", argv[0]);
}
