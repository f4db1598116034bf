/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiling goes on across execve. */
#ifndef TOOLS_VCORE_GUEST_FOLLOW_H
#define TOOLS_VCORE_GUEST_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hart;
struct process;

/* The guest is about to execute a program: do it ourselves when it is one for RISC-V.  Returns when
 * it is not, or cannot be executed. */
void follow_execve(struct process *process, struct hart *hart, uint64_t path, uint64_t argv,
		   uint64_t envp);
/* The program was executed by another one, which said this of its time and lineage. */
void follow_begin(struct process *process, const char *before);
/* Read memory of the guest; false: it is not there. */
bool follow_read(const struct process *process, uint64_t address, void *buffer, size_t size);
/* Read a terminated string of the guest, at most size - 1 bytes; false: it cannot be read. */
bool follow_read_string(const struct process *process, uint64_t address, char *string, size_t size);

#endif
