/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * A profile: per-instruction cycle stacks (PICS).
 *
 * Loading a perf.data file follows the address spaces of its processes over time, counts equal
 * records, walks each distinct one once, and adds the weights up for each static instruction of each
 * binary (dso), split into buckets by the state of the retire stage and the set of causes.  An exact
 * profile (golden reference, exact records in the file) fills the same structure, and all that reads
 * a profile reads either.
 *
 * Units.  Weights are in 1/PESA_CYCLE of a cycle *sampled*; one sample stands for `period` cycles.
 * With samples of different periods each record counts period times: `weight` sums are multiplied out
 * already, i.e. weight / PESA_CYCLE is an estimate of cycles.  In an exact profile it is the number.
 *
 * Threads: different profiles may be loaded and used by different threads at the same time.  A loaded
 * profile may be read by many threads at once, but for the functions that say `one thread`.  What a
 * profile returns belongs to it and lives as long as it does.
 */
#ifndef PESA_PROFILE_H
#define PESA_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/capabilities.h"
#include "pesa/csr.h"
#include "pesa/error.h"
#include "pesa/perfdata.h"
#include "pesa/space.h"
#include "pesa/walk.h"

PESA_DECLARATIONS_BEGIN

/** A profile. */
struct pesa_profile;

/** Exact only: how many cycles of a bucket gave the instruction 1/group of them. */
struct pesa_share {
	uint8_t group;	 /**< instructions that retired together */
	uint64_t cycles; /**< in which that many did */
};

/** Cycles of an instruction in one state, with one set of causes. */
struct pesa_bucket {
	uint8_t state;	 /**< PESA_STATE_*, or PESA_STATE_UNKNOWN: plain samples tell only the PC */
	uint16_t cause;	 /**< PESA_CAUSE_* mask */
	uint64_t weight; /**< see Units */
	uint64_t samples;		/**< samples that contributed (exact: cycles) */
	const struct pesa_share *share; /**< exact only */
	unsigned int shares;		/**< how many */
};

/** Where control went from an instruction. */
struct pesa_edge {
	uint64_t target;     /**< address in target_dso, as pesa_instruction.address */
	uint32_t target_dso; /**< index */
	uint64_t count;	     /**< transfers, multiplied by the period (exact: transfers) */
};

/** A static instruction with what it was given. */
struct pesa_instruction {
	uint32_t dso; /**< index */
	/** FILE, VDSO: the ELF's own virtual address (the offset in the file where the ELF file is not
	 * to be had); KERNEL, JIT, UNKNOWN: as at run time. */
	uint64_t address;
	uint64_t weight;	  /**< sum over its buckets */
	uint64_t executions;	  /**< times retired, multiplied by the period */
	uint64_t retired_samples; /**< samples in which it retired, once for each retirement */
	uint64_t samples;	  /**< samples that gave it weight */
	/** Retirements of which is known whether control was transferred, in samples, not multiplied by the
	 * period (exact: executions). */
	uint64_t transfers_known;
	uint64_t transfers_taken; /**< transfers of these (exact: transfers) */
	/** Samples in which it retired and had been mispredicted: where it did not transfer control (or
	 * that is not known), and where it did.  Where several instructions of a cycle met events, a
	 * sample tells of one of them.  An exact profile has none. */
	uint64_t mispredicted[2];
	/** For intervals, in cycles squared: a sample gives the instruction the fraction w of its period P
	 * and retires it r times.  The sum over the samples of (P w)^2. */
	double weight_squared;
	double weight_times_retired;	  /**< of P w P r */
	double retired_squared;		  /**< of (P r)^2 */
	const struct pesa_bucket *bucket; /**< sorted by weight, largest first */
	unsigned int buckets;		  /**< how many */
	const struct pesa_edge *edge;	  /**< sorted by count, largest first */
	unsigned int edges;		  /**< how many */
};

