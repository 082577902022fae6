/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOVA_RT_PORT_H
#define NOVA_RT_PORT_H

#include <stdbool.h>

#include "record.h"

/* Take the path from the environment, if that has one. */
void port_choose(void);

/*
 * Send a record to the host, if this is a virtual machine that has the port.
 * Returns false if that is not possible at present: another process has the
 * port open, or the host does not read.
 */
bool port_send(const struct record *record);

#endif
