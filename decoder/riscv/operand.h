/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing assembly operands: the inverse of the operand printers in print.c.
 *
 * Functions named riscv_take_ parse one token and advance the cursor; on failure they return false.
 */
#ifndef PESA_RISCV_OPERAND_H
#define PESA_RISCV_OPERAND_H

#include "decoder/riscv/encode.h"
#include "pesa/assemble.h"

/* The unparsed rest of a line. */
struct riscv_cursor {
	const char *at, *end;
};

/* Result of parsing the operands of a line. */
struct riscv_reading {
	const struct pesa_isa *isa;
	struct riscv_cursor cursor;
	struct riscv_values values;
	enum pesa_symbol_use use;
	const char *symbol; /* NULL: none */
	size_t symbol_length;
};

/* Take this character, after optional blanks.  False: another character follows. */
bool riscv_take(struct riscv_cursor *cursor, char character);

/* A register of any file. */
bool riscv_take_register(struct riscv_cursor *cursor, unsigned int *number);

/* Take an unambiguous decimal or hexadecimal number, with an optional minus. */
bool riscv_take_number(struct riscv_cursor *cursor, int64_t *value);

/* Take the letters, digits, '.', '_' and '$' of a name; returns its length, 0: none. */
size_t riscv_take_name(struct riscv_cursor *cursor, const char **name);

/* Take a name that is not a register. */
bool riscv_take_symbol(struct riscv_cursor *cursor, const char **symbol, size_t *length);

/* Whether only blanks are left. */
bool riscv_at_end(struct riscv_cursor *cursor);

/*
 * Parse the operands in a format (see riscv_formats), up to the end of the line.  False: they do
 * not match the opcode.
 */
bool riscv_read_operands(struct riscv_reading *reading, unsigned int opcode, const char *format);

#endif
