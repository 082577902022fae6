// SPDX-License-Identifier: Apache-2.0
/*
 * The first process of a container: starts /etc/rc, reaps what dies, and on
 * a request to shut down ends everything at once, so that "server stop" is
 * quick. The request comes as libvirt makes it: a change of runlevel
 * through a FIFO, in the format of sysvinit (initreq.h); its other way,
 * SIGTERM, it takes only if told so, and Nova does not tell it. Busybox's
 * init heeds neither.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RC "/etc/rc"
#define FIFO "/run/initctl"
#define MAGIC 0x03091969
#define CMD_RUNLEVEL 1
#define GRACE_S 2

struct request {
	int magic;
	int cmd;
	int runlevel;
	int sleeptime;
	char data[368];
};

static void start_rc(const sigset_t *normal)
{
	if (access(RC, X_OK) || fork())
		return;
	sigprocmask(SIG_SETMASK, normal, NULL);
	setsid();
	execl(RC, RC, (char *)NULL);
	_exit(127);
}

/* Returns 1 once no child is left. */
static int reap(void)
{
	pid_t pid;

	do {
		pid = waitpid(-1, NULL, WNOHANG);
	} while (pid > 0);
	return pid < 0;
}

static void end_all(const sigset_t *handled)
{
	struct timespec until, now, tick = { 0, 100 * 1000 * 1000 };

	kill(-1, SIGTERM);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += GRACE_S;
	do {
		if (reap())
			return;
		sigtimedwait(handled, NULL, &tick);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < until.tv_sec);
	kill(-1, SIGKILL);
}

/* Whether the FIFO holds a request for runlevel 0 (halt) or 6 (reboot). */
static int told_to_end(int fifo)
{
	struct request request;

	while (read(fifo, &request, sizeof(request)) == sizeof(request))
		if (request.magic == MAGIC && request.cmd == CMD_RUNLEVEL &&
		    (request.runlevel == '0' || request.runlevel == '6'))
			return 1;
	return 0;
}

/* Whether a signal other than a child's death has come. */
static int signalled(int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			return 1;
		reap();
	}
	return 0;
}

int main(void)
{
	sigset_t handled, normal;
	struct pollfd sources[2] = { { .events = POLLIN },
				     { .events = POLLIN } };

	sigemptyset(&handled);
	sigaddset(&handled, SIGCHLD);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGPWR);
	sigprocmask(SIG_BLOCK, &handled, &normal);
	mkfifo(FIFO, 0600);
	/* Opened for writing too, so that the reader never sees its end. */
	sources[0].fd = open(FIFO, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	sources[1].fd = signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC);
	start_rc(&normal);
	do {
		poll(sources, 2, -1);
	} while (!signalled(sources[1].fd) && !told_to_end(sources[0].fd));
	end_all(&handled);
	return 0;
}
