/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functional warming: the trace changes caches, TLBs and predictors, without the pipeline. */
#ifndef TOOLS_VCORE_GUEST_CONTENTS_H
#define TOOLS_VCORE_GUEST_CONTENTS_H

#include "tools/vcore/core/hart.h"

/*
 * Follow the trace: caches, TLBs, the number of instructions; its transfers go to the hart's batch.
 * Returns the first word that is not used: the last run waits for the next one, unless `all`.
 */
const uint64_t *contents_follow(struct hart *hart, bool all);

#endif
