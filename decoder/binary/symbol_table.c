/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/intervals.h"
#include "decoder/binary/symbol_table.h"

struct entry {
	struct pesa_symbol symbol; /* .name is NULL until first used */
	uint64_t limit;
	size_t order;  /* order of addition */
	size_t chosen; /* index of the symbol used for this address */
	uint8_t binding;
	bool label, latest_wins, has_size;
	char *made; /* owned: the demangled name, or that of a function without a symbol; NULL: not
		     * made yet, or not mangled */
};

/* Names are stored in blocks, so that they never move. */
struct block {
	struct block *next;
	size_t used, room;
	char text[];
};

#define BLOCK_ROOM 65536

struct pesa_symbol_table {
	struct entry *entry;
	size_t count, room, chosen;
	struct block *names;
	struct pesa_intervals intervals;
	char *binary; /* for functions without a symbol */
};

struct pesa_symbol_table *pesa_symbol_table_create(const char *binary)
{
	struct pesa_symbol_table *table = calloc(1, sizeof(*table));

	if (table && !(table->binary = strdup(binary))) {
		free(table);
		return NULL;
	}
	return table;
}

void pesa_symbol_table_free(struct pesa_symbol_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		free(table->entry[i].made);
	free(table->entry);
	free(table->binary);
	while (table->names) {
		struct block *next = table->names->next;

		free(table->names);
		table->names = next;
	}
	pesa_intervals_free(&table->intervals);
	free(table);
}

static const char *keep_name(struct pesa_symbol_table *table, const char *name)
{
	size_t size = strlen(name) + 1;
	struct block *block = table->names;
	char *kept;

	if (!block || block->room - block->used < size) {
		size_t room = size > BLOCK_ROOM ? size : BLOCK_ROOM;

		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		*block = (struct block){.next = table->names, .room = room};
		table->names = block;
	}
	kept = memcpy(block->text + block->used, name, size);
	block->used += size;
	return kept;
}

struct pesa_error *pesa_symbol_table_add(struct pesa_symbol_table *table,
					 const struct pesa_symbol_candidate *symbol)
{
	const char *name = NULL;

	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 256;
		struct entry *grown = realloc(table->entry, room * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		table->entry = grown;
		table->room = room;
	}
	if (symbol->name) {
		name = keep_name(table, symbol->name);
		if (!name)
			return pesa_error_no_memory();
	}
	table->entry[table->count] = (struct entry){
		.symbol = {.linkage_name = name,
			   .start = symbol->start,
			   .size = symbol->size,
			   .local = symbol->binding == PESA_SYMBOL_LOCAL},
		.limit = symbol->limit,
		.order = table->count,
		.binding = (uint8_t)symbol->binding,
		.label = symbol->label,
		.latest_wins = symbol->latest_wins,
		.has_size = symbol->size != 0,
	};
	table->count++;
	return NULL;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* Negative: `a` is the better name for the common address. */
static int prefer(const struct entry *a, const struct entry *b)
{
	const char *a_name = a->symbol.linkage_name, *b_name = b->symbol.linkage_name;
	size_t left, right;

	if (!a_name != !b_name)
		return a_name ? -1 : 1;
	if (a->label != b->label)
		return a->label ? 1 : -1;
	if (a->has_size != b->has_size)
		return a->has_size ? -1 : 1;
	if (a->latest_wins && b->latest_wins)
		return a->order > b->order ? -1 : 1;
	if ((a->binding == PESA_SYMBOL_WEAK) != (b->binding == PESA_SYMBOL_WEAK))
		return a->binding == PESA_SYMBOL_WEAK ? 1 : -1;
	if (a->binding != b->binding)
		return a->binding == PESA_SYMBOL_GLOBAL ? -1 : 1;
	left = a_name ? underscores(a_name) : 0;
	right = b_name ? underscores(b_name) : 0;
	if (left != right)
		return left < right ? -1 : 1;
	left = a_name ? strlen(a_name) : 0;
	right = b_name ? strlen(b_name) : 0;
	if (left != right)
		return left > right ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->symbol.start != b->symbol.start)
		return a->symbol.start < b->symbol.start ? -1 : 1;
	return prefer(a, b);
}

/* End of a symbol without a size: the next symbol, or the end of the section. */
static uint64_t reach(const struct pesa_symbol_table *table, size_t index)
{
	const struct entry *entry = &table->entry[index];
	uint64_t end = entry->limit;

	for (size_t next = index + 1; next < table->count; next++)
		if (table->entry[next].chosen == next) {
			if (!end || table->entry[next].symbol.start < end)
				end = table->entry[next].symbol.start;
			break;
		}
	return end > entry->symbol.start ? end : entry->symbol.start + 1;
}

