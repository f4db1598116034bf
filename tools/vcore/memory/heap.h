/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fixed number of resources, each occupied until some cycle, such as MSHRs and page walkers.
 *
 * The cycle in which the first one becomes free is at the top of the heap; occupying that resource
 * replaces it by the cycle in which it becomes free again.
 */
#ifndef TOOLS_VCORE_MEMORY_HEAP_H
#define TOOLS_VCORE_MEMORY_HEAP_H

#include <stdint.h>
#include <stdlib.h>

#include "pesa/error.h"

struct heap {
	uint32_t count;
	uint64_t *until;
};

static inline struct pesa_error *heap_create(struct heap *heap, uint32_t count)
{
	heap->count = count;
	heap->until = calloc(count, sizeof(*heap->until));
	return heap->until ? NULL : pesa_error_no_memory();
}

static inline void heap_free(struct heap *heap)
{
	free(heap->until);
	heap->until = NULL;
}

/* The first cycle in which a resource is free. */
static inline uint64_t heap_least(const struct heap *heap)
{
	return heap->until[0];
}

/* Occupy that resource until `until`. */
static inline void heap_replace(struct heap *heap, uint64_t until)
{
	uint64_t *at = heap->until;
	uint32_t place = 0, child, count = heap->count;

	while ((child = 2 * place + 1) < count) {
		child += child + 1 < count && at[child + 1] < at[child];
		if (at[child] >= until)
			break;
		at[place] = at[child];
		place = child;
	}
	at[place] = until;
}

#endif
