/* SPDX-License-Identifier: GPL-2.0 */
/* What the test programs share. Times are in ns unless a name says _us. */
#ifndef RTT_H
#define RTT_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <signal.h>
#include <sys/wait.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MS 1000000LL
#define SEC 1000000000LL
#define ANY_CPU (-1)

int64_t now(void);
int64_t cputime(void);
void sleep_until(int64_t t);
/*
 * To be called in every loop that waits: where virtual CPUs take turns, as in
 * QEMU with -icount, this ends the turn; else a busy CPU stalls the others for
 * tens of ms while their clocks run.
 */
void relax(void);
void burn(int64_t cpu_ns);

/* End the program: the set-up, not the kernel under test, is at fault. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The kernel cannot be asked this: not a failure. */
void skip(const char *why) __attribute__((noreturn));

/* At random, from 0 to n - 1: the same with the same seed. */
extern unsigned int seed;
unsigned int rnd(unsigned int n);

/* Groups are named by their path under the cgroup mount, "" is the root. */
bool cg_is_v2(void);
bool cg_has(const char *file);
int cg_write(const char *group, const char *file, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int cg_read(const char *group, const char *file, char *buf, int size);
/* Whether a file has this one line; prints both if not. */
bool cg_shows(const char *group, const char *file, const char *expected);
int cg_make(const char *group);
int cg_remove(const char *group);
int cg_enter(const char *group, pid_t pid);
/* Returns a descriptor of its directory. */
int cg_open(const char *group);
/* Set the same runtime everywhere; returns 0 or an errno. */
int cg_set_rt(const char *group, int64_t runtime_us, int64_t period_us);
/* Set one runtime per CPU; returns 0 or an errno. */
int cg_set_rt_cpus(const char *group, const int64_t *runtime_us, int n, int64_t period_us);

/* What the kernel has promised on every CPU, as text to compare. */
#define BANDWIDTH_SIZE 4096
void bandwidth(char *buf, int size);
/*
 * Whether it is what it was, or will be in ten seconds: the removal of groups
 * finishes in the background. Prints both if not.
 */
bool bandwidth_returns(const char *before);

/* One root domain per CPU; and take the caller there, or back (ANY_CPU). */
void cpusets_make(void);
void cpuset_enter(int cpu);
void cpusets_leave(void);

struct periodic {
	int64_t c, t;
};

int64_t supply_least(int64_t interval, int64_t runtime, int64_t period);
int64_t supply_response(const struct periodic *tasks, int i, int64_t runtime, int64_t period);

int set_policy(pid_t pid, int policy, int prio);
int set_deadline(pid_t pid, int64_t runtime, int64_t period);
void set_cpu(pid_t pid, int cpu);
void set_cpus(pid_t pid, int first, int last);
/*
 * Start a task in a group, on one CPU and, unless @prio is 0, with SCHED_FIFO. Returns 0 to
 * the task, as fork() does.
 */
pid_t fork_task(const char *group, int cpu, int prio);
/* Never sleep, and tell the CPU time that one had. */
void spin(volatile int64_t *used) __attribute__((noreturn));
/* Pass a byte to and fro between two processes, of which one is the first. */
void pass_byte(int in, int out, bool first, int rounds);
/* Has the kernel PREEMPT_RT? */
bool locks_sleep(void);
int nr_cpus(void);
void cpu_plug(int cpu, bool in);
void *shared(size_t size);

/* To be called before tasks are made. */
void ties_init(void);
bool lock_take(void);
void lock_give(void);
void burn_locked(int64_t cpu_ns);
void live_session(int64_t cpu_ns);

/* The programs of one binary, to keep the guest's image small. */
struct program {
	const char *name;
	int (*main)(int argc, char **argv);
};

/* Run the one that the first argument names; returns its status. */
int run_program(const struct program *programs, int n, int argc, char **argv);

int share_main(int argc, char **argv);
int errno_main(int argc, char **argv);
int faces_main(int argc, char **argv);
int stat_main(int argc, char **argv);
int change_main(int argc, char **argv);
int alternate_main(int argc, char **argv);
int rescue_main(int argc, char **argv);
int taskset_main(int argc, char **argv);
int pipeline_main(int argc, char **argv);
int churn_main(int argc, char **argv);
int stress_main(int argc, char **argv);
int comeback_main(int argc, char **argv);
int unplug_main(int argc, char **argv);
int cores_main(int argc, char **argv);
int overhead_main(int argc, char **argv);
int several_main(int argc, char **argv);
int onset_main(int argc, char **argv);
int slices_main(int argc, char **argv);
int ceiling_main(int argc, char **argv);
int heldup_main(int argc, char **argv);
int grace_main(int argc, char **argv);
int onlined_main(int argc, char **argv);
int confined_main(int argc, char **argv);
int lone_main(int argc, char **argv);
int switched_main(int argc, char **argv);
int frequency_main(int argc, char **argv);
int beside_main(int argc, char **argv);
int inherit_main(int argc, char **argv);
int leftover_main(int argc, char **argv);
int crowd_main(int argc, char **argv);
int scale_main(int argc, char **argv);
int sets_main(int argc, char **argv);
int late_main(int argc, char **argv);

#endif
