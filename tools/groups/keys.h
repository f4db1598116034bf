/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys of groups: what the cycles of a profile are added up by, named as perf's sort keys.
 *
 * Keys of code say where an instruction is: the profile has it.  Keys of tasks say who executed it,
 * and when: only the samples have it, so that they have to be kept while the profile is loaded
 * (pesa/export.h).
 */
#ifndef TOOLS_GROUPS_KEYS_H
#define TOOLS_GROUPS_KEYS_H

#include <stdbool.h>

#include "tools/ui/text.h"

#define GROUP_BY_DSO	(1u << 0)
#define GROUP_BY_SYMBOL (1u << 1)
#define GROUP_BY_LINE	(1u << 2)
#define GROUP_BY_INSN	(1u << 3)
#define GROUP_BY_FILE	(1u << 4) /* source file */
#define GROUP_BY_COMM	(1u << 5) /* name of the thread */
#define GROUP_BY_PID	(1u << 6)
#define GROUP_BY_TID	(1u << 7)
#define GROUP_BY_CPU	(1u << 8)
#define GROUP_BY_CGROUP (1u << 9)
#define GROUP_BY_TIME	(1u << 10) /* slice of time */
/* Keys of tasks. */
#define GROUP_BY_TASK                                                                   \
	(GROUP_BY_COMM | GROUP_BY_PID | GROUP_BY_TID | GROUP_BY_CPU | GROUP_BY_CGROUP | \
	 GROUP_BY_TIME)

#define GROUP_KEY_NAMES "dso, sym, srcline, srcfile, insn, comm, pid, tid, cpu, cgroup and time"

/* Parse the sort order of the command line, "dso,symbol,line,insn" in any order.  Perf's names of figures
 * are passed over, so that there may be no key.  false: invalid. */
bool profile_keys_parse(const char *text, unsigned int *keys);
/* Append the names of keys, "dso,sym". */
void profile_keys_add(struct ui_text *line, unsigned int keys);

#endif
