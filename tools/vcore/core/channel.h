/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process's region of shared memory, and messages to the recorder.
 *
 * pesa record makes the shared memory; every recorded process takes one region of it.  The layout
 * and the message types are in daemon/vcore/channel.h.
 */
#ifndef TOOLS_VCORE_CORE_CHANNEL_H
#define TOOLS_VCORE_CORE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/vcore/channel.h"

struct process;

/* Open the shared memory and take a region.  Returns an error message or NULL. */
const char *channel_open(struct process *process, const char *path);
/* In the child after a fork: take a region of its own. */
bool channel_refork(struct process *process);
/* Send a message, followed by `tail` of `tail_size` bytes.  Returns false if it was lost. */
bool channel_send(struct process *process, struct vcore_message *message, const void *tail,
		  size_t tail_size);

#endif
