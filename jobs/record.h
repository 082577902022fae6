/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of an activity, as it is in the file and on the virtio port. The
 * user guide documents it byte by byte; nova_rt/monitor/record.py reads it.
 */
#ifndef NOVA_RT_RECORD_H
#define NOVA_RT_RECORD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_MAGIC "NRTJ"
#define RECORD_VERSION 1
#define RECORD_NAME 64

struct record {
	char magic[4];
	uint16_t version;
	uint16_t size;
	/* Odd while what follows changes, up to missed_response_ns. */
	_Atomic uint64_t sequence;
	uint64_t period_ns;
	uint64_t deadline_ns;
	_Atomic uint64_t jobs;
	_Atomic uint64_t misses;
	_Atomic uint64_t consecutive;
	_Atomic uint64_t last_response_ns;
	_Atomic uint64_t worst_response_ns;
	_Atomic uint64_t missed_began_ns;
	_Atomic uint64_t missed_response_ns;
	/* The release of the present job, 0 if there is none. */
	_Atomic uint64_t began_ns;
	_Atomic uint64_t overruns;
	/* Written by write(2), which wakes the host. */
	_Atomic uint64_t reported_ns;
	_Atomic uint32_t pid;
	uint32_t reserved;
	uint64_t opened_ns;
	char name[RECORD_NAME];
};

_Static_assert(sizeof(struct record) == 192, "the layout is fixed");
_Static_assert(offsetof(struct record, name) == 128, "the layout is fixed");

#endif
