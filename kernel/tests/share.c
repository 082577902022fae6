// SPDX-License-Identifier: GPL-2.0
/*
 * Do groups and tasks get the share of the CPU that they were promised?
 *
 * share SECONDS TOLERANCE ITEM...
 *   G:name:runtime[,runtime...]/period   a group (us; one runtime, or per CPU)
 *   S:group:runtime[,runtime...]/period  what it is set to before the measurement
 *   T:group:fifo|rr:prio:cpu|cpu-cpu|any|from:cpu
 *                                        a task that never sleeps ("-": root);
 *                                        from: it wakes up there, and may leave
 *   D:runtime/period[:cpu]               a SCHED_DEADLINE task that never sleeps
 *   E:group:percent[:tolerance]          what the group's tasks get together
 *   C:group:cpu:percent                  what they get on that CPU
 *   e:index:percent[:tolerance]          what the task of that index gets
 *   U:cpu                                a CPU that is offline when the tasks wake
 *                                        up, and comes back before the measurement
 *   N                                    tasks never let another virtual CPU run
 *
 * Percent is of one CPU; the tolerance is in percentage points, for a sum over
 * several CPUs as well. Each task notes its own accounted time when a common
 * instant passes, at the beginning and whole periods later; so both ends are at
 * the same phase of the period.
 *
 * With one CPU, no group may wait longer than 2(P - Q) + 100 us for it. With
 * more, where an emulator adds to it, the longest wait is shown only.
 */
#include "rtt.h"

#define MAX_TASKS 16
#define MAX_GROUPS 8
#define MAX_CPUS 8
#define WAIT_TOLERANCE (100 * 1000LL)
#define PATIENCE (5 * SEC)

struct group {
	char *name;
	int64_t runtime[MAX_CPUS], period;
};

struct task {
	char group[64];
	int policy, prio, cpu, last_cpu;
	bool leaves;		/* it only starts on that CPU */
	int64_t runtime, period;
	pid_t pid;
};

struct note {
	int64_t on_cpu[MAX_CPUS], steps;
	int err;
};

/* When a task of the group last ran, and the longest time that none did. */
struct gap {
	int64_t last, longest;
};

static struct task tasks[MAX_TASKS];
static struct group groups[MAX_GROUPS];
static int nr_tasks, nr_groups;
static double tolerance, worst;
static bool turns = true, isolated;

/* Shared with the tasks; the window is when to begin and to end to count. */
static struct note *notes;
static struct gap *gaps;
static int64_t *window;

static int group_of(const char *name)
{
	int i;

	for (i = 0; i < nr_groups; i++)
		if (!strcmp(groups[i].name, name))
			return i;
	return -1;
}

/* Returns how many runtimes there are. */
static int parse_group(struct group *g, char *spec)
{
	char *list, *one;
	int n = 0, i;

	g->name = strsep(&spec, ":");
	list = strsep(&spec, "/");
	g->period = atoll(spec);
	while ((one = strsep(&list, ",")) && n < MAX_CPUS)
		g->runtime[n++] = atoll(one);
	for (i = 1; n == 1 && i < MAX_CPUS; i++)
		g->runtime[i] = g->runtime[0];
	return n;
}

static void set_group(struct group *g, int n)
{
	int err = n > 1 ? cg_set_rt_cpus(g->name, g->runtime, n, g->period) :
			  cg_set_rt(g->name, g->runtime[0], g->period);

	if (err)
		die("group %s: %s", g->name, strerror(err));
}

static void make_group(char *spec)
{
	struct group *g = &groups[nr_groups++];
	int n = parse_group(g, spec), err;

	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	if (n > 1 && !cg_has("cpu.rt_multi_runtime_us"))
		skip("no runtime per CPU");

	err = cg_make(g->name);
	if (err)
		die("group %s: %s", g->name, strerror(err));
	set_group(g, n);
}

static void change(int argc, char **argv)
{
	struct group g;
	int i;

	for (i = 0; i < argc; i++)
		if (argv[i][0] == 'S')
			set_group(&g, parse_group(&g, argv[i] + 2));
		else if (argv[i][0] == 'U')
			cpu_plug(atoi(argv[i] + 2), true);
}

