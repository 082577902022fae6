/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard is no child of the program, and the program keeps the process that
 * nova-rt-run was: signals, exit status and job control need nobody between.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "guard.h"
#include "job.h"

/* As often at most, however short the period. */
#define PAUSE_NS 1000000u

/*
 * Not on the reservation's budget: when that is exhausted, the guard must run.
 * It is awake for microseconds.
 */
static void leave_real_time(void)
{
	const struct sched_param normal = { .sched_priority = 0 };

	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &normal); /* musl's fails */
	setpriority(PRIO_PROCESS, 0, -20);
	prctl(PR_SET_TIMERSLACK, 1UL);
}

/* Neither its terminal nor its pipes, which would stay open. */
static void leave_files(void)
{
	int fd, null = open("/dev/null", O_RDWR);

	setsid();
	for (fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	(void)!chdir("/");
}

static bool ended_until(int program, uint64_t end)
{
	struct pollfd file = { .fd = program, .events = POLLIN };
	uint64_t now = monotonic_ns(), wait = end > now + PAUSE_NS ? end - now : PAUSE_NS;
	const struct timespec timeout = { (time_t)(wait / 1000000000u),
					  (long)(wait % 1000000000u) };

	return ppoll(&file, 1, &timeout, NULL) > 0;
}

static struct nova_rt_job *open_job(const struct options *options,
				    struct reported *reported)
{
	struct nova_rt_job *job = nova_rt_job_open(options->name, options->period_ns,
						   options->deadline_ns);

	if (job) {
		job_offer(job);
		strcpy(reported->path, job_path(job));
	} else {
		reported->error = errno;
	}
	return job;
}

static void guard(const struct options *options, int program, int answer)
{
	struct reported reported = { 0 };
	struct nova_rt_job *job = open_job(options, &reported);

	if (write(answer, &reported, sizeof(reported)) != sizeof(reported) || !job)
		_exit(1);
	close(answer);
	leave_files();
	leave_real_time();
	do
		job_bury(job);
	while (!ended_until(program, nova_rt_job_check(job)));
	nova_rt_job_close(job);
	_exit(0);
}

struct reported start_guard(const struct options *options)
{
	struct reported reported = { .error = ENOSYS };
	int answer[2], program = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t child;

	if (program < 0 || fcntl(program, F_SETFD, FD_CLOEXEC) != 0 ||
	    pipe2(answer, O_CLOEXEC) != 0) {
		reported.error = errno;
		return reported;
	}
	child = fork();
	if (child == 0) {
		/* Its parent ends at once, so that it becomes init's. */
		if (fork() == 0)
			guard(options, program, answer[1]);
		_exit(0);
	}
	close(answer[1]);
	close(program);
	if (child < 0)
		reported.error = errno;
	else
		waitpid(child, NULL, 0);
	if (read(answer[0], &reported, sizeof(reported)) != sizeof(reported))
		reported.error = reported.error ? reported.error : EIO;
	close(answer[0]);
	return reported;
}
