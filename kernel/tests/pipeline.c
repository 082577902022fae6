// SPDX-License-Identifier: GPL-2.0
/*
 * An audio-like pipeline of three threads, one waking the next
 *
 * pipeline group|deadline SECONDS
 *
 * Each period (2902.5 us) the work of Table 1 of the paper on HCBS in
 * containers, 290 + 290 + 58.05 us, must be done in order, beside a
 * SCHED_DEADLINE task of 6667/16667 us. Either one group serves all three, or
 * each has a SCHED_DEADLINE reservation with the period split in proportion
 * (equation 1). The number is the smallest percentage of the CPU, from 15 on,
 * with which no deadline is missed.
 */
#include "rtt.h"

#define PERIOD 2902500LL
#define STAGES 3

static const int64_t work[STAGES] = { 290000, 290000, 58050 };
static const int64_t split[STAGES] = { 1319320, 1319320, 263860 };

static int links[STAGES + 1][2];
static bool grouped;

static void stage(int i)
{
	char c;

	while (read(links[i][0], &c, 1) == 1 && c) {
		burn(work[i]);
		if (write(links[i + 1][1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

static pid_t interference(void)
{
	pid_t pid = fork();
	int64_t t;

	if (pid)
		return pid;
	if (set_deadline(0, 6667000, 16667000))
		die("interference: %s", strerror(errno));
	for (t = now();; t += 16667000) {
		burn(6600000);
		sleep_until(t + 16667000);
	}
}

static pid_t start_stage(int i, int percent)
{
	/* Three equal utilisations, scaled to @percent in all. */
	double scale = percent / 100.0 / (STAGES * 0.2198);
	pid_t pid = fork();
	int err;

	if (!pid)
		stage(i);
	if (grouped)
		err = cg_enter("p", pid) ?: set_policy(pid, SCHED_FIFO, 10 + i);
	else
		err = set_deadline(pid, work[i] * scale, split[i]);
	if (err)
		die("stage %d at %d%%: %s", i, percent, strerror(err));
	return pid;
}

/* Run the pipeline at @percent; returns how often it was late. */
static int late(int percent, int64_t seconds)
{
	int64_t t, end;
	pid_t pids[STAGES], other;
	int i, nr_late = 0;
	char c = 1;

	for (i = 0; i <= STAGES; i++)
		if (pipe(links[i]))
			die("pipe");
	if (grouped && (cg_make("p") || cg_set_rt("p", PERIOD * percent / 100000, PERIOD / 1000)))
		die("group at %d%%", percent);
	for (i = 0; i < STAGES; i++)
		pids[i] = start_stage(i, percent);
	other = interference();
	usleep(50000);

	end = now() + seconds * SEC;
	for (t = now() + PERIOD; t < end; t += PERIOD) {
		sleep_until(t);
		if (write(links[0][1], &c, 1) != 1 || read(links[STAGES][0], &c, 1) != 1)
			die("pipeline");
		if (now() > t + PERIOD) {
			nr_late++;
			t += (now() - t) / PERIOD * PERIOD;
		}
	}
	kill(other, 9);
	waitpid(other, NULL, 0);
	for (i = 0; i < STAGES; i++) {
		kill(pids[i], 9);
		waitpid(pids[i], NULL, 0);
	}
	for (i = 0; i <= STAGES; i++) {
		close(links[i][0]);
		close(links[i][1]);
	}
	if (grouped)
		cg_remove("p");
	return nr_late;
}

int pipeline_main(int argc, char **argv)
{
	int percent, n;

	if (argc != 3)
		die("pipeline group|deadline SECONDS");
	grouped = !strcmp(argv[1], "group");
	if (grouped && !cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 98);
	for (percent = 15; percent <= 40; percent++) {
		n = late(percent, atoll(argv[2]));
		printf("%d:%d ", percent, n);
		if (!n)
			break;
	}
	printf("no deadline missed from %d%% on\n", percent);
	/* The work is 21.98%; less cannot do. */
	return grouped ? percent > 24 : percent < 22;
}
