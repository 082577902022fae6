/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends jobs as fast as it can, all of which miss their deadlines.
 *
 *	hammer NAME alone|threads|signals COUNT
 *
 * Two threads, or a signal handler besides, do what the header forbids.
 */
#include <nova_rt_jobs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static struct nova_rt_job *job;
static long count;

static void one(int unused)
{
	(void)unused;
	/* Released long ago, so that it is late. */
	nova_rt_job_begin(job, 1);
	nova_rt_job_end(job);
}

static void *all(void *unused)
{
	long number;

	for (number = 0; number < count; number++)
		one(0);
	return unused;
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } };
	pthread_t other;

	if (argc != 4)
		return 2;
	count = atol(argv[3]);
	job = nova_rt_job_open(argv[1], 1000000, 1);
	if (!job)
		return 1;
	puts("started");
	fflush(stdout);
	if (strcmp(argv[2], "signals") == 0) {
		signal(SIGALRM, one);
		setitimer(ITIMER_REAL, &often, NULL);
	}
	if (strcmp(argv[2], "threads") == 0)
		pthread_create(&other, NULL, all, NULL);
	all(NULL);
	if (strcmp(argv[2], "threads") == 0)
		pthread_join(other, NULL);
	return 0;
}
