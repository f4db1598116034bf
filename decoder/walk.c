/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk: see include/pesa/walk.h and Documentation/walk.md. */
#include <endian.h>
#include <string.h>

#include "pesa/csr.h"
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
	uint16_t told;

	if (size < PESA_RECORD_SIZE)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "raw record of %zu bytes, a sample has at least %d", size,
					 PESA_RECORD_SIZE);
	memcpy(&read, raw, sizeof(read));
	if (read.version != PESA_RECORD_VERSION)
		return pesa_error_create(PESA_ERROR_FORMAT, "raw record of unknown version %u",
					 read.version);
	told = le16toh(read.size);
	if (told < PESA_RECORD_SIZE || told > size)
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"raw record says it has %u bytes of the %zu that are there", told, size);
	if (read.xlen != 32 && read.xlen != 64)
		return pesa_error_create(PESA_ERROR_FORMAT, "raw record with XLEN %u", read.xlen);
	read.size = told;
	read.flags = le32toh(read.flags);
	read.pc = le64toh(read.pc);
	read.data = le64toh(read.data);
	read.details = le64toh(read.details);
	read.bt[0] = le64toh(read.bt[0]);
	read.bt[1] = le64toh(read.bt[1]);
	*record = read;
	return NULL;
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

/* The walk through one retiring cycle. */
struct walk {
	const struct pesa_record *record;
	const struct pesa_text *text;
	const struct pesa_branch_entry
		*branches; /* newest first; NULL unless they cover the cycle */
	struct pesa_details details;
	struct pesa_walk_result *result;
	uint64_t mask;		     /* of an address, by XLEN */
	uint64_t address;	     /* of the next instruction */
	unsigned int retired;	     /* instructions that got their share */
	unsigned int taken;	     /* control transfers followed */
	enum pesa_unattributed stop; /* why the walk cannot go on */
};

static const struct pesa_branch_entry *branch_of(const struct walk *walk, unsigned int transfer)
{
	return walk->branches ? &walk->branches[walk->details.transfers - 1 - transfer] : NULL;
}

/* Follow the next control transfer, which left from `from` and goes to `target`. */
static void follow(struct walk *walk, uint64_t from, uint64_t target)
{
	struct pesa_walk_result *result = walk->result;

	target &= walk->mask;
	if (result->transfer_count < sizeof(result->transfer) / sizeof(*result->transfer))
		result->transfer[result->transfer_count++] =
			(struct pesa_transfer){.from = from, .to = target};
	walk->address = target;
	walk->taken++;
}

/* Where the next transfer goes, when it happens behind `insn` (NULL: no text).  False: unknown. */
static bool target_of(struct walk *walk, const struct pesa_text_insn *insn, uint64_t *target)
{
	static const uint32_t valid[2] = {PESA_RECORD_HAS_BT1, PESA_RECORD_HAS_BT2};
	const struct pesa_record *record = walk->record;
	const struct pesa_branch_entry *branch = branch_of(walk, walk->taken);

	if (walk->taken < 2 && record->flags & valid[walk->taken]) {
		*target = record->bt[walk->taken];
		if (!*target && record->flags & PESA_RECORD_SCRUBBED) {
			walk->stop = PESA_UNATTRIBUTED_SCRUBBED;
			return false;
		}
		return true;
	}
	if (branch && branch->to) {
		*target = branch->to;
		return true;
	}
	/* A transfer behind the last instruction may be a trap: its text does not say where to. */
	if (insn && insn->has_target && walk->retired < walk->details.instret) {
		*target = insn->target;
		return true;
	}
	walk->stop = branch && record->flags & PESA_RECORD_SCRUBBED ? PESA_UNATTRIBUTED_SCRUBBED
								    : PESA_UNATTRIBUTED_TRANSFERS;
	return false;
}

/*
 * Whether a transfer whose offset the record has no room for (the third and on) happened behind the
 * instruction at `from`.  Returns false and sets walk->stop where that cannot be known.
 */
