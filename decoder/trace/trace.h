/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading pipeline traces: what the parts share.
 *
 *   map.c          what a producer's names mean
 *   read.c         pieces of bytes become lines
 *   kanata.c       Kanata: instructions in flight, in fetch order
 *   o3.c           O3PipeView: whole instructions, put in order
 *   insn.c         stages, marks and labels become facts of an instruction
 *   hart.c         instructions in program order become cycles, by decoder/core/retirement.h
 *   exact_store.c  the exact profile
 *
 * Cycles count from the log's first one, except in summary.first_cycle.
 */
#ifndef DECODER_TRACE_PIPELINE_TRACE_H
#define DECODER_TRACE_PIPELINE_TRACE_H

#include "decoder/trace/exact_store.h"
#include "decoder/trace/map.h"
#include "decoder/core/retirement.h"

#define CYCLE_UNKNOWN UINT64_MAX
#define INSN_STAGES   24u /* of the timeline of an instruction */
#define FLIGHT_MAX    65536u
#define HARTS_MAX     64u
#define LINE_MAX_SIZE (1u << 20)
/* Cycles that nothing can last: a number beyond is damage, and would make samples without end. */
#define CYCLES_AT_ONCE (UINT64_C(1) << 30)

enum fate { FATE_IN_FLIGHT, FATE_RETIRED, FATE_FLUSHED };

/* An instruction of the log. */
struct pipeline_insn {
	uint64_t number;   /* by which the log's lines name it */
	uint64_t sequence; /* number that the simulator gave it */
	uint64_t pc;
	uint64_t fetch, dispatched, complete;
	uint64_t ended;	   /* retired, or thrown away */
	uint64_t until;	   /* a flush by it lasts up to here, if the log says so */
	uint64_t rollback; /* its roll-back began */
	uint16_t cause, front_cause, empty_cause;
	uint8_t fate;	 /* enum fate */
	uint8_t stages;	 /* of the timeline */
	uint8_t current; /* stage on the main lane */
	uint8_t micro_op;
	bool has_pc, exception, flush, serialise;
	bool joins;	 /* a further micro-op of the instruction before it */
	bool has_retire; /* a stage told the cycle of retirement */
	struct {
		uint32_t after; /* cycles from fetch */
		uint8_t stage;
	} stage[INSN_STAGES];
};

struct pipeline_stage {
	bool dispatch, complete, retire, rollback;
	uint64_t marks, stalls; /* of the map: bit i is mark i */
};

/* Wrong paths that were rolled back. */
#define ROLLBACKS 16u
struct rollback {
	uint64_t start, end;
	uint64_t first; /* place in the ring of the oldest instruction that was thrown away */
};

struct pipeline_hart {
	uint64_t thread; /* as the log numbers it */
	uint32_t index;
	/* retirement */
	struct retirement retirement;
	enum pesa_pipeline_rule flush_rule;
	struct pipeline_insn joined; /* micro-ops come together */
	struct pipeline_insn last;   /* waits for its successor */
	struct pipeline_insn wrong;  /* the oldest that was thrown away behind `last` */
	bool has_joined, has_last, has_wrong;
	uint64_t retired; /* cycle of the newest retirement */
	uint64_t alive;	  /* first cycle in which nothing of what ended is in the pipeline */
	/* sampling */
	uint64_t next_sample, random;
	struct pesa_branch_entry *branches; /* ring of ctr_depth */
	uint64_t branch_count;
	/* in flight, in fetch order: places [head, tail) of a ring */
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
	struct pesa_error *error; /* what ended the reading */
	uint64_t label_marks;	  /* marks that labels are searched for */
	struct pipeline_stage stage[PESA_PIPELINE_STAGES];
	struct pipeline_hart *hart[HARTS_MAX];
	/* a line that came in pieces */
	char *piece;
	size_t piece_size, piece_room;
	bool skipping; /* a line that is too long */
	/* Kanata */
	bool begun; /* the header was read */
	bool timed; /* the first cycle is known */
	int64_t base;
	uint64_t now;
	struct flight *flight;
	size_t flights, flight_room;
	uint64_t found_number; /* of the last instruction that was looked up */
	struct pipeline_insn *found;
	/* O3PipeView */
	struct o3 *o3;
};

/* ---- insn.c -------------------------------------------------------------------------------- */

/* Count a problem, and keep the words of the first one. */
void pipeline_problem(struct pesa_pipeline *pipeline, enum pesa_pipeline_problem problem,
		      const char *format, ...) __attribute__((format(printf, 3, 4)));
/* `cycle` moved by an offset of the map, not before the log. */
uint64_t pipeline_moved(uint64_t cycle, int64_t offset);
void pipeline_fail(struct pesa_pipeline *pipeline, struct pesa_error *error);
/* The number of a stage's name.  Names beyond what there is room for share the last number. */
unsigned int pipeline_stage(struct pesa_pipeline *pipeline, const char *name, size_t size);
/* The instruction enters a stage on the main lane, on another lane. */
void pipeline_enter(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, unsigned int stage,
		    uint64_t cycle);
void pipeline_note(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, unsigned int stage,
		   bool stalls);
/* A label; `text` is terminated. */
void pipeline_label(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, uint64_t type,
		    const char *text);
void pipeline_insn_begin(struct pipeline_insn *insn);

/* ---- hart.c ----------------------------------------------------------------------- */

/* The hart with this number in the log, made when there is none; NULL: too many, or no memory. */
struct pipeline_hart *pipeline_hart(struct pesa_pipeline *pipeline, uint64_t thread);
void pipeline_hart_free(struct pipeline_hart *hart);
/* The next instruction in program order, or one that was thrown away, in fetch order. */
void pipeline_take(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		   const struct pipeline_insn *insn);
/* Nothing more comes.  `open`: the oldest instruction in flight, NULL: none.  `end`: the first
 * cycle that is not of the log. */
void pipeline_hart_end(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		       const struct pipeline_insn *open, uint64_t end);

/* ---- kanata.c, o3.c ------------------------------------------------------ */

/* A line without its end; line[size] may be overwritten. */
void kanata_line(struct pesa_pipeline *pipeline, char *line, size_t size);
void kanata_end(struct pesa_pipeline *pipeline);
bool o3_begin(struct pesa_pipeline *pipeline);
void o3_line(struct pesa_pipeline *pipeline, char *line, size_t size);
void o3_end(struct pesa_pipeline *pipeline);
void o3_free(struct pesa_pipeline *pipeline);

#endif
