/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOVA_RT_GUARD_H
#define NOVA_RT_GUARD_H

#include <limits.h>

#include "options.h"

/* What is said of the record of an activity: where it is, or why there is none. */
struct reported {
	int error;
	char path[PATH_MAX];
};

/*
 * Start a process that creates the record of an activity, and reports jobs that
 * have not ended at their deadline, for as long as this process lives.
 */
struct reported start_guard(const struct options *options);

#endif
