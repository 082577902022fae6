/* SPDX-License-Identifier: Apache-2.0 */
/* Prints why it cannot report, and goes on. */
#include <errno.h>
#include <nova_rt_jobs.h>
#include <stdio.h>

int main(void)
{
	struct nova_rt_job *job = nova_rt_job_open("unreported", 1, 1);
	int number;

	printf("%d\n", job ? 0 : errno);
	for (number = 0; number < 1000; number++) {
		nova_rt_job_begin(job, 1);
		nova_rt_job_end(job);
	}
	printf("%d jobs done\n", number);
	return 0;
}
