/* SPDX-License-Identifier: Apache-2.0 */
/* nova-rt-run - tells the host when a periodic program misses its deadline */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard.h"
#include "options.h"
#include "program.h"
#include "run.h"

#define SCHED_DEADLINE 6
#define RESET_ON_FORK 0x01 /* without it, the program could not fork */
#define DL_OVERRUN 0x04
#define NOT_EXECUTABLE 126
#define NOT_FOUND 127

/* The kernel's struct sched_attr, of which libc has none. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns;
	uint64_t deadline_ns;
	uint64_t period_ns;
};

static const char *why_not(int error)
{
	if (error == EPERM)
		return "it needs the privilege (CAP_SYS_NICE), and all CPUs of its CPU set";
	if (error == EBUSY)
		return "the CPUs have too little bandwidth left";
	if (error == EINVAL)
		return "the kernel admits no such runtime, deadline and period";
	return strerror(error);
}

static void set_deadline(const struct options *options)
{
	const struct attributes attributes = {
		.size = sizeof(attributes), .policy = SCHED_DEADLINE,
		.flags = RESET_ON_FORK | DL_OVERRUN, .runtime_ns = options->runtime_ns,
		.deadline_ns = options->deadline_ns, .period_ns = options->period_ns,
	};

	/* The signal must not kill before the program's handler is there. */
	signal(SIGXCPU, SIG_IGN);
	if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0)
		refuse("SCHED_DEADLINE is refused: %s.", why_not(errno));
	setenv(RUN_OVERRUNS, "1", 1);
}

/* Relative to this program, so that both may be anywhere. */
static void preload(void)
{
	char own[PATH_MAX], library[PATH_MAX + 64], list[3 * PATH_MAX];
	const char *others = getenv("LD_PRELOAD");
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (length < 0)
		refuse("/proc is not mounted: mount it.");
	own[length] = '\0';
	snprintf(library, sizeof(library), "%s/../lib/libnova-rt-run.so", dirname(own));
	if (access(library, R_OK) != 0)
		refuse("%s is missing: install nova-rt-run with its library.", library);
	snprintf(list, sizeof(list), "%s%s%s", library, others ? ":" : "",
		 others ? others : "");
	setenv("LD_PRELOAD", list, 1);
}

int main(int argc, char **argv)
{
	struct options options = read_options(argc, argv);
	struct reported reported;
	int error;

	check_program(*options.program);
	preload();
	reported = start_guard(&options);
	if (reported.error == EINVAL)
		refuse("'%s' is no name for an activity: give one of up to 59 letters, digits, "
		       "'-', '_' and '.' by --name.", options.name);
	if (reported.error)
		fprintf(stderr, "nova-rt-run: Misses are not reported: %s.\n",
			reported.error == ENOTSUP ?
			"/run/nova-rt/jobs, or $NOVA_RT_JOBS_DIR, must be on a tmpfs" :
			strerror(reported.error));
	else
		setenv(RUN_RECORD, reported.path, 1);
	if (options.runtime_ns)
		set_deadline(&options);
	execvp(*options.program, options.program);
	error = errno;
	fprintf(stderr, "nova-rt-run: %s cannot be run: %s.\n", *options.program,
		strerror(error));
	return error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}
