// SPDX-License-Identifier: Apache-2.0
/*
 * A periodic activity of a container under SCHED_FIFO, which tells of its misses as
 * nova-rt-run does, with the same guard, and logs each of its jobs.
 *
 *	activity NAME PERIOD_US DEADLINE_US SEED WORK_US*JOBS...
 *
 * So many jobs of each length follow each other, again and again; between two lengths is a
 * random pause of less than a period, and another one before the first. A job takes its length
 * of CPU time. Releases that pass while another job runs are skipped. The log,
 * /run/nova-rt/NAME.log, is pairs of release and end, in ns of CLOCK_MONOTONIC; one without
 * end was skipped.
 *
 *	activity stress
 *
 * never sleeps, and writes all over 16 MiB of memory, as a normal task.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "job.h"
#include "nova_rt_jobs.h"

#define MOST (1 << 16)
#define PRIORITY 10
#define TURN 10000 /* instructions */
#define STRESSED (16 << 20)
#define CACHE_LINE 64
#define US 1000L

struct logged {
	int64_t release_ns;
	int64_t end_ns;
};

static int64_t period_ns;
static uint64_t seed;
static struct logged *next_entry, *last_entry;

static int64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void sleep_until(int64_t time_ns)
{
	const struct timespec time = { time_ns / 1000000000L, time_ns % 1000000000L };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL))
		;
}

/* The pause ends the turn of an emulated CPU, so that the others go on, too. */
static void work(int64_t ns)
{
	int64_t end = read_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	int i;

	while (read_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
		for (i = 0; i < TURN; i++)
			asm volatile("nop" ::: "memory");
		__builtin_ia32_pause();
	}
}

/* Less than a period; xorshift64. */
static int64_t random_pause(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int64_t)(seed % (uint64_t)period_ns);
}

static void open_log(const char *name)
{
	char path[128];
	struct logged *log;
	int fd;

	snprintf(path, sizeof(path), "/run/nova-rt/%s.log", name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || ftruncate(fd, MOST * sizeof(*log)) != 0)
		exit(3);
	log = mmap(NULL, MOST * sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		   fd, 0);
	if (log == MAP_FAILED)
		exit(3);
	close(fd);
	next_entry = log;
	last_entry = log + MOST - 1;
}

/* Never ends: a normal task that writes all over its memory. */
static void stress(void)
{
	static volatile char memory[STRESSED];
	size_t place = 0;
	int i;

	for (;;) {
		for (i = 0; i < 100; i++, place = (place + CACHE_LINE) % STRESSED)
			memory[place]++;
		__builtin_ia32_pause();
	}
}

/* The record is created by a guard, which is not on the budget of the reservation. */
static struct nova_rt_job *open_job(const char *name, int64_t deadline_ns)
{
	const struct options options = { .name = name, .period_ns = (uint64_t)period_ns,
					 .deadline_ns = (uint64_t)deadline_ns };
	struct reported reported = start_guard(&options);
	struct nova_rt_job *job = reported.error ? NULL : job_attach(reported.path);

	if (!job || !job_claim(job))
		exit(4);
	return job;
}

/* Note a job, and those that were skipped for it; return the next release. */
static int64_t note(int64_t release, int64_t end)
{
	*next_entry++ = (struct logged){ release, end };
	while ((release += period_ns) < end && next_entry < last_entry)
		*next_entry++ = (struct logged){ release, 0 };
	return release;
}

static int64_t run_jobs(struct nova_rt_job *job, int64_t release, long work_us, long jobs)
{
	while (jobs-- > 0 && next_entry < last_entry) {
		nova_rt_job_begin(job, (uint64_t)release);
		sleep_until(release);
		work(work_us * US);
		nova_rt_job_end(job);
		release = note(release, read_ns(CLOCK_MONOTONIC));
	}
	return release;
}

static void run(struct nova_rt_job *job, char **lengths)
{
	int64_t release = read_ns(CLOCK_MONOTONIC) + period_ns;
	long work_us, jobs;
	int i;

	for (i = 0; next_entry < last_entry; i = lengths[i + 1] ? i + 1 : 0) {
		if (sscanf(lengths[i], "%ld*%ld", &work_us, &jobs) != 2)
			exit(2);
		release = run_jobs(job, release + random_pause(), work_us, jobs);
	}
}

int main(int argc, char **argv)
{
	const struct sched_param param = { .sched_priority = PRIORITY };
	struct nova_rt_job *job;

	if (argc == 2 && strcmp(argv[1], "stress") == 0)
		stress();
	if (argc < 6)
		return 2;
	period_ns = atol(argv[2]) * US;
	seed = 88172645463325252UL + 7919UL * (uint64_t)atol(argv[4]);
	job = open_job(argv[1], atol(argv[3]) * US);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return 5;
	open_log(argv[1]);
	run(job, argv + 5);
	return 0;
}
