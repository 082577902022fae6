// SPDX-License-Identifier: GPL-2.0
/*
 * several WORLD SECONDS: are the tasks of a group with several servers in time?
 *
 * Response times must keep the bound of the analysis for a group whose tasks
 * are scheduled globally on what its servers are supplied with: fixed
 * priorities on the multiprocessor periodic resource, as nova_rt.model's
 * fixed_priority.analyse() computes it. The bounds in the tables are its
 * response_us for the tasks and the reservation beside them. TOLERANCE is for
 * interrupts, context switches and moves, which the analysis does not have.
 *
 *   waits   The task of highest priority waits with one server for its CPU,
 *           while the other server has its CPU and runs another task.
 *   starves Each newcomer takes the place of a waiting task, which is sent to
 *           the server that just begins to wait for its CPU.
 *   storm   Neighbours and tasks come and go at random.
 */
#include "rtt.h"

#define MAX_ACTORS 16
#define MAX_CPUS 64
#define TOLERANCE (2 * MS)
#define HOG SEC * 1000
#define ONCE 0

/* Times are in us, from the beginning of the world. */
struct actor {
	const char *group;
	int cpu;		/* where it starts; it stays there if it has no bound */
	int prio;
	int64_t first, c, t;	/* every t, or ONCE */
	int64_t bound;
};

struct reservation {
	const char *group;
	int64_t runtime[2], period;
};

struct world {
	const char *name;
	int scale;		/* of all times */
	bool random;
	int64_t prime_until;	/* actors that start before 0 end then */
	int64_t lasts;		/* 0: as long as asked for */
	struct reservation groups[6];
	struct actor actors[MAX_ACTORS];
};

static const struct world worlds[] = {
	/*
	 * The first two use up the budgets, so that they come back at 44686 and
	 * at 49000. Bounds: Resource(876, 50000, 2).
	 */
	{ "waits", 16, .prime_until = -200, .lasts = 300000, .groups = {
		{ "g", { 438, 438 }, 50000 },
		{ "n0", { 44500, 0 }, 50000 },
		{ "n1", { 0, 44500 }, 50000 },
	}, .actors = {
		{ "g", 0, 50, -5314, HOG, ONCE },
		{ "g", 1, 50, -1000, HOG, ONCE },
		{ "n0", 0, 50, 16818, HOG, ONCE },
		{ "n1", 1, 50, 0, HOG, ONCE },
		{ "g", 0, 64, 54509, 402, ONCE, 99526 },
		{ "g", 0, 63, 330, 125, ONCE, 99450 },
		{ "g", 1, 62, 55052, 322, ONCE, 149272 },
		{ "g", 1, 61, 23865, 1776, ONCE, 349559 },
	} },
	/* Bounds: Resource(40000, 100000, 2). */
	{ "starves", 1, .lasts = 3000000, .groups = {
		{ "g", { 20000, 20000 }, 100000 },
		{ "n0", { 68000, 0 }, 100000 },
		{ "n1", { 0, 68000 }, 100000 },
	}, .actors = {
		{ "n0", 0, 50, 0, 68000, 128000 },
		{ "n1", 1, 50, 64000, 68000, 128000 },
		{ "g", 0, 65, 64200, 1000, 256000, 161000 },
		{ "g", 1, 64, 128200, 1000, 256000, 162000 },
		{ "g", 0, 63, 192200, 1000, 256000, 162500 },
		{ "g", 1, 62, 256200, 1000, 256000, 163000 },
		{ "g", 0, 61, 64100, 1000, ONCE, 163500 },
	} },
	/* Bounds: Resource(60000, 100000, 2). */
	{ "storm", 1, .random = true, .groups = {
		{ "g", { 30000, 30000 }, 100000 },
		{ "n0", { 20000, 0 }, 50000 },
		{ "n1", { 0, 20000 }, 50000 },
		{ "n2", { 28000, 0 }, 150000 },
		{ "n3", { 0, 28000 }, 150000 },
	}, .actors = {
		{ "n0", 0, 50, 0, 60000, 150000 },
		{ "n1", 1, 50, 0, 60000, 150000 },
		{ "n2", 0, 50, 0, 60000, 300000 },
		{ "n3", 1, 50, 0, 60000, 300000 },
		{ "g", 0, 66, 0, 20000, 400000, 160000 },
		{ "g", 1, 65, 0, 30000, 500000, 250000 },
		{ "g", 0, 64, 0, 15000, 600000, 250000 },
		{ "g", 1, 63, 0, 40000, 700000, 367500 },
		{ "g", 0, 62, 0, 25000, 800000, 457500 },
		{ "g", 1, 61, 0, 50000, 900000, 657500 },
	} },
};

