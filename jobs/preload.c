/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nova-rt-run preloads: a job of an unmodified program lasts from one wait
 * for the next period to the following one. The first thread that waits so is
 * the one that is reported.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "job.h"
#include "run.h"

#define EXPORT __attribute__((visibility("default")))
#define SCHED_DEADLINE 6
#define RESET_ON_FORK 0x40000000
#define TIMERS 1024

static struct {
	int (*clock_nanosleep)(clockid_t, int, const struct timespec *,
			       struct timespec *);
	int (*sched_yield)(void);
	int (*timerfd_create)(int, int);
	ssize_t (*read)(int, void *, size_t);
} next;

enum role { UNKNOWN, REPORTS, SILENT };

static __thread enum role role;
static struct nova_rt_job *_Atomic job;
static atomic_flag claimed = ATOMIC_FLAG_INIT;
static atomic_uint early_overruns;
static char path[PATH_MAX];
/* Files that are, or were once, timers that a read waits for. */
static atomic_bool timers[TIMERS];

static uint64_t to_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* SCHED_DEADLINE's signal: a job has used up its runtime. */
static void on_overrun(int number)
{
	struct nova_rt_job *present = atomic_load(&job);

	(void)number;
	if (present)
		nova_rt_job_overrun(present);
	else
		atomic_fetch_add(&early_overruns, 1);
}

static void forget(void)
{
	role = UNKNOWN;
	atomic_store(&job, NULL);
	atomic_flag_clear(&claimed);
}

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void start(void)
{
	const char *given = getenv(RUN_RECORD);
	struct sigaction action = { .sa_handler = on_overrun, .sa_flags = SA_RESTART };

	*(void **)&next.clock_nanosleep = real("clock_nanosleep");
	*(void **)&next.sched_yield = real("sched_yield");
	*(void **)&next.timerfd_create = real("timerfd_create");
	*(void **)&next.read = real("read");
	pthread_atfork(NULL, NULL, forget);
	if (given && strlen(given) < sizeof(path))
		strcpy(path, given);
	if (getenv(RUN_OVERRUNS))
		sigaction(SIGXCPU, &action, NULL);
}

/* What has begun does not hang when the program ends. */
__attribute__((destructor)) static void end(void)
{
	nova_rt_job_close(atomic_exchange(&job, NULL));
}

/* Only now, so that a program may close all its files and become a daemon before. */
static void claim(void)
{
	int error = errno;
	struct nova_rt_job *own;
	unsigned int overruns;

	role = SILENT;
	if (!*path || atomic_flag_test_and_set(&claimed))
		return;
	own = job_attach(path);
	if (own && job_claim(own)) {
		role = REPORTS;
		atomic_store(&job, own);
		overruns = atomic_exchange(&early_overruns, 0);
		while (overruns--)
			nova_rt_job_overrun(own);
	} else {
		nova_rt_job_close(own);
	}
	errno = error;
}

static bool reports(void)
{
	if (role == UNKNOWN)
		claim();
	return role == REPORTS;
}

/* A point in time of any clock as one of CLOCK_MONOTONIC, not a later one. */
static uint64_t monotonic(clockid_t clock, const struct timespec *time)
{
	uint64_t earlier = monotonic_ns();
	struct timespec now;

	if (clock == CLOCK_MONOTONIC || clock_gettime(clock, &now) != 0)
		return to_ns(time);
	return earlier + to_ns(time) - to_ns(&now);
}

/* The next job is announced before the wait: its thread may be woken too late. */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
			   struct timespec *remain)
{
	if ((flags & TIMER_ABSTIME) && request && reports()) {
		nova_rt_job_end(job);
		nova_rt_job_begin(job, monotonic(clock, request));
	}
	return next.clock_nanosleep(clock, flags, request, remain);
}

/* Others yield to each other, not until their next period. musl's function fails. */
static bool has_periods(void)
{
	return (syscall(SYS_sched_getscheduler, 0) & ~RESET_ON_FORK) == SCHED_DEADLINE;
}

EXPORT int sched_yield(void)
{
	int result;

	if (!has_periods() || !reports())
		return next.sched_yield();
	nova_rt_job_end(job);
	result = next.sched_yield();
	nova_rt_job_begin(job, 0);
	return result;
}

EXPORT int timerfd_create(int clock, int flags)
{
	int fd = next.timerfd_create(clock, flags);

	if (fd >= 0 && fd < TIMERS)
		atomic_store(&timers[fd], !(flags & TFD_NONBLOCK));
	return fd;
}

static bool is_periodic_timer(int fd, struct itimerspec *setting)
{
	return timerfd_gettime(fd, setting) == 0 && to_ns(&setting->it_interval) != 0;
}

/* When the next job is released, or, if that is past, when it was; not later. */
static bool release_of(int fd, uint64_t *release)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };
	uint64_t earlier = monotonic_ns();
	struct itimerspec setting;

	if (!is_periodic_timer(fd, &setting))
		return false;
	*release = earlier + to_ns(&setting.it_value);
	if (poll(&file, 1, 0) == 1)
		*release -= to_ns(&setting.it_interval);
	return true;
}

EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
	int error = errno;
	uint64_t release;

	if (fd >= 0 && fd < TIMERS && atomic_load(&timers[fd]) &&
	    release_of(fd, &release) && reports()) {
		nova_rt_job_end(job);
		nova_rt_job_begin(job, release);
	}
	errno = error;
	return next.read(fd, buffer, size);
}
