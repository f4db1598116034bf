/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text table: each different text once, known by a number that counts from 0 in the order in which
 * they came.
 */
#ifndef TOOLS_TEXT_TABLE_H
#define TOOLS_TEXT_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct text_table;

#define TEXT_NONE UINT32_MAX

struct text_table *text_table_create(void); /* NULL: out of memory */
void text_table_free(struct text_table *table);

/* The number of a text, which is copied.  TEXT_NONE: out of memory, or `text` is NULL. */
uint32_t text_table_number(struct text_table *table, const char *text);
/* How many there are, and one of them, valid until the table is freed. */
uint32_t text_table_count(const struct text_table *table);
const char *text_table_get(const struct text_table *table, uint32_t number);

#endif
