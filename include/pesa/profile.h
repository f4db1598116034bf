/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * A profile: per-instruction cycle stacks (PICS).
 *
 * Loading a perf.data file follows the address spaces of its processes over time, counts equal
 * records, walks each distinct record once (walk.h), and adds up the weights for each static
 * instruction of each binary (dso).  They are split into buckets by the state of the retire stage
 * and the set of causes.  An exact profile (golden reference, exact records in the file) fills the
 * same structure; all readers accept both.
 *
 * Units.  A walk gives weights in 1/PESA_CYCLE of the sampled cycle.  Each sample is weighted by
 * its period, so weight / PESA_CYCLE estimates cycles; in an exact profile it is exact.
 *
 * Binaries.  Once a profile is loaded, a binary that it refers to has a dso index
 * (pesa_profile_dso()).  While it is loaded listeners get dso numbers; pesa_profile_dso_of_number()
 * gives the index of one.
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

/** Exact profiles only: cycles of a bucket in which the instruction got 1/group of the cycle. */
struct pesa_share {
	uint8_t group;	 /**< instructions that retired in the cycle; 1: it got the whole cycle */
	uint64_t cycles; /**< number of such cycles */
};

/** Cycles of an instruction in one state, with one set of causes. */
struct pesa_bucket {
	uint8_t state;	  /**< PESA_STATE_*, or PESA_STATE_UNKNOWN: plain samples have only a PC */
	uint16_t cause;	  /**< PESA_CAUSE_* mask */
	uint64_t weight;  /**< see Units */
	uint64_t samples; /**< samples that contributed (exact: cycles) */
	const struct pesa_share *share; /**< exact profiles only, else NULL */
	unsigned int shares;		/**< how many */
};

/** Control transfers from an instruction to one target. */
struct pesa_edge {
	uint64_t target;     /**< address in target_dso, as pesa_instruction.address */
	uint32_t target_dso; /**< dso index */
	uint64_t count;	     /**< transfers in samples, each times its period (exact: transfers) */
	/** Those of `count` that are known to have been mispredicted.  If several instructions of a
	 * cycle met events, a sample reports only one of them.  Always 0 in an exact profile, and
	 * where transfers are those of branch stacks. */
	uint64_t mispredicted;
};

/** A static instruction and the cycles attributed to it. */
struct pesa_instruction {
	uint32_t dso; /**< dso index */
	/** FILE, VDSO: virtual address in the ELF file (offset in the file if the ELF file is not
	 * available); KERNEL, JIT, UNKNOWN: run-time address. */
	uint64_t address;
	uint64_t weight;	  /**< sum over its buckets */
	uint64_t executions;	  /**< retirements, times the period (exact: executions) */
	uint64_t retired_samples; /**< samples in which it retired, once for each retirement */
	uint64_t samples;	  /**< samples that gave it weight */
	/** Retirements for which it is known whether the instruction transferred control; in
	 * samples, not multiplied by the period (exact: executions). */
	uint64_t transfers_known;
	uint64_t transfers_taken; /**< those of transfers_known in which it did */
	/** Samples in which it retired and had been mispredicted: [0] it did not transfer control,
	 * or that is unknown; [1] it did.  If several instructions of a cycle met events, a sample
	 * reports only one of them.  Always 0 in an exact profile. */
	uint64_t mispredicted[2];
	/** For confidence intervals, sums over the samples: P is the sample's period in cycles, w
	 * the share of its cycle that the instruction got (weight / PESA_CYCLE), r how often it
	 * retired in it. */
	double weight_squared;		  /**< sum of (P w)^2, cycles^2 */
	double weight_times_retired;	  /**< sum of P^2 w r, cycles^2 */
	double retired_squared;		  /**< sum of (P r)^2, cycles^2 */
	const struct pesa_bucket *bucket; /**< sorted by weight, largest first */
	unsigned int buckets;		  /**< how many */
	const struct pesa_edge *edge;	  /**< sorted by count, largest first */
	unsigned int edges;		  /**< how many */
};

