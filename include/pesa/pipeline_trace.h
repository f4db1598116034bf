/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Pipeline traces: the log of an RTL simulation or a simulator as hardware.
 *
 * A pipeline trace has for every instruction when it was fetched, in which stages it was, and when
 * it retired or was flushed.  From that follows the state of the retire stage in every cycle, hence
 * an exact profile (the golden reference) and the samples that shpmsdetails would have delivered.
 *
 * Formats: Kanata (version 0004, tab-separated lines I, L, S, E, R, C) and gem5's O3PipeView.
 * Stage names and the places of PCs and causes differ from producer to producer.  A state map, a
 * small text file, defines them (Documentation/pipeline-traces.md).
 *
 * Bytes of the trace are fed in pieces of any size.  Memory is bounded by the instructions in
 * flight.  A damaged line is counted and skipped.  If a log does not distinguish two states, a rule
 * decides; the summary lists the rules with the cycles that each decided.
 *
 * Threads: a map is constant once it is bound and may be shared; different traces may be read by different
 * threads at the same time, one of them by one thread at a time, which also calls the functions of its
 * options.
 */
#ifndef PESA_PIPELINE_TRACE_H
#define PESA_PIPELINE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/capabilities.h"
#include "pesa/csr.h"
#include "pesa/error.h"
#include "pesa/perfdata.h"
#include "pesa/record.h"
#include "pesa/walk.h"

PESA_DECLARATIONS_BEGIN

/* ---- State maps ---------------------------------------------------------------------------- */

/** The format of a log. */
enum pesa_pipeline_format {
	PESA_PIPELINE_KANATA,	  /**< Kanata, version 0004 */
	PESA_PIPELINE_O3PIPEVIEW, /**< of gem5 */
};

/** What the stages of a producer's log mean. */
struct pesa_pipeline_map;

/** Read a state map; errors name file, line, and what is allowed.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_pipeline_map_load(const char *path, struct pesa_pipeline_map **map);
/** Likewise from memory; `name` stands for the file in messages.
 * @any_thread @caller_owns */
struct pesa_error *pesa_pipeline_map_parse(const char *name, const char *text, size_t size,
					   struct pesa_pipeline_map **map);
/** Free a map, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_pipeline_map_free(struct pesa_pipeline_map *map);

/** The name that the map gives itself.
 * @readers @object_owns */
const char *pesa_pipeline_map_name(const struct pesa_pipeline_map *map);
/** The format that it is for.
 * @readers @nothing_owned */
enum pesa_pipeline_format pesa_pipeline_map_format(const struct pesa_pipeline_map *map);
/** Whether the beginning of a log is one of this map's producer: it contains the text that the map
 * names.  False where the map names none.
 * @readers @nothing_owned */
bool pesa_pipeline_map_recognises(const struct pesa_pipeline_map *map, const char *text,
				  size_t size);
/** The core description that the beginning of a log names; false: none.
 * @readers @nothing_owned */
bool pesa_pipeline_map_core(const struct pesa_pipeline_map *map, const char *text, size_t size,
			    char name[PESA_CAPABILITY_NAME_MAX]);
/**
 * Give the causes that the map names their bits: those that `capabilities` names have them, others the
 * free ones from 5 up, where `keep` is false.  With `keep` a cause without a bit is not tracked.
 * An error when there are more than bits.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_pipeline_map_bind(struct pesa_pipeline_map *map,
					  struct pesa_capabilities *capabilities, bool keep);

/** What the first bytes of a log are; false: neither format.
 * @any_thread @nothing_owned */
bool pesa_pipeline_detect(const char *text, size_t size, enum pesa_pipeline_format *format);

/* ---- Rules --------------------------------------------------------------------------------- */

/* clang-format off */
/** Every rule by which a cycle is given a state: RULE(identifier, name, certain, what it decides). */
#define PESA_PIPELINE_RULES(RULE)                                                                   \
	RULE(MARKED, "flush-marked", true, "flushed: the log marks the instruction that caused it") \
	RULE(MISPREDICT, "mispredict", true,                                                          \
	     "flushed: a transfer's wrong path was thrown away, and another one fetched")             \
	RULE(REPLAY, "replay", true,                                                                  \
	     "flushed: an instruction was thrown away and fetched again")                             \
	RULE(SERIALISE, "serialise", true,                                                            \
	     "flushed: what followed a serialising instruction was fetched again")                    \
	RULE(EXCEPTION, "exception", true, "flushed: the log says that an instruction faulted")       \
	RULE(ROLLBACK, "roll-back", true,                                                             \
	     "flushed: retirement was held while a wrong path was rolled back")                       \
	RULE(MISPREDICT_ASSUMED, "mispredict?", false,                                                \
	     "flushed?: instructions were thrown away behind one whose text is not known")            \
	RULE(RESTART_ASSUMED, "restart?", false,                                                      \
	     "flushed?: fetch went on only after a transfer was resolved, nothing was thrown away")   \
	RULE(SERIALISE_ASSUMED, "serialise?", false,                                                  \
	     "flushed?: fetch waited for a serialising instruction, nothing was thrown away")         \
	RULE(EXCEPTION_ASSUMED, "exception?", false,                                                  \
	     "flushed?: control left without a transfer: the oldest that was thrown away faulted")    \
	RULE(TRAP_ASSUMED, "trap?", false,                                                            \
	     "flushed?: control left without a transfer, and nothing was thrown away")                \
	RULE(PHANTOM_ASSUMED, "phantom?", false,                                                      \
	     "flushed?: instructions were thrown away behind one that transfers no control")          \
	RULE(HELD_ASSUMED, "held?", false,                                                            \
	     "stalled?: the oldest instruction was done and did not retire")                          \
	RULE(UNPLACED_ASSUMED, "unplaced?", false,                                                    \
	     "stalled?: the log does not say when the instruction entered the reorder buffer")        \
	RULE(OPEN_ASSUMED, "open-end?", false,                                                        \
	     "stalled? or drained?: the log ends while the instruction is in flight")

