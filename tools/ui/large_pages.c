/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/ui/large_pages.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE	 ((uintptr_t)2 << 20)
#define RESERVED (256 << 20) /* bytes */
/* The largest threshold that glibc takes; arrays above it are moved without a copy. */
#define MAPPED_ALONE (32 << 20)

void large_pages_for_heap(void)
{
	uintptr_t start = (uintptr_t)sbrk(0), end;
	struct rlimit limit;
	void *volatile grown;

	/* Addresses that are limited are left for data. */
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur != RLIM_INFINITY ||
	    getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur != RLIM_INFINITY)
		return;
	mallopt(M_MMAP_THRESHOLD, MAPPED_ALONE);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_TOP_PAD, RESERVED);
	/* Larger than what the heap has left, so that it grows. */
	grown = malloc(1 << 20);
	free(grown);
	mallopt(M_TOP_PAD, 1 << 20);
	start = (start + PAGE - 1) / PAGE * PAGE;
	end = (uintptr_t)sbrk(0) / PAGE * PAGE;
	if (start < end)
		madvise((void *)start, end - start,
			MADV_HUGEPAGE); // NOLINT(performance-no-int-to-ptr)
}
