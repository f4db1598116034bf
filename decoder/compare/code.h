/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hot code of a profile: its instructions, as nodes with what was measured of each.
 */
#ifndef DECODER_COMPARE_CODE_H
#define DECODER_COMPARE_CODE_H

#include "pesa/compare.h"
#include "pesa/riscv.h"

#define COMPARE_NONE UINT32_MAX

/* How often each successor of an instruction was chosen so far. */
struct compare_choice {
	uint64_t visits;
	uint32_t chosen; /* first of its counters */
};

struct compare_node {
	uint32_t dso;
	uint64_t address;
	const struct pesa_instruction *measured; /* NULL: in no sample */
	struct pesa_insn insn;
	uint8_t flow; /* enum pesa_flow */
	bool decoded;
	bool leader;	 /* control comes from elsewhere, or the instruction before is not there */
	uint32_t next;	 /* node behind it, or none */
	uint32_t target; /* of a direct transfer, or none */
	uint32_t region;
	uint32_t group; /* straight piece of code */
	double executions;
	struct pesa_compare_time time;
	double mispredicts[2]; /* an execution, where control goes on and where it is taken */
	/* Following paths. */
	uint64_t visits, taken;
	double owed[2]; /* mispredicts that are due, likewise */
	/* Prediction: over the occurrences on paths that count. */
	double occurrences, retiring, stalled;
	bool on_path;  /* it is on some path */
	int32_t class; /* of the model, -1: unsupported or not on any path */
};

struct compare_code {
	struct compare_node *node; /* by dso and address */
	uint32_t count, room;
	struct pesa_isa **isa; /* by dso, NULL: not decoded */
	uint32_t dsos;
};

struct pesa_error *compare_code_create(const struct pesa_profile *profile,
				       struct compare_code *code);
void compare_code_free(struct compare_code *code);
/* The node at an address, or COMPARE_NONE. */
uint32_t compare_code_find(const struct compare_code *code, uint32_t dso, uint64_t address);

#endif
