/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Predicting what a block of code costs on a processor: machine code analysis.
 *
 * A processor model (struct pesa_mca_model) describes a processor (issue width, buffers, resources)
 * and the cost of each instruction on it; it is read from a text file
 * (Documentation/processor-model.md), or is one of the built-in models.  A block (struct
 * pesa_mca_block) is a sequence of decoded instructions, bound to a model.  pesa_mca_run() executes
 * the block a number of times, cycle by cycle, on the model's in-order or out-of-order pipeline,
 * and reports what happens to each instruction as events to listeners.  Views are made from those
 * events and do not access the engine.
 *
 * The engine behaves as llvm-mca's does, number for number.  It models a front end that never
 * stalls, caches that always hit and branches that are always predicted and never taken, unless the
 * caller supplies measured branches and loads (struct pesa_mca_stimuli).
 *
 * Threads: a model is constant once it is made and no longer changed, and may then be shared; a
 * block belongs to one thread at a time, and so do a cycle stack and the listeners of a run, which
 * are called in the thread that runs it.  Functions that take none of these may be called by any
 * thread at any time.  What a model or a block returns belongs to it.
 */
#ifndef PESA_MCA_H
#define PESA_MCA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"
#include "pesa/riscv.h"

PESA_DECLARATIONS_BEGIN

/* ---- Models -------------------------------------------------------------------------------- */

/** A processor model. */
struct pesa_mca_model;

/** One processor that a model describes. */
struct pesa_mca_processor {
	const char *name;	   /**< as for -mcpu */
	const char *isa;	   /**< ISA string, NULL: whatever the code needs */
	const char *const *tuning; /**< names of features that choose between classes */
	unsigned int tunings;	   /**< how many */
};

/**
 * Read a model from text.  `name` is the name of the text in messages (a path).  Errors name the
 * line and what was expected there.  The text is not kept.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_mca_model_parse(const char *name, const char *text, size_t size,
					struct pesa_mca_model **model);
/** Read a model from a file.
 * @any_thread @caller_owns */
struct pesa_error *pesa_mca_model_load(const char *path, struct pesa_mca_model **model);
/** The built-in model for a processor.  An unknown one is an error that names the nearest.  Owned
 * by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_mca_model_builtin(const char *processor, struct pesa_mca_model **model);
/** The model and processor that an argument of -mcpu names: a built-in processor, or
 * FILE.model[:PROCESSOR], without a name the file's first one.  The model is owned by the caller, the
 * processor by the model.
 * @any_thread @caller_owns */
struct pesa_error *pesa_mca_model_open(const char *cpu, struct pesa_mca_model **model,
				       const struct pesa_mca_processor **processor);
/** The length of the path in such an argument; 0: it is the name of a built-in processor.
 * @any_thread @nothing_owned */
size_t pesa_mca_model_path_length(const char *cpu);
/** The name of built-in processor number `index`, sorted; NULL past the last.
 * @any_thread @static_result */
const char *pesa_mca_builtin_processor(unsigned int index);
/** The text of the model of a built-in processor, `*size` bytes; NULL: there is none of that name.
 * @any_thread @static_result */
const char *pesa_mca_builtin_text(const char *processor, size_t *size);
/**
 * Change the costs of classes of a model, before a block is bound to it.  `change` is
 *
 *	CLASS.latency=CYCLES    CLASS.uops=NUMBER    CLASS.RESOURCE=CYCLES
 *	CLASS.advance=CYCLES    RESOURCE.units=NUMBER
 *
 * CLASS is the name of a class in the model's text (all instructions with its costs), the name of a
 * line `write` (all instructions of that SchedWrite of LLVM), or an instruction (LLVM's name, or
 * its mnemonic; c.add differs from add): only that instruction.  The latency of all results
 * changes.  A resource must be one that the class uses already.  An advance changes for all
 * operands that have one, or for those of the SchedRead if CLASS is one; 0 removes it.  A resource
 * that only groups name can have 0 units; it is then removed from them.  *classes (may be NULL) is
 * the number of classes changed.  After an error the model is unchanged.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_mca_model_change(struct pesa_mca_model *model, const char *change,
					 unsigned int *classes);
/**
 * Create a copy of `base` that can be changed without changing `base`.  It shares what changes do
 * not affect, so `base` must outlive it.  Owned by the caller.
 * @readers @caller_owns */
