// SPDX-License-Identifier: GPL-2.0
/* Every documented error of the interface is provoked once. */
#include "rtt.h"

static int wrong;
static int done;

static void want(const char *what, int expected, int got)
{
	done++;
	if (expected == got)
		return;
	wrong++;
	printf("%s: %s instead of %s; ", what, got ? strerror(got) : "success",
	       expected ? strerror(expected) : "success");
}

/* A child that sleeps; killed with reap(). */
static pid_t sleeper(const char *group)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	if (cg_enter(group, pid))
		die("enter %s", group);
	return pid;
}

static void reap(pid_t pid)
{
	kill(pid, 9);
	waitpid(pid, NULL, 0);
}

static int rt(const char *group, const char *file, const char *value)
{
	return cg_write(group, file, "%s", value);
}

static void limits(void)
{
	cg_make("a");
	want("new group, runtime over period", EINVAL, rt("a", "cpu.rt_runtime_us", "1000001"));
	want("period 0", EINVAL, rt("a", "cpu.rt_period_us", "0"));
	want("period below 100 us", EINVAL, rt("a", "cpu.rt_period_us", "99"));
	want("period above 2^22 us", EINVAL, rt("a", "cpu.rt_period_us", "4194305"));
	want("period of 100 us", 0, rt("a", "cpu.rt_period_us", "100"));
	want("period of 2^22 us", 0, rt("a", "cpu.rt_period_us", "4194304"));
	want("period 100 ms", 0, rt("a", "cpu.rt_period_us", "100000"));
	want("runtime below 1024 ns", EINVAL, rt("a", "cpu.rt_runtime_us", "1"));
	want("no limit", cg_is_v2() ? 0 : EINVAL, rt("a", "cpu.rt_runtime_us", "-1"));
	want("not a number", EINVAL, rt("a", "cpu.rt_runtime_us", "many"));
	want("over the global limit", EINVAL, rt("a", "cpu.rt_runtime_us", "96000"));
	want("over it with the fair server", EINVAL, rt("a", "cpu.rt_runtime_us", "95000"));
	want("all that is left", 0, rt("a", "cpu.rt_runtime_us", "90000"));
	want("period below the runtime", EINVAL, rt("a", "cpu.rt_period_us", "80000"));
	cg_make("b");
	want("a second group, no room", EINVAL, cg_set_rt("b", 10000, 100000));
	want("room made", 0, rt("a", "cpu.rt_runtime_us", "40000"));
	want("40% + 50% fit", 0, cg_set_rt("b", 50000, 100000));
	cg_remove("b");
	cg_remove("a");
}

static void nesting(void)
{
	cg_make("a");
	cg_make("a/b");
	rt("a", "cpu.rt_runtime_us", "0");
	want("child of a parent without runtime", EINVAL, cg_set_rt("a/b", 10000, 100000));
	want("parent", 0, cg_set_rt("a", 50000, 100000));
	want("child over its parent", EINVAL, cg_set_rt("a/b", 60000, 100000));
	want("child takes it all", 0, cg_set_rt("a/b", 50000, 100000));
	want("parent below its child", EINVAL, rt("a", "cpu.rt_runtime_us", "40000"));
	cg_make("a/b/c");
	want("third level takes it all", 0, cg_set_rt("a/b/c", 50000, 100000));
	cg_make("b");
	want("charged once", 0, cg_set_rt("b", 40000, 100000));
	cg_remove("b");
	cg_remove("a/b/c");
	cg_remove("a/b");
	cg_remove("a");
}

/*
 * On v2 a group with children in it may not have tasks of its own, so a parent
 * with both is for v1 only.
 */
static void parents_tasks(void)
{
	pid_t pid;

	if (cg_is_v2())
		return;
	cg_make("a");
	cg_make("a/b");
	cg_set_rt("a", 50000, 100000);
	pid = sleeper("a");
	want("FIFO in the parent", 0, set_policy(pid, SCHED_FIFO, 1));
	want("child would take all of a parent with tasks", EBUSY,
	     cg_set_rt("a/b", 50000, 100000));
	want("child leaves some", 0, cg_set_rt("a/b", 40000, 100000));
	reap(pid);
	want("child takes it all", 0, cg_set_rt("a/b", 50000, 100000));
	cg_remove("a/b");
	cg_remove("a");
}

static void policies(void)
{
	pid_t pid;

	cg_make("a");
	rt("a", "cpu.rt_runtime_us", "0");
	pid = sleeper("a");
	want("FIFO without runtime", EPERM, set_policy(pid, SCHED_FIFO, 1));
	want("runtime", 0, cg_set_rt("a", 50000, 100000));
	want("FIFO", 0, set_policy(pid, SCHED_FIFO, 1));
	want("runtime 0 with RT tasks", EBUSY, rt("a", "cpu.rt_runtime_us", "0"));
	cg_make("b");
	rt("b", "cpu.rt_runtime_us", "0");
	want("RT task to a group without runtime", EINVAL, cg_enter("b", pid));
	want("back to OTHER", 0, set_policy(pid, SCHED_OTHER, 0));
	want("runtime 0", 0, rt("a", "cpu.rt_runtime_us", "0"));
	want("OTHER task to a group without runtime", 0, cg_enter("b", pid));
	reap(pid);
	cg_remove("b");
	cg_remove("a");
}

