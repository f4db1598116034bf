/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process's region of shared memory, and the messages to the recorder. */
#ifndef TOOLS_VCORE_CORE_CHANNEL_H
#define TOOLS_VCORE_CORE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/vcore/channel.h"

struct process;

/* Open the shared memory and take a region.  Returns what went wrong, NULL: nothing. */
const char *channel_open(struct process *process, const char *path);
/* After fork, in the child: a region of its own in the place of the parent's. */
bool channel_refork(struct process *process);
/* Send a message; `tail` of `tail_size` bytes follows.  Returns false when it was lost. */
bool channel_send(struct process *process, struct vcore_message *message, const void *tail,
		  size_t tail_size);

#endif
