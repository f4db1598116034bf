/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses groups by binary and function; the others are left out, and shares stay those of the profile.
 */
#ifndef TOOLS_GROUPS_CHOOSE_H
#define TOOLS_GROUPS_CHOOSE_H

#include "tools/groups/groups.h"

/* Leave out the groups that `wanted` does not name: needs the key dso or sym.  PESA_ERROR_NOT_FOUND: a name
 * means none of them. */
struct pesa_error *profile_groups_choose(const struct profile_input *input,
					 const struct group_choice *wanted,
					 struct profile_groups *groups);

#endif