struct pesa_error *pesa_mca_model_vary(const struct pesa_mca_model *base,
				       struct pesa_mca_model **variation);
/** Free a model, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_mca_model_free(struct pesa_mca_model *model);

/** The name that the text of the model gives it.
 * @readers @object_owns */
const char *pesa_mca_model_name(const struct pesa_mca_model *model);
/** Whether instructions issue out of program order, when they are ready.
 * @readers @nothing_owned */
bool pesa_mca_model_is_out_of_order(const struct pesa_mca_model *model);
/** Cycles from the resolution of a mispredicted branch to the dispatch of the right path.
 * @readers @nothing_owned */
unsigned int pesa_mca_model_mispredict_penalty(const struct pesa_mca_model *model);
/** Maximum number of micro-ops dispatched per cycle.
 * @readers @nothing_owned */
unsigned int pesa_mca_model_issue_width(const struct pesa_mca_model *model);
/** Maximum number of micro-ops in flight; 0 for an in-order processor.
 * @readers @nothing_owned */
unsigned int pesa_mca_model_reorder_buffer(const struct pesa_mca_model *model);
/** micro-op-buffer of the model's text.
 * @readers @nothing_owned */
unsigned int pesa_mca_model_micro_op_buffer(const struct pesa_mca_model *model);
/** The processor of that name, or the first one if `name` is NULL; NULL if there is none.
 * @readers @object_owns */
const struct pesa_mca_processor *pesa_mca_model_processor(const struct pesa_mca_model *model,
							  const char *name);

/** Whether the costs of some instruction depend on a feature of this name.
 * @readers @nothing_owned */
bool pesa_mca_model_has_feature(const struct pesa_mca_model *model, const char *name);

/** A resource or a group of them, in the order in which views number them. */
struct pesa_mca_resource {
	const char *name; /**< as in the model's text */
	bool group;	  /**< whether it is a group: an instruction uses any one of its members */
	unsigned int units;	    /**< of a group: the sum over its members */
	int buffer;		    /**< entries; 0: in-order, -1: unlimited */
	unsigned int members;	    /**< number of members, for a group */
	const unsigned int *member; /**< their indices */
	const char *from;	    /**< FILE:LINE,... of its definition; NULL: not known */
};
/** How many resources and groups a model has.
 * @readers @nothing_owned */
unsigned int pesa_mca_model_resources(const struct pesa_mca_model *model);
/** A resource; the index must be below their number.
 * @readers @object_owns */
const struct pesa_mca_resource *pesa_mca_model_resource(const struct pesa_mca_model *model,
							unsigned int index);

/* ---- Blocks -------------------------------------------------------------------------------- */

/** The register-group size (LMUL) and element width (SEW) under which a vector instruction runs. */
enum pesa_mca_lmul {
	PESA_MCA_LMUL_NONE, /**< not known */
	PESA_MCA_LMUL_1,    /**< one register */
	PESA_MCA_LMUL_2,    /**< two */
	PESA_MCA_LMUL_4,    /**< four */
	PESA_MCA_LMUL_8,    /**< eight */
	PESA_MCA_LMUL_1_8,  /**< an eighth of one */
	PESA_MCA_LMUL_1_4,  /**< a quarter */
	PESA_MCA_LMUL_1_2,  /**< half */
};

