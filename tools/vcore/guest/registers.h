/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's integer registers, as the emulator shows them to plugins: QEMU 9 and newer do. */
#ifndef TOOLS_VCORE_GUEST_REGISTERS_H
#define TOOLS_VCORE_GUEST_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/vcore/core/guest_state.h"

/* Whether this emulator has the functions for it. */
bool registers_are_shown(void);

/*
 * Read the registers of the mask `wanted`, by PERF_REG_RISCV_*, except the pc.  Only in the hart's
 * own thread, in a callback that was registered with QEMU_PLUGIN_CB_R_REGS.  False: the emulator
 * does not have them.
 */
bool registers_read(struct registers *registers, uint32_t wanted, uint64_t *value);

#endif
