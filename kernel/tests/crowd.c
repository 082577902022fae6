// SPDX-License-Identifier: GPL-2.0
/*
 * Does each of hundreds of groups get its runtime, and wait no longer than it must?
 *
 * crowd N SECONDS SEED
 *
 * N groups, each with random parameters on one CPU and a task there that never sleeps, have
 * together four fifths of each CPU. A SCHED_FIFO task of the root group wants all of each. In
 * the time that is measured a group must get what its server supplies at worst (the
 * supply bound function of the periodic resource model), and at most a budget more than
 * its share. With one CPU it may wait for 2(P - Q) + 100 us.
 */
#include "rtt.h"

#define MAX_GROUPS 400
#define MAX_CPUS 8
/* Of each CPU, in thousandths: what all its groups have. */
#define TOGETHER 800
#define MIN_PERIOD_US 50000
#define MAX_PERIOD_US 400000
/* A budget ends when a timer fires, and what is overrun is paid from the next. */
#define SLACK (50 * 1000LL)
#define WAIT_TOLERANCE (100 * 1000LL)

struct member {
	int64_t runtime, period;	/* us */
	volatile int64_t used, last;
	/* The longest wait, when it began, and most that was charged between two looks. */
	volatile int64_t wait, since, jump;
	volatile bool runs;
};

static struct member *members;
static pid_t pids[MAX_GROUPS];
static volatile int64_t *window;

static void name_of(char *name, int i)
{
	snprintf(name, 16, "crowd%d", i);
}

/* Some have half as much as others. */
static void draw(int n)
{
	int64_t weights[MAX_CPUS] = { 0 }, weight[MAX_GROUPS];
	int i;

	for (i = 0; i < n; i++) {
		weight[i] = 500 + rnd(500);
		weights[i % nr_cpus()] += weight[i];
	}
	for (i = 0; i < n; i++) {
		members[i].period = MIN_PERIOD_US + rnd(MAX_PERIOD_US - MIN_PERIOD_US);
		members[i].runtime = members[i].period * weight[i] * TOGETHER / 1000 /
				     weights[i % nr_cpus()];
	}
}

static void make(int i)
{
	int64_t runtimes[MAX_CPUS] = { 0 };
	char name[16];

	name_of(name, i);
	runtimes[i % nr_cpus()] = members[i].runtime;
	if (cg_make(name) || cg_set_rt_cpus(name, runtimes, nr_cpus(), members[i].period))
		die("group %d", i);
}

static void work(struct member *m)
{
	int64_t begin = 0, t, used;

	for (;;) {
		relax();
		m->runs = true;
		t = now();
		if (t < window[0] || t >= window[1])
			continue;
		if (!m->last) {
			begin = cputime();
			m->last = window[0];
		}
		if (t - m->last > m->wait) {
			m->wait = t - m->last;
			m->since = m->last;
		}
		m->last = t;
		used = cputime() - begin;
		if (used - m->used > m->jump)
			m->jump = used - m->used;
		m->used = used;
	}
}

/* Once a hog runs, a task that is not real-time yet would hardly get there. */
static void wait_for(int i)
{
	while (!members[i].runs)
		usleep(1000);
}

static int judge(int n, int64_t length)
{
	double least = 1e9, most = 0, longest = 0;
	int i, wrong = 0;

	for (i = 0; i < n; i++) {
		struct member *m = &members[i];
		int64_t q = m->runtime * 1000, p = m->period * 1000;
		int64_t low = supply_least(length, q, p), high = (length / p + 2) * q;
		int64_t bound = 2 * (p - q), wait = m->wait, since = m->since;
		double share = (double)m->used * p / ((double)length * q);

		/* It still waits at the end. */
		if (window[1] - m->last > wait) {
			wait = window[1] - m->last;
			since = m->last;
		}
		least = share < least ? share : least;
		most = share > most ? share : most;
		if ((double)wait / bound > longest)
			longest = (double)wait / bound;
		if (m->used < low - SLACK || m->used > high + SLACK ||
		    (nr_cpus() == 1 && wait > bound + WAIT_TOLERANCE)) {
			wrong++;
			printf("%lld/%lld: %.3f of its share, waited %.3f of 2(P-Q) from %lld ms on, "
			       "%lld us charged at once; ",
			       (long long)m->runtime, (long long)m->period, share,
			       (double)wait / bound, (long long)((since - window[0]) / MS),
			       (long long)m->jump / 1000);
		}
	}
	printf("%d groups: %.3f to %.3f of their shares, waited at most %.3f of 2(P-Q), %d wrong\n",
	       n, least, most, longest, wrong);
	return wrong;
}

int crowd_main(int argc, char **argv)
{
	char before[BANDWIDTH_SIZE], name[16];
	int n, i, wrong;
	pid_t hogs[MAX_CPUS];
	int64_t length;

	if (argc != 4)
		die("crowd N SECONDS SEED");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("no runtime per CPU");
	n = atoi(argv[1]);
	length = atoll(argv[2]) * SEC;
	seed = atoi(argv[3]);
	if (n < nr_cpus() || n > MAX_GROUPS || nr_cpus() > MAX_CPUS)
		die("crowd of %d", n);
	bandwidth(before, sizeof(before));
	members = shared(n * sizeof(*members));
	window = shared(2 * sizeof(*window));
	window[0] = window[1] = INT64_MAX;

	/* Above all tasks of the root group, and so of their children. */
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	draw(n);
	for (i = 0; i < n; i++) {
		make(i);
		name_of(name, i);
		pids[i] = fork_task(name, i % nr_cpus(), 10);
		if (!pids[i])
			work(&members[i]);
	}
	for (i = 0; i < n; i++)
		wait_for(i);
	for (i = 0; i < nr_cpus(); i++) {
		hogs[i] = fork_task("", i, 50);
		if (!hogs[i])
			for (;;)
				relax();
	}
	window[1] = now() + SEC + length;
	window[0] = window[1] - length;
	sleep_until(window[1] + 10 * MS);

	for (i = 0; i < nr_cpus(); i++) {
		kill(hogs[i], SIGKILL);
		waitpid(hogs[i], NULL, 0);
	}
	wrong = judge(n, length);
	for (i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		name_of(name, i);
		cg_remove(name);
	}
	return wrong || !bandwidth_returns(before);
}
