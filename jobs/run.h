/* SPDX-License-Identifier: Apache-2.0 */
/* What nova-rt-run tells what it preloads, in the environment. */
#ifndef NOVA_RT_RUN_H
#define NOVA_RT_RUN_H

#define RUN_RECORD "NOVA_RT_RUN_RECORD"
#define RUN_OVERRUNS "NOVA_RT_RUN_OVERRUNS"

#endif
