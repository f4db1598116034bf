/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pipeline on a thread of its own. */
#ifndef TOOLS_VCORE_CORE_RELAY_H
#define TOOLS_VCORE_CORE_RELAY_H

#include <stdbool.h>

struct batch;
struct hart;

/* The hart can hand batches to a relay: it is started when it is needed. */
bool relay_ready(struct hart *hart);
/* Hand `batch` of the hart, which is resolved; returns the next one, which is empty. */
struct batch *relay_hand(struct hart *hart);
/* Wait until all that was handed is accounted. */
void relay_drain(struct hart *hart);
/* In the child after fork, before which all was drained. */
void relay_refork(struct hart *hart);
void relay_free(struct hart *hart);

#endif
