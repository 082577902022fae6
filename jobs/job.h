/* SPDX-License-Identifier: Apache-2.0 */
/* What nova-rt-run and what it preloads know of a job beyond the library's users. */
#ifndef NOVA_RT_JOB_H
#define NOVA_RT_JOB_H

#include <stdbool.h>

#include "nova_rt_jobs.h"

#pragma GCC visibility push(hidden)

/* Report in the record that nova-rt-run has created. NULL, with errno, if not. */
struct nova_rt_job *job_attach(const char *path);

const char *job_path(const struct nova_rt_job *job);

/* Whether this process is the one that reports, as no other does that lives. */
bool job_claim(struct nova_rt_job *job);

/* If the process that reports has been killed, its job does not hang. */
void job_bury(struct nova_rt_job *job);

/* No process reports as yet. */
void job_offer(struct nova_rt_job *job);

#pragma GCC visibility pop

#endif
