// SPDX-License-Identifier: GPL-2.0
/*
 * On version 2 a group without parameters of its own ("max", as new ones are) is
 * served by the nearest group above that has some, else as the root group is.
 *
 * inherit services|nearest|takes
 *
 * services: the controller can be enabled and disabled while SCHED_FIFO tasks
 * run in any group; they go on as before, and a group with a reservation has it
 * beside them.
 * nearest: a task that never sleeps gets what the nearest group has, also when
 * that changes while it runs.
 * takes: a group takes from the nearest above that has parameters, and tasks
 * cannot be left without runtime.
 */
#include "rtt.h"

#define PERIOD_US 10000
#define WINDOW SEC
/* A budget more or less at the ends of the window, and as much for switches. */
#define TOLERANCE 0.7
#define ALL 97.0

static int wrong;

static void want(const char *what, int expected, int got)
{
	if (expected == got)
		return;
	wrong++;
	printf("%s: %s instead of %s; ", what, got ? strerror(got) : "success",
	       expected ? strerror(expected) : "success");
}

struct hog {
	pid_t pid;
	volatile int64_t *used;
};

/* A SCHED_FIFO task of CPU 0 that never sleeps. */
static struct hog start(const char *group, int prio)
{
	struct hog hog = { .used = shared(sizeof(*hog.used)) };

	hog.pid = fork();
	if (!hog.pid) {
		set_cpu(0, 0);
		spin(hog.used);
	}
	if (cg_enter(group, hog.pid))
		die("enter %s", group);
	want("FIFO", 0, set_policy(hog.pid, SCHED_FIFO, prio));
	return hog;
}

static void end(struct hog *hog)
{
	set_policy(hog->pid, SCHED_OTHER, 0);
	kill(hog->pid, SIGKILL);
	waitpid(hog->pid, NULL, 0);
}

/* What two tasks get meanwhile, in percent of a CPU. */
static void shares(const char *what, struct hog *a, double want_a, struct hog *b, double want_b)
{
	double got_a, got_b;
	int64_t begin = now(), was_a = *a->used, was_b = *b->used;

	sleep_until(begin + WINDOW);
	got_a = 100.0 * (*a->used - was_a) / WINDOW;
	got_b = a == b ? got_a : 100.0 * (*b->used - was_b) / WINDOW;
	printf("%s: %.2f%% (%.0f) %.2f%% (%.0f); ", what, got_a, want_a, got_b, want_b);
	if (got_a < want_a - TOLERANCE || got_b < want_b - TOLERANCE ||
	    (want_a < 90 && got_a > want_a + TOLERANCE) ||
	    (want_b < 90 && got_b > want_b + TOLERANCE))
		wrong++;
}

static void share(const char *what, struct hog *hog, double percent)
{
	shares(what, hog, percent, hog, percent);
}

static int controller(const char *change)
{
	return cg_write("", "cgroup.subtree_control", "%s", change);
}

static void services(void)
{
	struct hog service, reserved;

	want("controller off", 0, controller("-cpu"));
	mkdir("/cg/service", 0755);
	service = start("service", 50);
	want("controller on beside a service", 0, controller("+cpu"));
	share("service", &service, ALL);
	cg_make("a");
	if (cg_set_rt("a", 3000, PERIOD_US))
		die("reservation");
	reserved = start("a", 1);
	shares("reserved, service", &reserved, 30, &service, 70);
	end(&reserved);
	want("controller off beside a service", 0, controller("-cpu"));
	share("service", &service, ALL);
	want("controller on again", 0, controller("+cpu"));
	end(&service);
	cg_remove("service");
	cg_remove("a");
}

static int set(const char *group, int percent)
{
	if (percent < 0)
		return cg_write(group, "cpu.rt.max", "max");
	return cg_write(group, "cpu.rt.max", "%d %d", percent * PERIOD_US / 100, PERIOD_US);
}

static void nearest(void)
{
	struct hog hog;

	cg_make("a");
	cg_make("a/b");
	cg_make("a/b/c");
	hog = start("a/b/c", 50);
	share("root's", &hog, ALL);
	want("a 30%", 0, set("a", 30));
	share("a's", &hog, 30);
	want("b 20%", 0, set("a/b", 20));
	share("b's", &hog, 20);
	want("c 10%", 0, set("a/b/c", 10));
	share("c's", &hog, 10);
	want("b max", 0, set("a/b", -1));
	share("c's", &hog, 10);
	want("c max", 0, set("a/b/c", -1));
	share("a's", &hog, 30);
	want("a max", 0, set("a", -1));
	share("root's", &hog, ALL);
	end(&hog);
	cg_remove("a/b/c");
	cg_remove("a/b");
	cg_remove("a");
}

static void takes(void)
{
	struct hog hog;

	cg_make("a");
	cg_make("a/b");
	cg_make("a/c");
	cg_make("d");
	want("b 60%, through a", 0, set("a/b", 60));
	want("d 40% beside b", EINVAL, set("d", 40));
	want("d 30% beside b", 0, set("d", 30));
	want("a less than b", EINVAL, set("a", 50));
	want("a as much as b", 0, set("a", 60));
	want("c beside b in a", EINVAL, set("a/c", 10));
	want("a max", 0, set("a", -1));
	want("b 0", 0, set("a/b", 0));
	want("d 90%", 0, set("d", 90));
	want("d max", 0, set("d", -1));

	want("a 30%", 0, set("a", 30));
	hog = start("a/c", 50);
	want("a 0 with a task below", EBUSY, set("a", 0));
	want("b all of a with a task beside", EBUSY, set("a/b", 30));
	want("b some of a", 0, set("a/b", 20));
	share("what b leaves", &hog, 10);
	want("c 0 with a task", EBUSY, set("a/c", 0));
	want("d 0", 0, set("d", 0));
	want("task to a group at 0", EINVAL, cg_enter("d", hog.pid));
	end(&hog);
	want("a 0", EINVAL, set("a", 0));
	want("b max", 0, set("a/b", -1));
	want("a 0", 0, set("a", 0));
	hog.pid = fork();
	if (!hog.pid) {
		pause();
		_exit(0);
	}
	if (cg_enter("a/b", hog.pid))
		die("enter");
	want("FIFO below a group at 0", EPERM, set_policy(hog.pid, SCHED_FIFO, 1));
	end(&hog);
	cg_remove("a/c");
	cg_remove("a/b");
	cg_remove("a");
	cg_remove("d");
}

int inherit_main(int argc, char **argv)
{
	char before[BANDWIDTH_SIZE];

	if (argc != 2)
		die("inherit services|nearest|takes");
	if (!cg_is_v2() || !cg_has("cpu.rt.max"))
		skip("no cpu.rt.max on this hierarchy");
	bandwidth(before, sizeof(before));
	/* Above what is not reserved. */
	set_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 99);
	if (!strcmp(argv[1], "services"))
		services();
	else if (!strcmp(argv[1], "nearest"))
		nearest();
	else
		takes();
	if (!bandwidth_returns(before))
		wrong++;
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
