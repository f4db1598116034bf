/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of threads over time.  COMM events set a thread's name, a new thread inherits the name of
 * its parent, and a name is dropped when its thread exits.  Memory grows with the number of live
 * threads.
 */
#ifndef DECODER_PROFILE_THREAD_NAMES_H
#define DECODER_PROFILE_THREAD_NAMES_H

#include <stdint.h>

#include "pesa/error.h"
#include "pesa/event.h"

struct thread_names;

struct thread_names *thread_names_create(void); /* NULL: out of memory */
void thread_names_free(struct thread_names *names);
/* Apply an event, in time order; other types of events are ignored. */
struct pesa_error *thread_names_apply(struct thread_names *names, const struct pesa_event *event);
/* Current name of a thread; NULL: unknown. */
const char *thread_names_get(const struct thread_names *names, uint32_t tid);

#endif
