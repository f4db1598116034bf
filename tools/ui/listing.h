/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listing: the disassembled instructions of an address range with their profile.
 *
 * If the text is not available (JIT code, a deleted file) or not RISC-V, the listing has the
 * sampled instructions, by address only.
 */
#ifndef TOOLS_UI_LISTING_H
#define TOOLS_UI_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/estimate.h"
#include "pesa/riscv.h"
#include "tools/ui/profile_input.h"

#define LISTING_TEXT_MAX 192

struct listing_row {
	uint64_t address;
	unsigned int length;	      /* bytes; 0: unknown */
	char text[LISTING_TEXT_MAX];  /* mnemonic, blank, operands; "": unknown */
	bool has_target, conditional; /* direct branch, jump or call; may fall through */
	uint64_t target;
	const struct pesa_instruction *instruction; /* NULL: not sampled */
};

struct listing {
	struct listing_row *row;
	size_t count, room;
	uint64_t weight, hottest; /* of all rows; of the heaviest row */
	bool disassembled;	  /* false: addresses only */
};

/* The ISAs of a profile's dsos, created when first needed. */
struct listing_isas;
/* NULL: out of memory. */
struct listing_isas *listing_isas_create(const struct profile_input *input);
void listing_isas_free(struct listing_isas *isas);

/* Add the instructions in [start, end) of a dso. */
struct pesa_error *listing_add(struct listing *listing, const struct profile_input *input,
			       struct listing_isas *isas, uint32_t dso, uint64_t start,
			       uint64_t end);
/* Add a function's instructions; `symbol` NULL: all sampled code of the dso without a symbol. */
struct pesa_error *listing_function(struct listing *listing, const struct profile_input *input,
				    struct listing_isas *isas, uint32_t dso,
				    const struct pesa_symbol *symbol);
void listing_free(struct listing *listing);

/* Fill in the instruction at row->address; if it is not available, text is "" and length 0. */
void listing_decode(const struct profile_input *input, struct listing_isas *isas, uint32_t dso,
		    struct listing_row *row);

/* *object: an object with the members shared by report's and annotate's "instructions". */
struct pesa_error *listing_json(const struct profile_input *input, uint32_t dso,
				const struct listing_row *row, json_object **object);

/* "2.31 ±0.12", "too few", or "" for an instruction that never retired. */
const char *listing_cost(const struct profile_input *input, const struct ui_terminal *terminal,
			 const struct pesa_instruction *instruction, char *buffer, size_t size);

#endif