/** Sums over the whole profile. */
struct pesa_profile_totals {
	uint64_t samples;	   /**< samples read (exact: 0) */
	uint64_t plain_samples;	   /**< samples without details: attributed to their PC alone */
	uint64_t skidding_samples; /**< plain samples whose PC may skid: not marked exact */
	uint64_t weight;	   /**< attributed and unattributed */
	uint64_t unattributed[PESA_UNATTRIBUTED_REASONS]; /**< weight, by reason */
	/** Samples reported lost by LOST records and record flags; not included in `samples`. */
	uint64_t lost;
	uint64_t
		impossible; /**< raw records that could not be read (their weight is unattributed) */
	uint64_t other_events; /**< samples of events not selected */
	uint64_t overflowed;   /**< samples left out because the sum of all weights would not fit */
	/** Samples whose call chain is a call stack of the hardware (RASEMU of Ssctr, LBR), where a
	 * listener took chains. */
	uint64_t call_stacks;
	uint64_t
		cut_call_stacks; /**< of them, those that lack calls: the hardware keeps the newest */
	uint64_t distinct_records; /**< distinct records, each walked once */
	double period;		   /**< mean cycles per sample; 0 for an exact profile */
	double period_squared;	   /**< sum over the samples of their squared periods */
	bool exact;		   /**< a golden reference, made of exact records */
	bool is_time;		   /**< the event is a clock: weights are nanoseconds, not cycles */
	uint64_t frequency;	   /**< samples a second that were asked for; 0: a period was */
	bool is_cycles; /**< plain samples of an event that counts cycles, as `cycles` does */
	/** The hardware names the instructions of the samples: pesa_attribute_is_tagged(). */
	bool is_tagged;
	/** Executions and transfers are those of branch stacks: pesa_timed_blocks_apply(). */
	bool paths;
};

/** A sample, as a listener sees it: valid during the call. */
struct pesa_profile_sample {
	const struct pesa_record *record; /**< the raw record, or one that has only the PC */
	const struct pesa_capabilities *capabilities; /**< of the hardware that took it */
	uint32_t pid;				      /**< process that it was taken in */
	uint32_t tid;				      /**< thread */
	uint32_t cpu;				      /**< CPU; UINT32_MAX: not recorded */
	uint64_t cgroup;	  /**< id of its control group; 0: not recorded */
	uint64_t time;		  /**< ns */
	uint64_t samples;	  /**< equal ones, counted where they were stored; else 1 */
	uint64_t period;	  /**< cycles, of all of them */
	double periods_squared;	  /**< the sum of their squared periods */
	const uint8_t *callchain; /**< as in struct pesa_sample */
	uint64_t callchain_count; /**< how many */
};

/** An address in a binary, for listeners. */
struct pesa_place {
	uint32_t dso;	  /**< dso number, see pesa_profile_dso_of_number() */
	uint64_t address; /**< as pesa_instruction.address */
};

/** The branch stack of a sample, as a listener sees it: valid during the call. */
struct pesa_profile_branches {
	const uint8_t *entries; /**< struct pesa_branch_entry[], unaligned, newest first */
	uint64_t count;		/**< how many */
	uint64_t samples;	/**< equal samples, counted where they were stored; else 1 */
	uint64_t period;	/**< of all of them */
	/** Find the place of a run-time address in the address space of the sample.  Afterwards that
	 * dso is part of the profile. */
	struct pesa_place (*locate)(void *locator, uint64_t address);
	void *locator; /**< its first argument */
};

/** A record and what it was attributed to, as a listener sees it: valid during the call. */
struct pesa_walked_record {
	const struct pesa_record *record;	      /**< the record */
	const struct pesa_walk_result *result;	      /**< the result of its walk */
	const struct pesa_place *place;		      /**< by step of the result */
	const struct pesa_capabilities *capabilities; /**< of the hardware that took it */
	uint64_t samples;			      /**< equal samples */
	uint64_t periods;			      /**< the sum of their periods */
	double periods_squared;			      /**< the sum of their squared periods */
	uint32_t group;				      /**< the listener's group, or 0 */
	/** Find the place of another run-time address in the same address space.  Afterwards that
	 * dso is part of the profile. */
	struct pesa_place (*locate)(void *locator, uint64_t address);
	void *locator; /**< its first argument */
};