/** A rule: PESA_PIPELINE_RULE_ and the identifier in PESA_PIPELINE_RULES. */
enum pesa_pipeline_rule {
#define PESA_PIPELINE_RULE(id, name, certain, summary) PESA_PIPELINE_RULE_##id, /**< for the enumeration alone */
	PESA_PIPELINE_RULES(PESA_PIPELINE_RULE)
#undef PESA_PIPELINE_RULE
	PESA_PIPELINE_RULE_COUNT /**< how many there are */
};
/* clang-format on */

/** The name of a rule, "mispredict".
 * @any_thread @static_result */
const char *pesa_pipeline_rule_name(enum pesa_pipeline_rule rule);
/** What it decides, in one line.
 * @any_thread @static_result */
const char *pesa_pipeline_rule_summary(enum pesa_pipeline_rule rule);
/** Whether the log leaves no doubt about what it decides.
 * @any_thread @nothing_owned */
bool pesa_pipeline_rule_certain(enum pesa_pipeline_rule rule);

/* ---- Reading ------------------------------------------------------------------------------- */

/** What a check found, or a line suffers from. */
enum pesa_pipeline_problem {
	PESA_PIPELINE_DAMAGED,	  /**< lines that make no sense */
	PESA_PIPELINE_UNKNOWN_ID, /**< lines about an instruction that is not in flight */
	PESA_PIPELINE_DUPLICATE_ID, /**< instructions that begin while one of the same number is in flight */
	PESA_PIPELINE_BACKWARDS,   /**< cycles that go back */
	PESA_PIPELINE_LOST,	   /**< instructions without an end */
	PESA_PIPELINE_WITHOUT_PC,  /**< retired instructions without an address in the log */
	PESA_PIPELINE_ORDER,	   /**< retired before an older one */
	PESA_PIPELINE_WIDTH,	   /**< cycles in which more retired than the core can */
	PESA_PIPELINE_OUTSIDE,	   /**< retired where no ELF file has text */
	PESA_PIPELINE_UNDECODABLE, /**< retired where the text is no instruction */
	PESA_PIPELINE_FLOW,	   /**< went on where the text does not lead, without a trap */
	PESA_PIPELINE_TICKS,	   /**< times that are not on a cycle */
	PESA_PIPELINE_PROBLEMS	   /**< how many kinds there are */
};
/** The name of a problem, as in JSON.
 * @any_thread @static_result */
const char *pesa_pipeline_problem_name(enum pesa_pipeline_problem problem);

/** How often a problem was found. */
struct pesa_pipeline_found {
	uint64_t count;	 /**< times */
	char first[160]; /**< what and where the first was */
};

/** Most stages that are told apart. */
#define PESA_PIPELINE_STAGES 64u

/** A stage of the pipeline, as the log calls it. */
struct pesa_pipeline_stage {
	char name[16];	  /**< terminated, cut off if it is longer */
	uint64_t stalled; /**< cycles that the oldest instruction stalled in it */
};

/** What a trace was, and what became of it. */
struct pesa_pipeline_summary {
	uint64_t bytes;	     /**< of the log */
	uint64_t lines;	     /**< of the log */
	int64_t first_cycle; /**< of the log */
	uint64_t cycles;     /**< of the log, for each hart */
	uint64_t accounted;  /**< cycles, of all harts: harts x cycles unless something is wrong */
	uint64_t instructions;		  /**< retired */
	uint64_t flushed;		  /**< instructions that were thrown away */
	uint64_t in_flight;		  /**< instructions in flight when the log ends */
	uint64_t most_in_flight;	  /**< at any time */
	uint64_t samples;		  /**< that were handed out */
	uint64_t state[PESA_STATE_COUNT]; /**< cycles */
	uint64_t without_pc;		  /**< cycles of instructions without a PC */
	uint64_t rule_cycles[PESA_PIPELINE_RULE_COUNT]; /**< that each rule decided */
	uint64_t rule_times[PESA_PIPELINE_RULE_COUNT];	/**< how often each did */
	uint64_t ticks_per_cycle;			/**< O3PipeView; 0: none */
	uint32_t front_depth; /**< cycles from fetch to dispatch; 0: not known */
	uint32_t harts;	      /**< in the log */
	uint32_t widest;      /**< most that retired in a cycle */
	uint32_t stages;      /**< how many of the array below */
	struct pesa_pipeline_stage stage[PESA_PIPELINE_STAGES]; /**< in the order of the log */
	struct pesa_pipeline_found
		found[PESA_PIPELINE_PROBLEMS]; /**< by enum pesa_pipeline_problem */
};

