// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic tasks in a group: are they in time?
 *
 * taskset SECONDS SCALE RUNTIME_US/PERIOD_US NOISE_US C,T ...
 *
 * The tasks (ms) run deadline-monotonic as SCHED_FIFO in group "set" with the
 * given reservation on every CPU; all times are multiplied by SCALE.
 *
 * Without noise (0) no deadline may be missed, and the normalised response
 * times are handed out as a cumulative distribution.
 *
 * Otherwise there are 20 groups with 2% every NOISE_US and a task that never
 * sleeps, a SCHED_FIFO task of priority 98 in the root group, and one of lowest
 * priority in the set, which uses up its budget. No response time may exceed
 * what the supply bound function of the reservation says, plus 100 us.
 */
#include "rtt.h"

#define MAX_TASKS 32
#define MAX_JOBS 20000
#define NR_NOISE 20
#define BOUND_TOLERANCE (100 * 1000LL)

struct result {
	int64_t jobs, missed, longest;
	float normalised[MAX_JOBS];
};

static struct periodic tasks[MAX_TASKS];
static int nr;

static void run_jobs(struct periodic *task, struct result *res, int64_t begin, int64_t end)
{
	int64_t release, response;

	for (release = begin; release + task->t <= end; release += task->t) {
		sleep_until(release);
		burn(task->c);
		response = now() - release;
		if (response > res->longest)
			res->longest = response;
		if (response > task->t)
			res->missed++;
		if (res->jobs < MAX_JOBS)
			res->normalised[res->jobs] = (float)response / task->t;
		res->jobs++;
		/* Hopelessly late: that is enough of it. */
		if (now() > end)
			break;
	}
}

static pid_t hog(const char *group, int prio)
{
	pid_t pid = fork();

	if (!pid) {
		for (;;)
			burn(SEC);
	}
	if (cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, prio))
		die("hog in %s: %s", group, strerror(errno));
	return pid;
}

/* Start all noise, return how many processes that are. */
static int start_noise(pid_t *pids, int64_t period_us)
{
	char group[16];
	int i;

	for (i = 0; i < NR_NOISE; i++) {
		snprintf(group, sizeof(group), "n%d", i);
		if (cg_make(group) || cg_set_rt(group, period_us / 50, period_us))
			die("%s", group);
		pids[i] = hog(group, 90);
	}
	pids[i++] = hog("set", 1);
	pids[i++] = hog("", 98);
	return i;
}

static void stop_noise(pid_t *pids, int n)
{
	char group[16];
	int i;

	for (i = n - 1; i >= 0; i--) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		snprintf(group, sizeof(group), "n%d", i);
		if (i < NR_NOISE)
			cg_remove(group);
	}
}

static void parse_tasks(char **argv, int argc, double scale)
{
	char *t;

	for (nr = 0; nr < argc; nr++) {
		tasks[nr].c = strtod(argv[nr], &t) * MS * scale;
		tasks[nr].t = strtod(t + 1, NULL) * MS * scale;
		if (nr && tasks[nr].t < tasks[nr - 1].t)
			die("tasks are to be sorted by period");
	}
}

static void start_tasks(struct result *res, pid_t *pids, int64_t begin, int64_t end)
{
	int i;

	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			run_jobs(&tasks[i], &res[i], begin, end);
			_exit(0);
		}
		if (cg_enter("set", pids[i]) || set_policy(pids[i], SCHED_FIFO, 80 - i))
			die("task %d: %s", i, strerror(errno));
	}
}

static void print_distribution(struct result *res)
{
	int64_t total = 0, sum = 0, j;
	int i, at, hist[101] = { 0 };

	for (i = 0; i < nr; i++) {
		for (j = 0; j < res[i].jobs && j < MAX_JOBS; j++, total++) {
			at = 100 * res[i].normalised[j];
			hist[at < 100 ? at : 100]++;
		}
	}
	printf("DATA cdf");
	for (i = 0; i <= 100 && total; i++) {
		sum += hist[i];
		printf(" %.5f", (double)sum / total);
	}
	printf("\n");
}

static int judge_deadlines(struct result *res)
{
	int64_t jobs = 0, missed = 0;
	double worst = 0, each;
	int i, idle = 0;

	for (i = 0; i < nr; i++) {
		each = (double)res[i].longest / tasks[i].t;
		jobs += res[i].jobs;
		missed += res[i].missed;
		idle += !res[i].jobs;
		if (each > worst)
			worst = each;
	}
	print_distribution(res);
	printf("%lld jobs, %lld missed their deadline, worst response=%.3f of the period\n",
	       (long long)jobs, (long long)missed, worst);
	return idle || missed;
}

static int judge_supply(struct result *res, int64_t runtime, int64_t period)
{
	int64_t bound;
	int i, bad = 0;

	for (i = 0; i < nr; i++) {
		bound = supply_response(tasks, i, runtime, period);
		if (!bound)
			die("no bound for task %d", i);
		printf("task %d: %lld jobs, response=%.3fms (%.3f) ", i,
		       (long long)res[i].jobs, (double)res[i].longest / MS,
		       (double)bound / MS);
		bad |= !res[i].jobs || res[i].longest > bound + BOUND_TOLERANCE;
	}
	printf("\n");
	return bad;
}

int taskset_main(int argc, char **argv)
{
	int64_t begin, end, runtime_us, period_us, noise_us;
	int i, bad, nr_noise = 0;
	pid_t noise[NR_NOISE + 2], pids[MAX_TASKS];
	struct result *res;
	double scale;
	char *slash;

	if (argc < 6 || argc - 5 > MAX_TASKS)
		die("taskset SECONDS SCALE RUNTIME_US/PERIOD_US NOISE_US C,T ...");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	scale = atof(argv[2]);
	runtime_us = scale * strtod(argv[3], &slash);
	period_us = scale * strtod(slash + 1, NULL);
	noise_us = scale * atof(argv[4]);
	parse_tasks(argv + 5, argc - 5, scale);
	res = shared(nr * sizeof(*res));

	cg_make("set");
	if (cg_set_rt("set", runtime_us, period_us))
		die("runtime: %s", strerror(errno));
	/* What is forked must not run before it is in its group. */
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	begin = now() + SEC;
	end = begin + atoll(argv[1]) * SEC;
	start_tasks(res, pids, begin, end);
	sleep_until(begin - SEC / 10);
	if (noise_us)
		nr_noise = start_noise(noise, noise_us);
	/* All jobs are done by then, or late: those starved must end, too. */
	sleep_until(end);
	stop_noise(noise, nr_noise);
	for (i = 0; i < nr; i++)
		waitpid(pids[i], NULL, 0);
	set_policy(0, SCHED_OTHER, 0);
	cg_remove("set");

	bad = noise_us ? judge_supply(res, runtime_us * 1000, period_us * 1000) :
			 judge_deadlines(res);
	return bad;
}
