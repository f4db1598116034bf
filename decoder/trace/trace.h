/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading pipeline traces: data shared by the parts.
 *
 *   map.c          the meaning of a producer's names
 *   read.c         splits pieces of bytes into lines
 *   kanata.c       Kanata: in-flight instructions, in fetch order
 *   o3.c           O3PipeView: whole instructions, sorted
 *   insn.c         stages, marks and labels of an instruction
 *   hart.c         instructions in program order: which of them emptied the pipeline, and why
 *   account.c      converts them to cycles, by decoder/core/retirement.h
 *   exact_store.c  the exact profile
 *
 * Cycles count from the log's first one, except in summary.first_cycle.
 */
#ifndef DECODER_TRACE_PIPELINE_TRACE_H
#define DECODER_TRACE_PIPELINE_TRACE_H

#include "decoder/trace/exact_store.h"
#include "decoder/trace/map.h"
#include "decoder/core/retirement.h"
#include "decoder/core/transfer_cycles.h"

#define CYCLE_UNKNOWN UINT64_MAX
#define INSN_STAGES   24u /* entries in the timeline of an instruction */
#define FLIGHT_MAX    65536u
#define HARTS_MAX     64u
#define LINE_MAX_SIZE (1u << 20)
/* Sanity limit in cycles: a larger number is damage, and would generate endless samples. */
#define CYCLES_AT_ONCE (UINT64_C(1) << 30)

enum fate { FATE_IN_FLIGHT, FATE_RETIRED, FATE_FLUSHED };

/* An instruction of the log. */
struct pipeline_insn {
	uint64_t number;   /* in the lines of the log */
	uint64_t sequence; /* assigned by the simulator */
	uint64_t pc;
	uint64_t fetch, dispatched, complete;
	uint64_t ended;	   /* cycle in which it retired or was squashed */
	uint64_t until;	   /* end of a flush by it, if the log has it */
	uint64_t rollback; /* start of its roll-back */
	uint16_t cause, front_cause, empty_cause;
	uint8_t fate;	 /* enum fate */
	uint8_t stages;	 /* number of entries in the timeline */
	uint8_t current; /* present stage on the main lane */
	uint8_t micro_op;
	bool has_pc, exception, flush, serialise;
	bool joins;	 /* a further micro-op of the previous instruction */
	bool has_retire; /* a stage gave the cycle of retirement */
	struct pesa_pipeline_entry stage[INSN_STAGES];
};

struct pipeline_stage {
	bool dispatch, complete, retire, rollback;
	uint64_t marks, stalls; /* bit masks: bit i is mark i of the map */
};

/* Wrong paths that were rolled back. */
#define ROLLBACKS 16u
struct rollback {
	uint64_t start, end;
	uint64_t first; /* index in the ring of the oldest squashed instruction */
};

struct pipeline_hart {
	uint64_t thread; /* in the log */
	uint32_t index;
	/* retirement */
	struct retirement retirement;
	enum pesa_pipeline_rule flush_rule;
	struct pipeline_insn joined; /* micro-ops joined so far */
	struct pipeline_insn last;   /* waits for its successor */
	struct pipeline_insn wrong;  /* the oldest squashed instruction after `last` */
	uint64_t wrong_ended;	     /* when the last of them was squashed */
	/* The front end was seen to fetch the target of a transfer before that was executed. */
	bool front_end_follows;
	/* The successor of `last` in program order, which was squashed itself, after `wrong`. */
	struct pipeline_insn faulted;
	bool has_joined, has_last, has_wrong, has_faulted;
	uint64_t retired; /* cycle of the latest retirement */
	uint64_t alive;	  /* first cycle without ended instructions in the pipeline */
	/* sampling */
	uint64_t next_sample, random;
	struct pesa_branch_entry *branches; /* ring of ctr_depth */
	uint64_t branch_count;
	uint64_t branch_cycle; /* of the newest one */
	/* in flight, in fetch order: entries [head, tail) of a ring */
	struct pipeline_insn *ring;
	uint64_t head, tail, room;
	struct rollback rollback[ROLLBACKS];
	uint64_t rollbacks;
};

