/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Core descriptions: the configuration of the virtual core.
 *
 * A core description is a text file of "key = value" lines (Documentation/core-description.md).  It
 * is parsed into a struct pesa_core, plain numbers without pointers, which `pesa record` passes to
 * the virtual core through shared memory and converts to the capabilities of the perf.data file.
 *
 * Every key is one row of a table in core.c: its field, its limits, its meaning.  Times are in
 * cycles; sizes are in bytes or entries, depending on the key.
 */
#ifndef DECODER_CORE_CORE_H
#define DECODER_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/capabilities.h"
#include "pesa/csr.h"
#include "pesa/error.h"

/* Instruction classes for which a description can replace the latency or interval of the processor
 * model. */
/* clang-format off */
#define PESA_CORE_CLASSES(CLASS)                                                                   \
	CLASS(ALU, "alu")		/* integer arithmetic, logic, shifts, moves */             \
	CLASS(BRANCH, "branch")		/* jumps, calls, conditional branches */                   \
	CLASS(MUL, "mul")							                   \
	CLASS(MUL_W, "mul.w")							                   \
	CLASS(DIV, "div")		/* 64-bit divide and remainder */                          \
	CLASS(DIV_W, "div.w")							                   \
	CLASS(LOAD, "load")		/* until the data, on a hit in the L1 cache */           \
	CLASS(STORE, "store")							                   \
	CLASS(ATOMIC, "atomic")							                   \
	CLASS(FENCE, "fence")							                   \
	CLASS(CSR, "csr")							                   \
	CLASS(SYSTEM, "system")		/* ecall, ebreak, fence.i */                               \
	CLASS(FADD, "fadd")							                   \
	CLASS(FMUL, "fmul")							                   \
	CLASS(FMA, "fma")							                   \
	CLASS(FDIV_S, "fdiv.s")		/* half precision too */                                   \
	CLASS(FDIV_D, "fdiv.d")							                   \
	CLASS(FSQRT_S, "fsqrt.s")						                   \
	CLASS(FSQRT_D, "fsqrt.d")						                   \
	CLASS(FCONVERT, "fconvert")						                   \
	CLASS(FMOVE, "fmove")		/* sign injection, classify, compare, minimum */           \
	CLASS(FTRANSFER, "ftransfer")	/* between integer and floating-point registers */         \
	CLASS(VECTOR_CONFIGURE, "vector.configure")				                   \
	CLASS(VECTOR_ALU, "vector.alu")						                   \
	CLASS(VECTOR_MUL, "vector.mul")						                   \
	CLASS(VECTOR_DIV, "vector.div")						                   \
	CLASS(VECTOR_FLOAT, "vector.float")					                   \
	CLASS(VECTOR_PERMUTE, "vector.permute")					                   \
	CLASS(VECTOR_LOAD, "vector.load")					                   \
	CLASS(VECTOR_STORE, "vector.store")

enum pesa_core_class {
#define CLASS(id, name) PESA_CORE_CLASS_##id,
	PESA_CORE_CLASSES(CLASS)
#undef CLASS
	PESA_CORE_CLASS_COUNT
};

/* Issue queues whose entries the description may set. */
enum pesa_core_queue {
	PESA_CORE_QUEUE_INTEGER,
	PESA_CORE_QUEUE_MEMORY,
	PESA_CORE_QUEUE_FLOAT,
	PESA_CORE_QUEUE_COUNT
};

/* Meanings of the implementation-defined CAUSE bits. */
#define PESA_CORE_EVENTS(EVENT)                                                                    \
	EVENT(ALLOC_BLOCKED, "alloc-blocked")	/* dispatch waited for a full back-end structure */ \
	EVENT(L2_MISS, "l2-miss")		/* a load or store missed the L2 cache */           \
	EVENT(LLC_MISS, "llc-miss")		/* ... and the last-level cache */                  \
	EVENT(PAGE_WALK, "page-walk")		/* a load or store missed the L2 TLB */             \
	EVENT(STORE_FORWARD, "store-forward")	/* a load took its data from an older store */      \
	EVENT(SERIALISE, "serialise")		/* the instruction empties the pipeline */

enum pesa_core_event {
#define EVENT(id, name) PESA_CORE_EVENT_##id,
	PESA_CORE_EVENTS(EVENT)
#undef EVENT
	PESA_CORE_EVENT_COUNT
};
/* clang-format on */

struct pesa_core_cache {
	uint32_t size; /* bytes, 0: no such cache */
	uint32_t ways;
	uint32_t latency;   /* cycles from access to data when it hits */
	uint32_t mshrs;	    /* outstanding misses */
	uint32_t inclusive; /* evictions also invalidate the levels before it (L2, LLC) */
};

