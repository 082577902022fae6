// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic tasks in a group: do they meet their deadlines?
 *
 * taskset SECONDS SCALE RUNTIME_US PERIOD_US LIMIT NOISE C,T ...
 *
 * The tasks (ms) run deadline-monotonic as SCHED_FIFO in group "set" with the
 * given reservation on every CPU; all times are multiplied by SCALE. NOISE
 * groups with a task that never sleeps, and a SCHED_FIFO task of priority 98
 * in the root group, disturb when it is not 0. The number is the largest
 * response time divided by the period; it must not exceed LIMIT. With the name
 * of a file in CDF, the normalised response times are printed there.
 */
#include "rtt.h"

#define MAX_TASKS 32
#define MAX_JOBS 20000

struct job_task {
	int64_t c, t;
	int prio;
	pid_t pid;
};

struct result {
	int64_t jobs, missed;
	double worst;
	float normalised[MAX_JOBS];
};

static struct job_task tasks[MAX_TASKS];
static int nr;

static void run_jobs(struct job_task *task, struct result *res, int64_t begin, int64_t end)
{
	int64_t release;

	for (release = begin; release + task->t <= end; release += task->t) {
		double r;

		sleep_until(release);
		burn(task->c);
		r = (double)(now() - release) / task->t;
		if (r > res->worst)
			res->worst = r;
		if (r > 1)
			res->missed++;
		if (res->jobs < MAX_JOBS)
			res->normalised[res->jobs] = r;
		res->jobs++;
		/* Hopelessly late: that is enough of it. */
		if (now() > end)
			break;
	}
}

static pid_t noise(int i)
{
	static const int64_t periods[] = { 4000, 20000, 100000, 500000 };
	char group[32];
	pid_t pid = fork();

	if (!pid) {
		for (;;)
			burn(SEC);
	}
	if (!i) {
		set_policy(pid, SCHED_FIFO, 98);
		return pid;
	}
	snprintf(group, sizeof(group), "n%d", i);
	if (cg_make(group) || cg_set_rt(group, periods[i % 4] / 50, periods[i % 4]) ||
	    cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, 90))
		die("noise %d: %s", i, strerror(errno));
	return pid;
}

static void parse_tasks(char **argv, int argc, double scale)
{
	char *t;
	int i;

	for (i = 0; i < argc; i++, nr++) {
		tasks[i].c = strtod(argv[i], &t) * MS * scale;
		tasks[i].t = strtod(t + 1, NULL) * MS * scale;
		/* Sorted by period: deadline-monotonic. */
		tasks[i].prio = 80 - i;
	}
}

static void print_cdf(struct result *res)
{
	int i, hist[101] = { 0 };
	int64_t total = 0, sum = 0, j;

	for (i = 0; i < nr; i++)
		for (j = 0; j < res[i].jobs && j < MAX_JOBS; j++, total++)
			hist[res[i].normalised[j] >= 1 ? 100 :
			     (int)(100 * res[i].normalised[j])]++;
	printf("cdf ");
	for (i = 0; i <= 100; i++) {
		sum += hist[i];
		printf("%.4f,", (double)sum / total);
	}
	printf(" ");
}

int taskset_main(int argc, char **argv)
{
	int64_t begin, end, jobs = 0, missed = 0;
	struct result *res;
	pid_t noises[32];
	int i, nr_noise;
	double worst = 0;

	if (argc < 8)
		die("taskset SECONDS SCALE RUNTIME_US PERIOD_US LIMIT NOISE C,T ...");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	parse_tasks(argv + 7, argc - 7, atof(argv[2]));
	res = shared(nr * sizeof(*res));
	nr_noise = atoi(argv[6]);

	cg_make("set");
	if (cg_set_rt("set", atof(argv[3]) * atof(argv[2]), atof(argv[4]) * atof(argv[2])))
		die("runtime: %s", strerror(errno));
	/* What is forked must not run before it is in its group. */
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	begin = now() + SEC;
	end = begin + atoll(argv[1]) * SEC;
	for (i = 0; i < nr; i++) {
		tasks[i].pid = fork();
		if (!tasks[i].pid) {
			run_jobs(&tasks[i], &res[i], begin, end);
			_exit(0);
		}
		if (cg_enter("set", tasks[i].pid) ||
		    set_policy(tasks[i].pid, SCHED_FIFO, tasks[i].prio))
			die("task %d: %s", i, strerror(errno));
	}
	sleep_until(begin - SEC / 10);
	for (i = 0; i < nr_noise; i++)
		noises[i] = noise(i);

	for (i = 0; i < nr; i++) {
		waitpid(tasks[i].pid, NULL, 0);
		jobs += res[i].jobs;
		missed += res[i].missed;
		if (res[i].worst > worst)
			worst = res[i].worst;
	}
	for (i = 0; i < nr_noise; i++) {
		char group[32];

		kill(noises[i], 9);
		waitpid(noises[i], NULL, 0);
		snprintf(group, sizeof(group), "n%d", i);
		if (i)
			cg_remove(group);
	}
	set_policy(0, SCHED_OTHER, 0);
	cg_remove("set");
	if (getenv("CDF"))
		print_cdf(res);
	printf("%lld jobs, %lld missed, worst=%.3f of the period (%s)\n",
	       (long long)jobs, (long long)missed, worst, argv[5]);
	return jobs < nr || worst > atof(argv[5]);
}