/** Sums over the whole profile. */
struct pesa_profile_totals {
	uint64_t samples;	/**< read (exact: 0) */
	uint64_t plain_samples; /**< of them without details: attributed to their PC alone */
	uint64_t
		skidding_samples; /**< of these, those whose PC the kernel does not say to be exact */
	uint64_t weight;	  /**< attributed and unattributed */
	uint64_t unattributed[PESA_UNATTRIBUTED_REASONS]; /**< weight */
	uint64_t lost; /**< samples reported lost: LOST records and record flags */
	uint64_t
		impossible; /**< raw records that could not be read (their weight is unattributed) */
	uint64_t other_events; /**< samples of events that were not asked for */
	uint64_t overflowed;   /**< samples left out because the sum of all weights would not fit */
	uint64_t distinct_records; /**< walked */
	double period;		   /**< mean cycles a sample; 0 for an exact profile */
	double period_squared;	   /**< sum over the samples of their squared periods */
	bool exact;		   /**< a golden reference, made of exact records */
	bool is_time; /**< a clock of the kernel: what counts as cycles are nanoseconds */
};

/** A sample, as a listener sees it: valid during the call. */
struct pesa_profile_sample {
	const struct pesa_record *record; /**< the raw record, or one made of the PC alone */
	const struct pesa_capabilities *capabilities; /**< of the hardware that took it */
	uint32_t pid;				      /**< process that it was taken in */
	uint32_t tid;				      /**< thread */
	uint32_t cpu;				      /**< CPU */
	uint64_t time;				      /**< ns */
	uint64_t period;			      /**< cycles */
	const uint8_t *callchain;		      /**< as in struct pesa_sample */
	uint64_t callchain_count;		      /**< how many */
};

/** Where something is. */
struct pesa_place {
	uint32_t dso;	  /**< its number, as pesa_profile_dso_of_number() takes it */
	uint64_t address; /**< in it */
};

/** A record and what it was attributed to, as a listener sees it: valid during the call. */
struct pesa_walked_record {
	const struct pesa_record *record;	      /**< that was walked */
	const struct pesa_walk_result *result;	      /**< of the walk */
	const struct pesa_place *place;		      /**< of each step */
	const struct pesa_capabilities *capabilities; /**< of the hardware that took it */
	uint64_t samples;			      /**< equal samples */
	uint64_t periods;			      /**< the sum of their periods */
	double periods_squared;			      /**< the sum of the squares of these */
	uint32_t group;				      /**< that the listener put them in, else 0 */
	/** Where another address of the same address space is.  Its dso is one of the profile's then. */
	struct pesa_place (*locate)(void *locator, uint64_t address);
	void *locator; /**< its first argument */
};

/** A part of an exact record: one bucket, or (with no weight) how often the instruction retired. */
struct pesa_profile_exact {
	uint32_t pid;		 /**< process */
	uint32_t tid;		 /**< thread */
	uint32_t cpu;		 /**< CPU */
	struct pesa_place place; /**< of the instruction */
	uint64_t executions;	 /**< times that it retired */
	uint64_t weight;	 /**< see Units */
	uint8_t state;		 /**< PESA_STATE_* */
	uint16_t cause;		 /**< PESA_CAUSE_* mask */
};

/** For analyses that need more than a profile keeps: what happens while one is loaded.  Any of the
 * functions may be NULL.  An error of one of them ends the loading, which returns it. */
struct pesa_profile_listener {
	/** Each event that is no sample, in time order. */
	struct pesa_error *(*event)(void *context, const struct pesa_event *event);
	/** Each sample that is taken, in time order. */
	struct pesa_error *(*sample)(void *context, const struct pesa_profile_sample *sample);
	/** Put a sample in a group, just after that: equal records of different groups are not taken
	 * for equal. */
	struct pesa_error *(*group)(void *context, const struct pesa_profile_sample *sample,
				    uint32_t *group);
	/** Each record that was walked; equal ones once, or a few times. */
	struct pesa_error *(*walked)(void *context, const struct pesa_walked_record *walked);
	/** Each part of an exact record. */
	struct pesa_error *(*exact)(void *context, const struct pesa_profile_exact *exact);
	void *context; /**< the first argument of all of them */
};