/* Bits of a tagged table's entry in the direction predictor, besides the tag. */
#define PESA_CORE_TAGE_COUNTER_BITS 3
#define PESA_CORE_TAGE_USEFUL_BITS  2

/* Room for the path of a processor model, and the name of a processor in it. */
#define PESA_CORE_MODEL_MAX 1024

struct pesa_core {
	char name[PESA_CAPABILITY_NAME_MAX];
	char summary[128];
	/* As pesa_mca_model_open() takes it: a built-in processor or FILE.model[:PROCESSOR]. */
	char model[PESA_CORE_MODEL_MAX];
	/* The processor's name, where `model` is a file; recordings name it, and no path. */
	char processor[PESA_CAPABILITY_NAME_MAX];
	uint64_t frequency; /* Hz, nominal */
	uint32_t out_of_order;

	/* front end */
	uint32_t fetch_width;	  /* instructions a cycle */
	uint32_t fetch_bytes;	  /* aligned block that one cycle fetches from */
	uint32_t fetch_buffer;	  /* instructions between fetch and dispatch */
	uint32_t fetch_depth;	  /* cycles from fetch to dispatch */
	uint32_t redirect;	  /* cycles from a mispredict's resolution to the new fetch */
	uint32_t decode_redirect; /* cycles lost when decode, not the BTB, finds a direct target */
	uint32_t taken_bubble;	  /* cycles lost after a correctly predicted taken transfer */

	/* predictors */
	uint32_t bimodal_entries;
	uint32_t tage_tables, tage_entries, tage_tag_bits, history_min, history_max;
	uint32_t btb_entries, btb_ways, ras_entries, indirect_entries;

	/* widths and buffers */
	uint32_t dispatch_width; /* micro-ops a cycle */
	uint32_t retire_width, retire_transfers;
	uint32_t rob_entries;
	uint32_t queue_entries[PESA_CORE_QUEUE_COUNT]; /* 0: as in the model */
	uint32_t load_queue, store_queue;
	uint32_t store_ports;			     /* stores written to the cache in a cycle */
	uint32_t integer_registers, float_registers; /* physical */

	/* memory */
	uint32_t line; /* bytes */
	struct pesa_core_cache icache, dcache, l2, llc;
	uint32_t icache_prefetch;		  /* lines fetched ahead of a missing one */
	uint32_t dcache_streams, dcache_prefetch; /* strides tracked, lines fetched ahead */
	uint32_t memory_latency, memory_interval;
	uint32_t page; /* bytes */
	uint32_t itlb_entries, dtlb_entries, l2tlb_entries, l2tlb_ways, l2tlb_latency;
	uint32_t walk_levels; /* levels of the page table; 0: walk_latency only */
	uint32_t walk_latency, walk_cache, walk_walkers;
	uint32_t forward_latency; /* store to load */

	/* instructions; 0: as in the model */
	uint32_t latency[PESA_CORE_CLASS_COUNT];
	uint32_t interval[PESA_CORE_CLASS_COUNT];

	/* sampling */
	uint32_t counter_bits, minimum_period, ct_targets, ctr_depth;
	uint16_t cause_mask;			  /* CAUSE bits that are tracked */
	int32_t event_bit[PESA_CORE_EVENT_COUNT]; /* CAUSE bit of an event, -1: none */
};

/*
 * Load a core description.  Errors name the file, the line, and the allowed values.  A missing key
 * is an error: a description is complete.  The path of a processor model is relative to the folder of
 * the description.
 */
struct pesa_error *pesa_core_load(const char *path, struct pesa_core *core);
/* Likewise from memory; messages use `name` as the file name. */
struct pesa_error *pesa_core_parse(const char *name, const char *text, size_t size,
				   struct pesa_core *core);

/* Bits of storage in the direction predictor: two-bit counters and tagged tables. */
uint64_t pesa_core_predictor_bits(const struct pesa_core *core);
/*
 * Change one key by `setting`, "key=value".  If no key has this name, *known is false and nothing
 * is changed.
 */
struct pesa_error *pesa_core_set(struct pesa_core *core, const char *setting, bool *known);

/* The capabilities of a core, for the perf.data file. */
void pesa_core_capabilities(const struct pesa_core *core, struct pesa_capabilities *capabilities);

/* Call `emit` for every key with its unit, limits and meaning, in the order of the
 * documentation. */
void pesa_core_each_key(void (*emit)(void *context, const char *key, const char *limits,
				     const char *meaning),
			void *context);

#endif
