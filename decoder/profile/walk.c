// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk: see include/pesa/walk.h and Documentation/walk.md. */
#include "decoder/profile/raw_record.h"
#include "decoder/profile/walk_paths.h"
#include "pesa/walk.h"

#define FIELD(value, name) (((value) >> PESA_DETAILS_##name##_SHIFT) & PESA_DETAILS_##name##_MASK)
#define PLACE(value, name) \
	((uint64_t)((value)&PESA_DETAILS_##name##_MASK) << PESA_DETAILS_##name##_SHIFT)

struct pesa_details pesa_details_unpack(uint64_t details)
{
	return (struct pesa_details){
		.instret = FIELD(details, INSTRET),
		.state = FIELD(details, RSTATE),
		.transfers = FIELD(details, CTS),
		.transfer_offset = {FIELD(details, CTOFFSET1), FIELD(details, CTOFFSET2)},
		.cause_offset = FIELD(details, CAUSEOFFSET),
		.cause = FIELD(details, CAUSE),
	};
}

uint64_t pesa_details_pack(const struct pesa_details *details)
{
	return PLACE(details->instret, INSTRET) | PLACE(details->state, RSTATE) |
	       PLACE(details->transfers, CTS) | PLACE(details->transfer_offset[0], CTOFFSET1) |
	       PLACE(details->transfer_offset[1], CTOFFSET2) |
	       PLACE(details->cause_offset, CAUSEOFFSET) | PLACE(details->cause, CAUSE);
}

struct pesa_error *pesa_record_read(const void *raw, size_t size, struct pesa_record *record)
{
	struct pesa_record read;

	if (raw_record_read(raw, size, &read)) {
		*record = read;
		return NULL;
	}
	if (size < PESA_RECORD_SIZE)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "raw record of %zu bytes, a sample has at least %d", size,
					 PESA_RECORD_SIZE);
	if (read.version != PESA_RECORD_VERSION)
		return pesa_error_create(PESA_ERROR_FORMAT, "raw record of unknown version %u",
					 read.version);
	if (read.size < PESA_RECORD_SIZE || read.size > size)
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"raw record says it has %u bytes of the %zu that are there", read.size,
			size);
	return pesa_error_create(PESA_ERROR_FORMAT, "raw record with XLEN %u", read.xlen);
}

const char *pesa_unattributed_name(enum pesa_unattributed reason)
{
	static const char *const names[PESA_UNATTRIBUTED_REASONS] = {
		[PESA_UNATTRIBUTED_NO_DETAILS] = "no_details",
		[PESA_UNATTRIBUTED_UNMAPPED] = "unmapped",
		[PESA_UNATTRIBUTED_NO_TEXT] = "no_text",
		[PESA_UNATTRIBUTED_UNDECODABLE] = "undecodable",
		[PESA_UNATTRIBUTED_TRANSFERS] = "transfers",
		[PESA_UNATTRIBUTED_SCRUBBED] = "scrubbed",
		[PESA_UNATTRIBUTED_IMPOSSIBLE] = "impossible",
	};

	return (unsigned int)reason < PESA_UNATTRIBUTED_REASONS ? names[reason] : "unknown";
}

/* ---- Which records are possible -------------------------------------------------------------- */

/* Instructions are aligned to 2 bytes, and RV32 has 32 address bits. */
static bool is_address(const struct pesa_record *record, uint64_t address)
{
	return !(address & 1) && (record->xlen != 32 || address <= UINT32_MAX);
}

/* Whether a target register of the record holds a target, and not a zero left by scrubbing. */
static bool has_target(const struct pesa_record *record, unsigned int transfer)
{
	static const uint32_t flags[2] = {PESA_RECORD_HAS_BT1, PESA_RECORD_HAS_BT2};

	return record->flags & flags[transfer] &&
	       (record->bt[transfer] || !(record->flags & PESA_RECORD_SCRUBBED));
}

/* Whether the fields of a retiring record agree with each other. */
static bool retiring_is_possible(const struct pesa_record *record,
				 const struct pesa_details *details)
{
	unsigned int instret = details->instret, earliest = 1;

	if (!instret || details->cause_offset > instret + 1u)
		return false;
	for (unsigned int i = 0; i < 2 && i < details->transfers; i++) {
		unsigned int offset = details->transfer_offset[i];

		/* A core without target registers may also omit the offset: 0. */
		if (!offset && !has_target(record, i))
			continue;
		if (offset < earliest || offset > instret)
			return false;
		if (has_target(record, i) && !is_address(record, record->bt[i]))
			return false;
		earliest = offset;
	}
	return true;
}

/* ---- Retiring cycles ------------------------------------------------------------------------- */

/* The transfers in the record itself. */
static void transfers_of_record(const struct pesa_record *record, struct pesa_walk_paths *paths)
{
	const struct pesa_details *details = &paths->details;

	memset(paths->transfer, 0, sizeof(paths->transfer));
	for (unsigned int i = 0; i < 2 && i < details->transfers; i++) {
		struct pesa_known_transfer *known = &paths->transfer[i];

		known->offset = details->transfer_offset[i];
		known->has_to = has_target(record, i);
		known->to = known->has_to ? record->bt[i] : 0;
	}
	for (unsigned int i = 0; i < details->transfers; i++)
		paths->transfer[i].hidden = record->flags & PESA_RECORD_SCRUBBED;
}

