/* SPDX-License-Identifier: Apache-2.0 */
#include <nova_rt_jobs.h>
#include <time.h>

#define PERIOD_NS 8333333  /* 120 Hz */
#define DEADLINE_NS 7600000

static void work(void)
{
}

int main(void)
{
	struct nova_rt_job *job = nova_rt_job_open("arm", PERIOD_NS, DEADLINE_NS);
	struct timespec release;
	int number;

	clock_gettime(CLOCK_MONOTONIC, &release);
	for (number = 0; number < 120; number++) {
		release.tv_nsec += PERIOD_NS;
		if (release.tv_nsec >= 1000000000) {
			release.tv_nsec -= 1000000000;
			release.tv_sec++;
		}
		/* Said before waiting, so that the host hears if nobody wakes this thread. */
		nova_rt_job_begin(job, (uint64_t)release.tv_sec * 1000000000 + release.tv_nsec);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &release, NULL);
		work();
		nova_rt_job_end(job);
	}
	nova_rt_job_close(job);
	return 0;
}