/** What is loaded, and how. */
struct pesa_profile_options {
	const char *event; /**< only this event of the file; NULL: the first of pesa's own, else the
				 * first with raw records, else the first */
	int64_t pid;	   /**< only this process; -1: all */
	int64_t tid;	   /**< only this thread; -1: all */
	const char *
		symbol_root; /**< look for binaries below this directory (perf's --symfs), NULL: none */
	/** Called now and then with the share done (0..1); may be NULL. */
	void (*progress)(void *context, double share);
	void *progress_context;			      /**< its first argument */
	const struct pesa_profile_listener *listener; /**< may be NULL */
};

/** The values that serve: every member is set.
 * @one_thread @nothing_owned */
void pesa_profile_options_default(struct pesa_profile_options *options);

/** Load a perf.data file ("-": standard input).  options may be NULL.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_profile_load(const char *path, const struct pesa_profile_options *options,
				     struct pesa_profile **profile);
/** Free a profile, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_profile_free(struct pesa_profile *profile);

/** The sums.
 * @readers @object_owns */
const struct pesa_profile_totals *pesa_profile_totals(const struct pesa_profile *profile);
/** What is missing in the file.
 * @readers @object_owns */
const struct pesa_perfdata_losses *pesa_profile_losses(const struct pesa_profile *profile);
/** Never NULL: what the specification says where the file does not tell.
 * @readers @object_owns */
const struct pesa_capabilities *pesa_profile_capabilities(const struct pesa_profile *profile);
/** Name of the event that was loaded; NULL where the file does not tell, here and below.
 * @readers @object_owns */
const char *pesa_profile_event(const struct pesa_profile *profile);
/** The architecture, "riscv64".
 * @readers @object_owns */
const char *pesa_profile_arch(const struct pesa_profile *profile);
/** The command that recorded.
 * @readers @object_owns */
const char *pesa_profile_cmdline(const struct pesa_profile *profile);

/** What was counted over the whole recording, beside the samples; 0 where the file does not tell.
 * @readers @object_owns */
const struct pesa_count *pesa_profile_counts(const struct pesa_profile *profile, size_t *count);

/** The address spaces as they were at the end: for what dumps of code say of themselves (space.h).
 * @readers @object_owns */
const struct pesa_spaces *pesa_profile_spaces(const struct pesa_profile *profile);

/** Index of the dso that a listener knows by a number; UINT32_MAX: no instruction is in it.
 * @readers @nothing_owned */
uint32_t pesa_profile_dso_of_number(const struct pesa_profile *profile, uint32_t number);
/** How many binaries there are.
 * @readers @nothing_owned */
unsigned int pesa_profile_dso_count(const struct pesa_profile *profile);
/** One of them; the index must be below the count.
 * @readers @object_owns */
const struct pesa_dso *pesa_profile_dso(const struct pesa_profile *profile, unsigned int index);

/** How many instructions have weight or executions.
 * @readers @nothing_owned */
size_t pesa_profile_instruction_count(const struct pesa_profile *profile);
/** One of them, sorted by dso and address; the index must be below the count.
 * @readers @object_owns */
const struct pesa_instruction *pesa_profile_instruction(const struct pesa_profile *profile,
							size_t index);
/** The instruction at an address, NULL when it was never seen.
 * @readers @object_owns */
const struct pesa_instruction *pesa_profile_find(const struct pesa_profile *profile, uint32_t dso,
						 uint64_t address);

/** Bytes of a dso's text at an ELF virtual address: how many of `size` could be read.
 * @one_thread @nothing_owned */
size_t pesa_profile_text(const struct pesa_profile *profile, uint32_t dso, uint64_t address,
			 void *buffer, size_t size);
/** ISA string of a dso (ELF attributes, else "rv64"/"rv32" by its class); NULL if it is not RISC-V.
 * @one_thread @object_owns */
const char *pesa_profile_isa(const struct pesa_profile *profile, uint32_t dso);

PESA_DECLARATIONS_END

#endif
