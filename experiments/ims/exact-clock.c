// SPDX-License-Identifier: Apache-2.0
/*
 * To be preloaded into SIPp: it reads the coarse clock, which steps with the
 * kernel's ticks of 1 ms; that is as long as what it is to measure.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);

	if (!real)
		real = dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock == CLOCK_MONOTONIC_COARSE ? CLOCK_MONOTONIC : clock, now);
}
