// SPDX-License-Identifier: Apache-2.0
/*
 * Periodic tasks of a container, under SCHED_FIFO with rate-monotonic priorities: how long
 * does each job take from its release until it has ended?
 *
 *	periodic ROUNDS ROUND_MS GRID_US [C,T ...]
 *
 * Each task, of C us every T us, shortest period first, is a thread, which may run on each
 * CPU that the container has. It waits for SIGUSR1. In every round all are released at once,
 * and then periodically, for so many ms. A round begins at a multiple of GRID_US, the period
 * of the reservation, and a part of it: the rounds' parts are spread evenly. Threads of the
 * lowest priority take whatever the tasks leave of the reservation, which is therefore empty
 * when a job is released as often as it can be.
 *
 * With several CPUs, which take turns where instructions are counted, a job has ended when
 * the kernel has charged C for it, and every thread ends its turns early. With one it has
 * ended when it has executed as many instructions as the CPU does in that time.
 *
 * Without tasks, the threads of the lowest priority are all there is, at once, until SIGTERM.
 *
 * At the end, it prints for each task: C, T, its jobs, those that were late, the longest
 * response time, in us, and the number of the round in which that was.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_TASKS 16
#define US 1000LL
#define MS (1000 * US)
#define SEC (1000 * MS)
/* What hogs use, so that a priority says nothing beyond a container. */
#define HIGHEST 50
#define LOWEST 1

struct task {
	pthread_t thread;
	int64_t c, t;
	long jobs, late, round;
	int64_t longest;
};

static struct task tasks[MAX_TASKS];
static int nr_tasks, nr_cpus;
static long nr_rounds;
static int64_t round_ns, grid, first;
static double block_ns;

static void die(const char *what)
{
	fprintf(stderr, "periodic: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t read_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SEC + time.tv_nsec;
}

static int64_t now(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

static void sleep_until(int64_t ns)
{
	struct timespec time = { ns / SEC, ns % SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL))
		;
}

static void set_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("SCHED_FIFO");
}

/* Instructions that do nothing are nearly free to emulate, where they are counted. */
static void work_blocks(int64_t n)
{
	while (n-- > 0)
		asm volatile(".rept 250\n\tnop\n\t.endr" ::: "memory");
}

/* 10 us at an instruction per ns; then the next virtual CPU has its turn. */
static void work_turn(void)
{
	work_blocks(40);
	__builtin_ia32_pause();
}

/* Find how long a block takes: the shortest of many tries, which nothing interrupted. */
static void calibrate(void)
{
	int64_t begin, took, least = SEC;
	int i;

	for (i = 0; i < 50; i++) {
		begin = now();
		work_blocks(400);
		took = now() - begin;
		if (took < least)
			least = took;
	}
	block_ns = least / 400.0;
}

/* Work that takes so long on a CPU of its own. */
static void work(int64_t ns)
{
	int64_t end;

	if (nr_cpus == 1) {
		work_blocks(ns / block_ns + 0.5);
		return;
	}
	end = read_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	while (read_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		work_turn();
}

/* Long enough apart for what was late in one round to be over before the next. */
static int64_t begin_of(long round)
{
	int64_t apart = (round_ns + SEC / 5) / grid * grid;

	return first + round * apart + round * grid / nr_rounds;
}

static void run_round(struct task *self, long round)
{
	int64_t begin = begin_of(round), release, response;

	for (release = begin; release + self->t <= begin + round_ns; release += self->t) {
		sleep_until(release);
		work(self->c);
		response = now() - release;
		self->jobs++;
		self->late += response > self->t;
		if (response > self->longest) {
			self->longest = response;
			self->round = round;
		}
	}
}

static void *run_task(void *argument)
{
	struct task *self = argument;
	long round;

	/* One priority each, the shorter period the higher. */
	set_fifo(HIGHEST - 1 - (int)(self - tasks));
	for (round = 0; round < nr_rounds; round++)
		run_round(self, round);
	return NULL;
}

static void *run_background(void *argument)
{
	(void)argument;
	set_fifo(LOWEST);
	for (;;)
		work_turn();
	return NULL;
}

static void parse(int argc, char **argv)
{
	char *rest;

	if (argc < 4 || argc > 4 + MAX_TASKS) {
		fputs("usage: periodic ROUNDS ROUND_MS GRID_US [C,T ...]\n", stderr);
		exit(2);
	}
	nr_rounds = atol(argv[1]);
	round_ns = atoll(argv[2]) * MS;
	grid = atoll(argv[3]) * US;
	for (nr_tasks = 0; nr_tasks < argc - 4; nr_tasks++) {
		tasks[nr_tasks].c = strtoll(argv[4 + nr_tasks], &rest, 10) * US;
		tasks[nr_tasks].t = strtoll(rest + 1, NULL, 10) * US;
	}
}

static void count_cpus(void)
{
	cpu_set_t mine;

	sched_getaffinity(0, sizeof(mine), &mine);
	nr_cpus = CPU_COUNT(&mine);
}

static void start_background(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < nr_cpus; i++)
		if (pthread_create(&thread, NULL, run_background, NULL))
			die("thread");
}

int main(int argc, char **argv)
{
	sigset_t awaited;
	int i, signal;

	sigemptyset(&awaited);
	parse(argc, argv);
	sigaddset(&awaited, nr_tasks ? SIGUSR1 : SIGTERM);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	count_cpus();
	if (!nr_tasks) {
		start_background();
		sigwait(&awaited, &signal);
		return 0;
	}
	sigwait(&awaited, &signal);
	set_fifo(HIGHEST);
	calibrate();
	first = (now() + SEC / 5) / grid * grid;
	for (i = 0; i < nr_tasks; i++)
		if (pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i]))
			die("thread");
	start_background();
	for (i = 0; i < nr_tasks; i++)
		pthread_join(tasks[i].thread, NULL);
	for (i = 0; i < nr_tasks; i++)
		printf("%lld %lld %ld %ld %lld %ld\n", (long long)(tasks[i].c / US),
		       (long long)(tasks[i].t / US), tasks[i].jobs, tasks[i].late,
		       (long long)(tasks[i].longest / US), tasks[i].round);
	return 0;
}
