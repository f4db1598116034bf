// SPDX-License-Identifier: GPL-2.0-or-later
/* Top-down from counters read besides the samples: see include/pesa/topdown_profile.h. */
#include <math.h>
#include <string.h>

#include "pesa/topdown_profile.h"

/* Events of a node: one of the retire stage; those of dispatch, which are added up. */
static const struct {
	const char *retire, *dispatch[2];
} events[PESA_TOPDOWN_NODES_COUNT] = {
#define BAD	 "BAD_SPECULATION"
#define FRONTEND "FRONTEND_BOUND"
#define BACKEND	 "BACKEND_BOUND"
#define BOTH(name)                               \
	{                                        \
		"RETIRE." name ".SLOTS",         \
		{                                \
			"TOPDOWN." name ".SLOTS" \
		}                                \
	}
#define OWN(name)                        \
	{                                \
		"RETIRE." name ".SLOTS", \
		{                        \
			NULL             \
		}                        \
	}
	[PESA_TOPDOWN_SLOTS] = {"RETIRE.SLOTS", {"TOPDOWN.SLOTS"}},
	[PESA_TOPDOWN_RETIRING] = BOTH("RETIRING"),
	[PESA_TOPDOWN_BAD] = BOTH(BAD),
	[PESA_TOPDOWN_MISPREDICTS] = BOTH(BAD ".MISPREDICT"),
	[PESA_TOPDOWN_CLEARS] = {"RETIRE." BAD ".CLEAR.SLOTS",
				 {"TOPDOWN." BAD ".MEM_ORDERING.SLOTS",
				  "TOPDOWN." BAD ".OTHER.SLOTS"}},
	[PESA_TOPDOWN_CLEARS_SERIALISING] = OWN(BAD ".CLEAR.SERIALIZING"),
	[PESA_TOPDOWN_CLEARS_OTHER] = OWN(BAD ".CLEAR.OTHER"),
	[PESA_TOPDOWN_FRONTEND] = BOTH(FRONTEND),
	[PESA_TOPDOWN_LATENCY] = BOTH(FRONTEND ".LATENCY"),
	[PESA_TOPDOWN_LATENCY_ICACHE] = OWN(FRONTEND ".LATENCY.L1I"),
	[PESA_TOPDOWN_LATENCY_ITLB] = OWN(FRONTEND ".LATENCY.ITLB"),
	[PESA_TOPDOWN_LATENCY_OTHER] = OWN(FRONTEND ".LATENCY.OTHER"),
	[PESA_TOPDOWN_BANDWIDTH] = BOTH(FRONTEND ".BANDWIDTH"),
	[PESA_TOPDOWN_BACKEND] = BOTH(BACKEND),
	[PESA_TOPDOWN_MEMORY] = BOTH(BACKEND ".MEMORY"),
	[PESA_TOPDOWN_MEMORY_DTLB] = OWN(BACKEND ".MEMORY.DTLB"),
	[PESA_TOPDOWN_MEMORY_L1] = OWN(BACKEND ".MEMORY.L1D"),
	[PESA_TOPDOWN_MEMORY_L2] = OWN(BACKEND ".MEMORY.L2"),
	[PESA_TOPDOWN_MEMORY_LLC] = OWN(BACKEND ".MEMORY.LL"),
	[PESA_TOPDOWN_MEMORY_STORES] = OWN(BACKEND ".MEMORY.STORES"),
	[PESA_TOPDOWN_CORE] = BOTH(BACKEND ".CORE"),
	[PESA_TOPDOWN_CORE_FORWARD] = OWN(BACKEND ".CORE.STLF"),
	[PESA_TOPDOWN_CORE_SERIALISING] = OWN(BACKEND ".CORE.SERIALIZING"),
	[PESA_TOPDOWN_CORE_EXECUTION] = OWN(BACKEND ".CORE.EXECUTION"),
};

/* The count of an event; false: not counted. */
static bool counted_value(const struct pesa_profile *profile, const char *event, uint64_t *value)
{
	size_t count;
	const struct pesa_count *counts = pesa_profile_counts(profile, &count);

	for (size_t i = 0; event && i < count; i++) {
		if (strcmp(counts[i].event, event))
			continue;
		*value = counts[i].value;
		return true;
	}
	return false;
}

static double share(const struct pesa_profile *profile, const char *event, uint64_t all)
{
	uint64_t value;

	return all && counted_value(profile, event, &value) ? (double)value / (double)all : NAN;
}

static void split(const struct pesa_profile *profile, struct pesa_topdown_counted *counted)
{
	uint64_t slots, cycles, flushes;
	double mispredicts, all;

	if (!counted_value(profile, "TOPDOWN.SLOTS", &slots) ||
	    !counted_value(profile, "CYCLES.HART", &cycles) || !cycles ||
	    !counted_value(profile, "FLUSH.CYCLES", &flushes) ||
	    !counted_value(profile, "TOPDOWN." BAD ".MISPREDICT.UNRESOLVED.SLOTS",
			   &counted->issued_mispredicts) ||
	    !counted_value(profile, "TOPDOWN." BAD ".CLEAR.UNRESOLVED.SLOTS",
			   &counted->issued_clears) ||
	    !counted_value(profile, "FLUSH.MISPREDICT.CYCLES", &counted->recovery_mispredicts) ||
	    flushes < counted->recovery_mispredicts)
		return;
	counted->recovery_clears = flushes - counted->recovery_mispredicts;
	counted->width = (double)slots / (double)cycles;
	mispredicts = (double)counted->issued_mispredicts +
		      (double)counted->recovery_mispredicts * counted->width;
	all = mispredicts + (double)counted->issued_clears +
	      (double)counted->recovery_clears * counted->width;
	counted->mispredict_share = all > 0 ? mispredicts / all : NAN;
	counted->has_split = true;
}

bool pesa_topdown_counts(const struct pesa_profile *profile, struct pesa_topdown_counted *counted)
{
	uint64_t retire = 0, dispatch = 0;

	memset(counted, 0, sizeof(*counted));
	counted_value(profile, "RETIRE.SLOTS", &retire);
	counted_value(profile, "TOPDOWN.SLOTS", &dispatch);
	for (unsigned int i = 0; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		double further = share(profile, events[i].dispatch[1], dispatch);

		counted->retire[i] = share(profile, events[i].retire, retire);
		counted->dispatch[i] = share(profile, events[i].dispatch[0], dispatch);
		if (!isnan(further))
			counted->dispatch[i] += further;
	}
	split(profile, counted);
	return retire || dispatch;
}