/** A part of an exact record: one bucket; or, with weight 0, how often the instruction retired. */
struct pesa_profile_exact {
	uint32_t pid;		 /**< process */
	uint32_t tid;		 /**< thread */
	uint32_t cpu;		 /**< CPU */
	struct pesa_place place; /**< of the instruction */
	uint64_t executions;	 /**< how often it retired */
	uint64_t weight;	 /**< see Units */
	uint8_t state;		 /**< PESA_STATE_* */
	uint16_t cause;		 /**< PESA_CAUSE_* mask */
};

/** Functions called while a profile is loaded, for analyses that need more than a profile keeps.
 * Any of them may be NULL.  If one returns an error, loading stops and returns it. */
struct pesa_profile_listener {
	/** Called for each event that is not a sample, in time order. */
	struct pesa_error *(*event)(void *context, const struct pesa_event *event);
	/** Called for each sample that the profile includes, in time order. */
	struct pesa_error *(*sample)(void *context, const struct pesa_profile_sample *sample);
	/** Called after sample(): chooses a group.  Equal records are merged only within a
	 * group. */
	struct pesa_error *(*group)(void *context, const struct pesa_profile_sample *sample,
				    uint32_t *group);
	/** Called for each sample with a branch stack of all transfers of control: neither of some
	 * kinds only, nor a call stack. */
	struct pesa_error *(*branches)(void *context, const struct pesa_profile_branches *branches);
	/** branches() is not called for samples with the details of a cycle: a listener to which these
	 * say more does not slow their loading down. */
	bool no_branches_beside_details;
	/** Called for each record that was walked.  Equal records are reported together, possibly
	 * in several calls. */
	struct pesa_error *(*walked)(void *context, const struct pesa_walked_record *walked);
	/** Called for each part of an exact record. */
	struct pesa_error *(*exact)(void *context, const struct pesa_profile_exact *exact);
	void *context; /**< the first argument of all of them */
};

/** Chooses samples, in addition to pesa_profile_options.pid and tid. */
struct pesa_profile_filter {
	/** Called for each event that is not a sample, in time order; may be NULL.  If it returns an
	 * error, loading stops and returns it. */
	struct pesa_error *(*event)(void *context, const struct pesa_event *event);
	/** Whether a sample (or an exact record) is loaded. */
	bool (*wants)(void *context, const struct pesa_sample *sample);
	void *context; /**< the first argument of both */
};

/** What is loaded, and how. */
struct pesa_profile_options {
	const char
		*event; /**< only this event of the file; NULL: the first of the PMU pesa, else the
				 * first with raw records, else the first */
	int64_t pid;	/**< only this process; -1: all */
	int64_t tid;	/**< only this thread; -1: all */
	const char *
		symbol_root; /**< look for binaries below this directory (perf's --symfs), NULL: none */
	/** Called repeatedly with the share done (0..1); may be NULL. */
	void (*progress)(void *context, double share);
	void *progress_context;			      /**< its first argument */
	const struct pesa_profile_listener *listener; /**< may be NULL */
	const struct pesa_profile_filter *filter;     /**< may be NULL: all samples */
};

/** Sets every member to its default.
 * @one_thread @nothing_owned */
void pesa_profile_options_default(struct pesa_profile_options *options);

/** Load a perf.data file ("-": standard input).  options may be NULL.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_profile_load(const char *path, const struct pesa_profile_options *options,
				     struct pesa_profile **profile);
/** Free a profile, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_profile_free(struct pesa_profile *profile);

/** Sums over the whole profile.
 * @readers @object_owns */
const struct pesa_profile_totals *pesa_profile_totals(const struct pesa_profile *profile);
/** What is missing in the file.
 * @readers @object_owns */
const struct pesa_perfdata_losses *pesa_profile_losses(const struct pesa_profile *profile);
/** Capabilities of the hardware.  Never NULL: defaults of the specification if not recorded in the
 * file.
 * @readers @object_owns */
const struct pesa_capabilities *pesa_profile_capabilities(const struct pesa_profile *profile);
/** Name of the event that was loaded; NULL: not recorded in the file.
 * @readers @object_owns */
const char *pesa_profile_event(const struct pesa_profile *profile);
/** The architecture, "riscv64"; NULL: not recorded in the file.
 * @readers @object_owns */
