/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends jobs where the kernel kills for any system call but write(2) and exit(2).
 * Prints that it is alive. "clock" only reads the clock; "late" misses a deadline.
 */
#include <nova_rt_jobs.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define JOBS 1000

static int permit_little(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	struct nova_rt_job *job = nova_rt_job_open("silent", 1000000000, 1000000000);
	struct timespec now;
	int number;

	if (!job || permit_little())
		return 1;
	if (argc > 1 && strcmp(argv[1], "clock") == 0)
		clock_gettime(CLOCK_MONOTONIC, &now);
	for (number = 0; argc == 1 && number < JOBS; number++) {
		nova_rt_job_begin(job, 0);
		nova_rt_job_end(job);
	}
	if (argc > 1 && strcmp(argv[1], "late") == 0) {
		nova_rt_job_begin(job, 1);
		nova_rt_job_end(job);
	}
	if (write(STDOUT_FILENO, "alive\n", 6) != 6)
		return 1;
	syscall(SYS_exit, 0);
}
