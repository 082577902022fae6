// SPDX-License-Identifier: GPL-2.0
/*
 * A task set in a reservation on several CPUs: is a job late?
 *
 * sets SECONDS TURN_US CLOCK SEED RUNTIME_US/PERIOD_US CPUS C,T,BOUND ...
 * late ...: the same, and a job must be late
 *
 * Tasks of C us every T us or more, shortest period first, under SCHED_FIFO, run on any of
 * the first CPUS CPUs, where their group "set" has that reservation. BOUND is what the
 * analysis says of their response times (nova_rt.model.fixed_priority); it is shown, and
 * deadlines, which are the periods, are judged. On each CPU there are besides, without a
 * pause, a group that has all else that may be reserved, a SCHED_FIFO task of the root group,
 * and a normal task.
 *
 * In every round of 400 ms the tasks begin together, or at random and with random gaps. The
 * seed says so, and how long the periods of the other groups are, whether those of all CPUs
 * begin at once and are the same, and whether tasks of lowest priority in the set use up what
 * is left of its budgets: always, never, or now and then.
 *
 * Virtual CPUs take turns, and what is busy ends its turn after TURN_US (at an instruction
 * per ns; 0: never). By the CLOCK "cpu" a job has ended when the kernel has charged C for
 * it; by "instructions" when it has executed as many as one CPU does in that time.
 */
#include "rtt.h"

#define MAX_TASKS 16
#define MAX_OTHERS 64
#define ROUND (400 * MS)
#define ROUNDS_APART (500 * MS)
/* Of each CPU, in hundredths: all that can be reserved beside the fair server's 5. */
#define CAP 90
#define BLOCK_NS 10000

struct task {
	int64_t c, t, bound;
};

struct result {
	int64_t jobs, late, longest;
	int64_t released;	/* the job that has not ended; or 0 */
};

struct setup {
	int64_t runtime_us, period_us, turn_ns, begin, end;
	bool by_instructions, aligned;
	unsigned int seed;
	int cpus, nr;
	struct task tasks[MAX_TASKS];
};

enum background { ALWAYS, NEVER, NOW_AND_THEN, NR_BACKGROUNDS };

static struct setup setup;
static pid_t others[MAX_OTHERS];
static int nr_others;

/* Instructions that do nothing are nearly free to emulate. */
static void spin_block(void)
{
	static int64_t turn;
	int i;

	for (i = 0; i < BLOCK_NS / 250; i++)
		asm volatile(".rept 248\n\tnop\n\t.endr" ::: "memory");
	turn += BLOCK_NS;
	if (setup.turn_ns && turn >= setup.turn_ns) {
		relax();
		turn = 0;
	}
}

static void work(int64_t ns)
{
	int64_t end = cputime() + ns;

	if (setup.by_instructions)
		for (end = 0; end < ns; end += BLOCK_NS)
			spin_block();
	else
		while (cputime() < end)
			spin_block();
}

static void run_round(const struct task *task, struct result *res, int64_t begin, bool together)
{
	int64_t release = begin + (together ? 0 : rnd(task->t / 1000) * 1000LL), response;

	while (release + task->t <= begin + ROUND) {
		res->released = release;
		sleep_until(release);
		work(task->c);
		response = now() - release;
		if (response > res->longest)
			res->longest = response;
		res->late += response > task->t;
		res->jobs++;
		res->released = 0;
		release += task->t;
		if (!together && rnd(2))
			release += rnd(task->t / 2000) * 1000LL;
	}
}

static void run_task(const struct task *task, struct result *res)
{
	unsigned int round;
	int64_t begin;

	seed += task - setup.tasks;
	for (round = 0;; round++) {
		/* All tasks begin their rounds together, at random within a period. */
		begin = setup.begin + round * ROUNDS_APART +
			(setup.seed * 7919 + round * 104729) % 1000 * setup.period_us;
		if (begin + ROUND > setup.end)
			break;
		run_round(task, res, begin, (setup.seed + round) % 2);
	}
	/* To exit would use up budget. */
	for (;;)
		pause();
}

static void never_sleep(void)
{
	for (;;)
		spin_block();
}

static void now_and_then(void)
{
	for (;;) {
		work(rnd(setup.period_us) * 1000LL + 1);
		usleep(rnd(2 * setup.period_us));
	}
}

/* Start one that is not judged, on a CPU, or, with a negative one, where the set runs. */
static void start_other(const char *group, int cpu, int policy, int prio, void (*run)(void))
{
	pid_t pid = fork();

	seed++;
	if (!pid) {
		if (cpu < 0)
			set_cpus(0, 0, setup.cpus - 1);
		else
			set_cpu(0, cpu);
		if (cg_enter(group, getpid()) || set_policy(0, policy, prio))
			die("%s: %s", group, strerror(errno));
		sleep_until(setup.begin - SEC / 2 + (setup.aligned ? 0 : rnd(100000) * 1000LL));
		run();
	}
	others[nr_others++] = pid;
}

/* What is left for others of a CPU that has a server of the set, or has none. */
static int64_t left_us(int cpu, int64_t period_us)
{
	int64_t of_set = cpu < setup.cpus ?
		(setup.runtime_us * period_us + setup.period_us - 1) / setup.period_us : 0;

	return CAP * period_us / 100 - of_set - 1;
}

