// SPDX-License-Identifier: GPL-2.0
/*
 * faces: all files of a group show one state, whichever was written.
 *
 * State is what cpu.rt_multi_runtime_us and cpu.rt_period_us show. CPU numbers
 * in the texts: the last CPU is written as L, so that they fit any machine.
 */
#include "rtt.h"

static int wrong, done;

/* Write to a copy of @text the number of the last CPU instead of L. */
static void fill_in(char *out, const char *text)
{
	for (; *text; text++) {
		if (*text == 'L')
			out += sprintf(out, "%d", nr_cpus() - 1);
		else
			*out++ = *text;
	}
	*out = 0;
}

/* The runtimes of all CPUs, @last on the last one, as the kernel shows them. */
static void each(char *out, long long others, long long last)
{
	int i;

	for (i = 0; i < nr_cpus(); i++)
		out += sprintf(out, "%s%lld", i ? " " : "",
			       i == nr_cpus() - 1 ? last : others);
}

static void put(const char *file, const char *text)
{
	char value[128];
	int err;

	fill_in(value, text);
	err = cg_write("f", file, "%s", value);
	done++;
	if (err) {
		wrong++;
		printf("%s > %s: %s; ", value, file, strerror(err));
	}
}

static void shows(const char *group, const char *file, const char *expected)
{
	char want[512];

	fill_in(want, expected);
	done++;
	wrong += !cg_shows(group, file, want);
}

static void all_show(long long others, long long last, const char *period)
{
	char multi[256];

	each(multi, others, last);
	shows("f", "cpu.rt_multi_runtime_us", multi);
	shows("f", "cpu.rt_period_us", period);
}

static void common(void)
{
	char value[256];

	all_show(0, 0, "1000000");
	put("cpu.rt_period_us", "100000");
	put("cpu.rt_runtime_us", "30000");
	all_show(30000, 30000, "100000");
	shows("f", "cpu.rt_runtime_us", "30000");

	put("cpu.rt_multi_runtime_us", "L 20000");
	all_show(nr_cpus() > 1 ? 30000 : 20000, 20000, "100000");
	put("cpu.rt_multi_runtime_us", "0-L 10000");
	all_show(10000, 10000, "100000");
	each(value, 15000, 25000);
	put("cpu.rt_multi_runtime_us", value);
	all_show(15000, 25000, "100000");

	/* The list: CPUs that are not named get nothing. */
	put("cpu.rt_runtime_us", "40000 L");
	all_show(0, 40000, "100000");
	put("cpu.rt_runtime_us", "0");
	all_show(0, 0, "100000");
}

/* A new group on version 2 has no parameters of its own, and may go back to that. */
static void v2_new(void)
{
	all_show(-1, -1, "1000000");
	shows("f", "cpu.rt_runtime_us", "-1");
	shows("f", "cpu.rt.max", "max 1000000");
	put("cpu.rt_period_us", "100000");
	shows("f", "cpu.rt.max", "max 100000");
	put("cpu.rt_multi_runtime_us", "L 20000");
	all_show(nr_cpus() > 1 ? 0 : 20000, 20000, "100000");
	put("cpu.rt_runtime_us", "-1");
	shows("f", "cpu.rt.max", "max 100000");
	put("cpu.rt_runtime_us", "20000 L");
	all_show(nr_cpus() > 1 ? 0 : 20000, 20000, "100000");
	put("cpu.rt.max", "0 0");
	all_show(0, 0, "100000");
	put("cpu.rt.max", "max 0");
	all_show(-1, -1, "100000");
	put("cpu.rt.max", "max 1000000");
	all_show(-1, -1, "1000000");
	put("cpu.rt.max", "0");
}

static void v1_only(void)
{
	put("cpu.rt_runtime_us", "40000 L");
	shows("f", "cpu.rt_runtime_us", "40000");
	shows("", "cpu.rt_runtime_us", "950000");
	shows("", "cpu.rt_period_us", "1000000");
}

