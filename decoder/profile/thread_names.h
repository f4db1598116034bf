/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of threads over time: COMM events name them, a new thread has its parent's name, and a name
 * is forgotten when its thread ends.  Memory grows with the number of living threads.
 */
#ifndef DECODER_PROFILE_THREAD_NAMES_H
#define DECODER_PROFILE_THREAD_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/perfdata.h"

struct thread_names;

struct thread_names *thread_names_create(void); /* NULL: out of memory */
void thread_names_free(struct thread_names *names);
/* Follow an event, in the order of time; those of other types are ignored.  False: out of memory. */
bool thread_names_apply(struct thread_names *names, const struct pesa_event *event);
/* Name of a thread now; NULL: never told. */
const char *thread_names_get(const struct thread_names *names, uint32_t tid);

#endif
