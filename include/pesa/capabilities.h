/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Capabilities: what the hardware that took the samples can record.
 *
 * A core implements fewer counter bits, branch targets or CAUSE bits than the specification allows.
 * The driver publishes this in sysfs (caps/), the virtual core takes it from its core description.
 * In perf.data it travels as perf's own feature section PMU_CAPS (names and values of the PMU "pesa"),
 * so that stock perf records it from sysfs by itself and prints it with `perf report --header`.
 *
 * Names in that section (all values are text): xlen, retire_width, counter_bits, minimum_period,
 * ct_targets, ctr_depth, call_stacks, cause_names (comma-separated "BIT:NAME"), core (the core description),
 * model (the processor model, as for -mcpu), frequency (Hz, nominal), samplers.
 *
 * Threads: different objects may be used by different threads at the same time, one object by one
 * thread at a time.
 */
#ifndef PESA_CAPABILITIES_H
#define PESA_CAPABILITIES_H

#include <stdint.h>

#include "pesa/api.h"
#include "pesa/csr.h"
#include "pesa/error.h"

PESA_DECLARATIONS_BEGIN

/** Bytes of a name, the terminating one included: what is longer is cut off. */
#define PESA_CAPABILITY_NAME_MAX 64

/** What the hardware can record.  Holds no pointers: it may be copied. */
struct pesa_capabilities {
	uint32_t xlen;		 /**< 32 or 64 */
	uint32_t retire_width;	 /**< instructions per cycle, 1..15; 0: unknown */
	uint32_t counter_bits;	 /**< implemented bits of SAMPLEINITVALUE */
	uint32_t minimum_period; /**< cycles */
	uint32_t ct_targets;	 /**< control transfer targets in a record: 0, 1 or 2 */
	uint32_t ctr_depth;	 /**< entries of control transfer records, 0: none */
	uint32_t call_stacks;	 /**< 1: they can be the call stack (RASEMU) */
	uint16_t cause_mask;	 /**< CAUSE bits that are tracked */
	char cause_names[PESA_CAUSE_COUNT][PESA_CAPABILITY_NAME_MAX]; /**< "" where not tracked */
	char core[PESA_CAPABILITY_NAME_MAX];  /**< core description, "" if none */
	char model[PESA_CAPABILITY_NAME_MAX]; /**< processor model, "" if unknown */
	uint64_t frequency;		      /**< nominal, Hz; 0: unknown */
};

/** Defaults of the specification: 64 bit, 2 targets, the five standard causes.
 * @one_thread @nothing_owned */
void pesa_capabilities_default(struct pesa_capabilities *capabilities);

/** Set one value by its name.  An unknown name is ignored (later versions add some); a value that
 * cannot be is an error.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_capabilities_set(struct pesa_capabilities *capabilities, const char *name,
					 const char *value);

/** Write every name and value, in a fixed order, to `emit`.
 * @readers @object_owns */
void pesa_capabilities_each(const struct pesa_capabilities *capabilities,
			    void (*emit)(void *context, const char *name, const char *value),
			    void *context);

/** Text of a CAUSE mask, "D$miss+DTLBmiss" style (short standard names), "" for 0.  Returns the length
 * of the whole text.
 * @readers @nothing_owned */
unsigned int pesa_capabilities_cause_text(const struct pesa_capabilities *capabilities,
					  uint16_t cause, char *buffer, unsigned int size);

PESA_DECLARATIONS_END

#endif
