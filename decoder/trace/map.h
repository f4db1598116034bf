/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A state map in memory: see include/pesa/pipeline_trace.h and Documentation/pipeline-traces.md.
 *
 * Each mark maps a stage, a stall or a label of the log to an event of the instruction.
 */
#ifndef DECODER_TRACE_MAP_H
#define DECODER_TRACE_MAP_H

#include "pesa/pipeline_trace.h"

#define MAP_TEXT   64u /* bytes of a text, including the terminator */
#define MAP_STAGE  16u /* bytes of a stage name, including the terminator */
#define MAP_STAGES 8u  /* stages listed for one key */
#define MAP_MARKS  64u

struct map_stages {
	unsigned int count;
	char name[MAP_STAGES][MAP_STAGE];
};

/* A pattern in the log that indicates an event of an instruction. */
struct map_mark {
	enum map_mark_what {
		MAP_CAUSE,
		MAP_EXCEPTION, /* it faulted */
		MAP_FLUSH,     /* it flushed the pipeline */
		MAP_SERIALISE, /* younger instructions wait for it */
	} what;
	enum map_mark_kind {
		MAP_LABEL, /* a label contains the text */
		MAP_IN,	   /* the instruction is in the stage, on any lane */
		MAP_STALL, /* it stalls (lane stall.lane) while it is in the stage */
	} kind;
	enum map_mark_scope {
		MAP_ALWAYS,
		MAP_FRONT, /* before the instruction entered the reorder buffer */
		MAP_EMPTY, /* likewise, and only while the reorder buffer was empty */
	} scope;
	int bit; /* CAUSE bit; -1: not tracked */
	char cause[PESA_CAPABILITY_NAME_MAX];
	char text[MAP_TEXT];
};

struct pesa_pipeline_map {
	enum pesa_pipeline_format format;
	char name[PESA_CAPABILITY_NAME_MAX];
	char summary[128];
	char recognise[MAP_TEXT], core[MAP_TEXT]; /* "": none */
	uint32_t pc_label, pc_base;
	char pc_after[MAP_TEXT];
	struct map_stages dispatch, complete, retire, rollback;
	int64_t complete_offset, retire_offset; /* cycles */
	uint32_t front_depth;			/* cycles, 0: not known */
	uint32_t micro_ops;			/* numbers per instruction; 0: one */
	uint32_t lane, stall_lane;
	char until[MAP_TEXT]; /* text before the cycle at which a flush ends; "": none */
	unsigned int marks;
	struct map_mark mark[MAP_MARKS];
};

/* Whether the map has a mark of a kind. */
bool map_has_mark(const struct pesa_pipeline_map *map, enum map_mark_what what);
/* Whether it has a mark with this CAUSE bit. */
bool map_has_cause(const struct pesa_pipeline_map *map, unsigned int bit);
bool map_stage_is(const struct map_stages *stages, const char *name);

#endif
