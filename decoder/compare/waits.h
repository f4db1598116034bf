/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads that wait for stores although the code does not tell that they read from them: addresses are
 * not in a profile.  Whether a load does is found by the measurement: it stalls for longer than
 * predicted, which waiting for a store explains and a longer latency of its opcode does not.  Where
 * loads stall for longer that cannot wait for a store none is taken to wait: there is another reason.
 *
 * Before, all loads together: cores with store sets (G. Chrysos, J. Emer, "Memory dependence prediction
 * using store sets", ISCA 1998) know loads and stores by their places in the program, so that in a
 * recursive function a load waits for the store of another call.
 */
#ifndef DECODER_COMPARE_WAITS_H
#define DECODER_COMPARE_WAITS_H

#include "decoder/compare/code.h"
#include "decoder/compare/memory.h"

/* What a load waits for. */
enum compare_waits {
	COMPARE_WAITS_AS_CODED, /* what the code says (memory.h) */
	COMPARE_WAITS_ISSUE,	/* it issues after the newest store of all */
	COMPARE_WAITS_FORWARD,	/* the newest store of all forwards to it */
	COMPARE_WAITS_CACHE,	/* the newest store of all has to be in the cache */
	COMPARE_WAITS_KINDS,
};

/*
 * Whether a load waits in this execution, if it does in a part of them; `path`: the number of the path.
 * Where it overlaps with the store only at times these executions are spread evenly.  Otherwise they are all
 * those of a path: a core that has learnt that the load reads what the store wrote has it wait from then on.
 */
static inline bool compare_waits_now(struct compare_node *node, uint32_t path)
{
	if (node->waits != COMPARE_WAITS_CACHE && node->waits_path == path)
		return node->waits_now;
	node->waits_path = path;
	node->waits_due += node->waits_part;
	node->waits_now = node->waits_due >= 1;
	node->waits_due -= node->waits_now;
	return node->waits_now;
}

/* What a load forwards from; `coded`: as the code says. */
static inline struct compare_forward compare_waits_for(struct compare_node *node,
						       struct compare_forward coded, uint32_t path)
{
	node->wide |= coded.narrow;
	if (node->waits == COMPARE_WAITS_AS_CODED || !coded.newest ||
	    !compare_waits_now(node, path))
		return coded;
	coded.distance = coded.newest;
	coded.partly = node->waits == COMPARE_WAITS_CACHE;
	coded.after = node->waits == COMPARE_WAITS_ISSUE;
	return coded;
}

/* Whether a load waits for a store that the code does not name. */
bool compare_any_waits(const struct compare_code *code);
/* Take back which loads wait, or may wait. */
void compare_forget_waits(struct compare_code *code);

#endif
