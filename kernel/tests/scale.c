// SPDX-License-Identifier: GPL-2.0
/*
 * scale NS_PER_INSTRUCTION: what groups cost on many CPUs
 *
 * In virtual time an instruction of any CPU always takes as long, so time counts those
 * of all CPUs together. What is printed means something beside other numbers of CPUs.
 * Where there are many, a write that changes one, or none, takes at most two thirds of
 * what one takes that changes all.
 */
#include "rtt.h"

#define WRITES 20
#define WAKEUPS 1000
#define GROUPS 100
#define MANY 16
#define GROUP "s"

struct cost {
	double all, same, one;
};

static bool much(double part, double all)
{
	return 3 * part > 2 * all;
}

static double ns_per_instruction;

/* Write two texts in turn; return the instructions per write. */
static double writes(const char *file, const char *first, const char *second)
{
	int64_t begin = now();
	int i, err = 0;

	for (i = 0; i < WRITES && !err; i++)
		err = cg_write(GROUP, file, "%s", i % 2 ? second : first);
	if (err)
		die("%s: %s", file, strerror(err));
	return (now() - begin) / ns_per_instruction / WRITES;
}

/* Two tasks of the group, on any CPUs, pass a byte to and fro; instructions per wake-up. */
static double wakeup(void)
{
	int there[2], back[2], status, i;
	int64_t *ns = shared(sizeof(*ns));
	pid_t pids[2];

	if (pipe(there) || pipe(back))
		die("pipe");
	for (i = 0; i < 2; i++) {
		pids[i] = fork_task(GROUP, ANY_CPU, 50);
		if (!pids[i]) {
			int64_t begin = now();

			pass_byte(i ? there[0] : back[0], i ? back[1] : there[1], !i, WAKEUPS);
			*ns = now() - begin;
			_exit(0);
		}
	}
	for (i = 0; i < 2; i++)
		if (waitpid(pids[i], &status, 0) != pids[i] || status)
			die("a task failed");
	return *ns / ns_per_instruction / (2.0 * WAKEUPS);
}

static double available_kb(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	double kb = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lf", &kb) == 1)
			break;
	if (!kb)
		die("MemAvailable");
	fclose(file);
	return kb;
}

/* Of a group with its servers, in kB. */
static double memory(void)
{
	char name[16];
	double before = available_kb(), after;
	int i;

	for (i = 0; i < GROUPS; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		if (cg_make(name) || cg_set_rt(name, 100, 100000))
			die("group %d: %s", i, strerror(errno));
	}
	after = available_kb();
	for (i = 0; i < GROUPS; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		cg_remove(name);
	}
	return (before - after) / GROUPS;
}

int scale_main(int argc, char **argv)
{
	struct cost cost;

	if (argc != 2)
		die("scale NS_PER_INSTRUCTION");
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have no servers");
	ns_per_instruction = atof(argv[1]);
	if (cg_make(GROUP) || cg_set_rt(GROUP, 30000, 100000))
		die("group: %s", strerror(errno));
	cost.all = writes("cpu.rt_runtime_us", "20000", "30000");
	cost.same = writes("cpu.rt_runtime_us", "30000", "30000");
	cost.one = writes("cpu.rt_multi_runtime_us", "0 20000", "0 30000");
	printf("%d CPUs: write=%.0f same=%.0f one=%.0f wakeup=%.0f instructions, ", nr_cpus(),
	       cost.all, cost.same, cost.one, wakeup());
	printf("%.1f kB per group\n", memory());
	cg_remove(GROUP);
	return nr_cpus() >= MANY && (much(cost.same, cost.all) || much(cost.one, cost.all));
}
