/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtio-serial port of a virtual machine, whose files the host does not
 * see. The kernel lets one process have it open at a time, so it is open only
 * while a record is sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port.h"

#define DEFAULT_PORT "/dev/virtio-ports/org.nova_rt.jobs.0"
#define PORT_VARIABLE "NOVA_RT_JOBS_PORT"
#define TRIES 8

/* Its own copy: getenv() is for no signal handler. */
static char path[256] = DEFAULT_PORT;

void port_choose(void)
{
	const char *given = secure_getenv(PORT_VARIABLE);

	if (given && *given && strlen(given) < sizeof(path))
		strcpy(path, given);
}

/* Returns false if the record's thread has not let it be read undisturbed. */
static bool snapshot(struct record *copy, const struct record *record)
{
	uint64_t before;
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		before = atomic_load(&record->sequence);
		memcpy(copy, record, sizeof(*copy));
		atomic_thread_fence(memory_order_acquire);
		if (before % 2 == 0 && before == atomic_load(&record->sequence))
			return true;
	}
	return false;
}

bool port_send(const struct record *record)
{
	struct record copy;
	ssize_t written;
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	/* Asked each time: a guest that boots may not have it yet. */
	if (fd < 0)
		return errno != EBUSY && errno != ENXIO;
	if (!snapshot(&copy, record)) {
		close(fd);
		return false;
	}
	written = write(fd, &copy, sizeof(copy));
	close(fd);
	return written == sizeof(copy);
}