/* Whether an entry is part of a function: a label of one with a size, and what is called or has its
 * address taken in a symbol that extends to the next one. */
static bool is_inside(const struct entry *entry, uint64_t covered, uint64_t open)
{
	bool named = entry->symbol.linkage_name;

	return ((entry->label || !named) && entry->symbol.start < covered) ||
	       (!named && !entry->has_size && entry->symbol.start < open);
}

struct pesa_error *pesa_symbol_table_finish(struct pesa_symbol_table *table)
{
	const size_t none = SIZE_MAX;
	uint64_t covered = 0; /* end of the functions with a size so far */
	uint64_t open = 0;    /* end of the symbol without a size that is the newest one */
	size_t last = none;

	if (table->count)
		qsort(table->entry, table->count, sizeof(*table->entry), compare);
	for (size_t i = 0; i < table->count; i++) {
		struct entry *entry = &table->entry[i];
		uint64_t end;

		if (last != none && table->entry[last].symbol.start == entry->symbol.start) {
			entry->chosen = last;
			continue;
		}
		if (is_inside(entry, covered, open)) {
			entry->chosen = none;
			continue;
		}
		entry->chosen = i;
		last = i;
		table->chosen++;
		if (entry->symbol.linkage_name)
			open = entry->has_size ? 0 : entry->limit ? entry->limit : UINT64_MAX;
		if (entry->has_size && !entry->label &&
		    !__builtin_add_overflow(entry->symbol.start, entry->symbol.size, &end) &&
		    end > covered)
			covered = end;
	}
	for (size_t i = 0; i < table->count; i++) {
		struct entry *entry = &table->entry[i];
		struct pesa_error *error;
		uint64_t end;

		if (entry->chosen != i)
			continue;
		if (!entry->has_size)
			entry->symbol.size = reach(table, i) - entry->symbol.start;
		if (__builtin_add_overflow(entry->symbol.start, entry->symbol.size, &end))
			end = UINT64_MAX;
		error = pesa_intervals_add(&table->intervals, entry->symbol.start, end, i);
		if (error)
			return error;
	}
	pesa_intervals_sort(&table->intervals);
	return NULL;
}

size_t pesa_symbol_table_count(const struct pesa_symbol_table *table)
{
	return table->chosen;
}

/* Fill in the name of an entry that readers see. */
static struct pesa_error *set_name(const struct pesa_symbol_table *table, struct entry *entry)
{
	struct pesa_error *error;

	if (entry->symbol.name)
		return NULL;
	if (!entry->symbol.linkage_name) {
		if (asprintf(&entry->made, "%s+0x%" PRIx64, table->binary, entry->symbol.start) <
		    0) {
			entry->made = NULL;
			return pesa_error_no_memory();
		}
	} else {
		error = pesa_demangle(entry->symbol.linkage_name, &entry->made);
		if (error)
			return error;
	}
	entry->symbol.name = entry->made ? entry->made : entry->symbol.linkage_name;
	return NULL;
}

struct pesa_error *pesa_symbol_table_find(struct pesa_symbol_table *table, uint64_t address,
					  const struct pesa_symbol **symbol)
{
	const struct pesa_interval *interval = pesa_intervals_find(&table->intervals, address);
	struct entry *entry = interval ? &table->entry[interval->value] : NULL;
	struct pesa_error *error = entry ? set_name(table, entry) : NULL;

	if (!error)
		*symbol = entry ? &entry->symbol : NULL;
	return error;
}

/* "ns::f" for "ns::f(int)" and "ns::f(int) const"; not "ns::" for "ns::(anonymous namespace)::f" */
static bool same_without_parameters(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	return length && !strncmp(name, wanted, length) && name[length] == '(' &&
	       wanted[length - 1] != ':';
}

struct pesa_error *pesa_symbol_table_by_name(struct pesa_symbol_table *table, const char *name,
					     const struct pesa_symbol **found, size_t max,
					     size_t *result)
{
	struct pesa_error *error;
	size_t count = 0;

	for (int loose = 0; loose < 2 && !count; loose++) {
		size_t last = SIZE_MAX;

		for (size_t i = 0; i < table->count && count < max; i++) {
			struct entry *entry = &table->entry[i];

			if (entry->chosen == SIZE_MAX || entry->chosen == last)
				continue;
			error = set_name(table, entry);
			if (error)
				return error;
			if (loose ? !same_without_parameters(entry->symbol.name, name)
				  : strcmp(entry->symbol.name, name) &&
					    (!entry->symbol.linkage_name ||
					     strcmp(entry->symbol.linkage_name, name)))
				continue;
			error = set_name(table, &table->entry[entry->chosen]);
			if (error)
				return error;
			last = entry->chosen;
			found[count++] = &table->entry[last].symbol;
		}
	}
	*result = count;
	return NULL;
}
