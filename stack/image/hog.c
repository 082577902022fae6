// SPDX-License-Identifier: Apache-2.0
/*
 * Burn CPU: one thread on each CPU that the process may use, pinned to it,
 * under the policy asked for, until the time is over or SIGTERM comes; then
 * print, for each thread, its CPU, the CPU time it got and the time that
 * passed, in microseconds.
 *
 *	hog [other|fifo|rr [PRIORITY [SECONDS]]]
 *
 * CPU time is the thread's own CLOCK_THREAD_CPUTIME_ID, which the kernel
 * brings up to date when it is read, also for throttled threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct worker {
	pthread_t thread;
	int cpu;
	long long used_us;
	long long passed_us;
};

/* So often the loop turns between two pauses. */
#define TURN 5000

static volatile sig_atomic_t done;
static int policy = SCHED_OTHER;
static int priority;

static void stop(int signal)
{
	(void)signal;
	done = 1;
}

static long long read_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* The pause ends the turn of an emulated x86 CPU, so that the others go on, too. */
static void turn(void)
{
	int i;

	for (i = 0; i < TURN; i++)
		asm volatile("nop" ::: "memory");
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static void *burn(void *argument)
{
	struct worker *self = argument;
	struct sched_param param = { .sched_priority = priority };
	cpu_set_t only;
	long long used, passed;

	CPU_ZERO(&only);
	CPU_SET(self->cpu, &only);
	if (sched_setaffinity(0, sizeof(only), &only) ||
	    sched_setscheduler(0, policy, &param)) {
		fprintf(stderr, "hog: CPU %d: %s%s\n", self->cpu,
			strerror(errno), errno == EPERM ?
			": the group has no real-time runtime" : "");
		exit(1);
	}
	used = read_us(CLOCK_THREAD_CPUTIME_ID);
	passed = read_us(CLOCK_MONOTONIC);
	while (!done)
		turn();
	self->used_us = read_us(CLOCK_THREAD_CPUTIME_ID) - used;
	self->passed_us = read_us(CLOCK_MONOTONIC) - passed;
	return NULL;
}

static int usage(void)
{
	fputs("usage: hog [other|fifo|rr [PRIORITY [SECONDS]]]\n", stderr);
	return 2;
}

static int parse(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "fifo"))
		policy = SCHED_FIFO;
	else if (argc > 1 && !strcmp(argv[1], "rr"))
		policy = SCHED_RR;
	else if (argc > 1 && strcmp(argv[1], "other"))
		return -1;
	if (argc > 2)
		priority = atoi(argv[2]);
	else if (policy != SCHED_OTHER)
		priority = 1;
	if (argc > 3)
		alarm(atoi(argv[3]));
	return 0;
}

int main(int argc, char **argv)
{
	static struct worker workers[CPU_SETSIZE];
	cpu_set_t mine;
	int count = 0;

	signal(SIGTERM, stop);
	signal(SIGALRM, stop);
	if (parse(argc, argv))
		return usage();
	sched_getaffinity(0, sizeof(mine), &mine);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &mine))
			workers[count++].cpu = cpu;
	for (int i = 0; i < count; i++)
		pthread_create(&workers[i].thread, NULL, burn, &workers[i]);
	for (int i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("%d %lld %lld\n", workers[i].cpu, workers[i].used_us,
		       workers[i].passed_us);
	}
	return 0;
}
