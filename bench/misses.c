/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what a job costs that meets its deadline, what one costs that misses it, and
 * what two looks at the clock cost, in ns; a line for each round.
 *
 *	misses ROUNDS
 */
#include <nova_rt_jobs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define IN_TIME 200000
#define LATE 5000
#define HOUR 3600000000000u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double jobs(struct nova_rt_job *job, uint64_t release, int count)
{
	uint64_t began = now_ns();
	int number;

	for (number = 0; number < count; number++) {
		nova_rt_job_begin(job, release);
		nova_rt_job_end(job);
	}
	return (double)(now_ns() - began) / count;
}

static double looks(int count)
{
	uint64_t began = now_ns();
	volatile uint64_t response;
	int number;

	for (number = 0; number < count; number++) {
		response = now_ns();
		response = now_ns() - response;
	}
	(void)response;
	return (double)(now_ns() - began) / count;
}

int main(int argc, char **argv)
{
	struct nova_rt_job *job = nova_rt_job_open("bench", HOUR, HOUR);
	int round, rounds = argc > 1 ? atoi(argv[1]) : 1;

	if (!job)
		return 1;
	for (round = 0; round <= rounds; round++) {
		double in_time = jobs(job, 0, IN_TIME), late = jobs(job, 1, LATE);

		if (round) /* the first one warms up */
			printf("%g %g %g\n", in_time, late, looks(IN_TIME));
	}
	return 0;
}
