/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rebuilding all lists: see lists.h. */
#include "decoder/mca/fast/lists.h"

#include <string.h>

void mca_fast_list_again(struct mca_fast *fast)
{
	memset(fast->wheel, 0xff, sizeof(fast->wheel));
	fast->in_wheel = fast->active = 0;
	fast->known_count = fast->arrived_count = 0;
	for (unsigned int i = 0; i < fast->kind_count; i++)
		fast->kinds[i].first = fast->kinds[i].last = MCA_FAST_NONE;
	for (uint32_t number = fast->head; number != fast->tail; number++) {
		struct mca_fast_inflight *flight = mca_fast_inflight(fast, number);
		bool later = flight->time >= fast->now;

		flight->woken = false;
		if (flight->stage == MCA_READY)
			mca_fast_become_ready(fast, flight);
		else if (later && (flight->stage == MCA_PENDING ||
				   (flight->stage == MCA_ISSUED && flight->group)))
			mca_fast_add_to_wheel(fast, flight);
		else if (flight->stage != MCA_ISSUED)
			/* Instructions that cannot change their stage stay as they are. */
			mca_fast_wake(fast, flight);
	}
}