/** An instruction of a block, with measured facts about it. */
struct pesa_mca_instruction {
	struct pesa_insn insn; /**< decoded, or assembled (assemble.h) */
	const char
		*pseudo; /**< LLVM's name if it is a pseudo instruction (PseudoCALL), else NULL */
	enum pesa_mca_lmul lmul; /**< of a vector instruction */
	unsigned int sew;	 /**< 8, 16, 32, 64; 0: not known */
	int latency;		 /**< cycles, in place of the model's; negative: the model's */
	bool no_units;		 /**< it occupies no unit, so it never waits for one */
	bool taken; /**< a conditional branch that is taken (the last of a block always is) */
	/** A mispredicted branch; used only with external stimuli, see struct pesa_mca_stimuli. */
	bool mispredicted;
	bool begins_block; /**< in another fetch block than the previous instruction; likewise */
	/** A load: distance in the list to the earlier store whose data it reads; 0: unknown, as in
	 * llvm-mca.  It waits for that store as for a register, which is written `forward_latency`
	 * cycles after the store has executed and read when the load has: see struct
	 * pesa_mca_block_options. */
	unsigned int forwarded_by;
	/** That store has not all of its data, or is not the only one on its way that does: the
	 * load waits until the store has retired and its data is in the cache (`drain_latency`). */
	bool forwarded_partly;
	/** With `forwarded_by`: it issues no earlier than that store, and reads from the cache then
	 * (memory dependence prediction by store sets).  The two flags exclude each other. */
	bool after_store;
	/** A load that misses, where external stimuli are given: it takes so many cycles longer than
	 * the model says. */
	unsigned int late;
	/** Younger loads and stores wait until it has executed.  It waits until older loads have
	 * executed and older stores are in the cache (`drain_latency`, less the `load_latency` of a
	 * load that reads from it afterwards).  What the model does not have is one micro-op of one
	 * cycle without resources then, and in the block in any case. */
	bool barrier;
};

/** Instructions bound to a model. */
struct pesa_mca_block;

/** How instructions are bound to a model; all zero is valid. */
struct pesa_mca_block_options {
	const char *processor;	     /**< of the model; NULL: the first */
	const char *const *features; /**< further tuning features that are on, or "-name" for off */
	unsigned int feature_count;  /**< how many */
	unsigned int call_latency;   /**< cycles that a call takes; 0: 100 */
	bool follow_calls;	     /**< callees are in the block: a call has the model's cost */
	bool skip_unsupported;	     /**< leave instructions out that the model does not know */
	/** Describe every instance of an opcode by its own operands, where llvm-mca describes all
	 * by those of the first one in the block (which may read or write x0). */
	bool own_operands;
	/** Cycles from when a store has executed until a load that reads its data has it; only for
	 * instructions with `forwarded_by`. */
	unsigned int forward_latency;
	/** Cycles from when a store retires until a load that waits for it to reach the cache has
	 * its data; 0: not known, no load waits for that. */
	unsigned int drain_latency;
	/** Loads and conditional stores (sc) take at least so many cycles, all results of one as many
	 * more; 0: as the model says. */
	unsigned int load_latency;
	/** Units that an instruction occupies for at least so many cycles, and of which there is one,
	 * are taken in program order; 0: as llvm-mca, by what is ready. */
	unsigned int ordered_cycles;
};

/**
 * Bind instructions to a model.  An instruction that the model does not support is an error, or is
 * left out; pesa_mca_block_source() tells which are in.  The list is copied; the model must outlive
 * the block, which is owned by the caller.
 * @readers @caller_owns */
struct pesa_error *pesa_mca_block_create(const struct pesa_mca_model *model,
					 const struct pesa_mca_instruction *instructions,
					 unsigned int count,
					 const struct pesa_mca_block_options *options,
					 struct pesa_mca_block **block);
/** Free a block.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_mca_block_free(struct pesa_mca_block *block);
/** Number of instructions in the block.
 * @one_thread @nothing_owned */
unsigned int pesa_mca_block_count(const struct pesa_mca_block *block);
/** The number that an instruction of the block has in the list it was made from.
 * @one_thread @nothing_owned */
