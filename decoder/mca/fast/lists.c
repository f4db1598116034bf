/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All lists anew.  See lists.h. */
#include "decoder/mca/fast/lists.h"

#include <string.h>

void mca_quick_list_again(struct mca_quick *quick)
{
	memset(quick->calendar, 0xff, sizeof(quick->calendar));
	quick->in_calendar = quick->active = 0;
	quick->known_count = quick->arrived_count = 0;
	for (unsigned int i = 0; i < quick->kind_count; i++)
		quick->kinds[i].first = quick->kinds[i].last = MCA_QUICK_NONE;
	for (uint32_t number = quick->head; number != quick->tail; number++) {
		struct mca_quick_flight *flight = mca_quick_flight(quick, number);
		bool later = flight->time >= quick->now;

		flight->woken = false;
		if (flight->place == MCA_READY)
			mca_quick_become_ready(quick, flight);
		else if (later && (flight->place == MCA_PENDING ||
				   (flight->place == MCA_ISSUED && flight->group)))
			mca_quick_add_to_calendar(quick, flight);
		else if (flight->place != MCA_ISSUED)
			/* Those that cannot go on are left where they are. */
			mca_quick_wake(quick, flight);
	}
}
