// SPDX-License-Identifier: GPL-2.0
/*
 * stat SECONDS: was this group denied CPU time?
 *
 * Three groups with 30/100 ms: the task of the first never sleeps, that of the
 * second asks for 20 ms every 100 ms, when the first waits for budget, and in the
 * third there is none. What cpu.rt_stat tells of each must agree with what its
 * task was accounted.
 */
#include "rtt.h"

#define RUNTIME (30 * MS)
#define PERIOD (100 * MS)

struct stat_line {
	long long used, throttled, waited, overruns;
};

static int wrong;

static void want(const char *what, double got, double expected, double off)
{
	if (got >= expected - off && got <= expected + off)
		return;
	wrong++;
	printf("%s: %.3f instead of %.3f; ", what, got, expected);
}

/* What the file says, summed over all CPUs. */
static struct stat_line read_stat(const char *group)
{
	struct stat_line sum = { 0 }, one;
	char buf[4096], *line = buf;
	int cpu, n = 0;

	if (cg_read(group, "cpu.rt_stat", buf, sizeof(buf)))
		die("no cpu.rt_stat");
	for (; *line; line = strchr(line, '\n') + 1, n++) {
		if (sscanf(line, "%d used_usec=%lld nr_throttled=%lld throttled_usec=%lld nr_overruns=%lld",
			   &cpu, &one.used, &one.throttled, &one.waited, &one.overruns) != 5)
			die("cpu.rt_stat: %s", line);
		sum.used += one.used;
		sum.throttled += one.throttled;
		sum.waited += one.waited;
		sum.overruns += one.overruns;
	}
	want("lines", n, nr_cpus(), 0);
	return sum;
}

static pid_t start(const char *group, int64_t begin, int64_t end, int64_t work, int64_t *used)
{
	pid_t pid = fork();
	int64_t t, c;

	if (!pid) {
		sleep_until(begin);
		c = cputime();
		for (t = begin; t < end; t += PERIOD) {
			if (work != PERIOD)
				sleep_until(t);
			while (now() < end && (work == PERIOD || cputime() - c < work)) {
				relax();
				*used = cputime();
			}
			c = cputime();
		}
		_exit(0);
	}
	set_cpu(pid, 0);
	if (cg_enter(group, pid) || set_policy(pid, SCHED_FIFO, 10))
		die("%s: %s", group, strerror(errno));
	return pid;
}

static struct stat_line difference(struct stat_line a, struct stat_line b)
{
	return (struct stat_line) {
		a.used - b.used, a.throttled - b.throttled, a.waited - b.waited,
		a.overruns - b.overruns,
	};
}

static void judge(struct stat_line *stat, int64_t *used, double periods)
{
	double all = periods * PERIOD / 1000;

	/* In percent of the CPU, and the number of times. */
	want("busy: used", 100 * stat[0].used / all, used[0] / 1000 * 100 / all, 0.1);
	want("busy: used its 30%", 100 * stat[0].used / all, 30, 0.1);
	want("busy: throttled every period", stat[0].throttled, periods, 1);
	want("busy: waited all the rest", 100 * stat[0].waited / all, 70, 0.1);
	want("modest: used", 100 * stat[1].used / all, used[1] / 1000 * 100 / all, 0.1);
	want("modest: used its 20%", 100 * stat[1].used / all, 20, 0.1);
	want("modest: never throttled", stat[1].throttled, 0, 0);
	want("modest: never waited for budget", stat[1].waited, 0, 0);
	want("empty: used", stat[2].used, 0, 0);
	want("empty: throttled", stat[2].throttled + stat[2].waited, 0, 0);
	want("overruns", stat[0].overruns + stat[1].overruns + stat[2].overruns, 0, 0);
	printf("used=%.3f%% (%.3f) throttled=%lld waited=%.3f%%; %d wrong\n",
	       100 * stat[0].used / all, used[0] / 10. / all, stat[0].throttled,
	       100 * stat[0].waited / all, wrong);
}

int stat_main(int argc, char **argv)
{
	static const char * const groups[] = { "busy", "modest", "empty" };
	int64_t *used = shared(2 * sizeof(*used)), begin, end, first[2];
	struct stat_line stat[3], before[3];
	pid_t pids[2];
	int i;

	if (argc != 2)
		die("stat SECONDS");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no statistics");
	for (i = 0; i < 3; i++)
		if (cg_make(groups[i]) || cg_set_rt(groups[i], RUNTIME / 1000, PERIOD / 1000))
			die("group %s", groups[i]);
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	begin = now() + SEC / 2;
	end = begin + (atoll(argv[1]) + 1) * SEC;
	pids[0] = start(groups[0], begin, end, PERIOD, &used[0]);
	pids[1] = start(groups[1], begin + 50 * MS, end, 20 * MS, &used[1]);

	/* Between replenishments of the busy one, while the modest one sleeps. */
	begin += 10 * PERIOD + 85 * MS;
	sleep_until(begin);
	for (i = 0; i < 3; i++)
		before[i] = read_stat(groups[i]);
	memcpy(first, used, sizeof(first));
	sleep_until(begin + (atoll(argv[1]) - 1) * SEC);
	for (i = 0; i < 3; i++)
		stat[i] = difference(read_stat(groups[i]), before[i]);
	for (i = 0; i < 2; i++)
		first[i] = used[i] - first[i];
	for (i = 0; i < 2; i++)
		waitpid(pids[i], NULL, 0);
	set_policy(0, SCHED_OTHER, 0);
	for (i = 0; i < 3; i++)
		cg_remove(groups[i]);

	judge(stat, first, (atoll(argv[1]) - 1) * 10);
	return wrong != 0;
}