unsigned int pesa_mca_block_source(const struct pesa_mca_block *block, unsigned int index);
/** The model that it was bound to.
 * @one_thread @object_owns */
const struct pesa_mca_model *pesa_mca_block_model(const struct pesa_mca_block *block);

/** A resource that an instruction uses, and when. */
struct pesa_mca_use {
	unsigned int resource; /**< index in the model, groups included */
	unsigned int acquire;  /**< cycles from issue until it is occupied */
	unsigned int release;  /**< cycles from issue until it is free */
};

/** The costs of an instruction in a model. */
struct pesa_mca_information {
	const char *opcode;		/**< LLVM's name */
	unsigned int micro_ops;		/**< number of micro-ops that it is split into */
	unsigned int latency;		/**< cycles, forwarding delays included */
	unsigned int bypass_latency;	/**< cycles until a consumer can use the result early */
	double reciprocal_throughput;	/**< cycles per instruction */
	bool load;			/**< may read memory */
	bool store;			/**< may write memory */
	bool side_effects;		/**< has effects that are not in its operands */
	bool call;			/**< a call */
	bool return_;			/**< a return */
	unsigned int uses;		/**< how many */
	const struct pesa_mca_use *use; /**< owned by the model */
};
/** Fill *information for an instruction of the block.
 * @one_thread @object_owns */
void pesa_mca_block_information(const struct pesa_mca_block *block, unsigned int index,
				struct pesa_mca_information *information);

/** A resource that an instruction occupies, with what it shares with others taken out. */
struct pesa_mca_demand {
	unsigned int resource; /**< index in the model */
	unsigned int cycles;   /**< for which it is occupied */
};
/** The demands of an instruction; returns their number, at most `size` are stored.
 * @one_thread @nothing_owned */
unsigned int pesa_mca_block_demands(const struct pesa_mca_block *block, unsigned int index,
				    struct pesa_mca_demand *demands, unsigned int size);

/* ---- Running ------------------------------------------------------------------------------- */

/** What can happen in a run. */
enum pesa_mca_event_kind {
	PESA_MCA_CYCLE_BEGIN,	   /**< a cycle begins */
	PESA_MCA_CYCLE_END,	   /**< it ends */
	PESA_MCA_DISPATCHED,	   /**< again in further cycles if it has many micro-ops */
	PESA_MCA_PENDING,	   /**< all producers have issued */
	PESA_MCA_READY,		   /**< all operands are there */
	PESA_MCA_ISSUED,	   /**< it has its units */
	PESA_MCA_EXECUTED,	   /**< its results are there */
	PESA_MCA_RETIRED,	   /**< it left the reorder buffer */
	PESA_MCA_BUFFERS_RESERVED, /**< entries of schedulers were taken */
	PESA_MCA_BUFFERS_RELEASED, /**< entries of schedulers were given back */
	PESA_MCA_STALLED,	   /**< dispatch (in-order: issue) could not go on */
	PESA_MCA_PRESSURE,	   /**< work is held up; only if the options ask for it */
	PESA_MCA_MISPREDICTED, /**< a branch, before it is dispatched; only if a rate is given */
	PESA_MCA_MISSED,       /**< a load of more than the shortest latency that is given */
	/** After the last cycle, for each instruction of the block and unit: what it used of it in the
	 * whole run.  Who listens for nothing else does not keep a run from being extrapolated. */
	PESA_MCA_USED,
	/** A period begins that may be repeated: between two cycles, once in a run at most. */
	PESA_MCA_PERIOD_BEGIN,
	/** The run has found a steady state: what has happened since PESA_MCA_PERIOD_BEGIN happens
	 * `times` more times now, for which no events are sent.  Later events have numbers as if it
	 * had not.  Only if whoever listens for other kinds than PESA_MCA_USED listens for this one,
	 * too. */
	PESA_MCA_REPEATED,
	PESA_MCA_EVENT_KINDS, /**< how many there are */
};