const char *pesa_profile_arch(const struct pesa_profile *profile);
/** The command line of the recorder; NULL: not recorded in the file.
 * @readers @object_owns */
const char *pesa_profile_cmdline(const struct pesa_profile *profile);
/** The processor that recorded, mvendorid-marchid-mimpid on RISC-V; NULL: not recorded in the file.
 * @readers @object_owns */
const char *pesa_profile_cpu_id(const struct pesa_profile *profile);
/** The name of the machine that recorded; NULL: not recorded in the file.
 * @readers @object_owns */
const char *pesa_profile_hostname(const struct pesa_profile *profile);
/** The release of its kernel; NULL: not recorded in the file.
 * @readers @object_owns */
const char *pesa_profile_os_release(const struct pesa_profile *profile);

/** Event counts of the whole recording; *count is how many, 0 if the file has none.
 * @readers @object_owns */
const struct pesa_count *pesa_profile_counts(const struct pesa_profile *profile, size_t *count);

/** The address spaces at the end of the recording: for messages about jitdumps (space.h).
 * @readers @object_owns */
const struct pesa_spaces *pesa_profile_spaces(const struct pesa_profile *profile);

/** The dso index of a dso number (pesa_place.dso); UINT32_MAX: the profile does not refer to it.
 * @readers @nothing_owned */
uint32_t pesa_profile_dso_of_number(const struct pesa_profile *profile, uint32_t number);
/** How many binaries the profile refers to.
 * @readers @nothing_owned */
unsigned int pesa_profile_dso_count(const struct pesa_profile *profile);
/** A binary; the index must be below the count.
 * @readers @object_owns */
const struct pesa_dso *pesa_profile_dso(const struct pesa_profile *profile, unsigned int index);

/** How many instructions have weight or executions.
 * @readers @nothing_owned */
size_t pesa_profile_instruction_count(const struct pesa_profile *profile);
/** An instruction, sorted by dso and address; the index must be below the count.
 * @readers @object_owns */
const struct pesa_instruction *pesa_profile_instruction(const struct pesa_profile *profile,
							size_t index);
/** The instruction at an address; NULL: it has neither weight nor executions.
 * @readers @object_owns */
const struct pesa_instruction *pesa_profile_find(const struct pesa_profile *profile, uint32_t dso,
						 uint64_t address);

/** Set executions that are known better than from the samples of each instruction alone, and their
 * standard errors, both by instruction; they are copied.  pesa_estimate_executions() and
 * pesa_estimate_cycles_per_execution() then use them; the instructions keep what was sampled.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_profile_set_executions(struct pesa_profile *profile,
					       const double *executions, const double *errors);
/** Those that were set for an instruction of the profile.  False: none were.
 * @readers @nothing_owned */
bool pesa_profile_better_executions(const struct pesa_profile *profile,
				    const struct pesa_instruction *instruction, double *executions,
				    double *error);

/** The cycles of an instruction, estimated otherwise than by its own samples. */
struct pesa_profile_cycles {
	uint32_t dso;	  /**< dso index */
	uint64_t address; /**< as pesa_instruction.address */
	double cycles;	  /**< estimated */
	double error;	  /**< their standard error */
};
/** Set the cycles of instructions, sorted by dso and address, in place of those of the samples: what
 * has no cycles is no instruction of the profile then, and the others have one bucket of unknown
 * state, no executions and no edges.  Their sum should be that of the samples, whose weight the totals
 * keep.  Pointers to instructions are invalid afterwards.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_profile_set_cycles(struct pesa_profile *profile,
					   const struct pesa_profile_cycles *cycles, size_t count);

/** Read bytes of a dso's text at an ELF virtual address.  Returns how many of `size` could be read.
 * @one_thread @nothing_owned */
size_t pesa_profile_text(const struct pesa_profile *profile, uint32_t dso, uint64_t address,
			 void *buffer, size_t size);
/** ISA string of a dso (ELF attributes, else "rv64"/"rv32" by its class); NULL if it is not RISC-V.
 * @one_thread @object_owns */
const char *pesa_profile_isa(const struct pesa_profile *profile, uint32_t dso);

PESA_DECLARATIONS_END

#endif
