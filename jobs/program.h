/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOVA_RT_PROGRAM_H
#define NOVA_RT_PROGRAM_H

/* Refuses a program that does not exist, or that nothing can be preloaded into. */
void check_program(const char *program);

#endif