/** A stage that an instruction was in. */
struct pesa_pipeline_entry {
	uint32_t after; /**< cycles from the fetch of the instruction until it entered */
	uint8_t stage;	/**< index in pesa_pipeline_summary.stage */
};

/** An instruction that has left the pipeline.  Cycles count from the log's first. */
struct pesa_pipeline_passed {
	uint32_t hart;	/**< number of the hart, from 0 on */
	bool has_pc;	/**< the log has its address */
	bool retired;	/**< false: it was thrown away */
	uint64_t pc;	/**< its address */
	uint64_t fetch; /**< cycle in which it was fetched */
	uint64_t ended; /**< cycle in which it retired or was thrown away; UINT64_MAX: not known */
	const struct pesa_pipeline_entry *entry; /**< stages in the order of time */
	unsigned int entries;			 /**< how many */
};

/** How a trace is read, and who is told of what. */
struct pesa_pipeline_options {
	const struct pesa_pipeline_map *map; /**< bound, used by reference */
	uint32_t retire_width;		     /**< 0: not known */
	uint32_t ct_targets;		     /**< branch targets that a record can hold */
	uint32_t ctr_depth;		     /**< control transfer records; 0: none */
	uint64_t period;		     /**< cycles, 0: no samples */
	uint64_t jitter;		     /**< as pesa record */
	uint64_t seed;			     /**< likewise */
	uint64_t ticks_per_cycle;	     /**< O3PipeView; 0: find out */
	bool narrow;			     /**< RV32: addresses have 32 bits */
	/** The instruction at an address; *serialises: what follows it waits for it.  NULL: no text. */
	enum pesa_text_status (*instruction)(void *context, uint64_t address,
					     struct pesa_text_insn *insn, bool *serialises);
	/** The instruction at `pc` retired, and that at `next` is the next one.  NULL: not told. */
	void (*step)(void *context, uint64_t pc, uint64_t next);
	/** A sample of hart 0.. in `cycle`, counted from the log's first.  NULL: none. */
	struct pesa_error *(*sample)(void *context, uint32_t hart, uint64_t cycle,
				     const struct pesa_record *record,
				     const struct pesa_branch_entry *branches, unsigned int count);
	/** The text that the log has for the instruction at `pc`.  NULL: not told. */
	void (*named)(void *context, uint64_t pc, const char *text);
	/** An instruction left the pipeline; micro-ops each, in the order of the program.  NULL: not
	 * told. */
	void (*passed)(void *context, const struct pesa_pipeline_passed *passed);
	/** The retire stage of a hart was in a state in the cycles [start, end).  NULL: not told. */
	void (*cycles)(void *context, uint32_t hart, uint64_t start, uint64_t end,
		       unsigned int state, uint16_t cause);
	void *context; /**< the first argument of these */
};

/** A trace that is being read. */
struct pesa_pipeline;

/** Begin to read; owned by the caller.  Nothing of `options` but map and context is kept by reference.
 * @any_thread @caller_owns */
struct pesa_error *pesa_pipeline_create(const struct pesa_pipeline_options *options,
					struct pesa_pipeline **pipeline);
/** Free it, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_pipeline_free(struct pesa_pipeline *pipeline);
/** The next bytes of the trace.  An error (memory, a format that is another, a sample that could not be
 * written) ends the reading.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_pipeline_feed(struct pesa_pipeline *pipeline, const void *bytes,
				      size_t size);
/** The trace is over: account what is left.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_pipeline_end(struct pesa_pipeline *pipeline);
/** What was read so far; lives as long as the pipeline.
 * @one_thread @object_owns */
const struct pesa_pipeline_summary *pesa_pipeline_summary(const struct pesa_pipeline *pipeline);

/** An instruction of the exact profile. */
struct pesa_pipeline_exact {
	uint64_t pc;				     /**< its address */
	uint64_t executions;			     /**< times that it retired */
	const struct pesa_exact_bucket *buckets;     /**< see record.h; valid during the call */
	size_t bucket_count;			     /**< how many */
	const struct pesa_exact_transfer *transfers; /**< likewise */
	size_t transfer_count;			     /**< how many */
};

/** The exact profile, an instruction at a time, in the order of addresses; after pesa_pipeline_end().  An
 * error of `emit` ends it and is returned.
 * @one_thread @object_owns */
struct pesa_error *pesa_pipeline_each_exact(
	struct pesa_pipeline *pipeline,
	struct pesa_error *(*emit)(void *context, const struct pesa_pipeline_exact *exact),
	void *context);

PESA_DECLARATIONS_END

#endif
