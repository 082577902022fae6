/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nova_rt_jobs - tells the host when a periodic activity misses its deadline
 *
 *	struct nova_rt_job *job = nova_rt_job_open("control", period, deadline);
 *
 *	for (;;) {
 *		wait_for(release);
 *		nova_rt_job_begin(job, release);
 *		work();
 *		nova_rt_job_end(job);
 *	}
 *
 * Times are nanoseconds, points in time those of CLOCK_MONOTONIC. A job that
 * meets its deadline costs no system call. No function waits, fails or changes
 * errno because of the report, and all take NULL for a job that is not
 * reported. All but open and close may be called in a signal handler.
 *
 * A job has one thread at a time. In the child of a fork() it is not reported
 * any more: the child opens one of its own.
 */
#ifndef NOVA_RT_JOBS_H
#define NOVA_RT_JOBS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct nova_rt_job;

/*
 * Begin to report an activity. The name has up to 59 letters, digits and any of
 * "-_."; where another process reports one of this name, ".1" is appended, or
 * ".2", up to ".15". The counts of an earlier process continue.
 *
 * Returns NULL, with errno, if it cannot be reported: EINVAL for a name or times
 * that are not valid (0 < deadline), ENOTSUP if the folder is not on a tmpfs,
 * EBUSY if all names are taken, or the error of open(2), mmap(2) or write(2).
 */
struct nova_rt_job *nova_rt_job_open(const char *name, uint64_t period_ns,
				     uint64_t deadline_ns);

/*
 * A job begins. Its response time counts from its release: 0 means now. Call
 * this before waiting for a release that is known, and the host hears also of
 * a thread that is not woken in time. A job that has not ended ends now.
 */
void nova_rt_job_begin(struct nova_rt_job *job, uint64_t released_ns);

/* The job has ended. */
void nova_rt_job_end(struct nova_rt_job *job);

/*
 * Report the present job if it has not ended at its deadline. Returns when to
 * call this again, so that none is reported late; nova-rt-run does so. For a
 * thread or process of its own, which is not held up by the job.
 */
uint64_t nova_rt_job_check(struct nova_rt_job *job);

/* A job used more CPU time than it should: the handler of SIGXCPU calls this. */
void nova_rt_job_overrun(struct nova_rt_job *job);

void nova_rt_job_close(struct nova_rt_job *job);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