/** Why dispatch could not go on. */
enum pesa_mca_stall {
	PESA_MCA_STALL_REGISTERS,   /**< no free physical register */
	PESA_MCA_STALL_RETIRE,	    /**< no room in the reorder buffer */
	PESA_MCA_STALL_GROUP,	    /**< the rest of a dispatch group */
	PESA_MCA_STALL_SCHEDULER,   /**< no entry in a scheduler */
	PESA_MCA_STALL_LOAD_QUEUE,  /**< no entry in the load queue */
	PESA_MCA_STALL_STORE_QUEUE, /**< no entry in the store queue */
	PESA_MCA_STALL_KINDS,	    /**< how many there are */
};

/** Why work is held up. */
enum pesa_mca_pressure {
	PESA_MCA_PRESSURE_RESOURCES, /**< units are busy */
	PESA_MCA_PRESSURE_REGISTERS, /**< operands are not there */
	PESA_MCA_PRESSURE_MEMORY,    /**< older loads or stores are not done */
};

/** One unit of a resource, used for some cycles. */
struct pesa_mca_occupation {
	unsigned int resource; /**< index in the model, never a group */
	unsigned int unit;     /**< which of its units */
	unsigned int cycles;   /**< from now on */
};

/** What held an instruction back longest. */
struct pesa_mca_critical {
	unsigned int instruction; /**< number of the producer since the start of the run */
	unsigned int reg;    /**< the engine's register, for pesa_mca_register_name(); 0: memory */
	unsigned int cycles; /**< 0: nothing did */
};

/** Something that happened in a run; which members are filled follows from the kind. */
struct pesa_mca_event {
	enum pesa_mca_event_kind kind; /**< what happened */
	unsigned int instruction; /**< number since the start of the run; modulo the block's size:
				     which.  REPEATED: how many are left out in all */
	unsigned int
		micro_ops; /**< DISPATCHED: in this cycle; ISSUED, RETIRED: of the instruction */
	unsigned int registers;			      /**< DISPATCHED: allocated, RETIRED: freed */
	enum pesa_mca_stall stall;		      /**< STALLED: why */
	enum pesa_mca_pressure pressure;	      /**< PRESSURE: by what */
	const struct pesa_mca_occupation *occupation; /**< ISSUED, USED: one */
	unsigned int occupations;		      /**< how many */
	uint64_t used;	    /**< USED: cycles of the occupation, in the place of its own */
	uint64_t times;	    /**< REPEATED: how many */
	uint64_t buffers;   /**< BUFFERS_*: resources of the model by bit */
	uint64_t resources; /**< ISSUED, PRESSURE: units that were busy, by the engine's bit */
	struct pesa_mca_critical critical_register; /**< ISSUED: by a register */
	struct pesa_mca_critical critical_memory;   /**< ISSUED: by memory */
	const unsigned int *affected;		    /**< PRESSURE: instructions */
	const uint64_t *affected_resources; /**< PRESSURE of resources: what each waited for */
	unsigned int affected_count;	    /**< how many */
};

/** A listener for events, called in the thread that runs the block. */
struct pesa_mca_listener {
	/** Called with each event, which is valid during the call.  An error ends the run after the cycle,
	 * and pesa_mca_run() returns it; until then there may be further events. */
	struct pesa_error *(*event)(void *data, const struct pesa_mca_event *event);
	void *data;	/**< its first argument */
	uint32_t kinds; /**< 1 << kind for those wanted */
};

/* ---- What the model does not know ---- */

/** The longest latency that can be given, in cycles. */
#define PESA_MCA_LATENCY_MAX 32767
/** Most micro-ops of a class. */
#define PESA_MCA_MICRO_OPS_MAX 8190

/** A latency of loads, and how many of them have it. */
struct pesa_mca_load_latency {
	unsigned int cycles; /**< at least 1 */
	double share;	     /**< of the loads; all shares add up to 1 */
};

