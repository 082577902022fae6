/* SPDX-License-Identifier: Apache-2.0 */
/* Closes all its files, opens another, and misses a deadline; or forks before. */
#include <errno.h>
#include <fcntl.h>
#include <nova_rt_jobs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void miss(struct nova_rt_job *job)
{
	nova_rt_job_begin(job, 1);
	nova_rt_job_end(job);
}

int main(int argc, char **argv)
{
	struct nova_rt_job *job = nova_rt_job_open("careless", 1000000, 1000000);
	int fd, status = 0;

	if (!job || argc < 2)
		return 1;
	if (strcmp(argv[1], "forks") == 0) {
		if (fork() == 0) {
			miss(job);
			nova_rt_job_close(job);
			_exit(0);
		}
		wait(&status);
		return status != 0;
	}
	for (fd = 0; fd < 64; fd++)
		close(fd);
	/* Every number that the library may have had. */
	while (fd-- > 0)
		if (open(argv[1], O_RDWR) < 0)
			return 2;
	errno = EXDEV;
	miss(job);
	return errno != EXDEV;
}
