/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large pages for the heap of commands that read profiles.
 *
 * Such a command touches tens of megabytes for a tenth of a second, in arrays that grow.  With pages of
 * 4 KB it spends a quarter of its time in page faults.
 */
#ifndef TOOLS_UI_LARGE_PAGES_H
#define TOOLS_UI_LARGE_PAGES_H

/* Reserve addresses for the heap, for which the kernel may use pages of 2 MB, and let large arrays
 * grow there too.  Memory is used only where it is touched.  Nothing is done where addresses are
 * limited, and what the system refuses is left out: nothing but time depends on it. */
void large_pages_for_heap(void);

#endif
