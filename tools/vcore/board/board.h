/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtual core as a plugin of the system emulator, instead of the user-mode one; see board.c.
 */
#ifndef TOOLS_VCORE_BOARD_BOARD_H
#define TOOLS_VCORE_BOARD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

struct process;

#define BOARD_HARTS 64u

/*
 * Install the callbacks for plugin `id`.  `core` is a core description file.  The numbers of
 * samples are written to the file `counts`, the cost of their interrupts to `interrupts`, where
 * `driver` says which addresses are the driver's, see cost.h (each may be NULL).  Returns an error
 * message or NULL.
 */
const char *board_open(struct process *process, uint64_t id, const char *core, const char *counts,
		       const char *interrupts, const char *driver);
#endif
