/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOVA_RT_OPTIONS_H
#define NOVA_RT_OPTIONS_H

#include <stdint.h>

/* What nova-rt-run is asked for; runtime_ns is 0 without SCHED_DEADLINE. */
struct options {
	const char *name;
	uint64_t period_ns;
	uint64_t deadline_ns;
	uint64_t runtime_ns;
	char **program;
};

/* Ends the process with a sentence if they are not valid. */
struct options read_options(int argc, char **argv);

/* Says what is wrong, in one sentence, and ends the process. */
void refuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
