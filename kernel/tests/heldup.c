// SPDX-License-Identifier: GPL-2.0
/*
 * heldup: how long does a task wait for a lock with priority inheritance whose holder
 * has used up the budget of its group?
 *
 * A task of the root group waits until the holder has done its work beside the other
 * groups, whatever its own class and priority are. A task of another group, or of the
 * holder's, waits for the holder's budgets, and does not bring it more than that; but
 * one of another group does with PREEMPT_RT, where such locks protect the kernel. No
 * other group gets less meanwhile, and afterwards the holder has its budget only.
 */
#include "rtt.h"

#define PERIOD_US 100000
#define HOLDER_US 10000
#define BESIDE_US 50000
/* What the holder has to do while it has the lock: the work of six budgets. */
#define WORK (60 * MS)
/* Beside half a CPU it takes twice that, and may begin with another's budget. */
#define SOON (200 * MS)
/* With its group's budget only it takes three periods at least, also with a second CPU's. */
#define LATE (300 * MS)
/* How long what they get afterwards is measured, and by how much that may differ. */
#define WINDOW (2 * SEC)
#define TOLERANCE 0.7

struct waiter {
	const char *what, *group;
	int prio;	/* 0: SCHED_OTHER */
	bool soon;
};

static const struct waiter waiters[] = {
	{ "root of higher priority", "", 50, true },
	{ "root of the same", "", 10, true },
	{ "root of lower", "", 1, true },
	{ "root, ordinary", "", 0, true },
	{ "another group", "other", 50, false },
	{ "its own group", "holder", 50, false },
};

static struct {
	volatile bool held;
	volatile int64_t holder, beside;
} *seen;

static void hold(void)
{
	int64_t end;

	if (!lock_take())
		die("lock");
	/* The budget may be whole: use it up. */
	burn(HOLDER_US * 1000LL);
	seen->held = true;
	end = cputime() + WORK;
	while (cputime() < end) {
		relax();
		seen->holder = cputime();
	}
	lock_give();
	spin(&seen->holder);
}

/* How long does it take @waiter, in ns? It then ends. */
static int64_t wait_for_lock(const struct waiter *waiter)
{
	int64_t *took = shared(sizeof(*took)), begin;
	pid_t pid = fork_task(waiter->group, 0, waiter->prio);

	if (!pid) {
		begin = now();
		if (!lock_take())
			die("lock");
		*took = now() - begin;
		lock_give();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return *took;
}

static bool comes_soon(const struct waiter *waiter)
{
	return waiter->soon || (locks_sleep() && !strcmp(waiter->group, "other"));
}

static double percent(int64_t used, int64_t time)
{
	return 100.0 * used / time;
}

static bool differs(double got, double wanted)
{
	return got < wanted - TOLERANCE || got > wanted + TOLERANCE;
}

static bool one(const struct waiter *waiter)
{
	int64_t begin, took, holder, beside;
	double meanwhile, own, others;
	pid_t pids[2];

	memset(seen, 0, sizeof(*seen));
	pids[0] = fork_task("beside", 0, 10);
	if (!pids[0])
		spin(&seen->beside);
	pids[1] = fork_task("holder", 0, 10);
	if (!pids[1])
		hold();
	while (!seen->held)
		usleep(1000);
	begin = now();
	beside = seen->beside;
	took = wait_for_lock(waiter);
	meanwhile = percent(seen->beside - beside, now() - begin);

	begin = now();
	holder = seen->holder;
	beside = seen->beside;
	sleep_until(begin + WINDOW);
	own = percent(seen->holder - holder, now() - begin);
	others = percent(seen->beside - beside, now() - begin);

	kill(pids[0], SIGKILL);
	kill(pids[1], SIGKILL);
	waitpid(pids[0], NULL, 0);
	waitpid(pids[1], NULL, 0);

	printf("%s: %lld ms, beside %.1f%%, then %.2f%% %.2f%%; ", waiter->what,
	       (long long)(took / MS), meanwhile, own, others);
	return (comes_soon(waiter) ? took > SOON : took < LATE) ||
	       differs(own, 100.0 * HOLDER_US / PERIOD_US) ||
	       differs(others, 100.0 * BESIDE_US / PERIOD_US);
}

int heldup_main(int argc, char **argv)
{
	char before[BANDWIDTH_SIZE];
	int wrong = 0;
	size_t i;

	(void)argc;
	(void)argv;
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	bandwidth(before, sizeof(before));
	ties_init();
	seen = shared(sizeof(*seen));
	/* Above what is not reserved. */
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	cg_make("holder");
	cg_make("beside");
	cg_make("other");
	if (cg_set_rt("holder", HOLDER_US, PERIOD_US) ||
	    cg_set_rt("beside", BESIDE_US, PERIOD_US) ||
	    cg_set_rt("other", HOLDER_US, PERIOD_US))
		die("groups: %s", strerror(errno));
	for (i = 0; i < ARRAY_SIZE(waiters); i++)
		wrong += one(&waiters[i]);
	cg_remove("holder");
	cg_remove("beside");
	cg_remove("other");
	if (!bandwidth_returns(before))
		wrong++;
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
