/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What interrupts cost on the board. */
#ifndef TOOLS_VCORE_BOARD_COST_H
#define TOOLS_VCORE_BOARD_COST_H

#include <stdbool.h>
#include <stdint.h>

struct board_cost;

/* NULL: out of memory. */
struct board_cost *board_cost_create(void);
/* The hart takes the interrupt of a sample in the place of the instruction at `pc`; it returns from
 * a trap to `pc`; in between it executes the instruction at `pc`. */
void board_cost_begin(struct board_cost *cost, unsigned int hart, uint64_t pc);
void board_cost_end(struct board_cost *cost, unsigned int hart, uint64_t pc);
void board_cost_count(struct board_cost *cost, unsigned int hart, uint64_t pc);
/* Write what was counted as JSON.  Returns false when that failed, see errno. */
bool board_cost_write(const struct board_cost *cost, const char *path);

#endif
