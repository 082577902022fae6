/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A periodic program that knows nothing of nova-rt.
 *
 *	periodic HOW JOBS [LATE]
 *
 * It waits for its next period of 20 ms as HOW says; job LATE takes 30 ms. Each fifth
 * of "busy" takes 5 ms.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 20000000

static struct timespec release;
static int timer = -1;

static void step(void)
{
	release.tv_nsec += PERIOD_NS;
	if (release.tv_nsec >= 1000000000) {
		release.tv_nsec -= 1000000000;
		release.tv_sec++;
	}
}

static void wait_next(const char *how)
{
	unsigned long long expirations;

	if (strcmp(how, "timerfd") == 0) {
		(void)!read(timer, &expirations, sizeof(expirations));
	} else if (strcmp(how, "yield") == 0) {
		sched_yield();
	} else {
		step();
		clock_nanosleep(strcmp(how, "realtime") == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC,
				TIMER_ABSTIME, &release, NULL);
	}
}

static void prepare(const char *how)
{
	const struct itimerspec setting = { { 0, PERIOD_NS }, { 0, PERIOD_NS } };
	int fd;

	if (strcmp(how, "timerfd") == 0) {
		timer = timerfd_create(CLOCK_MONOTONIC, 0);
		timerfd_settime(timer, 0, &setting, NULL);
	}
	if (strcmp(how, "daemon") == 0) {
		for (fd = 3; fd < 64; fd++)
			close(fd);
		if (fork() != 0) {
			wait(NULL);
			exit(0);
		}
	}
	clock_gettime(strcmp(how, "realtime") == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &release);
}

static void work(long ms)
{
	struct timespec pause = { 0, ms * 1000000 };

	nanosleep(&pause, NULL);
}

static void burn(long ms)
{
	struct timespec now;
	long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end);
}

static void *another(void *unused)
{
	int number;

	for (number = 0; number < 5; number++)
		wait_next("nanosleep");
	return unused;
}

int main(int argc, char **argv)
{
	long number, jobs = argc > 2 ? atol(argv[2]) : 0, late = argc > 3 ? atol(argv[3]) : -1;
	pthread_t thread;

	if (argc < 3)
		return 2;
	prepare(argv[1]);
	wait_next(argv[1]);
	if (strcmp(argv[1], "threads") == 0) {
		pthread_create(&thread, NULL, another, NULL);
		pthread_join(thread, NULL);
		clock_gettime(CLOCK_MONOTONIC, &release);
	}
	for (number = 1; number <= jobs; number++) {
		if (number == late && strcmp(argv[1], "hang") == 0)
			pause();
		if (number == late)
			strcmp(argv[1], "yield") == 0 ? burn(30) : work(30);
		if (strcmp(argv[1], "busy") == 0 && number % 5 == 0)
			work(5);
		wait_next(argv[1]);
	}
	puts("done");
	return 7;
}
