/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoder/mca/engine/steady.h"

#include "decoder/mca/engine/engine.h"

uint64_t mca_steady_fingerprint(struct mca_steady *steady, uint64_t now)
{
	uint64_t print = mca_mix(steady->print, now - steady->since);

	steady->print = 0;
	steady->since = now;
	return print;
}

uint64_t mca_steady_remember(struct mca_steady *steady, uint64_t print, uint64_t number)
{
	unsigned int slot = print % MCA_SEEN;
	uint64_t seen = steady->seen[slot].print == print ? steady->seen[slot].number : 0;

	steady->seen[slot].print = print;
	steady->seen[slot].number = number;
	return seen;
}

bool mca_steady_is_due(const struct mca_steady *steady, uint64_t number)
{
	return steady->confirming && number >= steady->until;
}

void mca_steady_pause(struct mca_steady *steady, uint64_t number)
{
	steady->next_snapshot = number + number / 8;
}

uint64_t mca_steady_period(const struct mca_steady *steady, uint64_t seen, uint64_t number,
			   uint64_t last)
{
	uint64_t period = number - seen;

	if (!steady->searching || steady->confirming || !seen || number < steady->next_snapshot)
		return 0;
	return number + period < last ? period : 0;
}

void mca_steady_confirm(struct mca_steady *steady, uint64_t number, uint64_t period)
{
	steady->until = number + period;
	steady->confirming = true;
}
