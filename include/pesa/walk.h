/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * The walk: from one record to weighted instructions.
 *
 * In a retiring cycle the record has the address of the oldest instruction that retired, and how
 * many retired.  The walk finds the others by the lengths of the instructions in the text and by
 * following the control transfers at their offsets to their targets; each gets 1/INSTRET of the
 * cycle.  In a cycle in which none retired the instruction at the record's PC gets the whole cycle,
 * under the record's state and cause (specification notes, "What the record is for" and Decisions
 * 1-5).
 *
 * Weights are integers in units of 1/PESA_CYCLE of a cycle (record.h): the weights of a result and its
 * unattributed remainder add up to exactly PESA_CYCLE.
 *
 * Threads: every function here may be called by any thread at any time; pesa_walk() calls the functions
 * of its `text` in the thread that called it.
 */
#ifndef PESA_WALK_H
#define PESA_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/csr.h"
#include "pesa/error.h"
#include "pesa/event.h"
#include "pesa/record.h"
#include "pesa/riscv.h"

PESA_DECLARATIONS_BEGIN

/** shpmsdetailsdata, unpacked: fields as Documentation/hardware.md has them. */
struct pesa_details {
	uint8_t instret;	    /**< INSTRET */
	uint8_t state;		    /**< RSTATE */
	uint8_t transfers;	    /**< CTS */
	uint8_t transfer_offset[2]; /**< CTOFFSET1, CTOFFSET2 */
	uint8_t cause_offset;	    /**< CAUSEOFFSET */
	uint16_t cause;		    /**< CAUSE */
};
/** The fields of a register value.
 * @any_thread @nothing_owned */
struct pesa_details pesa_details_unpack(uint64_t details);
/** The register value of fields.
 * @any_thread @nothing_owned */
uint64_t pesa_details_pack(const struct pesa_details *details);

/** Read a raw payload.  An error names what is impossible (version, size, xlen).
 * @any_thread @nothing_owned */
struct pesa_error *pesa_record_read(const void *raw, size_t size, struct pesa_record *record);

/** The role of an instruction in the sampled cycle. */
enum pesa_role {
	PESA_ROLE_RETIRED,	/**< retired in the cycle, weight 1/INSTRET */
	PESA_ROLE_STALLED,	/**< the oldest in flight, not complete */
	PESA_ROLE_FLUSH_CAUSE,	/**< the pipeline is empty because of it */
	PESA_ROLE_DRAINED_NEXT, /**< the next to arrive in an empty pipeline */
	PESA_ROLE_BLAMED,	/**< kept further instructions from retiring; weight 0 */
	PESA_ROLE_PLAIN,	/**< at the PC of a sample without details */
};

/** State of the retire stage if it was not recorded; no value of RSTATE. */
#define PESA_STATE_UNKNOWN PESA_STATE_COUNT
/** States of a profile: those of RSTATE, and PESA_STATE_UNKNOWN. */
#define PESA_PROFILE_STATES (PESA_STATE_COUNT + 1)

/** "retiring", "stalled", "flushed", "drained"; "unknown" for every other number.
 * @any_thread @static_result */
const char *pesa_state_name(unsigned int state);

/** Why a cycle, or a part of it, is attributed to no instruction. */
enum pesa_unattributed {
	PESA_UNATTRIBUTED_NO_DETAILS, /**< the record has neither details nor a PC */
	PESA_UNATTRIBUTED_UNMAPPED,   /**< the walk left the mapped text */
	PESA_UNATTRIBUTED_NO_TEXT, /**< mapped, but the file is gone, changed, or JIT code unknown */
	PESA_UNATTRIBUTED_UNDECODABLE, /**< no instruction there */
	PESA_UNATTRIBUTED_TRANSFERS,   /**< more control transfers than known targets */
	PESA_UNATTRIBUTED_SCRUBBED,    /**< kernel addresses were removed */
	PESA_UNATTRIBUTED_IMPOSSIBLE,  /**< the record contradicts itself or the text */
	PESA_UNATTRIBUTED_REASONS,     /**< how many there are */
};
/** "unmapped", "undecodable", ...: as in reports and JSON.
 * @any_thread @static_result */
const char *pesa_unattributed_name(enum pesa_unattributed reason);

/** An instruction that a cycle, or a part of it, is attributed to. */
struct pesa_step {
	uint64_t address; /**< at run time */
	uint32_t weight;  /**< of PESA_CYCLE */
	uint8_t role;	  /**< enum pesa_role */
	uint8_t state;	  /**< PESA_STATE_*, PESA_STATE_UNKNOWN */
	uint16_t cause;	  /**< of this instruction */
	uint8_t transfer; /**< enum pesa_step_transfer */
	uint8_t flow;	  /**< enum pesa_flow, where it is known to have transferred control */
	uint8_t length;	  /**< bytes, likewise */
};

/** Whether the instruction itself (not a trap after it) transferred control. */
enum pesa_step_transfer {
	PESA_STEP_TRANSFER_UNKNOWN, /**< not recorded */
	PESA_STEP_TRANSFER_NONE,    /**< no */
	PESA_STEP_TRANSFER_TAKEN,   /**< yes, or rarely a trap came behind it instead */
};

/** A transfer of control in the sampled cycle. */
struct pesa_transfer {
	uint64_t from; /**< run-time address of the instruction */
	uint64_t to;   /**< where control went */
};

/** Most steps of a walk: 15 retired and one blamed, and room to spare. */
#define PESA_WALK_STEPS_MAX 17

/** What a record was attributed to. */
struct pesa_walk_result {
	unsigned int step_count;			  /**< how many steps */
	unsigned int transfer_count;			  /**< how many transfers */
	struct pesa_step step[PESA_WALK_STEPS_MAX];	  /**< oldest first */
	struct pesa_transfer transfer[16];		  /**< oldest first */
	uint32_t unattributed[PESA_UNATTRIBUTED_REASONS]; /**< of PESA_CYCLE */
};

/** Whether an instruction can be read at an address. */
enum pesa_text_status {
	PESA_TEXT_OK,	       /**< it can */
	PESA_TEXT_UNMAPPED,    /**< no mapping there */
	PESA_TEXT_MISSING,     /**< mapped, but its bytes are not available */
	PESA_TEXT_UNDECODABLE, /**< its bytes are not an instruction */
};

/** What the walk needs to know of an instruction. */
struct pesa_text_insn {
	uint8_t length;	 /**< bytes */
	uint8_t flow;	 /**< enum pesa_flow (riscv.h) */
	bool has_target; /**< the target is in the instruction itself */
	uint64_t target; /**< absolute */
};

/** Where the walk reads instructions. */
struct pesa_text {
	/** Fill *insn with the instruction at an address, if there is one. */
	enum pesa_text_status (*instruction)(void *context, uint64_t address,
					     struct pesa_text_insn *insn);
	void *context; /**< its first argument */
};

/**
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
 * @any_thread @nothing_owned */
void pesa_walk(const struct pesa_record *record, const struct pesa_text *text,
	       const struct pesa_branch_entry *branches, size_t branch_count,
	       struct pesa_walk_result *result);

PESA_DECLARATIONS_END

#endif