/* Tasks wait now. One that is stopped while it runs may hold up the CPU's return. */
static void unplug(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (argv[i][0] == 'U')
			cpu_plug(atoi(argv[i] + 2), false);
}

static void add_task(char *spec)
{
	struct task *t = &tasks[nr_tasks++];
	char *s;

	s = strsep(&spec, ":");
	snprintf(t->group, sizeof(t->group), "%s", strcmp(s, "-") ? s : "");
	t->policy = !strcmp(strsep(&spec, ":"), "rr") ? SCHED_RR : SCHED_FIFO;
	t->prio = atoi(strsep(&spec, ":"));
	t->leaves = !strncmp(spec, "from:", 5);
	t->cpu = !strcmp(spec, "any") ? ANY_CPU : atoi(t->leaves ? spec + 5 : spec);
	t->last_cpu = strchr(spec, '-') ? atoi(strchr(spec, '-') + 1) : t->cpu;
}

static void add_deadline(char *spec)
{
	struct task *t = &tasks[nr_tasks++];

	t->runtime = atoll(strsep(&spec, "/")) * 1000;
	t->period = atoll(strsep(&spec, ":")) * 1000;
	t->cpu = t->last_cpu = spec ? atoi(spec) : ANY_CPU;
	isolated |= spec && nr_cpus() > 1;
}

