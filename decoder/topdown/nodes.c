// SPDX-License-Identifier: GPL-2.0-or-later
/* The hierarchy of top-down nodes: see include/pesa/topdown.h. */
#include <string.h>

#include "pesa/capabilities.h"
#include "pesa/topdown.h"

const struct pesa_topdown_node_facts pesa_topdown_nodes[PESA_TOPDOWN_NODES_COUNT] = {
#define NODE(id, parent, level, name, key) \
	[PESA_TOPDOWN_##id] = {name, key, PESA_TOPDOWN_##parent, level},
	PESA_TOPDOWN_NODES(NODE)
#undef NODE
};

struct pesa_topdown_bits pesa_topdown_bits(const struct pesa_capabilities *capabilities)
{
	struct pesa_topdown_bits bits = {0};
	const struct {
		const char *name;
		uint16_t *mask;
	} events[] = {
		{"l2-miss", &bits.l2_miss},
		{"llc-miss", &bits.llc_miss},
		{"page-walk", &bits.page_walk},
		{"alloc-blocked", &bits.alloc_blocked},
		{"store-forward", &bits.store_forward},
		{"serialise", &bits.serialise},
	};

	for (unsigned int bit = PESA_CAUSE_IMPLEMENTATION_FIRST; bit < PESA_CAUSE_COUNT; bit++)
		for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
			if (!strcmp(capabilities->cause_names[bit], events[i].name))
				*events[i].mask |= (uint16_t)(1u << bit);
	return bits;
}
