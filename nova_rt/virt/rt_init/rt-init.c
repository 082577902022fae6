/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt-init - the first process of a container with a CPU reservation
 *
 * usage: rt-init other|fifo|rr PRIORITY INIT [ARGUMENT...]
 *
 * A container's control group is born with a real-time runtime of 0, and
 * libvirt starts the container's init before anyone can change that. With a
 * runtime of 0 the kernel refuses SCHED_FIFO with EPERM, so this program asks
 * for it until the kernel agrees: then the reservation is in place. It takes
 * the policy given on its command line and becomes the real init, which thus
 * never runs without its reservation.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS (1000 * 1000L)
#define WARN_AFTER 10000 /* tries, about ten seconds */

static int set_policy(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return sched_setscheduler(0, policy, &param);
}

static void wait_for_reservation(void)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	long tries;

	for (tries = 0; set_policy(SCHED_FIFO, 1) != 0; tries++) {
		if (errno != EPERM) {
			perror("rt-init: sched_setscheduler");
			exit(1);
		}
		if (tries == WARN_AFTER)
			fputs("rt-init: waiting for nova-rt-compute to set "
			      "the CPU reservation\n", stderr);
		nanosleep(&pause, NULL);
	}
}

static int policy_named(const char *name)
{
	if (strcmp(name, "fifo") == 0)
		return SCHED_FIFO;
	if (strcmp(name, "rr") == 0)
		return SCHED_RR;
	if (strcmp(name, "other") == 0)
		return SCHED_OTHER;
	fprintf(stderr, "rt-init: unknown policy %s: use other, fifo or rr\n",
		name);
	exit(2);
}

int main(int argc, char **argv)
{
	int policy, priority;

	if (argc < 4) {
		fputs("usage: rt-init other|fifo|rr PRIORITY INIT "
		      "[ARGUMENT...]\n", stderr);
		return 2;
	}
	policy = policy_named(argv[1]);
	priority = policy == SCHED_OTHER ? 0 : atoi(argv[2]);
	wait_for_reservation();
	if (set_policy(policy, priority) != 0) {
		perror("rt-init: sched_setscheduler");
		return 1;
	}
	execv(argv[3], argv + 3);
	fprintf(stderr, "rt-init: %s: %s\n", argv[3], strerror(errno));
	return 1;
}
