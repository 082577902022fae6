// SPDX-License-Identifier: GPL-2.0
/*
 * A lock with priority inheritance, which ties tasks of different groups together;
 * and, for stress, sessions, groups of their own (autogroup) in the root one.
 * Core scheduling is left out: while CPUs go and come, the stock kernel crashes.
 */
#include "rtt.h"
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t *lock;

void ties_init(void)
{
	lock = shared(sizeof(*lock));
}

static long futex_pi(int op)
{
	return syscall(SYS_futex, lock, op, 0, NULL, NULL, 0);
}

/* The owner may be killed at any time: without waiters, it stays the owner. */
bool lock_take(void)
{
	uint32_t seen = *lock;

	if (__sync_bool_compare_and_swap(lock, 0, getpid()) || !futex_pi(FUTEX_LOCK_PI))
		return true;
	if (errno == ESRCH)
		__sync_bool_compare_and_swap(lock, seen, 0);
	return false;
}

void lock_give(void)
{
	if (!__sync_bool_compare_and_swap(lock, getpid(), 0))
		futex_pi(FUTEX_UNLOCK_PI);
}

void burn_locked(int64_t cpu_ns)
{
	if (!lock_take())
		return;
	burn(cpu_ns);
	lock_give();
}

/* A session comes and goes, and is a real-time one for a while. */
void live_session(int64_t cpu_ns)
{
	pid_t child = fork();

	if (child) {
		waitpid(child, NULL, 0);
		return;
	}
	setsid();
	set_policy(0, SCHED_RR, 1);
	burn(cpu_ns);
	set_policy(0, SCHED_OTHER, 0);
	burn(cpu_ns);
	_exit(0);
}
