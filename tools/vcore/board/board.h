/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system emulator instead of the user-mode one. */
#ifndef TOOLS_VCORE_BOARD_BOARD_H
#define TOOLS_VCORE_BOARD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

struct process;

#define BOARD_HARTS 64u

/* Run under the system emulator, as its plugin `id`.  `core` is the file of a core description,
 * `counts` where to tell what became of samples, `interrupts` where to tell what their interrupts
 * cost (NULL: nowhere).  Returns what went wrong, NULL: nothing. */
const char *board_open(struct process *process, uint64_t id, const char *core, const char *counts,
		       const char *interrupts);
#endif
