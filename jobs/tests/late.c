/* SPDX-License-Identifier: Apache-2.0 */
/* Misses every deadline for some seconds, the argument, and then meets them all. */
#include <nova_rt_jobs.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000UL
#define PERIOD_MS 20

static void sleep_ms(long ms)
{
	const struct timespec time = { .tv_nsec = ms * (long)MS };

	nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
	struct nova_rt_job *job = nova_rt_job_open("late", PERIOD_MS * MS, 5 * MS);
	const time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 0);

	if (!job)
		return 1;
	for (;;) {
		nova_rt_job_begin(job, 0);
		if (time(NULL) < end)
			sleep_ms(10);
		nova_rt_job_end(job);
		sleep_ms(10);
	}
}
