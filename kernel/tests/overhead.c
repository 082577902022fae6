// SPDX-License-Identifier: GPL-2.0
/*
 * overhead NS_PER_INSTRUCTION: what the scheduler costs inside a group
 *
 * In virtual time an instruction always takes as long, so time counts them.
 * The numbers are instructions per switch between two SCHED_FIFO tasks that
 * yield to each other, and per wake-up with the switch that follows, by two
 * that pass a byte to and fro. They mean something beside another kernel's.
 */
#include "rtt.h"

#define ROUNDS 2000

struct pair {
	int there[2], back[2];
	int64_t ns;
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
	char c = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (first && write(out, &c, 1) != 1)
			_exit(1);
		if (read(in, &c, 1) != 1)
			_exit(1);
		if (!first && write(out, &c, 1) != 1)
			_exit(1);
	}
	if (first)
		pair->ns = now() - begin;
}

/* The time of one of 2 * ROUNDS steps, in a group with much runtime. */
static double measure(void (*body)(struct pair *pair, bool first))
{
	struct pair *pair = shared(sizeof(*pair));
	int gate[2], i;
	pid_t pids[2];
	char c;

	if (pipe(pair->there) || pipe(pair->back) || pipe(gate))
		die("pipe");
	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			close(gate[1]);
			if (read(gate[0], &c, 1))
				_exit(1);
			body(pair, i == 0);
			_exit(0);
		}
		set_cpu(pids[i], 0);
		if (cg_enter("o", pids[i]) || set_policy(pids[i], SCHED_FIFO, 50))
			die("enter: %s", strerror(errno));
	}
	close(gate[1]);
	for (i = 0; i < 2; i++)
		waitpid(pids[i], NULL, 0);
	return pair->ns / (2.0 * ROUNDS);
}

int overhead_main(int argc, char **argv)
{
	double ns, switched, woken;

	if (argc != 2)
		die("overhead NS_PER_INSTRUCTION");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	ns = atof(argv[1]);
	cg_make("o");
	if (cg_set_rt("o", 900000, 1000000))
		die("runtime");
	switched = measure(yield_body) / ns;
	woken = measure(pass_body) / ns;
	cg_remove("o");
	printf("switch=%.0f wakeup=%.0f instructions\n", switched, woken);
	return switched <= 0 || woken <= 0;
}