struct pesa_pipeline {
	struct pesa_pipeline_options options;
	const struct pesa_pipeline_map *map;
	struct pesa_pipeline_summary summary;
	struct exact_store store;
	struct pesa_error *error; /* the error that ended the reading */
	uint64_t label_marks;	  /* marks that match labels */
	struct pipeline_stage stage[PESA_PIPELINE_STAGES];
	struct pipeline_hart *hart[HARTS_MAX];
	/* a line split between pieces */
	char *piece;
	size_t piece_size, piece_room;
	bool skipping; /* skipping a line that is too long */
	/* Kanata */
	bool begun; /* the header was read */
	bool timed; /* the first cycle is known */
	int64_t base;
	uint64_t now;
	struct flight *flight;
	size_t flights, flight_room;
	uint64_t found_number; /* of the last instruction looked up */
	struct pipeline_insn *found;
	/* O3PipeView */
	struct o3 *o3;
};

/* ---- insn.c ---------------------------------------------------------------------------------- */

/* Count a problem; the text of the first one is kept. */
void pipeline_problem(struct pesa_pipeline *pipeline, enum pesa_pipeline_problem problem,
		      const char *format, ...) __attribute__((format(printf, 3, 4)));
/* `cycle` plus an offset of the map, at least 0. */
uint64_t pipeline_moved(uint64_t cycle, int64_t offset);
void pipeline_fail(struct pesa_pipeline *pipeline, struct pesa_error *error);
/* The number of a stage name.  Names beyond the limit share the last number. */
unsigned int pipeline_stage(struct pesa_pipeline *pipeline, const char *name, size_t size);
/* The instruction enters a stage on the main lane; on another lane. */
void pipeline_enter(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, unsigned int stage,
		    uint64_t cycle);
void pipeline_note(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, unsigned int stage,
		   bool stalls);
/* Process a label; `text` is terminated. */
void pipeline_label(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, uint64_t type,
		    const char *text);
void pipeline_insn_begin(struct pipeline_insn *insn);

/* ---- account.c ------------------------------------------------------------------------------- */

/* The static instruction; address 0 if it has none.  NULL: out of memory, which is noted. */
struct exact_insn *pipeline_static(struct pesa_pipeline *pipeline,
				   const struct pipeline_insn *insn);
/* What decoder/core/retirement.h has to know of an instruction, but for its text. */
struct retirement_passage pipeline_passage(const struct pesa_pipeline *pipeline,
					   const struct pipeline_hart *hart,
					   const struct pipeline_insn *insn);
/* Account the cycles up to the retirement of the instruction, or to its fault. */
void pipeline_step(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		   const struct pipeline_insn *insn, const struct retirement_passage *passage);
/* The instruction empties the pipeline; it faults in `cycle` and does so. */
void pipeline_flush(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		    const struct pipeline_insn *insn, uint16_t cause, uint64_t until,
		    enum pesa_pipeline_rule rule);
void pipeline_fault(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		    const struct pipeline_insn *insn, uint64_t cycle, uint64_t last,
		    enum pesa_pipeline_rule rule);
/* Account the cycle of the instructions that retired together. */
void pipeline_close_group(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
			  struct retirement_block block);
/* Account cycles without a retirement. */
void pipeline_account(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		      const struct retirement_span *span);
void pipeline_count_rule(struct pesa_pipeline *pipeline, enum pesa_pipeline_rule rule,
			 uint64_t cycles);

/* ---- hart.c ---------------------------------------------------------------------------------- */

/* The hart with this number in the log, added if missing; NULL: too many, or out of memory. */
struct pipeline_hart *pipeline_hart(struct pesa_pipeline *pipeline, uint64_t thread);
void pipeline_hart_free(struct pipeline_hart *hart);
/* Process the next instruction in program order, or a squashed one in fetch order. */
void pipeline_take(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		   const struct pipeline_insn *insn);
/* End of the log.  `open`: the oldest instruction in flight, NULL: none.  `end`: the first cycle
 * after the log. */
void pipeline_hart_end(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		       const struct pipeline_insn *open, uint64_t end);

/* ---- kanata.c, o3.c -------------------------------------------------------------------------- */

/* Parse a line without its line break; line[size] may be overwritten. */
void kanata_line(struct pesa_pipeline *pipeline, char *line, size_t size);
void kanata_end(struct pesa_pipeline *pipeline);
bool o3_begin(struct pesa_pipeline *pipeline);
void o3_line(struct pesa_pipeline *pipeline, char *line, size_t size);
void o3_end(struct pesa_pipeline *pipeline);
void o3_free(struct pesa_pipeline *pipeline);

#endif
