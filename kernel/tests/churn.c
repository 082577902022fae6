// SPDX-License-Identifier: GPL-2.0
/*
 * churn N: groups are made, filled, changed, moved from and destroyed N times.
 * The bandwidth of every CPU is afterwards what it was before.
 */
#include "rtt.h"

static void one(int i)
{
	int64_t runtime = 2000 + 97 * (i % 400), period = 100000;
	char a[32], b[32];
	pid_t pid;

	snprintf(a, sizeof(a), "c%d", i % 7);
	snprintf(b, sizeof(b), "d%d", i % 7);
	if (cg_make(a) || cg_make(b))
		die("mkdir %d: %s", i, strerror(errno));
	if (cg_set_rt(a, runtime, period) || cg_set_rt(b, 1500, 10000 + i % 1000))
		die("runtime %d", i);

	pid = fork();
	if (!pid) {
		/* Some exit at once, some while they are throttled. */
		burn(i % 5 * MS);
		_exit(0);
	}
	if (cg_enter(a, pid) || set_policy(pid, i % 2 ? SCHED_FIFO : SCHED_RR, 1 + i % 98))
		die("enter %d: %s", i, strerror(errno));
	cg_write(a, "cpu.rt_runtime_us", "%lld", (long long)runtime + 1000);
	if (i % 3 == 0)
		cg_enter(b, pid);
	if (i % 4 == 0)
		kill(pid, 9);
	/* It may take bandwidth as long as it can give it back, and not later. */
	if (waitid(P_PID, pid, NULL, WEXITED | WNOWAIT))
		die("waitid %d: %s", i, strerror(errno));
	set_deadline(pid, 1 * MS, 50 * MS);
	waitpid(pid, NULL, 0);
	if (cg_remove(a) || cg_remove(b))
		die("rmdir %d: %s", i, strerror(errno));
}

int churn_main(int argc, char **argv)
{
	char before[BANDWIDTH_SIZE];
	bool same;
	int i, n;

	if (argc != 2)
		die("churn N");
	if (!cg_has("cpu.rt_runtime_us"))
		skip("no RT groups on this hierarchy");
	n = atoi(argv[1]);
	bandwidth(before, sizeof(before));
	for (i = 0; i < n; i++)
		one(i);

	same = bandwidth_returns(before);
	printf("%d groups\n", 2 * n);
	return !same;
}
