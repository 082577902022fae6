// SPDX-License-Identifier: GPL-2.0
/*
 * switched: with rt_group_sched=0 there are no files for RT groups, and a SCHED_FIFO
 * task of any group, on either hierarchy, runs with those of the root group.
 */
#include "rtt.h"

#define WINDOW (3 * SEC)
/* The fair server may have the rest. */
#define LEAST 94.0

static const char *const files[] = {
	"cpu.rt_runtime_us", "cpu.rt_period_us", "cpu.rt_multi_runtime_us", "cpu.rt_stat",
	"cpu.rt.max", "cpu.rt.max.effective.local",
};

static int files_of(const char *group)
{
	char buf[64];
	size_t i;
	int n = 0;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		n += cg_read(group, files[i], buf, sizeof(buf)) != ENOENT;
	return n;
}

int switched_main(int argc, char **argv)
{
	volatile int64_t *used = shared(sizeof(*used));
	int64_t begin, was;
	double percent;
	int found;
	pid_t pid;

	(void)argc;
	(void)argv;
	if (cg_make("a") || cg_make("a/b"))
		die("groups");
	found = files_of("") + files_of("a") + files_of("a/b");
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	pid = fork();
	if (!pid) {
		if (set_policy(0, SCHED_FIFO, 1) || cg_enter("a/b", getpid()) ||
		    set_policy(0, SCHED_OTHER, 0) || set_policy(0, SCHED_FIFO, 1))
			die("SCHED_FIFO in a group: %s", strerror(errno));
		spin(used);
	}
	begin = now();
	was = *used;
	sleep_until(begin + WINDOW);
	percent = 100.0 * (*used - was) / (now() - begin);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cg_remove("a/b");
	cg_remove("a");
	printf("%d files, %.1f%%\n", found, percent);
	return found || percent < LEAST;
}
