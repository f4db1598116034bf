/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A state map in memory: see include/pesa/pipeline_trace.h and Documentation/pipeline-traces.md.
 */
#ifndef DECODER_TRACE_MAP_H
#define DECODER_TRACE_MAP_H

#include "pesa/pipeline_trace.h"

#define MAP_TEXT   64u /* bytes of a text in a map, its end included */
#define MAP_STAGE  16u /* bytes of a stage's name, its end included */
#define MAP_STAGES 8u  /* stages that one key can name */
#define MAP_MARKS  64u

struct map_stages {
	unsigned int count;
	char name[MAP_STAGES][MAP_STAGE];
};

/* Something in the log that says what an instruction met or did. */
struct map_mark {
	enum map_mark_what {
		MAP_CAUSE,
		MAP_EXCEPTION, /* it faulted */
		MAP_FLUSH,     /* it emptied the pipeline */
		MAP_SERIALISE, /* what follows waits for it */
	} what;
	enum map_mark_kind {
		MAP_LABEL, /* a label contains the text */
		MAP_IN,	   /* the instruction is in the stage, on whatever lane */
		MAP_STALL, /* it stalls (lane stall.lane) while it is in the stage */
	} kind;
	enum map_mark_scope {
		MAP_ALWAYS,
		MAP_FRONT, /* met before the instruction entered the reorder buffer */
		MAP_EMPTY, /* likewise, and counts only while that was empty */
	} scope;
	int bit; /* of CAUSE; -1: not tracked */
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
	uint32_t micro_ops;			/* numbers of one instruction; 0: each is one */
	uint32_t lane, stall_lane;
	char until[MAP_TEXT]; /* text before the cycle up to which a flush lasts; "": none */
	unsigned int marks;
	struct map_mark mark[MAP_MARKS];
};

/* Whether the map has a mark of a kind. */
bool map_tells(const struct pesa_pipeline_map *map, enum map_mark_what what);
/* Whether it tells a cause of this bit. */
bool map_tells_cause(const struct pesa_pipeline_map *map, unsigned int bit);
bool map_stage_is(const struct map_stages *stages, const char *name);

#endif