static bool transfers_here(struct walk *walk, uint64_t from, const struct pesa_text_insn *insn,
			   bool *here)
{
	const struct pesa_branch_entry *branch = branch_of(walk, walk->taken);
	unsigned int left = walk->details.transfers - walk->taken;

	if (branch && branch->from) {
		*here = (branch->from & walk->mask) == from;
		return true;
	}
	switch (insn->flow) {
	case PESA_FLOW_NEXT:
		*here = false;
		return true;
	case PESA_FLOW_BRANCH:
		/* As many transfers as instructions are left: each of them must be one. */
		*here = left > walk->details.instret - walk->retired;
		if (*here)
			return true;
		walk->stop = PESA_UNATTRIBUTED_TRANSFERS;
		return false;
	case PESA_FLOW_TRAP:
		walk->stop = PESA_UNATTRIBUTED_TRANSFERS;
		return false;
	default:
		*here = true;
		return true;
	}
}

/* Whether the transfer to `target` behind an instruction was its own or that of a trap behind it.
 */
static uint8_t transfer_of(const struct pesa_text_insn *insn, enum pesa_text_status status,
			   uint64_t target)
{
	if (status != PESA_TEXT_OK)
		return PESA_STEP_TRANSFER_UNKNOWN;
	if (insn->flow == PESA_FLOW_NEXT || insn->flow == PESA_FLOW_TRAP)
		return PESA_STEP_TRANSFER_NONE;
	if (insn->has_target && insn->target != target)
		return PESA_STEP_TRANSFER_UNKNOWN;
	return PESA_STEP_TRANSFER_TAKEN;
}

/* Go from the instruction at walk->address, which has just retired, to the next one. */
static bool advance(struct walk *walk)
{
	static const enum pesa_unattributed reasons[] = {
		[PESA_TEXT_UNMAPPED] = PESA_UNATTRIBUTED_UNMAPPED,
		[PESA_TEXT_MISSING] = PESA_UNATTRIBUTED_NO_TEXT,
		[PESA_TEXT_UNDECODABLE] = PESA_UNATTRIBUTED_UNDECODABLE,
	};
	const struct pesa_details *details = &walk->details;
	struct pesa_walk_result *result = walk->result;
	struct pesa_step *step = &result->step[result->step_count - 1];
	unsigned int first_transfer = result->transfer_count;
	uint64_t from = walk->address, target;
	struct pesa_text_insn insn;
	enum pesa_text_status status;
	bool here = false;

	status = walk->text->instruction(walk->text->context, from, &insn);
	while (walk->taken < details->transfers && walk->taken < 2 &&
	       details->transfer_offset[walk->taken] == walk->retired) {
		if (!target_of(walk, status == PESA_TEXT_OK ? &insn : NULL, &target))
			return false;
		follow(walk, here ? walk->address : from, target);
		here = true;
	}
	if (here) {
		step->transfer = transfer_of(&insn, status, result->transfer[first_transfer].to);
		return true;
	}
	/* The offsets of all transfers are known, or of the next: not here. */
	if (walk->taken == details->transfers || walk->taken < 2)
		step->transfer = PESA_STEP_TRANSFER_NONE;
	if (status != PESA_TEXT_OK) {
		walk->stop = reasons[status];
		return false;
	}
	if (walk->taken < details->transfers && walk->taken >= 2) {
		if (!transfers_here(walk, from, &insn, &here))
			return false;
		if (here) {
			if (!target_of(walk, &insn, &target))
				return false;
			follow(walk, from, target);
			step->transfer = PESA_STEP_TRANSFER_TAKEN;
			return true;
		}
		step->transfer = PESA_STEP_TRANSFER_NONE;
	}
	/* No transfer here, yet an instruction that always transfers: not the text that ran. */
	if (insn.flow != PESA_FLOW_NEXT && insn.flow != PESA_FLOW_BRANCH &&
	    insn.flow != PESA_FLOW_TRAP) {
		walk->stop = PESA_UNATTRIBUTED_IMPOSSIBLE;
		return false;
	}
	walk->address = (from + insn.length) & walk->mask;
	return true;
}

