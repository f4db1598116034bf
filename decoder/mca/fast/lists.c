/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All lists anew.  See lists.h. */
#include "decoder/mca/fast/lists.h"

#include <string.h>

void mca_fast_list_again(struct mca_fast *quick)
{
	memset(quick->wheel, 0xff, sizeof(quick->wheel));
	quick->in_wheel = quick->active = 0;
	quick->known_count = quick->arrived_count = 0;
	for (unsigned int i = 0; i < quick->kind_count; i++)
		quick->kinds[i].first = quick->kinds[i].last = MCA_FAST_NONE;
	for (uint32_t number = quick->head; number != quick->tail; number++) {
		struct mca_fast_inflight *flight = mca_fast_inflight(quick, number);
		bool later = flight->time >= quick->now;

		flight->woken = false;
		if (flight->stage == MCA_READY)
			mca_fast_become_ready(quick, flight);
		else if (later && (flight->stage == MCA_PENDING ||
				   (flight->stage == MCA_ISSUED && flight->group)))
			mca_fast_add_to_wheel(quick, flight);
		else if (flight->stage != MCA_ISSUED)
			/* Those that cannot go on are left where they are. */
			mca_fast_wake(quick, flight);
	}
}
