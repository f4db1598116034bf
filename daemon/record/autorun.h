/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AutoRun: samples that the hart wrote to memory by itself.
 *
 * An event of the PMU pesa with the term `autorun` has an AUX buffer in addition to its ring.  AUX
 * records in the ring say which bytes of the buffer are new.  They are hardware records
 * (PESA_AUTORUN_RECORD_SIZE bytes, see csr.h), which are converted here to ordinary samples: a
 * reader of the file cannot distinguish them from samples taken by interrupt.
 *
 * A hardware record has a time, but no task.  For CPU-wide events, SWITCH records say when a CPU
 * switched tasks; for task events, the kernel hands over the records of a time slice before the
 * next task runs.
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
	const uint8_t *data; /* NULL: no AUX buffer */
	uint64_t size;	     /* in bytes, a power of two */
	size_t mapped;	     /* bytes to unmap; 0: the memory is not ours */
	/* tasks since the last AUX record and when each was switched out, oldest first */
	struct pesa_autorun_slice {
		uint64_t until; /* time in ns */
		uint32_t pid, tid;
	} * slices;
	size_t slice_count, slice_room;
	uint64_t samples, discarded, damaged; /* totals; `damaged`: bytes that held no records */
};

/* The properties of an event that its samples depend on. */
struct pesa_autorun_event {
	unsigned int attribute; /* attribute index in the file */
	uint64_t period;
	uint32_t ct_targets; /* of the PMU */
	bool scrubbed;	     /* the event may not see the kernel */
	uint32_t cpu;
};

/*
 * Map the AUX buffer of an event whose ring is mapped at `page`; `pages` is a power of two.  If
 * mmap() fails, the error is PESA_ERROR_SYSTEM with its errno.
 */
struct pesa_error *pesa_autorun_map(int event, struct perf_event_mmap_page *page, size_t pages,
				    struct pesa_autorun *autorun);
void pesa_autorun_unmap(struct pesa_autorun *autorun);

/* Process a SWITCH or SWITCH_CPU_WIDE record, header included. */
struct pesa_error *pesa_autorun_switch(struct pesa_autorun *autorun, const uint8_t *record,
				       size_t size);
/*
 * Write the samples of an AUX record.  *full: the buffer was full, and the kernel has stopped the
 * event until it is enabled again.
 */
struct pesa_error *pesa_autorun_take(struct pesa_autorun *autorun,
				     const struct pesa_autorun_event *event, const uint8_t *record,
				     size_t size, struct pesa_perfdata_writer *writer, bool *full);

#endif
