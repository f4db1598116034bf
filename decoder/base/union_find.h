/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Union-find: which of many numbered items hang together.  Each item has another one of its set, and
 * one of the set, its root, has itself.  To begin with every item is its own set; two are joined by
 *
 *	set[union_find_root(set, one)] = union_find_root(set, other);
 */
#ifndef DECODER_BASE_UNION_FIND_H
#define DECODER_BASE_UNION_FIND_H

#include <stdint.h>

/* The root of an item's set; the way there gets shorter. */
static inline uint32_t union_find_root(uint32_t *set, uint32_t item)
{
	while (set[item] != item) {
		set[item] = set[set[item]];
		item = set[item];
	}
	return item;
}

#endif