/*
 * Add the transfers from the branch stack: its newest entries are the transfers of this cycle, and
 * the newest entry is the last transfer.  Returns false if the stack contradicts the record: then
 * the stack is of another cycle.
 */
static bool transfers_of_branches(const struct pesa_record *record,
				  const struct pesa_branch_entry *branches, size_t count,
				  struct pesa_walk_paths *paths)
{
	unsigned int transfers = paths->details.transfers;

	for (unsigned int i = 0; i < transfers && i < count; i++) {
		struct pesa_known_transfer *known = &paths->transfer[transfers - 1 - i];

		/* the kernel's privacy rules replace an address in perf's entries by 0 */
		if (branches[i].to && is_address(record, branches[i].to)) {
			if (known->has_to && known->to != branches[i].to)
				return false;
			known->has_to = true;
			known->to = branches[i].to;
		}
		if (branches[i].from && is_address(record, branches[i].from)) {
			known->has_from = true;
			known->from = branches[i].from;
		}
	}
	return true;
}

static void walk_retiring(const struct pesa_record *record, const struct pesa_text *text,
			  const struct pesa_branch_entry *branches, size_t branch_count,
			  const struct pesa_details *details, struct pesa_walk_result *result)
{
	struct pesa_walk_paths paths = {
		.text = text,
		.details = *details,
		.pc = record->pc,
		.mask = record->xlen == 32 ? UINT32_MAX : UINT64_MAX,
	};
	uint32_t share = PESA_CYCLE / details->instret;

	transfers_of_record(record, &paths);
	if (branches && branch_count && details->transfers &&
	    transfers_of_branches(record, branches, branch_count, &paths) &&
	    pesa_walk_paths(&paths, result))
		return;
	transfers_of_record(record, &paths);
	if (pesa_walk_paths(&paths, result))
		return;
	/* No path through the text fits the record: only the addresses in the record are
	 * certain. */
	result->step_count = 1;
	result->step[0] = (struct pesa_step){
		.address = record->pc,
		.weight = share,
		.role = PESA_ROLE_RETIRED,
		.state = PESA_STATE_RETIRING,
		.cause = details->cause_offset == 1 ? details->cause : 0,
	};
	result->unattributed[PESA_UNATTRIBUTED_IMPOSSIBLE] = PESA_CYCLE - share;
}

/* ---- Any cycle ------------------------------------------------------------------------------- */

static void whole_cycle(struct pesa_walk_result *result, uint64_t address, enum pesa_role role,
			uint8_t state, uint16_t cause)
{
	result->step_count = 1;
	result->step[0] = (struct pesa_step){
		.address = address,
		.weight = PESA_CYCLE,
		.role = (uint8_t)role,
		.state = state,
		.cause = cause,
	};
}

void pesa_walk(const struct pesa_record *record, const struct pesa_text *text,
	       const struct pesa_branch_entry *branches, size_t branch_count,
	       struct pesa_walk_result *result)
{
	static const enum pesa_role roles[PESA_STATE_COUNT] = {
		[PESA_STATE_RETIRING] = PESA_ROLE_RETIRED,
		[PESA_STATE_STALLED] = PESA_ROLE_STALLED,
		[PESA_STATE_FLUSHED] = PESA_ROLE_FLUSH_CAUSE,
		[PESA_STATE_DRAINED] = PESA_ROLE_DRAINED_NEXT,
	};
	const struct pesa_details details = pesa_details_unpack(record->details);

	result->step_count = 0;
	result->transfer_count = 0;
	memset(result->unattributed, 0, sizeof(result->unattributed));

	if (!record->pc && record->flags & PESA_RECORD_SCRUBBED)
		result->unattributed[PESA_UNATTRIBUTED_SCRUBBED] = PESA_CYCLE;
	else if (!(record->flags & PESA_RECORD_HAS_DETAILS) && !record->pc)
		result->unattributed[PESA_UNATTRIBUTED_NO_DETAILS] = PESA_CYCLE;
	else if (!(record->flags & PESA_RECORD_HAS_DETAILS))
		whole_cycle(result, record->pc, PESA_ROLE_PLAIN, PESA_STATE_UNKNOWN,
			    record->flags & PESA_RECORD_HAS_CAUSES ? details.cause : 0);
	else if (!is_address(record, record->pc))
		result->unattributed[PESA_UNATTRIBUTED_IMPOSSIBLE] = PESA_CYCLE;
	else if (details.state == PESA_STATE_RETIRING && retiring_is_possible(record, &details))
		walk_retiring(record, text, branches, branch_count, &details, result);
	else if (details.state == PESA_STATE_RETIRING || details.instret || details.transfers ||
		 details.cause_offset > 1)
		result->unattributed[PESA_UNATTRIBUTED_IMPOSSIBLE] = PESA_CYCLE;
	else
		whole_cycle(result, record->pc, roles[details.state], details.state,
			    details.cause_offset == 1 ? details.cause : 0);
}
