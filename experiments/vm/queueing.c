// SPDX-License-Identifier: GPL-2.0
/*
 * Requests over TCP to a server in a container: how long do they take?
 *
 * queueing REQUESTS RESPONSES RUNTIME_US/PERIOD_US [RATE]
 *
 * The file REQUESTS has three numbers of 64 bits for each request: when it is
 * to be sent (ns from the start), how much work it is (ns), and its size in
 * bytes. The server has a network namespace and a group of its own, with the
 * given reservation on every CPU, and runs as SCHED_FIFO. The client is outside,
 * as SCHED_DEADLINE: it stands for another machine, so it must not wait. With a
 * RATE (as tc understands it) a token bucket shapes what it sends.
 *
 * RESPONSES gets the response times in ns, by request, counted from when the
 * request was to be sent.
 */
#include "exp.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#define PORT 5000
#define MAX_SIZE (1 << 20)
#define BUFFER (8 << 20)
#define CLIENT_RUNTIME (90 * 1000LL)
#define CLIENT_PERIOD (1000 * 1000LL)

struct request {
	int64_t at, work, size;
};

/* What is sent begins so; the rest is padding. */
struct header {
	int64_t number, work, size;
};

/* What a request costs besides its work; shared. */
static struct {
	int64_t cputime, work;
} *server_time;

static void run(const char *fmt, ...)
{
	char command[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command))
		die("%s", command);
}

static void prepare(int fd)
{
	int one = 1, size = BUFFER;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
}

static struct sockaddr_in address(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, "10.0.0.2", &at.sin_addr);
	return at;
}

/* To receive nothing would be to wait for something. */
static bool receive(int fd, void *data, size_t size)
{
	return !size || recv(fd, data, size, MSG_WAITALL) == (ssize_t)size;
}

static void serve(int wait_for, int tell)
{
	struct sockaddr_in at = address();
	static char padding[MAX_SIZE];
	struct header request;
	int listener, fd;
	char byte = 0;

	if (unshare(CLONE_NEWNET))
		die("unshare: %s", strerror(errno));
	if (write(tell, &byte, 1) != 1 || read(wait_for, &byte, 1) != 1)
		die("server");
	run("/tools/ip link set lo up && /tools/ip addr add 10.0.0.2/24 dev veth1 && /tools/ip link set veth1 up");
	listener = socket(AF_INET, SOCK_STREAM, 0);
	prepare(listener);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 1))
		die("listen: %s", strerror(errno));
	if (write(tell, &byte, 1) != 1)
		die("server");
	fd = accept(listener, NULL, NULL);
	prepare(fd);
	server_time->cputime = -cputime();
	while (receive(fd, &request, sizeof(request)) &&
	       receive(fd, padding, request.size - sizeof(request))) {
		work(request.work);
		if (send(fd, &request.number, sizeof(request.number), 0) < 0)
			die("send: %s", strerror(errno));
		server_time->work += request.work;
	}
	server_time->cputime += cputime();
	_exit(0);
}

/* Start the server in its container; returns its process. */
static pid_t start_server(const char *reservation, const char *rate)
{
	int64_t runtime, period;
	int up[2], down[2];
	char byte, *slash;
	pid_t pid;

	runtime = strtoll(reservation, &slash, 10);
	period = strtoll(slash + 1, NULL, 10);
	if (cg_make("container") || cg_set_rt("container", runtime, period))
		die("container: %s", strerror(errno));
	if (pipe(up) || pipe(down))
		die("pipe");
	pid = fork();
	if (!pid)
		serve(down[0], up[1]);
	if (read(up[0], &byte, 1) != 1)
		die("no server");
	run("/tools/ip link add veth0 type veth peer name veth1 && /tools/ip link set veth1 netns %d", pid);
	run("/tools/ip addr add 10.0.0.1/24 dev veth0 && /tools/ip link set veth0 up");
	if (write(down[1], &byte, 1) != 1 || read(up[0], &byte, 1) != 1)
		die("no server");
	if (rate)
		run("/tools/tc qdisc add dev veth0 root tbf %s", rate);
	if (cg_enter("container", pid) || set_policy(pid, SCHED_FIFO, 50))
		die("server: %s", strerror(errno));
	return pid;
}

static void send_request(int fd, int64_t number, const struct request *request)
{
	static char message[MAX_SIZE];
	struct header *header = (void *)message;

	*header = (struct header){ number, request->work, request->size };
	if (send(fd, message, request->size, MSG_DONTWAIT) != request->size)
		die("request %lld does not fit the socket: %s", (long long)number,
		    strerror(errno));
}

/* Take the answers that have come. */
static size_t take(int fd, const struct request *requests, int64_t begin, int64_t *responses)
{
	int64_t numbers[512], at;
	ssize_t size, i;

	size = recv(fd, numbers, sizeof(numbers), MSG_DONTWAIT);
	at = now() - begin;
	if (size <= 0 || size % sizeof(*numbers))
		die("an answer was torn: %zd", size);
	size /= sizeof(*numbers);
	for (i = 0; i < size; i++)
		responses[numbers[i]] = at - requests[numbers[i]].at;
	return size;
}

static void drive(int fd, const struct request *requests, size_t n, int64_t *responses)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int64_t begin = now() + 100 * MS, left;
	size_t sent = 0, answered = 0;
	struct timespec timeout;

	while (answered < n) {
		left = sent < n ? begin + requests[sent].at - now() : 1000 * SEC;
		if (left <= 0) {
			send_request(fd, sent, &requests[sent]);
			sent++;
			continue;
		}
		timeout = (struct timespec){ left / SEC, left % SEC };
		if (ppoll(&wait, 1, &timeout, NULL) > 0)
			answered += take(fd, requests, begin, responses);
	}
}

int queueing_main(int argc, char **argv)
{
	struct sockaddr_in at = address();
	const struct request *requests;
	int64_t *responses, mine;
	void *data;
	size_t n;
	pid_t pid;
	int fd;

	if (argc < 4 || argc > 5)
		die("usage: queueing REQUESTS RESPONSES RUNTIME_US/PERIOD_US [RATE]");
	n = load(argv[1], &data) / sizeof(*requests);
	requests = data;
	responses = shared(n * sizeof(*responses));
	server_time = shared(sizeof(*server_time));
	work_calibrate();
	pid = start_server(argv[3], argv[4]);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	prepare(fd);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
		die("connect: %s", strerror(errno));
	if (set_deadline(0, CLIENT_RUNTIME, CLIENT_PERIOD))
		die("client: %s", strerror(errno));
	mine = -cputime();
	drive(fd, requests, n, responses);
	mine += cputime();
	set_policy(0, SCHED_OTHER, 0);
	close(fd);
	waitpid(pid, NULL, 0);
	cg_remove("container");
	if (argv[4])
		run("/tools/tc -s qdisc show dev veth0");
	/* The end of the server's namespace may have taken it already. */
	run("/tools/ip link del veth0 2>/dev/null || true");
	save(argv[2], responses, n * sizeof(*responses));
	printf("server=%lld client=%lld ns per request, besides the work of %lld\n",
	       (long long)(server_time->cputime - server_time->work) / (long long)n,
	       (long long)mine / (long long)n, (long long)server_time->work / (long long)n);
	return 0;
}