struct result {
	int64_t jobs, longest;
	int64_t released;	/* the job that has not ended, in the future perhaps; or 0 */
};

static int64_t us(const struct world *world, int64_t time)
{
	return time * world->scale * 1000;
}

/* The time to the next release, and how long its work takes. */
static int64_t gap_of(const struct world *world, const struct actor *actor)
{
	return us(world, actor->t + (world->random ? rnd(actor->t / 2) : 0));
}

static int64_t work_of(const struct world *world, const struct actor *actor)
{
	/* What has a bound may take less, but less often does. */
	if (world->random && (!actor->bound || !rnd(4)))
		return us(world, 1 + rnd(actor->c));
	return us(world, actor->c);
}

static void act(const struct world *world, const struct actor *actor, struct result *res,
		int64_t begin)
{
	int64_t release = begin + us(world, actor->first);

	set_cpu(0, actor->cpu);
	if (cg_enter(actor->group, getpid()) || set_policy(0, SCHED_FIFO, actor->prio))
		die("%s: %s", actor->group, strerror(errno));
	if (actor->bound) {
		/* One at a time, so that none is sent elsewhere. */
		sleep_until(begin - 50 * MS * actor->prio / 4);
		set_cpu(0, ANY_CPU);
	}
	do {
		/* One that starves does not get to say so. */
		res->released = release;
		sleep_until(release);
		burn(work_of(world, actor));
		if (now() - release > res->longest)
			res->longest = now() - release;
		res->jobs++;
		res->released = 0;
		release += gap_of(world, actor);
	} while (actor->t);
	/* To exit would use up budget. */
	for (;;)
		pause();
}

static void make_groups(const struct world *world)
{
	const struct reservation *r;
	int64_t runtime[MAX_CPUS] = { 0 };

	for (r = world->groups; r->group; r++) {
		runtime[0] = us(world, r->runtime[0]) / 1000;
		runtime[1] = us(world, r->runtime[1]) / 1000;
		cg_make(r->group);
		if (cg_set_rt_cpus(r->group, runtime, nr_cpus(), us(world, r->period) / 1000))
			die("runtime of %s: %s", r->group, strerror(errno));
	}
}

static int judge(const struct world *world, const struct result *res, int64_t end)
{
	const struct actor *actor;
	int64_t longest, jobs;
	bool open;
	int i, bad = 0;

	for (i = 0; world->actors[i].group; i++) {
		actor = &world->actors[i];
		if (!actor->bound)
			continue;
		jobs = res[i].jobs;
		longest = res[i].longest;
		open = res[i].released && res[i].released < end;
		if (open && end - res[i].released > longest)
			longest = end - res[i].released;
		printf("priority %d: %lld jobs, response=%.3fms (%.3f)%s ", actor->prio,
		       (long long)jobs, (double)longest / MS,
		       (double)us(world, actor->bound) / MS,
		       open ? " and not ended" : "");
		bad |= (!jobs && !open) ||
		       longest > us(world, actor->bound) + TOLERANCE;
	}
	printf("\n");
	return bad;
}

static void end_actor(pid_t pid)
{
	/* Do not wait for budget. */
	set_policy(pid, SCHED_OTHER, 0);
	kill(pid, SIGKILL);
}

static int play(const struct world *world, int64_t lasts)
{
	struct result *res = shared(sizeof(*res) * MAX_ACTORS);
	pid_t pids[MAX_ACTORS];
	int64_t begin, end;
	int i, bad, n;

	make_groups(world);
	begin = now() + 3 * SEC;
	for (n = 0; world->actors[n].group; n++) {
		seed++;
		pids[n] = fork();
		if (!pids[n])
			act(world, &world->actors[n], &res[n], begin);
	}
	set_cpu(0, 0);
	set_policy(0, SCHED_FIFO, 99);
	if (world->prime_until) {
		sleep_until(begin + us(world, world->prime_until));
		for (i = 0; i < n; i++)
			if (world->actors[i].first < 0)
				end_actor(pids[i]);
	}
	sleep_until(begin + lasts);
	end = now();
	bad = judge(world, res, end);
	for (i = 0; i < n; i++)
		end_actor(pids[i]);
	for (i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
	for (i = 0; world->groups[i].group; i++)
		cg_remove(world->groups[i].group);
	return bad;
}

int several_main(int argc, char **argv)
{
	unsigned int i;

	if (argc != 3)
		die("several WORLD SECONDS");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("no runtimes per CPU on this kernel");
	for (i = 0; i < ARRAY_SIZE(worlds); i++)
		if (!strcmp(argv[1], worlds[i].name))
			return play(&worlds[i], us(&worlds[i], worlds[i].lasts) ?:
						atoll(argv[2]) * SEC);
	die("there is no world %s", argv[1]);
}