/**
 * What is known of front end, branches and caches.  Zero switches each one off.  Mispredicted
 * branches and latencies are spread evenly over those that are executed, the same way in each run.
 */
struct pesa_mca_stimuli {
	/** Of conditional branches and indirect jumps, 0..1: nothing is delivered after one that
	 * was mispredicted until it has executed and `mispredict_penalty` cycles have passed.  So
	 * are instructions of the block that are marked as mispredicted, each time. */
	double mispredict_rate;
	unsigned int mispredict_penalty; /**< cycles */
	/** Latencies of scalar loads, atomic ones left out, in place of the model's. */
	const struct pesa_mca_load_latency *load_latency;
	unsigned int load_latencies; /**< how many */
	unsigned int fetch_width;    /**< instructions that the front end delivers per cycle */
	unsigned int taken_branches; /**< of them taken branches; the last one ends the cycle's */
	/** So many instructions the front end fetches ahead, at the width and with the taken
	 * branches above and not beyond the end of a fetch block, and delivers as many as there is
	 * room for; 0: it delivers what it fetches in the same cycle. */
	unsigned int fetch_buffer;
};

/** How a block is run; all zero but `iterations` is as llvm-mca does. */
struct pesa_mca_run_options {
	unsigned int iterations;	 /**< at least 1 */
	unsigned int dispatch_width;	 /**< 0: the model's */
	unsigned int register_file_size; /**< 0: unlimited */
	/** Not as llvm-mca, which has one file for all registers: results in x registers that may be
	 * in flight.  0: unlimited. */
	unsigned int integer_results;
	unsigned int float_results; /**< likewise in f registers */
	unsigned int load_queue;    /**< entries; 0: the model's, or unlimited */
	unsigned int store_queue;   /**< likewise */
	/** Not as llvm-mca, where a store leaves the store queue when it retires: from the cycle
	 * after it goes to the cache, in order, at most so many a cycle.  0: as llvm-mca.
	 * Out-of-order processors. */
	unsigned int store_ports;
	unsigned int store_latency; /**< cycles that takes, then its entry is free */
	bool loads_alias_stores;    /**< a load waits for older stores */
	/** Not as llvm-mca: stores wait for nothing but their operands (where llvm-mca has them
	 * issue after older stores, and after older loads), loads only for the store that forwards
	 * to them; of instructions that are ready the oldest issues first, however many wait for
	 * its result.  Out-of-order processors. */
	bool free_order;
	/** Not as llvm-mca, where an in-order processor retires what has executed, in any order and
	 * however much: in pesa_mca_cycle_stack_run(), and for loads that wait until a store has
	 * retired, what has executed retires in program order, at most so many a cycle.  0: as
	 * llvm-mca.  In-order processors. */
	unsigned int commit_width;
	/** Not as llvm-mca: of the instructions that retire in a cycle at most so many are taken
	 * branches; an in-order processor needs `commit_width` for it.  0: as llvm-mca. */
	unsigned int retired_branches;
	bool every_iteration; /**< execute all, even in a steady state without listeners */
	/** The events of so many iterations are sent, though a steady state is extrapolated. */
	unsigned int first_iterations;
	bool pressure;				/**< send PESA_MCA_PRESSURE events */
	const struct pesa_mca_stimuli *stimuli; /**< NULL: nothing, as llvm-mca does */
};

/**
 * Execute the block.  *cycles is the number of cycles that it took.  Memory in use follows the
 * number of instructions in flight, not the number of iterations.
 *
 * With no listener, or none that wants a kind of event, a steady state is extrapolated: the number
 * of cycles is the same, but it takes little more time for more iterations.  So it is with listeners
 * that can count repeated events: PESA_MCA_REPEATED.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_mca_run(const struct pesa_mca_block *block,
				const struct pesa_mca_run_options *options,
				const struct pesa_mca_listener *listeners, unsigned int count,
				uint64_t *cycles);

/** The assembler's name of a register in struct pesa_mca_critical.
 * @any_thread @static_result */
