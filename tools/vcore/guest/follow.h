/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Continues profiling across execve; see follow.c. */
#ifndef TOOLS_VCORE_GUEST_FOLLOW_H
#define TOOLS_VCORE_GUEST_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hart;
struct process;

/*
 * The guest calls execve(): if the file is a RISC-V program, execute the emulator on it.  Returns
 * if it is not one, or if execve() failed.
 */
void follow_execve(struct process *process, struct hart *hart, uint64_t path, uint64_t argv,
		   uint64_t envp);
/*
 * Take over time and lineage from the program that executed this one; `before` is the plugin's
 * argument.
 */
void follow_begin(struct process *process, const char *before);
/* Read guest memory; false: not mapped. */
bool follow_read(const struct process *process, uint64_t address, void *buffer, size_t size);
/* Read a terminated string of the guest, at most size - 1 bytes; false: not readable. */
bool follow_read_string(const struct process *process, uint64_t address, char *string, size_t size);

#endif
