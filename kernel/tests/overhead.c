// SPDX-License-Identifier: GPL-2.0
/*
 * overhead NS_PER_INSTRUCTION: what the scheduler costs
 *
 * In virtual time an instruction always takes as long, so time counts them.
 * The numbers are instructions per switch between two tasks that yield to each
 * other, and per wake-up with the switch that follows, by two that pass a byte
 * to and fro: SCHED_FIFO inside a group, the same outside of groups, and
 * SCHED_OTHER. They mean something beside another kernel's.
 */
#include "rtt.h"

#define ROUNDS 2000

struct pair {
	int there[2], back[2];
	int64_t ns;
};

struct place {
	const char *name, *group;
	int policy;
};

static void yield_body(struct pair *pair, bool first)
{
	int64_t begin = now();
	int i;

	for (i = 0; i < ROUNDS; i++)
		sched_yield();
	if (first)
		pair->ns = now() - begin;
}

static void pass_body(struct pair *pair, bool first)
{
	int in = first ? pair->back[0] : pair->there[0];
	int out = first ? pair->there[1] : pair->back[1];
	int64_t begin = now();

	pass_byte(in, out, first, ROUNDS);
	if (first)
		pair->ns = now() - begin;
}

static pid_t start(void (*body)(struct pair *pair, bool first), struct pair *pair,
		   const struct place *place, bool first, int gate[2])
{
	pid_t pid = fork();
	char c;

	if (!pid) {
		close(gate[1]);
		if (read(gate[0], &c, 1))
			_exit(1);
		body(pair, first);
		_exit(0);
	}
	set_cpu(pid, 0);
	if (cg_enter(place->group, pid) ||
	    set_policy(pid, place->policy, place->policy == SCHED_FIFO ? 50 : 0))
		die("%s: %s", place->name, strerror(errno));
	return pid;
}

/* The time of one of 2 * ROUNDS steps. */
static double measure(void (*body)(struct pair *pair, bool first), const struct place *place)
{
	struct pair *pair = shared(sizeof(*pair));
	int gate[2], i, status;
	pid_t pids[2];

	if (pipe(pair->there) || pipe(pair->back) || pipe(gate))
		die("pipe");
	for (i = 0; i < 2; i++)
		pids[i] = start(body, pair, place, i == 0, gate);
	close(gate[0]);
	close(gate[1]);
	for (i = 0; i < 2; i++)
		if (waitpid(pids[i], &status, 0) != pids[i] || status)
			die("%s: a task failed", place->name);
	return pair->ns / (2.0 * ROUNDS);
}

int overhead_main(int argc, char **argv)
{
	static const struct place places[] = {
		{ "group", "o", SCHED_FIFO },
		{ "root", "", SCHED_FIFO },
		{ "other", "", SCHED_OTHER },
	};
	unsigned int i;
	double ns, switched, woken;

	if (argc != 2)
		die("overhead NS_PER_INSTRUCTION");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	ns = atof(argv[1]);
	cg_make("o");
	/* A server that is not used up while it is measured. */
	if (cg_set_rt("o", 900000, 1000000))
		die("runtime");
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		switched = measure(yield_body, &places[i]) / ns;
		woken = measure(pass_body, &places[i]) / ns;
		printf("%s-switch=%.0f %s-wakeup=%.0f ", places[i].name, switched,
		       places[i].name, woken);
	}
	cg_remove("o");
	printf("instructions\n");
	return 0;
}
