/* SPDX-License-Identifier: GPL-2.0 */
/* What the experiments share, beside the library of the kernel's tests. */
#ifndef EXP_H
#define EXP_H

#include "../../kernel/tests/rtt.h"

/*
 * Work that takes this long on a CPU of its own. Unlike burn() it makes no
 * system call, and is nearly free where instructions are counted.
 */
void work(int64_t ns);
/* To be called before work(), with nothing else running. */
void work_calibrate(void);
/* So many times the same work, however long it takes. */
void work_blocks(int64_t n);

/* Jobs of periodic tasks; see jobs.c. */
void jobs_make(int nr_tasks);
/* Run those of one task, which works task->c, until the end; does not return. */
void jobs_run(int i, void (*run)(int64_t c), const struct periodic *task, int64_t begin,
	      int64_t end) __attribute__((noreturn));
void jobs_write(const char *path);

/* Read a whole file; returns the number of bytes. */
size_t load(const char *path, void **data);
void save(const char *path, const void *data, size_t size);

int noise_main(int argc, char **argv);
int pinned_main(int argc, char **argv);
int queueing_main(int argc, char **argv);
int taskset_main(int argc, char **argv);

#endif