const char *pesa_mca_register_name(unsigned int reg);
/** The resource of the model for one bit of an event's `resources`.
 * @readers @nothing_owned */
unsigned int pesa_mca_model_resource_of(const struct pesa_mca_model *model, unsigned int bit);
/** The bits of a resource of the model; for a group also those of its members.
 * @readers @nothing_owned */
uint64_t pesa_mca_model_resource_mask(const struct pesa_mca_model *model, unsigned int index);

/**
 * Cycles per iteration that the block takes at least: the busiest resource or the dispatch width
 * (0: the model's).
 * @one_thread @nothing_owned */
double pesa_mca_block_throughput(const struct pesa_mca_block *block, unsigned int dispatch_width);

/* ---- Cycle stacks -------------------------------------------------------------------------- */

/**
 * A listener that gives every cycle of a run to instructions of the block, as a sampled profile
 * does (pesa/profile.h): a cycle in which n instructions retire gives 1/n to each of them
 * (retiring); one in which none retires goes to the oldest instruction that is not done (stalled),
 * or, when the pipeline was empty, to the next one to arrive (drained) or to the mispredicted
 * branch before it (flushed).  A load that missed and a mispredicted branch carry that as their
 * cause.  The engine's front end never stalls, so the pipeline is empty in the first cycle of a run
 * and where a block leaves it so.
 *
 * Weights are in 1/PESA_CYCLE of a cycle (pesa/record.h).  Over all instructions they add up to the
 * cycles of the run exactly: where n does not divide PESA_CYCLE, the remainder goes to the first.
 */
struct pesa_mca_cycle_stack;

/** Cycles of an instruction in one state, with one set of causes. */
struct pesa_mca_bucket {
	uint8_t state;	 /**< PESA_STATE_* */
	uint16_t cause;	 /**< PESA_CAUSE_* mask */
	uint64_t weight; /**< over the whole run */
};
/** Most buckets of an instruction. */
#define PESA_MCA_BUCKETS_MAX 16

/** Made for one run of one block, which it does not keep.  Owned by the caller.
 * @one_thread @caller_owns */
struct pesa_error *pesa_mca_cycle_stack_create(const struct pesa_mca_block *block,
					       struct pesa_mca_cycle_stack **stack);
/** Free a stack.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_mca_cycle_stack_free(struct pesa_mca_cycle_stack *stack);
/** To be given to pesa_mca_run(); valid as long as the stack.
 * @one_thread @object_owns */
struct pesa_mca_listener pesa_mca_cycle_stack_listener(struct pesa_mca_cycle_stack *stack);
/** Execute the block with a listener for the stack alone.  For one iteration this is several
 * times as fast as pesa_mca_run() with that listener, where the block has no barrier, the stimuli have
 * no rate of mispredicts and no latencies of loads, and in order, where the order is free.  `stack` is new.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_mca_cycle_stack_run(const struct pesa_mca_block *block,
					    const struct pesa_mca_run_options *options,
					    struct pesa_mca_cycle_stack *stack);
/** Cycles of the run.
 * @one_thread @nothing_owned */
uint64_t pesa_mca_cycle_stack_cycles(const struct pesa_mca_cycle_stack *stack);
/** How often an instruction of the block retired.
 * @one_thread @nothing_owned */
uint64_t pesa_mca_cycle_stack_executions(const struct pesa_mca_cycle_stack *stack,
					 unsigned int index);
/** The buckets of an instruction that are not empty, by state and cause; returns their number.
 * @one_thread @nothing_owned */
unsigned int pesa_mca_cycle_stack_buckets(const struct pesa_mca_cycle_stack *stack,
					  unsigned int index,
					  struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX]);

PESA_DECLARATIONS_END

#endif
