/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AutoRun: samples that the hart wrote to memory itself.
 *
 * An event of the PMU pesa with the term `autorun` has an AUX buffer beside its ring.  The kernel
 * says in the ring, by AUX records, which bytes of it are new; they are records of the hardware
 * (PESA_AUTORUN_RECORD_SIZE bytes, see csr.h), which become ordinary samples here: whoever reads
 * the file cannot tell them from those that an interrupt brought.
 *
 * A record of the hardware does not know its task.  It knows its time; the kernel says when a CPU
 * switched tasks (SWITCH records, for events of whole CPUs), or hands over what one task's time
 * slice left before the next one runs.
 */
#ifndef DAEMON_RECORD_AUTORUN_H
#define DAEMON_RECORD_AUTORUN_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/perfdata.h"

struct pesa_autorun {
	struct perf_event_mmap_page *page;
	const uint8_t *data; /* NULL: there is no such buffer */
	uint64_t size;	     /* bytes, a power of two */
	size_t mapped;	     /* bytes; 0: not ours to unmap */
	/* who ran until when, oldest first, since the last AUX record */
	struct pesa_autorun_slice {
		uint64_t until; /* ns */
		uint32_t pid, tid;
	} * slices;
	size_t slice_count, slice_room;
	uint64_t samples, discarded, damaged; /* so far; bytes that held no records */
};

/* What the samples of an event are made of. */
struct pesa_autorun_event {
	unsigned int attribute; /* of the file */
	uint64_t period;
	uint32_t ct_targets; /* of the PMU */
	bool scrubbed;	     /* it may not see the kernel */
	uint32_t cpu;
};

/* Map the AUX buffer of an event whose ring is mapped at `page`: `pages`, a power of two.  The
 * error of mmap() is PESA_ERROR_SYSTEM with its errno. */
struct pesa_error *pesa_autorun_map(int event, struct perf_event_mmap_page *page, size_t pages,
				    struct pesa_autorun *autorun);
void pesa_autorun_unmap(struct pesa_autorun *autorun);

/* Note a SWITCH or SWITCH_CPU_WIDE record, header included. */
struct pesa_error *pesa_autorun_switch(struct pesa_autorun *autorun, const uint8_t *record,
				       size_t size);
/* Write the samples that an AUX record tells of.  *full: there was no room for more, and the kernel
 * has stopped the event until it is enabled again. */
struct pesa_error *pesa_autorun_take(struct pesa_autorun *autorun,
				     const struct pesa_autorun_event *event, const uint8_t *record,
				     size_t size, struct pesa_perfdata_writer *writer, bool *full);

#endif
