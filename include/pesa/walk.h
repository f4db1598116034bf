/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk: from one record to weighted instructions.
 *
 * In a retiring cycle the record names the oldest instruction that retired and how many retired; the
 * walk finds the others by the lengths of the instructions in the text and by jumping to the targets
 * of the control transfers at their offsets, and gives each 1/INSTRET of the cycle.  In a cycle in
 * which none retired the instruction at the record's PC gets the whole cycle, under the record's
 * state and cause (specification notes, "What the record is for" and Decisions 1-5).
 *
 * Weights are integers in units of 1/PESA_CYCLE of a cycle (record.h): the weights of a result and its
 * unattributed remainder add up to exactly PESA_CYCLE.
 */
#ifndef PESA_WALK_H
#define PESA_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/csr.h"
#include "pesa/perfdata.h"
#include "pesa/record.h"
#include "pesa/riscv.h"

/* shpmsdetailsdata, unpacked */
struct pesa_details {
	uint8_t instret, state, transfers, transfer_offset[2], cause_offset;
	uint16_t cause;
};
struct pesa_details pesa_details_unpack(uint64_t details);
uint64_t pesa_details_pack(const struct pesa_details *details);

/* Read a raw payload.  An error says what cannot be (version, size, xlen). */
struct pesa_error *pesa_record_read(const void *raw, size_t size, struct pesa_record *record);

enum pesa_role {
	PESA_ROLE_RETIRED,	/* retired in the cycle, weight 1/INSTRET */
	PESA_ROLE_STALLED,	/* oldest, not done */
	PESA_ROLE_FLUSH_CAUSE,	/* the pipeline is empty because of it */
	PESA_ROLE_DRAINED_NEXT,	/* the next to arrive in an empty pipeline */
	PESA_ROLE_BLAMED,	/* kept further instructions from retiring; weight 0 */
	PESA_ROLE_PLAIN,	/* nothing is known of the cycle but this PC */
};

/* State of the retire stage where it was not recorded: beyond those that RSTATE can hold. */
#define PESA_STATE_UNKNOWN PESA_STATE_COUNT
#define PESA_PROFILE_STATES (PESA_STATE_COUNT + 1)

/* "retiring", "stalled", "flushed", "drained"; "unknown" for every other number. */
const char *pesa_state_name(unsigned int state);

enum pesa_unattributed {
	PESA_UNATTRIBUTED_NO_DETAILS,	/* the record has neither details nor a PC */
	PESA_UNATTRIBUTED_UNMAPPED,	/* the walk left the mapped text */
	PESA_UNATTRIBUTED_NO_TEXT,	/* mapped, but the file is gone, changed, or JIT code unknown */
	PESA_UNATTRIBUTED_UNDECODABLE,	/* no instruction there */
	PESA_UNATTRIBUTED_TRANSFERS,	/* more control transfers than known targets */
	PESA_UNATTRIBUTED_SCRUBBED,	/* kernel addresses were removed */
	PESA_UNATTRIBUTED_IMPOSSIBLE,	/* the record contradicts itself or the text */
	PESA_UNATTRIBUTED_REASONS,
};
/* "unmapped", "undecodable", ...: as in reports and JSON. */
const char *pesa_unattributed_name(enum pesa_unattributed reason);

struct pesa_step {
	uint64_t address;
	uint32_t weight;		/* of PESA_CYCLE */
	uint8_t role;			/* enum pesa_role */
	uint8_t state;			/* PESA_STATE_*, PESA_STATE_UNKNOWN */
	uint16_t cause;			/* of this instruction */
	uint8_t transfer;		/* enum pesa_step_transfer */
};

/* Did the instruction itself (not a trap behind it) transfer control? */
enum pesa_step_transfer {
	PESA_STEP_TRANSFER_UNKNOWN,
	PESA_STEP_TRANSFER_NONE,
	PESA_STEP_TRANSFER_TAKEN,
};

struct pesa_transfer {
	uint64_t from, to;
};

#define PESA_WALK_STEPS_MAX 17		/* 15 retired and one blamed, and room to spare */

struct pesa_walk_result {
	unsigned int step_count, transfer_count;
	struct pesa_step step[PESA_WALK_STEPS_MAX];
	struct pesa_transfer transfer[16];
	uint32_t unattributed[PESA_UNATTRIBUTED_REASONS]; /* of PESA_CYCLE */
};

/* Where the walk reads instructions. */
enum pesa_text_status {
	PESA_TEXT_OK,
	PESA_TEXT_UNMAPPED,	/* no mapping there */
	PESA_TEXT_MISSING,	/* mapped, but the bytes are not to be had */
	PESA_TEXT_UNDECODABLE,	/* bytes, but no instruction */
};

struct pesa_text_insn {
	uint8_t length;		/* bytes */
	uint8_t flow;		/* enum pesa_flow (riscv.h) */
	bool has_target;	/* the target is in the instruction itself */
	uint64_t target;	/* absolute */
};

struct pesa_text {
	enum pesa_text_status (*instruction)(void *context, uint64_t address,
					     struct pesa_text_insn *insn);
	void *context;
};

/*
 * Walk one record.  `branches` (newest first, may be NULL) are the CTR entries of the sample: its
 * newest CTs entries are the transfers of the sampled cycle, and supply what bt1 and bt2 do not.
 * Entries that contradict the record or the text are of another cycle and are not used.
 *
 * Without a target from either, the walk follows every way through the text that makes CTs transfers,
 * and attributes what all of them agree on: a direct jump goes to its target, a branch at a known
 * transfer offset was taken.  The rest is unattributed.  One assumption is made, where the record does
 * not name a trap's target: a trap ends the cycle.  See Documentation/walk.md.
 *
 * Total: the weights of result->step and result->unattributed add up to PESA_CYCLE, always.
 */
void pesa_walk(const struct pesa_record *record, const struct pesa_text *text,
	       const struct pesa_branch_entry *branches, size_t branch_count,
	       struct pesa_walk_result *result);

#endif
