/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers before each of the newest instructions, for call chains as hardware has them.
 *
 * The accounts of an instruction come when the emulator has executed a few more: those of its
 * retirement group, and the one after it.  So the registers before every instruction are noted, and
 * those of the sampled one are looked up.  The stack is read when the sample is made, hence what
 * these few instructions stored is in it: that is the skid.
 *
 * Instructions are numbered as in a batch: negative ones are of the batch before.
 */
#ifndef TOOLS_VCORE_STACK_REGISTER_LOG_H
#define TOOLS_VCORE_STACK_REGISTER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/vcore/channel.h"

struct register_log;

/* What the kernel's walk by frame pointers gives at most (perf_event_max_stack). */
#define REGISTER_LOG_FRAMES 127u

/* `registers`: 1 << PERF_REG_RISCV_* of those that are noted.  NULL: out of memory. */
struct register_log *register_log_create(uint32_t registers);
void register_log_free(struct register_log *log);

/* Which registers are noted. */
uint32_t register_log_wanted(const struct register_log *log);

/* An instruction is about to be executed: fill in the registers, by PERF_REG_RISCV_*. */
uint64_t *register_log_next(struct register_log *log, uint64_t pc);

/* A batch of `steps` begins or ends; the newest instruction may not be in it yet: it `waits`. */
void register_log_begin(struct register_log *log, size_t steps, bool waits);
void register_log_end(struct register_log *log);

/* Step `number` of the batch is sampled, whose address is `pc`; NULL: its registers are not known. */
const uint64_t *register_log_find(const struct register_log *log, ptrdiff_t number, uint64_t pc);

/*
 * The chain by frame pointers as arch_stack_walk_user() of Linux walks it: the context (user), `pc`,
 * ra, and what the frames have.  guest_base: host address of the guest's address 0.  `entry` has
 * room for REGISTER_LOG_FRAMES + 1.  Returns the number of entries; *cut: whether the walk reached
 * that limit.
 */
size_t register_log_walk(uint64_t guest_base, const uint64_t *registers, uint64_t pc,
			 uint64_t *entry, bool *cut);

/* Copy the guest's memory from `address` on, up to `size` bytes or to where none is mapped. */
size_t register_log_copy(uint64_t guest_base, uint64_t address, void *bytes, size_t size);

#endif
