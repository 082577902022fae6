/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOVA_RT_FILE_H
#define NOVA_RT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"

/* A record in a file that is mapped. */
struct file {
	struct record *record;
	int fd;
	dev_t device;
	ino_t inode;
	char path[PATH_MAX];
};

/* What nova_rt_job_open() is asked for. */
struct activity {
	const char *name;
	uint64_t period_ns;
	uint64_t deadline_ns;
};

/*
 * Create or take over the file of an activity, and lock it for as long as this
 * process lives. Returns false, with errno, if that is not possible.
 */
bool file_create(struct file *file, const struct activity *activity);

/* Map a file that another process has created and locked. */
bool file_attach(struct file *file, const char *path);

/* Write the time of a report, so that the kernel wakes who watches the folder. */
void file_report(struct file *file, uint64_t now);

void file_close(struct file *file);

uint64_t monotonic_ns(void);

#endif