/* Another task of the group may have run since @last was read: then no gap. */
static void note_gap(struct gap *gap)
{
	int64_t last = __atomic_load_n(&gap->last, __ATOMIC_RELAXED), t = now();

	if (!__atomic_compare_exchange_n(&gap->last, &last, t, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	if (last && t - last > gap->longest)
		gap->longest = t - last;
}

/* The body of a task: run, and note what was accounted between both ends. */
static void run(struct note *note, struct gap *gap)
{
	int64_t c = cputime(), prev;
	int cpu = 0;

	while (now() < window[0]) {
		if (turns)
			relax();
		c = cputime();
	}
	for (;;) {
		if (turns)
			relax();
		prev = c;
		c = cputime();
		if (now() >= window[1])
			break;
		/* What was accounted since it was asked where, at most a step. */
		note->on_cpu[cpu % MAX_CPUS] += c - prev;
		cpu = sched_getcpu();
		note->steps++;
		note_gap(gap);
	}
}

/* Start a task that waits at the gate, a pipe, with all its parameters set. */
static void launch(int i, int gate[2])
{
	struct task *t = &tasks[i];
	int g = group_of(t->group);
	char c;

	/* A sleeping task is not moved: it must be there from the beginning. */
	if (isolated)
		cpuset_enter(t->cpu);
	t->pid = fork();
	if (!t->pid) {
		close(gate[1]);
		if (!read(gate[0], &c, 1))
			run(&notes[i], &gaps[g < 0 ? MAX_GROUPS : g]);
		_exit(0);
	}
	if (t->group[0] && cg_enter(t->group, t->pid))
		die("enter %s", t->group);
	if (isolated)
		cpuset_enter(ANY_CPU);
	else if (t->cpu != ANY_CPU)
		set_cpus(t->pid, t->cpu, t->last_cpu);
	if (t->period)
		notes[i].err = set_deadline(t->pid, t->runtime, t->period);
	else
		notes[i].err = set_policy(t->pid, t->policy, t->prio);
	if (t->leaves)
		set_cpu(t->pid, ANY_CPU);
}

static double percent(int i, int cpu)
{
	int64_t sum = 0;
	int j;

	for (j = 0; j < MAX_CPUS; j++)
		if (cpu == ANY_CPU || cpu == j)
			sum += notes[i].on_cpu[j];
	return 100.0 * sum / (window[1] - window[0]);
}

static double group_percent(const char *name, int cpu)
{
	double sum = 0;
	int i;

	for (i = 0; i < nr_tasks; i++)
		if (!strcmp(tasks[i].group, name))
			sum += percent(i, cpu);
	return sum;
}

static void judge(const char *what, double got, double want, double tol)
{
	double off = got > want ? got - want : want - got;

	printf("%s=%.3f%% (%.2f) ", what, got, want);
	if (off / tol > worst)
		worst = off / tol;
}

static void expect(char kind, char *spec)
{
	char *who = strsep(&spec, ":"), what[80];
	int cpu = ANY_CPU;
	double want, got;

	snprintf(what, sizeof(what), "%s", who);
	if (kind == 'C') {
		cpu = atoi(strsep(&spec, ":"));
		snprintf(what, sizeof(what), "%s@%d", who, cpu);
	}
	got = kind == 'e' ? percent(atoi(who), cpu) : group_percent(who, cpu);
	want = atof(strsep(&spec, ":"));
	judge(what, got, want, spec ? atof(spec) : tolerance);
}

static void judge_gaps(void)
{
	int i;

	for (i = 0; i < nr_groups; i++) {
		struct group *g = &groups[i];
		int64_t bound = 2000 * (g->period - g->runtime[0]);
		double share = (double)gaps[i].longest / (bound + WAIT_TOLERANCE);

		if (!gaps[i].longest)
			continue;
		printf("%s:wait=%.3fms (%.3f) ", g->name, (double)gaps[i].longest / MS,
		       (double)bound / MS);
		if (nr_cpus() == 1 && share > worst)
			worst = share;
	}
}

/*
 * A stock kernel may leave a group throttled for ever when root domains change:
 * its tasks then end as tasks of SCHED_OTHER.
 */
static bool ends_in_time(pid_t pid)
{
	pid_t ended;

	while (!(ended = waitpid(pid, NULL, WNOHANG)) && now() < window[1] + PATIENCE)
		usleep(10000);
	if (ended)
		return true;
	set_policy(pid, SCHED_OTHER, 0);
	waitpid(pid, NULL, 0);
	return false;
}

static int finish(void)
{
	int i, bad = 0;

	for (i = 0; i < nr_tasks; i++) {
		if (!ends_in_time(tasks[i].pid)) {
			printf("task %d does not run any more ", i);
			bad = 1;
		}
		if (notes[i].err) {
			printf("task %d: %s ", i, strerror(notes[i].err));
			bad = 1;
		}
	}
	return bad;
}

static void set_up(int argc, char **argv)
{
	int i;

	notes = shared(sizeof(*notes) * MAX_TASKS);
	gaps = shared(sizeof(*gaps) * (MAX_GROUPS + 1));
	window = shared(2 * sizeof(*window));
	for (i = 0; i < argc; i++) {
		if (argv[i][0] == 'G')
			make_group(argv[i] + 2);
		else if (argv[i][0] == 'T')
			add_task(argv[i] + 2);
		else if (argv[i][0] == 'D')
			add_deadline(argv[i] + 2);
		else if (argv[i][0] == 'N')
			turns = false;
		else if (!strchr("SUEeC", argv[i][0]))
			die("what is %s?", argv[i]);
	}
	if (isolated)
		cpusets_make();
}

static void clean_up(void)
{
	if (isolated)
		cpusets_leave();
	while (nr_groups--)
		if (cg_remove(groups[nr_groups].name))
			die("rmdir %s", groups[nr_groups].name);
}

int share_main(int argc, char **argv)
{
	int gate[2], i, bad;

	if (argc < 4)
		die("share SECONDS TOLERANCE ITEM...");
	tolerance = atof(argv[2]);
	set_up(argc - 3, argv + 3);

	if (pipe(gate))
		die("pipe: %s", strerror(errno));
	for (i = 0; i < nr_tasks; i++)
		launch(i, gate);
	unplug(argc - 3, argv + 3);
	window[0] = now() + 1 * SEC;
	window[1] = window[0] + atoll(argv[1]) * SEC;
	close(gate[1]);
	sleep_until(window[0] - SEC / 2);
	change(argc - 3, argv + 3);
	bad = finish();

	for (i = 3; !bad && i < argc; i++)
		if (strchr("EeC", argv[i][0]))
			expect(argv[i][0], argv[i] + 2);
	if (!bad)
		judge_gaps();
	clean_up();
	printf("worst=%.2f of the tolerance\n", worst);
	return bad || worst > 1;
}