/* A group of its own for each CPU, for it has a period of its own. */
static void start_neighbour(int cpu)
{
	int64_t period_us = setup.period_us * (1 + (setup.aligned ? setup.seed / 6 : rnd(100)) % 8) / 4;
	int64_t runtime[64] = { 0 };
	char group[16];

	runtime[cpu] = left_us(cpu, period_us);
	snprintf(group, sizeof(group), "n%d", cpu);
	if (runtime[cpu] < period_us / 100)
		return;
	if (cg_make(group) || cg_set_rt_cpus(group, runtime, nr_cpus(), period_us))
		die("%s of %lld/%lld: %s", group, (long long)runtime[cpu],
		    (long long)period_us, strerror(errno));
	start_other(group, cpu, SCHED_FIFO, 90, never_sleep);
}

static void start_others(void)
{
	enum background background = setup.seed % NR_BACKGROUNDS;
	int cpu;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		start_neighbour(cpu);
		start_other("", cpu, SCHED_FIFO, 98, never_sleep);
		start_other("", cpu, SCHED_OTHER, 0, never_sleep);
		if (cpu < setup.cpus && background != NEVER)
			start_other("set", -1, SCHED_FIFO, 1,
				    background == ALWAYS ? never_sleep : now_and_then);
	}
}

static void parse(int argc, char **argv)
{
	struct task *task;
	char *end;

	if (argc < 8 || argc - 7 > MAX_TASKS)
		die("sets SECONDS TURN_US CLOCK SEED RUNTIME_US/PERIOD_US CPUS C,T,BOUND ...");
	setup.turn_ns = atoll(argv[2]) * 1000;
	setup.by_instructions = !strcmp(argv[3], "instructions");
	seed = setup.seed = atoi(argv[4]);
	setup.aligned = seed / NR_BACKGROUNDS % 2;
	setup.runtime_us = strtoll(argv[5], &end, 10);
	setup.period_us = strtoll(end + 1, NULL, 10);
	setup.cpus = atoi(argv[6]);
	if (setup.cpus > nr_cpus())
		skip("too few CPUs");
	for (; setup.nr < argc - 7; setup.nr++) {
		task = &setup.tasks[setup.nr];
		task->c = strtoll(argv[7 + setup.nr], &end, 10) * 1000;
		task->t = strtoll(end + 1, &end, 10) * 1000;
		task->bound = strtoll(end + 1, NULL, 10) * 1000;
	}
}

static void make_group(void)
{
	int64_t runtime[64] = { 0 };
	int cpu;

	for (cpu = 0; cpu < setup.cpus; cpu++)
		runtime[cpu] = setup.runtime_us;
	if (cg_make("set") || cg_set_rt_cpus("set", runtime, nr_cpus(), setup.period_us))
		die("runtime: %s", strerror(errno));
}

static void start_tasks(struct result *res, pid_t *pids)
{
	int i;

	for (i = 0; i < setup.nr; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			set_cpus(0, 0, setup.cpus - 1);
			if (cg_enter("set", getpid()) || set_policy(0, SCHED_FIFO, 80 - i))
				die("task %d: %s", i, strerror(errno));
			run_task(&setup.tasks[i], &res[i]);
		}
	}
}

static void end_all(pid_t *pids, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		/* Do not wait for budget. */
		set_policy(pids[i], SCHED_OTHER, 0);
		kill(pids[i], SIGKILL);
	}
	for (i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
}

/* Returns how many jobs were late, or stand still. */
static int64_t judge(struct result *res, int64_t end)
{
	int64_t jobs = 0, late = 0, open;
	double worst = 0, of_bound = 0, each;
	int i, worst_task = 0;

	for (i = 0; i < setup.nr; i++) {
		open = res[i].released && res[i].released < end ? end - res[i].released : 0;
		if (open > res[i].longest)
			res[i].longest = open;
		jobs += res[i].jobs;
		late += res[i].late + (open > setup.tasks[i].t || !res[i].jobs);
		each = (double)res[i].longest / setup.tasks[i].t;
		if (each > worst) {
			worst = each;
			worst_task = i;
		}
		each = (double)res[i].longest / setup.tasks[i].bound;
		if (each > of_bound)
			of_bound = each;
	}
	printf("%lld jobs, %lld late, worst response/deadline=%.4f (task %d) response/bound=%.4f\n",
	       (long long)jobs, (long long)late, worst, worst_task, of_bound);
	return late;
}

static int64_t play(int argc, char **argv)
{
	struct result *res = shared(sizeof(*res) * MAX_TASKS);
	pid_t pids[MAX_TASKS];
	char group[16];
	int64_t late;
	int cpu;

	parse(argc, argv);
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("no runtimes per CPU on this kernel");
	make_group();
	setup.begin = now() + SEC;
	setup.end = setup.begin + atoll(argv[1]) * SEC;
	set_policy(0, SCHED_FIFO, 99);
	start_tasks(res, pids);
	start_others();
	sleep_until(setup.end);
	late = judge(res, now());
	end_all(others, nr_others);
	end_all(pids, setup.nr);
	cg_remove("set");
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		snprintf(group, sizeof(group), "n%d", cpu);
		cg_remove(group);
	}
	return late;
}

int sets_main(int argc, char **argv)
{
	return play(argc, argv) != 0;
}

int late_main(int argc, char **argv)
{
	return play(argc, argv) == 0;
}
