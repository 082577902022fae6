// SPDX-License-Identifier: GPL-2.0
/*
 * Do groups and tasks get the share of the CPU that they were promised?
 *
 * share SECONDS TOLERANCE ITEM...
 *   G:name:runtime[,runtime...]/period   a group (us; one runtime, or per CPU)
 *   T:group:fifo|rr:prio:cpu|any         a task that never sleeps ("-": root)
 *   D:runtime/period                     a SCHED_DEADLINE task that never sleeps
 *   E:group:percent[:tolerance]          what the group's tasks get together
 *   e:index:percent[:tolerance]          what the task of that index gets
 *   W:index:us                           the longest it may wait for the CPU
 *
 * Percent is of one CPU; the tolerance is in percentage points. Each task
 * notes its own accounted time when a common instant passes, at the beginning
 * and whole periods later; so both ends are at the same phase of the period.
 */
#include "rtt.h"

#define MAX_TASKS 16
#define MAX_ITEMS 32

struct task {
	char group[64];
	int policy, prio, cpu;
	int64_t runtime, period;
	pid_t pid;
};

struct note {
	int64_t first, last, gap;
	int err;
};

static struct task tasks[MAX_TASKS];
static int nr_tasks;
static struct note *notes;
static char *groups[MAX_ITEMS];
static int nr_groups;
/* Shared with the tasks: when to begin and to end to count. */
static int64_t *window;
static double tolerance, worst;

static void make_group(char *spec)
{
	int64_t runtime[64], period;
	char *name = strsep(&spec, ":"), *list = strsep(&spec, "/"), *one;
	int n = 0, err;

	period = atoll(spec);
	while ((one = strsep(&list, ",")))
		runtime[n++] = atoll(one);

	if (n > 1 && !cg_has("cpu.rt_multi_runtime_us"))
		skip("no runtime per CPU");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");

	err = cg_make(name);
	if (!err)
		err = n > 1 ? cg_set_rt_cpus(name, runtime, n, period) :
			      cg_set_rt(name, runtime[0], period);
	if (err)
		die("group %s: %s", name, strerror(err));
	groups[nr_groups++] = name;
}

static void add_task(char *spec)
{
	struct task *t = &tasks[nr_tasks++];
	char *s;

	s = strsep(&spec, ":");
	snprintf(t->group, sizeof(t->group), "%s", strcmp(s, "-") ? s : "");
	t->policy = !strcmp(strsep(&spec, ":"), "rr") ? SCHED_RR : SCHED_FIFO;
	t->prio = atoi(strsep(&spec, ":"));
	t->cpu = !strcmp(spec, "any") ? ANY_CPU : atoi(spec);
}

static void add_deadline(char *spec)
{
	struct task *t = &tasks[nr_tasks++];

	t->runtime = atoll(strsep(&spec, "/")) * 1000;
	t->period = atoll(spec) * 1000;
	t->cpu = ANY_CPU;
}

/* The body of a task: run, and note what was accounted at both ends. */
static void run(struct note *note)
{
	int64_t c = cputime(), t = 0, prev, prev_t;

	while (now() < window[0])
		c = cputime();
	note->first = c;
	do {
		prev = c;
		c = cputime();
		prev_t = t;
		t = now();
		if (prev_t && t - prev_t > note->gap)
			note->gap = t - prev_t;
	} while (t < window[1]);
	note->last = prev;
}

/* Start a task that waits at the gate, a pipe, with all its parameters set. */
static void launch(int i, int gate[2])
{
	struct task *t = &tasks[i];
	char c;

	t->pid = fork();
	if (!t->pid) {
		close(gate[1]);
		if (!read(gate[0], &c, 1))
			run(&notes[i]);
		_exit(0);
	}
	if (t->group[0] && cg_enter(t->group, t->pid))
		die("enter %s", t->group);
	if (t->cpu != ANY_CPU)
		set_cpu(t->pid, t->cpu);
	if (t->period)
		notes[i].err = set_deadline(t->pid, t->runtime, t->period);
	else
		notes[i].err = set_policy(t->pid, t->policy, t->prio);
}

static double percent(int i)
{
	return 100.0 * (notes[i].last - notes[i].first) / (window[1] - window[0]);
}

static void judge(const char *what, double got, char *expected)
{
	double want = atof(strsep(&expected, ":"));
	double tol = expected ? atof(expected) : tolerance;
	double off = got - want;

	if (off < 0)
		off = -off;
	printf("%s=%.3f%% (%.2f) ", what, got, want);
	if (off / tol > worst)
		worst = off / tol;
}

static void expect(char *spec, bool group)
{
	char *who = strsep(&spec, ":");
	double got = 0;
	int i;

	if (!group) {
		judge(who, percent(atoi(who)), spec);
		return;
	}
	for (i = 0; i < nr_tasks; i++)
		if (!strcmp(tasks[i].group, who))
			got += percent(i);
	judge(who, got, spec);
}

static void expect_wait(char *spec)
{
	int i = atoi(strsep(&spec, ":"));
	double got = notes[i].gap / 1000.0, bound = atof(spec);

	printf("wait=%.0fus (%.0f) ", got, bound);
	if (got / bound > worst)
		worst = got / bound;
}

static void expect_all(int argc, char **argv)
{
	int i;

	for (i = 3; i < argc; i++) {
		if (argv[i][0] == 'E' || argv[i][0] == 'e')
			expect(argv[i] + 2, argv[i][0] == 'E');
		else if (argv[i][0] == 'W')
			expect_wait(argv[i] + 2);
	}
}

static int finish(void)
{
	int i, bad = 0;

	for (i = 0; i < nr_tasks; i++) {
		waitpid(tasks[i].pid, NULL, 0);
		if (notes[i].err) {
			printf("task %d: %s ", i, strerror(notes[i].err));
			bad = 1;
		}
	}
	return bad;
}

int share_main(int argc, char **argv)
{
	int gate[2], i, bad;

	if (argc < 4)
		die("share SECONDS TOLERANCE ITEM...");
	tolerance = atof(argv[2]);
	notes = shared(sizeof(*notes) * MAX_TASKS);
	window = shared(2 * sizeof(*window));

	for (i = 3; i < argc; i++) {
		if (argv[i][0] == 'G')
			make_group(argv[i] + 2);
		else if (argv[i][0] == 'T')
			add_task(argv[i] + 2);
		else if (argv[i][0] == 'D')
			add_deadline(argv[i] + 2);
	}

	if (pipe(gate))
		die("pipe: %s", strerror(errno));
	for (i = 0; i < nr_tasks; i++)
		launch(i, gate);
	window[0] = now() + 1 * SEC;
	window[1] = window[0] + atoll(argv[1]) * SEC;
	close(gate[1]);
	bad = finish();

	if (!bad)
		expect_all(argc, argv);
	while (nr_groups--)
		if (cg_remove(groups[nr_groups]))
			die("rmdir %s", groups[nr_groups]);

	printf("worst=%.2f of the tolerance\n", worst);
	return bad || worst > 1;
}
