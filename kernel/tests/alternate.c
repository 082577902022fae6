// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of a group's parameters make no budget, and destroy none.
 *
 * alternate SECONDS BESIDE_US RUNTIME_US/PERIOD_US/MS...	in turn, each so many ms
 * alternate SECONDS BESIDE_US SEED	at random, for a task that sleeps, too
 *
 * Group a has a task on CPU 0 that wants all that it can get. With one task that
 * never sleeps, it must get the sum of bandwidth times length, within one of its
 * budgets; if the task sleeps at times, it must get no more. Beside it, group b must
 * get its 50%, every BESIDE_US.
 */
#include "rtt.h"

#define MAX_STEPS 8
#define BESIDE_PERCENT 50
/* In percent, and in ms. */
#define MOST_BANDWIDTH 40
#define MOST_SLEEP 300

struct step {
	int64_t runtime_us, period_us, length;
};

struct hog {
	int64_t cpu;
	volatile int stop;
};

static struct step steps[MAX_STEPS];
static int nr_steps;

static pid_t start(const char *group, struct hog *hog, bool sleeps)
{
	pid_t pid = fork();

	if (!pid) {
		while (!hog->stop) {
			if (sleeps && !rnd(3))
				sleep_until(now() + rnd(MOST_SLEEP) * MS);
			if (sleeps)
				burn(rnd(MOST_SLEEP) * MS / 3);
			relax();
			hog->cpu = cputime();
		}
		_exit(0);
	}
	if (cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, 10))
		die("hog in %s", group);
	set_cpu(pid, 0);
	return pid;
}

/* Log-uniform, from 1 to 2^13 times the unit. */
static int64_t spread(int64_t unit)
{
	int64_t base = unit << rnd(13);

	return base + base * rnd(1000) / 1000;
}

static struct step next(int i)
{
	struct step step;

	if (nr_steps)
		return steps[i % nr_steps];

	step.period_us = spread(200);
	step.runtime_us = step.period_us * (1 + rnd(MOST_BANDWIDTH)) / 100;
	step.length = spread(20000);
	return step;
}

/* On the way the group never has more bandwidth than before and after. */
static int set(const struct step *before, const struct step *step)
{
	int err;

	if (step->period_us >= before->period_us)
		return cg_set_rt("a", step->runtime_us, step->period_us);

	err = cg_write("a", "cpu.rt_runtime_us", "%lld", (long long)step->runtime_us);
	return err ?: cg_write("a", "cpu.rt_period_us", "%lld", (long long)step->period_us);
}

static double bandwidth_of(const struct step *step)
{
	return (double)step->runtime_us / step->period_us;
}

static void parse(int argc, char **argv)
{
	int i;

	if (argc == 4 && !strchr(argv[3], '/')) {
		seed = atoi(argv[3]);
		return;
	}
	for (i = 3; i < argc && nr_steps < MAX_STEPS; i++, nr_steps++) {
		struct step *step = &steps[nr_steps];
		int ms;

		if (sscanf(argv[i], "%ld/%ld/%d", &step->runtime_us, &step->period_us, &ms) != 3)
			die("not RUNTIME_US/PERIOD_US/MS: %s", argv[i]);
		step->length = ms * MS;
	}
}

int alternate_main(int argc, char **argv)
{
	struct hog *hogs = shared(2 * sizeof(*hogs));
	int64_t begin, t, last, used, beside, largest = 0;
	double due = 0, share, beside_share, tolerance, beside_tolerance;
	struct step step, before;
	int i, beside_us, changes = 0;
	pid_t pids[2];

	if (argc < 4)
		die("alternate SECONDS BESIDE_US SEED|RUNTIME_US/PERIOD_US/MS...");
	beside_us = atoi(argv[2]);
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	parse(argc, argv);

	cg_make("a");
	cg_make("b");
	step = next(0);
	if (cg_set_rt("a", step.runtime_us, step.period_us) ||
	    cg_set_rt("b", beside_us * BESIDE_PERCENT / 100, beside_us))
		die("set up");
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	pids[0] = start("a", &hogs[0], !nr_steps);
	pids[1] = start("b", &hogs[1], false);

	begin = last = t = now();
	used = hogs[0].cpu;
	beside = hogs[1].cpu;
	for (i = 0; t - begin < atoi(argv[1]) * SEC; i++) {
		if (i) {
			before = step;
			step = next(i);
			if (set(&before, &step)) {
				kill(pids[0], SIGKILL);
				kill(pids[1], SIGKILL);
				die("change %d: %s", i, strerror(errno));
			}
			changes++;
		}
		if (step.runtime_us * 1000 > largest)
			largest = step.runtime_us * 1000;
		sleep_until(last + step.length);
		t = now();
		due += bandwidth_of(&step) * (t - last);
		last = t;
	}
	used = hogs[0].cpu - used;
	beside = hogs[1].cpu - beside;

	for (i = 0; i < 2; i++)
		hogs[i].stop = 1;
	for (i = 0; i < 2; i++)
		waitpid(pids[i], NULL, 0);
	set_policy(0, SCHED_OTHER, 0);
	cg_remove("a");
	cg_remove("b");

	share = 100.0 * used / (last - begin);
	due = 100.0 * due / (last - begin);
	beside_share = 100.0 * beside / (last - begin);
	/* The last budget may be used at once, the first not have been used yet. */
	tolerance = 0.2 + 100.0 * largest / (last - begin);
	beside_tolerance = 0.2 + 1000.0 * beside_us * BESIDE_PERCENT / (last - begin);
	printf("%d changes: a=%.2f%% (%s%.2f, within %.2f), b=%.2f%% (%d)\n", changes, share,
	       nr_steps ? "" : "at most ", due, tolerance, beside_share, BESIDE_PERCENT);
	return share > due + tolerance || (nr_steps && share < due - tolerance) ||
	       beside_share < BESIDE_PERCENT - beside_tolerance ||
	       beside_share > BESIDE_PERCENT + beside_tolerance;
}
