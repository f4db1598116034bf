/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the cost of sampling interrupts on the board, in instructions; see cost.c. */
#ifndef TOOLS_VCORE_BOARD_COST_H
#define TOOLS_VCORE_BOARD_COST_H

#include <stdbool.h>
#include <stdint.h>

struct board_cost;

/*
 * `driver`: "START-END", addresses of a driver in the kernel itself; NULL: it is a module.  Returns
 * NULL: out of memory.
 */
struct board_cost *board_cost_create(const char *driver);
/*
 * The hart takes a sample's interrupt before the instruction at `pc`; returns from a trap to `pc`;
 * executes the instruction at `pc` in between.
 */
void board_cost_begin(struct board_cost *cost, unsigned int hart, uint64_t pc);
void board_cost_end(struct board_cost *cost, unsigned int hart, uint64_t pc);
void board_cost_count(struct board_cost *cost, unsigned int hart, uint64_t pc);
/* Write the counts as JSON.  Returns false on failure, see errno. */
bool board_cost_write(const struct board_cost *cost, const char *path);

#endif
