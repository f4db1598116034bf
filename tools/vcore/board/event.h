/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the board's period counter, see event.c. */
#ifndef TOOLS_VCORE_BOARD_EVENT_H
#define TOOLS_VCORE_BOARD_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/core/events.h"

struct passage;

#define BOARD_EVENTS 15u

/* An event as software selects it.  board.c passes this layout to the emulator. */
struct board_event {
	const char *name;
	uint32_t number; /* value of shpmsevent; not PESA_SELECT_CYCLES */
};

/* Fill in all events; returns their number. */
unsigned int board_events(struct board_event events[BOARD_EVENTS]);
/* The event counter that counts the same. */
enum vcore_event board_event_counter(unsigned int number);
/* Return whether the event occurred at a retired instruction. */
bool board_event_happened(unsigned int number, const struct passage *passage);

#endif