static void deadline(void)
{
	cg_make("a");
	want("60% on each CPU", 0, cg_set_rt("a", 60000, 100000));
	want("DEADLINE beside it, no room", EBUSY, set_deadline(0, 40 * MS, 100 * MS));
	want("DEADLINE beside it", 0, set_deadline(0, 20 * MS, 100 * MS));
	want("group no room beside DEADLINE", EBUSY, rt("a", "cpu.rt_runtime_us", "75000"));
	want("group beside DEADLINE", 0, rt("a", "cpu.rt_runtime_us", "65000"));
	set_policy(0, SCHED_OTHER, 0);
	usleep(200000);
	want("room again", 0, rt("a", "cpu.rt_runtime_us", "75000"));
	cg_remove("a");
}

static void multi(void)
{
	int n = nr_cpus();
	char buf[256], old[256];

	cg_make("a");
	rt("a", "cpu.rt_period_us", "100000");
	want("one CPU", 0, rt("a", "cpu.rt_multi_runtime_us", "0 30000"));
	want("CPU that is not there", EINVAL, rt("a", "cpu.rt_multi_runtime_us", "0-77 30000"));
	want("nothing", EINVAL, rt("a", "cpu.rt_multi_runtime_us", " "));
	want("over the limit on one CPU", EINVAL, rt("a", "cpu.rt_multi_runtime_us", "0 96000"));
	want("too many values", EINVAL,
	     rt("a", "cpu.rt_multi_runtime_us", "0 0 0 0 0 0 0 0 0 0 0 0"));
	if (n > 1) {
		cg_make("b");
		want("b on the last CPU", 0,
		     cg_write("b", "cpu.rt_multi_runtime_us", "%d 800000", n - 1));
		cg_read("a", "cpu.rt_multi_runtime_us", old, sizeof(old));
		want("fits on one CPU, not on the other", EINVAL,
		     rt("a", "cpu.rt_runtime_us", "40000"));
		cg_read("a", "cpu.rt_multi_runtime_us", buf, sizeof(buf));
		want("nothing changed", 0, strcmp(old, buf));
		cg_remove("b");
	}
	cg_remove("a");
}

static void lists(void)
{
	cg_make("a");
	rt("a", "cpu.rt_period_us", "100000");
	want("a value without CPUs", EINVAL, rt("a", "cpu.rt_runtime_us", "10000 0 20000"));
	want("list of a CPU that is not there", EINVAL, rt("a", "cpu.rt_runtime_us", "10000 77"));
	want("list of no CPU", EINVAL, rt("a", "cpu.rt_runtime_us", "10000 none"));
	want("list over the limit", EINVAL, rt("a", "cpu.rt_runtime_us", "96000 0"));
	want("list of periods out of range", EINVAL, rt("a", "cpu.rt_period_us", "99 0"));
	want("list", 0, rt("a", "cpu.rt_runtime_us", "10000 0"));
	if (cg_is_v2()) {
		want("max on some CPUs", nr_cpus() > 1 ? EINVAL : 0,
		     rt("a", "cpu.rt_runtime_us", "-1 0"));
		want("three words", EINVAL, rt("a", "cpu.rt.max", "10000 100000 1"));
		want("no word", EINVAL, rt("a", "cpu.rt.max", " "));
		want("runtime over the period", EINVAL, rt("a", "cpu.rt.max", "20000 10000"));
		want("runtime without a period", EINVAL, rt("a", "cpu.rt.max", "20000 0"));
	}
	cg_remove("a");
}

static int global_limit_us(const char *value)
{
	int fd = open("/proc/sys/kernel/sched_rt_runtime_us", O_WRONLY), err;

	if (fd < 0)
		die("sched_rt_runtime_us");
	err = pwrite(fd, value, strlen(value), 0) < 0 ? errno : 0;
	close(fd);
	return err;
}

/* The global limit cannot fall below what groups have, beside SCHED_DEADLINE tasks. */
static void global(void)
{
	cg_make("a");
	want("60%", 0, cg_set_rt("a", 60000, 100000));
	want("global limit below the groups", EBUSY, global_limit_us("500000"));
	/* Removal finishes in the background, but what it gives back counts at once. */
	cg_remove("a");
	want("global limit", 0, global_limit_us("500000"));
	cg_make("a");
	want("over the new limit", EINVAL, cg_set_rt("a", 60000, 100000));
	want("global limit back", 0, global_limit_us("950000"));

	want("40%", 0, cg_set_rt("a", 40000, 100000));
	want("DEADLINE", 0, set_deadline(0, 20 * MS, 100 * MS));
	want("global limit below groups and DEADLINE", EBUSY, global_limit_us("600000"));
	want("global limit above both", 0, global_limit_us("700000"));
	want("no global limit", 0, global_limit_us("-1"));
	want("global limit back beside both", 0, global_limit_us("950000"));
	set_policy(0, SCHED_OTHER, 0);
	usleep(200000);
	want("global limit without DEADLINE", 0, global_limit_us("600000"));
	want("global limit back at last", 0, global_limit_us("950000"));
	cg_remove("a");
}

int errno_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (!cg_has("cpu.rt_multi_runtime_us"))
		skip("stock RT groups have other errors");
	limits();
	nesting();
	parents_tasks();
	policies();
	deadline();
	multi();
	lists();
	global();
	printf("%d of %d wrong\n", wrong, done);
	return wrong != 0;
}