static void v2_only(void)
{
	bool several = nr_cpus() > 1;

	put("cpu.rt.max", "20000 50000");
	all_show(20000, 20000, "50000");
	shows("f", "cpu.rt_runtime_us", "20000");
	shows("f", "cpu.rt.max", "20000 50000");
	put("cpu.rt.max", "10000");
	all_show(10000, 10000, "50000");

	/* The list, and back what it shows. */
	put("cpu.rt_runtime_us", several ? "10000 0 40000 L" : "40000 0");
	shows("f", "cpu.rt_runtime_us",
	      !several ? "40000" : nr_cpus() == 2 ? "10000 0 40000 L" : "10000 0 0 1-2 40000 3");
	put("cpu.rt_runtime_us",
	    !several ? "40000" : nr_cpus() == 2 ? "10000 0 40000 L" : "10000 0 0 1-2 40000 3");
	shows("f", "cpu.rt.max", "40000 50000");
	put("cpu.rt_period_us", "100000 L");
	shows("f", "cpu.rt_period_us",
	      !several ? "100000" : nr_cpus() == 2 ? "50000 0 100000 1" : "50000 0-2 100000 3");
	put("cpu.rt.max", "0 100000");
	all_show(0, 0, "100000");
}

static void want(const char *what, int expected, int got)
{
	done++;
	if (expected == got)
		return;
	wrong++;
	printf("%s: %s instead of %s; ", what, strerror(got), strerror(expected));
}

/* What the server of the first CPU has: the first line. */
static void first_has(const char *group, const char *expected)
{
	shows(group, "cpu.rt.max.effective.local", expected);
}

/* What the groups below a group take, its own servers do not have. */
static void effective(void)
{
	first_has("f", "0 runtime=0 period=100000");
	put("cpu.rt.max", "50000 100000");
	first_has("f", "0 runtime=50000 period=100000");
	cg_write("f", "cgroup.subtree_control", "+cpu");
	cg_make("f/g");
	first_has("f/g", "0 runtime=max period=1000000");
	want("a part of what f has", 0, cg_write("f/g", "cpu.rt.max", "200000 1000000"));
	first_has("f", "0 runtime=30000 period=100000");
	first_has("f/g", "0 runtime=200000 period=1000000");
	cg_remove("f/g");
	/* Its group gives back in the background. */
	usleep(200000);
	cg_write("f", "cgroup.subtree_control", "-cpu");
	first_has("f", "0 runtime=50000 period=100000");
	put("cpu.rt.max", "0 100000");
}

/* The files of the root group are what all groups share. */
static void pool(void)
{
	want("group", 0, cg_set_rt("f", 30000, 100000));
	want("pool", 0, cg_set_rt("", 400000, 1000000));
	shows("", "cpu.rt_runtime_us", "400000");
	want("more than the pool", EINVAL, cg_write("f", "cpu.rt_runtime_us", "41000"));
	want("all of the pool", 0, cg_write("f", "cpu.rt_runtime_us", "40000"));
	want("pool below its groups", EINVAL, cg_write("", "cpu.rt_runtime_us", "390000"));
	want("pool over the global limit", EINVAL, cg_write("", "cpu.rt_runtime_us", "960000"));
	want("back to the global limit", 0, cg_write("", "cpu.rt_runtime_us", "950000"));
	want("room again", 0, cg_write("f", "cpu.rt_runtime_us", "90000"));
	if (cg_is_v2()) {
		want("pool by cpu.rt.max", EINVAL, cg_write("", "cpu.rt.max", "800000 1000000"));
		want("group", 0, cg_write("f", "cpu.rt.max", "70000"));
		want("pool by cpu.rt.max", 0, cg_write("", "cpu.rt.max", "800000 1000000"));
		shows("", "cpu.rt_runtime_us", "800000");
		shows("", "cpu.rt.max", "800000 1000000");
		want("over the pool", EINVAL, cg_write("f", "cpu.rt.max", "81000 100000"));
		want("back", 0, cg_write("", "cpu.rt.max", "950000 1000000"));
	}
}

int faces_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have one face");
	cg_make("f");
	if (cg_is_v2())
		v2_new();
	common();
	if (cg_is_v2()) {
		v2_only();
		effective();
	} else {
		v1_only();
	}
	pool();
	cg_remove("f");
	printf("%d of %d wrong\n", wrong, done);
	return wrong != 0;
}
