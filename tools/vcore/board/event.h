/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the board's period counter. */
#ifndef TOOLS_VCORE_BOARD_EVENT_H
#define TOOLS_VCORE_BOARD_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/core/events.h"

struct passage;

#define BOARD_EVENTS 15u

/* Such an event, as software chooses it.  The layout is the emulator's, see board.c. */
struct board_event {
	const char *name;
	uint32_t number; /* in shpmsevent; not PESA_SELECT_CYCLES */
};

/* Fill in all that there are; returns how many. */
unsigned int board_events(struct board_event events[BOARD_EVENTS]);
/* What counts the same. */
enum vcore_event board_event_counter(unsigned int number);
/* Whether the event with this number happened to an instruction that retired. */
bool board_event_happened(unsigned int number, const struct passage *passage);

#endif
