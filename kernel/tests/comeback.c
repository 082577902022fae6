// SPDX-License-Identifier: GPL-2.0
/*
 * comeback: a task leaves SCHED_DEADLINE at the moment when its runtime is used
 * up, and comes back just after it would have been replenished, but before its
 * 0-lag time. It must run again. The moment is searched for.
 */
#include "rtt.h"

#define RUNTIME (1 * MS)
#define PERIOD (50 * MS)
#define TRIES 120
#define STEP 5000LL

static volatile int *tries;

static void leave_and_come_back(int64_t work)
{
	int64_t start = now();

	if (set_deadline(0, RUNTIME, PERIOD))
		die("deadline: %s", strerror(errno));
	burn(work);
	set_policy(0, SCHED_OTHER, 0);
	sleep_until(start + PERIOD + 100000);
	if (set_deadline(0, RUNTIME, PERIOD))
		die("deadline: %s", strerror(errno));
	burn(RUNTIME / 10);
	set_policy(0, SCHED_OTHER, 0);
	/* Nothing of it is left for the next. */
	sleep_until(now() + 10 * PERIOD);
}

int comeback_main(int argc, char **argv)
{
	pid_t pid;
	int seen = -1;

	(void)argc;
	(void)argv;
	tries = shared(sizeof(*tries));
	pid = fork();
	if (!pid) {
		for (; *tries < TRIES; (*tries)++)
			leave_and_come_back(RUNTIME - TRIES / 2 * STEP + *tries * STEP);
		_exit(0);
	}
	while (*tries < TRIES && *tries != seen) {
		seen = *tries;
		usleep(3000000);
	}
	kill(pid, SIGKILL);
	if (*tries == seen) {
		printf("stood still after %lld us of %lld us of work\n",
		       (RUNTIME - TRIES / 2 * STEP + seen * STEP) / 1000, RUNTIME / 1000);
		return 1;
	}
	waitpid(pid, NULL, 0);
	printf("came back %d times\n", TRIES);
	return 0;
}
