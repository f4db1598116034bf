/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operands of assembly to values: the inverse of the operand printers in print.c. */
#ifndef PESA_RISCV_OPERAND_H
#define PESA_RISCV_OPERAND_H

#include "decoder/riscv/encode.h"
#include "pesa/assemble.h"

/* The rest of a line that is being read. */
struct riscv_cursor {
	const char *at, *end;
};

/* What reading the operands of a line yields. */
struct riscv_reading {
	const struct pesa_isa *isa;
	struct riscv_cursor cursor;
	struct riscv_values values;
	enum pesa_symbol_use use;
	const char *symbol; /* NULL: none */
	size_t symbol_length;
};

/* Take this character, with blanks before it.  False: something else is there. */
bool riscv_take(struct riscv_cursor *cursor, char character);

/* A register of any file. */
bool riscv_take_register(struct riscv_cursor *cursor, unsigned int *number);

/* A decimal or hexadecimal number that cannot be misunderstood, with an optional minus. */
bool riscv_take_number(struct riscv_cursor *cursor, int64_t *value);

/* The letters, digits, '.', '_' and '$' of a name; its length, 0 if there is none. */
size_t riscv_take_name(struct riscv_cursor *cursor, const char **name);

/* A name that is no register's. */
bool riscv_take_symbol(struct riscv_cursor *cursor, const char **symbol, size_t *length);

/* Whether nothing is left but blanks. */
bool riscv_at_end(struct riscv_cursor *cursor);

/*
 * Read the operands that a format (see riscv_formats) names, up to the end of the line.  False:
 * they are not what the opcode has.
 */
bool riscv_read_operands(struct riscv_reading *reading, unsigned int opcode, const char *format);

#endif
