// SPDX-License-Identifier: GPL-2.0
/*
 * An audio-like pipeline of three threads, one waking the next
 *
 * pipeline SECONDS
 *
 * Each period (2902.5 us) the work of Table 1 of the paper on HCBS in
 * containers, 290 + 290 + 58.05 us, must be done in order, beside a
 * SCHED_DEADLINE task of 6667/16667 us. Either one group serves all three, or
 * each has a SCHED_DEADLINE reservation with the period split in proportion
 * (equation 1). Both get 15% to 35% of the CPU, as in Figure 2, each for
 * SECONDS. The numbers are the smallest percentages from which on it is never
 * late: by the end of the period, and by the end of the next, which is what
 * JACK with its two buffers notices. The work alone is 21.98%.
 */
#include "rtt.h"

#define PERIOD 2902500LL
#define STAGES 3
#define FIRST 15
#define LAST 35

static const int64_t work[STAGES] = { 290000, 290000, 58050 };
static const int64_t split[STAGES] = { 1319320, 1319320, 263860 };

/* links[i] leads to stage i; the first is woken by its timer. */
static int links[STAGES][2];
/* How often it ended after that many periods and one; shared. */
static int *nr_late;
static bool grouped;

/* Run until what this thread was accounted, all its calls included, is @work. */
static void work_until(int64_t work)
{
	while (cputime() < work)
		relax();
}

static void stage(int i, int64_t begin, int64_t end)
{
	int64_t release = begin, done;

	/* From here on: what was before is not part of the work. */
	done = cputime();
	for (;;) {
		if (!i) {
			release += PERIOD;
			if (release > end)
				break;
			sleep_until(release);
		} else if (read(links[i][0], &release, sizeof(release)) != sizeof(release)) {
			break;
		}
		done += work[i];
		work_until(done);
		if (i < STAGES - 1) {
			if (write(links[i + 1][1], &release, sizeof(release)) != sizeof(release))
				break;
		} else {
			nr_late[0] += now() > release + PERIOD;
			nr_late[1] += now() > release + 2 * PERIOD;
		}
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

static pid_t start_stage(int i, int percent, int64_t begin, int64_t end)
{
	/* Three equal utilisations, scaled to @percent in all. */
	double scale = percent / 100.0 / (STAGES * 0.2198);
	pid_t pid = fork();
	int err;

	if (!pid)
		stage(i, begin, end);
	if (grouped)
		err = cg_enter("p", pid) ?: set_policy(pid, SCHED_FIFO, 10 + i);
	else
		err = set_deadline(pid, work[i] * scale, split[i]);
	if (err)
		die("stage %d at %d%%: %s", i, percent, strerror(err));
	return pid;
}

/* Run the pipeline at @percent, and count how often it was late. */
static void run(int percent, int64_t seconds)
{
	int64_t begin = now() + SEC / 20, end = begin + seconds * SEC;
	pid_t pids[STAGES + 1];
	int i;

	nr_late[0] = nr_late[1] = 0;
	for (i = 1; i < STAGES; i++)
		if (pipe(links[i]))
			die("pipe");
	if (grouped && (cg_make("p") || cg_set_rt("p", PERIOD * percent / 100000, PERIOD / 1000)))
		die("group at %d%%", percent);
	for (i = 0; i < STAGES; i++)
		pids[i] = start_stage(i, percent, begin, end);
	pids[STAGES] = interference();

	sleep_until(end);
	for (i = 0; i <= STAGES; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	for (i = 1; i < STAGES; i++) {
		close(links[i][0]);
		close(links[i][1]);
	}
	if (grouped)
		cg_remove("p");
}

/* The percentage from which on it was never late, or LAST + 1. */
static int enough(const char *name, const int *nr)
{
	int percent, from = LAST + 1;

	printf("DATA %s", name);
	for (percent = LAST; percent >= FIRST && !nr[percent]; percent--)
		from = percent;
	for (percent = FIRST; percent <= LAST; percent++)
		printf(" %d:%d", percent, nr[percent]);
	printf("\n");
	return from;
}

int pipeline_main(int argc, char **argv)
{
	/* In one group or not; by the end of the period or of the next. */
	static const char * const names[2][2] = {
		{ "deadline", "deadline-buffered" }, { "group", "group-buffered" },
	};
	int nr[2][2][LAST + 1], need[2][2], i, j, percent;

	if (argc != 2)
		die("pipeline SECONDS");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	nr_late = shared(2 * sizeof(*nr_late));
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 98);
	for (i = 0; i < 2; i++) {
		grouped = i;
		for (percent = FIRST; percent <= LAST; percent++) {
			run(percent, atoll(argv[1]));
			for (j = 0; j < 2; j++)
				nr[i][j][percent] = nr_late[j];
		}
		for (j = 0; j < 2; j++)
			need[i][j] = enough(names[i][j], nr[i][j]);
	}
	printf("one group needs %d%%, a reservation per thread %d%%; buffered %d%% and %d%% (%d: more than %d)\n",
	       need[1][0], need[0][0], need[1][1], need[0][1], LAST + 1, LAST);
	/*
	 * About what the work is; and clearly more. Without a buffer the group
	 * must also catch up with what waking up takes: at 8 ns per instruction
	 * some 40 us, or 1.4% of the period, each time.
	 */
	for (j = 0; j < 2; j++)
		if (need[1][j] < 21 || need[1][j] > (j ? 23 : 25) || need[0][j] < need[1][j] + 4)
			return 1;
	return 0;
}