static void walk_retiring(struct walk *walk)
{
	const struct pesa_details *details = &walk->details;
	struct pesa_walk_result *result = walk->result;
	uint32_t share = PESA_CYCLE / details->instret;

	walk->address = walk->record->pc & walk->mask;
	while (walk->retired < details->instret) {
		struct pesa_step *step = &result->step[result->step_count++];

		walk->retired++;
		*step = (struct pesa_step){
			.address = walk->address,
			.weight = share,
			.role = PESA_ROLE_RETIRED,
			.state = PESA_STATE_RETIRING,
			.cause = details->cause_offset == walk->retired ? details->cause : 0,
		};
		/* Behind the last one the way is only of interest where something is known of it.
		 */
		if (walk->retired == details->instret && walk->taken == details->transfers &&
		    details->cause_offset <= details->instret) {
			step->transfer = PESA_STEP_TRANSFER_NONE;
			return;
		}
		if (!advance(walk)) {
			result->unattributed[walk->stop] +=
				share * (details->instret - walk->retired);
			return;
		}
	}
	if (details->cause_offset == details->instret + 1)
		result->step[result->step_count++] = (struct pesa_step){
			.address = walk->address,
			.role = PESA_ROLE_BLAMED,
			.state = PESA_STATE_RETIRING,
			.cause = details->cause,
		};
}

/* Whether the fields of a retiring record contradict each other. */
static bool retiring_is_possible(const struct pesa_details *details)
{
	unsigned int instret = details->instret;
	unsigned int first = details->transfer_offset[0], second = details->transfer_offset[1];

	if (!instret || details->cause_offset > instret + 1)
		return false;
	if (details->transfers > 0 && (first < 1 || first > instret))
		return false;
	return details->transfers < 2 || (second >= first && second <= instret);
}

void pesa_walk(const struct pesa_record *record, const struct pesa_text *text,
	       const struct pesa_branch_entry *branches, size_t branch_count,
	       struct pesa_walk_result *result)
{
	static const uint8_t roles[PESA_STATE_COUNT] = {
		[PESA_STATE_RETIRING] = PESA_ROLE_RETIRED,
		[PESA_STATE_STALLED] = PESA_ROLE_STALLED,
		[PESA_STATE_FLUSHED] = PESA_ROLE_FLUSH_CAUSE,
		[PESA_STATE_DRAINED] = PESA_ROLE_DRAINED_NEXT,
	};
	struct walk walk = {
		.record = record,
		.text = text,
		.details = pesa_details_unpack(record->details),
		.result = result,
		.mask = record->xlen == 32 ? UINT32_MAX : UINT64_MAX,
	};
	const struct pesa_details *details = &walk.details;

	result->step_count = 0;
	result->transfer_count = 0;
	memset(result->unattributed, 0, sizeof(result->unattributed));

	if (!record->pc && record->flags & PESA_RECORD_SCRUBBED) {
		result->unattributed[PESA_UNATTRIBUTED_SCRUBBED] = PESA_CYCLE;
	} else if (!(record->flags & PESA_RECORD_HAS_DETAILS) && !record->pc) {
		result->unattributed[PESA_UNATTRIBUTED_NO_DETAILS] = PESA_CYCLE;
	} else if (!(record->flags & PESA_RECORD_HAS_DETAILS)) {
		result->step[result->step_count++] = (struct pesa_step){
			.address = record->pc & walk.mask,
			.weight = PESA_CYCLE,
			.role = PESA_ROLE_PLAIN,
			.state = PESA_STATE_UNKNOWN,
		};
	} else if (details->state == PESA_STATE_RETIRING) {
		if (!retiring_is_possible(details)) {
			result->unattributed[PESA_UNATTRIBUTED_IMPOSSIBLE] = PESA_CYCLE;
			return;
		}
		if (branches && branch_count >= details->transfers && details->transfers)
			walk.branches = branches;
		walk_retiring(&walk);
	} else if (details->instret || details->transfers || details->cause_offset > 1) {
		result->unattributed[PESA_UNATTRIBUTED_IMPOSSIBLE] = PESA_CYCLE;
	} else {
		result->step[result->step_count++] = (struct pesa_step){
			.address = record->pc & walk.mask,
			.weight = PESA_CYCLE,
			.role = roles[details->state],
			.state = details->state,
			.cause = details->cause_offset == 1 ? details->cause : 0,
		};
	}
}
