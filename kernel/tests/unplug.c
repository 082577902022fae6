// SPDX-License-Identifier: GPL-2.0
/*
 * unplug: the last CPU goes offline so slowly that its fair server has stopped
 * by itself before, and comes back. The kernel must not complain.
 *
 * The fair server's period is short, and who takes the CPU offline is kept from
 * running, again and again, for longer than that.
 */
#include "rtt.h"

#define ROUNDS 20
#define PERIOD (5 * MS)

static void write_to(const char *fmt, const char *text)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), fmt, nr_cpus() - 1);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die("%s to %s: %s", text, path, strerror(errno));
	close(fd);
}

/* The server must be in use: a stock kernel miscounts one that is not. */
static void shorten_fair_server(void)
{
	set_cpu(0, nr_cpus() - 1);
	write_to("/sys/kernel/debug/sched/fair_server/cpu%d/runtime", "250000");
	write_to("/sys/kernel/debug/sched/fair_server/cpu%d/period", "5000000");
	set_cpu(0, 0);
}

static void get_in_the_way(void)
{
	set_policy(0, SCHED_FIFO, 50);
	for (;;) {
		burn(2 * PERIOD);
		usleep(100);
	}
}

int unplug_main(int argc, char **argv)
{
	pid_t pid;
	int i;

	(void)argc;
	(void)argv;
	if (nr_cpus() < 2)
		skip("one CPU only");
	shorten_fair_server();
	pid = fork();
	if (!pid)
		get_in_the_way();
	for (i = 0; i < ROUNDS; i++) {
		cpu_plug(nr_cpus() - 1, false);
		cpu_plug(nr_cpus() - 1, true);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
