// SPDX-License-Identifier: GPL-2.0
/*
 * frequency: under schedutil, does a CPU have its highest frequency while a SCHED_FIFO task
 * of a group runs, and its lowest while it has nearly nothing to do?
 *
 * A task of the root group is for comparison.
 */
#include "rtt.h"

#define CPUFREQ "/sys/devices/system/cpu/cpu0/cpufreq/"
#define RUNTIME_US 10000
#define PERIOD_US 100000
/* Of each task's CPU time; of an idle CPU's time. */
#define WINDOW SEC
#define EVERY MS
/* The governor has this long, by its rate limit and one change of frequency. */
#define LATE (20 * MS)

struct seen {
	int highest, lowest, all;
};

static long highest_khz, lowest_khz;

static long read_khz(const char *file)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), CPUFREQ "%s", file);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
	return atol(text);
}

static void look(struct seen *seen)
{
	long khz = read_khz("scaling_cur_freq");

	seen->highest += khz == highest_khz;
	seen->lowest += khz == lowest_khz;
	seen->all++;
}

static void run(struct seen *seen)
{
	int64_t end = cputime() + WINDOW;

	burn(LATE);
	while (cputime() < end) {
		burn(EVERY);
		look(seen);
	}
	_exit(0);
}

static void idle(struct seen *seen)
{
	int64_t end = now() + WINDOW;

	sleep_until(now() + LATE);
	while (now() < end) {
		sleep_until(now() + EVERY);
		look(seen);
	}
}

static bool at_work(const char *group, struct seen *seen)
{
	pid_t pid = fork_task(group, 0, 10);

	if (!pid)
		run(seen);
	waitpid(pid, NULL, 0);
	printf("%s: %d of %d at the highest; ", *group ? "group" : "root group", seen->highest,
	       seen->all);
	return seen->all && seen->highest == seen->all;
}

int frequency_main(int argc, char **argv)
{
	struct seen *root = shared(sizeof(*root)), *group = shared(sizeof(*group)), rest = {};
	bool ok;

	(void)argc;
	(void)argv;
	if (access(CPUFREQ "scaling_governor", R_OK))
		skip("no frequency to change");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	highest_khz = read_khz("cpuinfo_max_freq");
	lowest_khz = read_khz("cpuinfo_min_freq");
	if (cg_make("a") || cg_set_rt("a", RUNTIME_US, PERIOD_US))
		die("group: %s", strerror(errno));
	ok = at_work("", root);
	ok &= at_work("a", group);
	cg_remove("a");
	idle(&rest);
	printf("at rest: %d of %d at the lowest\n", rest.lowest, rest.all);
	return !ok || rest.lowest < rest.all * 9 / 10;
}
