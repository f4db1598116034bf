/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The relay runs the pipeline of a single-threaded guest on a second host thread; see relay.c. */
#ifndef TOOLS_VCORE_CORE_RELAY_H
#define TOOLS_VCORE_CORE_RELAY_H

#include <stdbool.h>

struct batch;
struct hart;

/* Returns whether the hart can hand batches to a relay, which is started if needed. */
bool relay_ready(struct hart *hart);
/* Hand over the hart's batch, whose steps are complete; returns the next, empty one. */
struct batch *relay_hand(struct hart *hart);
/* Wait until all batches are accounted. */
void relay_drain(struct hart *hart);
/* In the child after a fork, before which relay_drain() was called. */
void relay_refork(struct hart *hart);
void relay_free(struct hart *hart);

#endif
