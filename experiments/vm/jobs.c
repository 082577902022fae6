// SPDX-License-Identifier: GPL-2.0
/*
 * The jobs of periodic tasks, and how long each took.
 *
 * A file of jobs has three numbers of 64 bits for each that began: its task, its
 * release and its response time (ns). A job that did not end in time has a
 * response time of -1.
 */
#include "exp.h"

#define MAX_JOBS 100000

struct job {
	int64_t task, release, response;
};

/* Shared: the jobs of each task. */
static struct job (*jobs)[MAX_JOBS];
static int64_t *nr_jobs;
static int nr_tasks;

void jobs_make(int nr)
{
	nr_tasks = nr;
	jobs = shared(nr * sizeof(*jobs));
	nr_jobs = shared(nr * sizeof(*nr_jobs));
}

void jobs_run(int i, void (*run)(int64_t c), const struct periodic *task, int64_t begin,
	      int64_t end)
{
	int64_t release;
	struct job *job;

	for (release = begin; release + task->t <= end; release += task->t) {
		job = &jobs[i][nr_jobs[i]];
		*job = (struct job){ i, release - begin, -1 };
		nr_jobs[i]++;
		sleep_until(release);
		run(task->c);
		job->response = now() - release;
	}
	_exit(0);
}

void jobs_write(const char *path)
{
	FILE *file = fopen(path, "w");
	int i;

	if (!file)
		die("%s: %s", path, strerror(errno));
	for (i = 0; i < nr_tasks; i++)
		fwrite(jobs[i], sizeof(**jobs), nr_jobs[i], file);
	if (fclose(file))
		die("%s: %s", path, strerror(errno));
}
