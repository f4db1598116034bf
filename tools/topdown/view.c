// SPDX-License-Identifier: GPL-2.0-or-later
/* Computes what `pesa topdown` shows.  See view.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "tools/topdown/view.h"
#include "tools/ui/text.h"

/* ---- Advice -------------------------------------------------------------------------------- */

const char *topdown_advice(enum pesa_topdown_node node)
{
	static const char *const advice[PESA_TOPDOWN_NODES_COUNT] = {
		[PESA_TOPDOWN_SLOTS] = "Begin with the largest part.",
		[PESA_TOPDOWN_RETIRING] =
			"Work that was done: only fewer or wider instructions make it less. Look "
			"at what the hottest ones are for; vectors and better algorithms help, "
			"layout does not.",
		[PESA_TOPDOWN_BAD] =
			"Work that was thrown away. See whether branches or clears did it.",
		[PESA_TOPDOWN_MISPREDICTS] =
			"Branches that nobody can predict: see how often each is taken with 'pesa "
			"annotate'; make it branch-free, sort or split the data, or decide earlier.",
		[PESA_TOPDOWN_CLEARS] =
			"The pipeline was emptied for something else than a branch: see which.",
		[PESA_TOPDOWN_CLEARS_SERIALISING] =
			"System calls, fences and writes of CSRs empty the pipeline: make them "
			"fewer, or move them out of loops.",
		[PESA_TOPDOWN_CLEARS_OTHER] =
			"Loads that ran ahead of an older store to the same place, exceptions or "
			"signals: keep a value in a register rather than store and load it again at once.",
		[PESA_TOPDOWN_FRONTEND] = "Instructions did not come fast enough. See whether they "
					  "came late or too few.",
		[PESA_TOPDOWN_LATENCY] =
			"Nothing arrived for whole cycles: code is far from where it was needed.",
		[PESA_TOPDOWN_LATENCY_ICACHE] = "Code was not in the I-cache: lay hot functions "
						"side by side, keep cold code out of them, inline "
						"and unroll less.",
		[PESA_TOPDOWN_LATENCY_ITLB] =
			"Code is spread over more pages than the instruction "
			"TLB holds: lay hot code together, or use huge pages for it.",
		[PESA_TOPDOWN_LATENCY_OTHER] =
			"Fetch started anew without a miss: behind flushes, and at targets that "
			"were known late. Look at mispredicts first, then at chains of jumps.",
		[PESA_TOPDOWN_BANDWIDTH] =
			"Some arrived, fewer than could retire: taken branches cut fetch groups "
			"short. Align and straighten hot loops, make the likely way fall through.",
		[PESA_TOPDOWN_BACKEND] =
			"Instructions were there and not done. See whether they waited for memory.",
		[PESA_TOPDOWN_MEMORY] =
			"Waiting for data: see which level it came from with --level 3; then its "
			"layout, the order of accesses, and prefetching.",
		[PESA_TOPDOWN_MEMORY_DTLB] =
			"Data is spread over more pages than the TLB holds: keep what is used "
			"together on the same pages, use huge pages.",
		[PESA_TOPDOWN_MEMORY_L1] = "Data came from further out than the L1 cache: make the "
					   "working set smaller, block loops, use what a line "
					   "holds before it leaves.",
		[PESA_TOPDOWN_MEMORY_L2] = "Data was not in the L2 cache: block loops for it, "
					   "prefetch, or split hot from cold fields.",
		[PESA_TOPDOWN_MEMORY_LLC] =
			"Data came from main memory, or from another core: prefetch, stream, do "
			"not chase pointers; of shared data, keep threads off each other's lines.",
		[PESA_TOPDOWN_MEMORY_STORES] =
			"Stores left more slowly than they came: write whole lines, in order, and "
			"less of what nobody reads.",
		[PESA_TOPDOWN_CORE] =
			"Waiting for results that missed nothing: long latencies, chains of "
			"dependences, or units that are busy. 'pesa mca' says which, for a block.",
		[PESA_TOPDOWN_CORE_FORWARD] = "Loads waited for older stores to the same place: "
					      "keep the value in a register.",
		[PESA_TOPDOWN_CORE_SERIALISING] =
			"Instructions that let nobody pass: make fences and CSR accesses fewer.",
		[PESA_TOPDOWN_CORE_EXECUTION] =
			"Latency and dependences: split chains into independent ones, replace "
			"divisions, schedule loads earlier; 'pesa mca --timeline' shows a block.",
	};

	return advice[node];
}

/* ---- Nodes --------------------------------------------------------------------------------- */

bool topdown_is_shown(const struct topdown_view *view, enum pesa_topdown_node node)
{
	return pesa_topdown_nodes[node].level <= view->level;
}

bool topdown_is_last(const struct topdown_view *view, enum pesa_topdown_node node)
{
	if (!topdown_is_shown(view, node))
		return false;
	for (unsigned int i = node + 1; i < PESA_TOPDOWN_NODES_COUNT; i++)
		if (pesa_topdown_nodes[i].parent == node &&
		    topdown_is_shown(view, (enum pesa_topdown_node)i))
			return false;
	return true;
}

size_t topdown_last_nodes(const struct topdown_view *view,
			  enum pesa_topdown_node nodes[PESA_TOPDOWN_NODES_COUNT])
{
	uint64_t slots[PESA_TOPDOWN_NODES_COUNT];
	size_t count = 0;

	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		enum pesa_topdown_node node = (enum pesa_topdown_node)i;
		uint64_t own = pesa_topdown_slots(view->topdown, node);
		size_t at = count;

		if (!own || !topdown_is_last(view, node))
			continue;
		for (; at && slots[at - 1] < own; at--) {
			slots[at] = slots[at - 1];
			nodes[at] = nodes[at - 1];
		}
		slots[at] = own;
		nodes[at] = node;
		count++;
	}
	return count;
}

/* ---- Instructions -------------------------------------------------------------------------- */

size_t topdown_hottest(const struct topdown_view *view, enum pesa_topdown_node node,
		       const struct pesa_topdown_instruction *found[TOPDOWN_HOTTEST_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < view->instructions; i++) {
		const struct pesa_topdown_instruction *one = &view->instruction[i];
		size_t at = count;

		if (!one->slots[node])
			continue;
		for (; at && found[at - 1]->slots[node] < one->slots[node]; at--)
			if (at < view->hottest)
				found[at] = found[at - 1];
		if (at < view->hottest)
			found[at] = one;
		if (count < view->hottest)
			count++;
	}
	return count;
}

struct pesa_estimate topdown_instruction_share(const struct topdown_view *view,
					       const struct pesa_topdown_instruction *instruction,
					       enum pesa_topdown_node node)
{
	return pesa_topdown_part(view->topdown, instruction->slots[node],
				 pesa_topdown_cycles(view->topdown, NULL), PROFILE_CONFIDENCE);
}

static int by_place(const void *left, const void *right)
{
	const struct pesa_topdown_instruction *a = left, *b = right;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static struct pesa_error *make_instructions(struct topdown_view *view)
{
	view->instructions = pesa_topdown_instruction_count(view->topdown);
	view->instruction = calloc(view->instructions + 1, sizeof(*view->instruction));
	if (!view->instruction)
		return pesa_error_no_memory();
	for (size_t i = 0; i < view->instructions; i++)
		pesa_topdown_instruction(view->topdown, i, &view->instruction[i]);
	qsort(view->instruction, view->instructions, sizeof(*view->instruction), by_place);
	return NULL;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

struct row_key {
	uint64_t dso, place;
};

struct row_entry {
	struct row_key key;
	size_t row;
	UT_hash_handle hh;
};

/* NULL: out of memory. */
static struct topdown_row *new_row(struct topdown_view *view)
{
	struct topdown_row *grown;

	if (!(view->rows & (view->rows - 1))) {
		size_t room = view->rows ? 2 * view->rows : 1;

		grown = realloc(view->row, room * sizeof(*grown));
		if (!grown)
			return NULL;
		view->row = grown;
	}
	view->row[view->rows] = (struct topdown_row){0};
	return &view->row[view->rows++];
}

static struct pesa_error *set_label(struct topdown_row *row, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static struct pesa_error *set_label(struct topdown_row *row, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&row->label, format, arguments);
	va_end(arguments);
	if (length >= 0)
		return NULL;
	row->label = NULL;
	return pesa_error_no_memory();
}

/* Label the row of a function or line. */
static struct pesa_error *label_place(const struct topdown_view *view, struct topdown_row *row)
{
	if (view->by == TOPDOWN_BY_SYMBOL)
		return set_label(row, "%s",
				 row->symbol && row->symbol->name ? row->symbol->name
								  : "[unknown]");
	if (!row->source.file)
		return set_label(row, "[no line]");
	return set_label(row, "%s:%u", profile_base_name(row->source.file), row->source.line);
}

/* Find or add the row of an instruction's function or line. */
static struct pesa_error *row_of(struct topdown_view *view, struct row_entry **entries,
				 const struct pesa_topdown_instruction *instruction,
				 struct topdown_row **result)
{
	struct pesa_symbols *symbols = view->input->symbols;
	const struct pesa_symbol *symbol = NULL;
	struct pesa_source source = {0};
	struct row_entry *entry;
	struct topdown_row *row;
	struct pesa_error *error;
	struct row_key key;

	memset(&key, 0, sizeof(key));
	if (view->by == TOPDOWN_BY_LINE) {
		/* File names are interned and live as long as the symbols. */
		error = pesa_symbols_source(symbols, instruction->dso, instruction->address,
					    &source);
		key.dso = (uint64_t)(uintptr_t)source.file;
		key.place = source.line;
	} else {
		error = pesa_symbols_find(symbols, instruction->dso, instruction->address, &symbol);
		key.dso = instruction->dso;
		key.place = symbol ? symbol->start : UINT64_MAX;
	}
	if (error)
		return error;
	HASH_FIND(hh, *entries, &key, sizeof(key), entry);
	if (entry) {
		*result = &view->row[entry->row];
		return NULL;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return pesa_error_no_memory();
	entry->key = key;
	entry->row = view->rows;
	HASH_ADD(hh, *entries, key, sizeof(key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return pesa_error_no_memory();
	}
	row = new_row(view);
	if (!row)
		return pesa_error_no_memory();
	row->dso = instruction->dso;
	row->symbol = symbol;
	row->source = source;
	*result = row;
	return label_place(view, row);
}

static struct pesa_error *make_places(struct topdown_view *view)
{
	struct row_entry *entries = NULL, *entry, *next;
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < view->instructions && !error; i++) {
		struct topdown_row *row;

		error = row_of(view, &entries, &view->instruction[i], &row);
		for (unsigned int node = 0; !error && node < PESA_TOPDOWN_NODES_COUNT; node++)
			row->slots[node] += view->instruction[i].slots[node];
	}
	HASH_ITER(hh, entries, entry, next)
	{
		HASH_DEL(entries, entry);
		free(entry);
	}
	return error;
}

static int by_source(const void *left, const void *right)
{
	const struct topdown_row *a = left, *b = right;
	int order =
		strcmp(a->source.file ? a->source.file : "", b->source.file ? b->source.file : "");

	if (order)
		return order;
	return a->source.line < b->source.line ? -1 : a->source.line > b->source.line;
}

/* A line of a header has a row in each compilation unit: merge them. */
static void merge_lines(struct topdown_view *view)
{
	size_t kept = 0;

	if (view->rows)
		qsort(view->row, view->rows, sizeof(*view->row), by_source);
	for (size_t i = 0; i < view->rows; i++) {
		struct topdown_row *row = &view->row[i];

		if (!kept || by_source(&view->row[kept - 1], row)) {
			view->row[kept++] = *row;
			continue;
		}
		for (unsigned int node = 0; node < PESA_TOPDOWN_NODES_COUNT; node++)
			view->row[kept - 1].slots[node] += row->slots[node];
		free(row->label);
	}
	view->rows = kept;
}

static struct pesa_error *make_groups(struct topdown_view *view)
{
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < pesa_topdown_group_count(view->topdown) && !error; i++) {
		struct topdown_row *row = new_row(view);

		if (!row)
			return pesa_error_no_memory();
		pesa_topdown_group(view->topdown, i, &row->group);
		row->index = i;
		memcpy(row->slots, row->group.slots, sizeof(row->slots));
		if (view->by == TOPDOWN_BY_THREAD)
			error = set_label(row, "process %" PRIu32 ", thread %" PRIu32,
					  row->group.pid, row->group.tid);
		else if (view->by == TOPDOWN_BY_CPU)
			error = set_label(row, "CPU %" PRIu32, row->group.cpu);
		else
			error = set_label(row, "%.3f to %.3f ms", (double)row->group.start / 1e6,
					  (double)row->group.end / 1e6);
	}
	return error;
}

static int most_slots_first(const void *left, const void *right)
{
	const struct topdown_row *a = left, *b = right;

	if (a->slots[PESA_TOPDOWN_SLOTS] != b->slots[PESA_TOPDOWN_SLOTS])
		return a->slots[PESA_TOPDOWN_SLOTS] > b->slots[PESA_TOPDOWN_SLOTS] ? -1 : 1;
	return strcmp(a->label, b->label);
}

static bool is_by_place(const struct topdown_view *view)
{
	return view->by == TOPDOWN_BY_SYMBOL || view->by == TOPDOWN_BY_LINE;
}

static struct pesa_error *make_rows(struct topdown_view *view)
{
	struct pesa_error *error = is_by_place(view) ? make_places(view) : make_groups(view);

	if (error)
		return error;
	if (view->by == TOPDOWN_BY_LINE)
		merge_lines(view);
	if (view->rows && view->by != TOPDOWN_BY_TIME)
		qsort(view->row, view->rows, sizeof(*view->row), most_slots_first);
	return NULL;
}

struct pesa_error *topdown_view_make(struct topdown_view *view)
{
	const struct profile_input_options *options = view->input->options;
	struct pesa_error *error;

	/* Event counts are totals of all threads. */
	view->has_counts = pesa_topdown_counts(view->input->profile, &view->counted) &&
			   options->pid < 0 && options->tid < 0;
	error = make_instructions(view);
	if (error || view->by == TOPDOWN_BY_NOTHING)
		return error;
	return make_rows(view);
}

void topdown_view_free(struct topdown_view *view)
{
	for (size_t i = 0; i < view->rows; i++)
		free(view->row[i].label);
	free(view->row);
	free(view->instruction);
}

struct pesa_estimate topdown_row_share(const struct topdown_view *view,
				       const struct topdown_row *row, enum pesa_topdown_node node)
{
	unsigned int width = pesa_topdown_width(view->topdown, NULL);

	if (!is_by_place(view))
		return pesa_topdown_group_share(view->topdown, row->index, node,
						PROFILE_CONFIDENCE);
	return pesa_topdown_part(view->topdown, row->slots[node],
				 row->slots[PESA_TOPDOWN_SLOTS] / (width ? width : 1),
				 PROFILE_CONFIDENCE);
}

double topdown_row_part(const struct topdown_view *view, const struct topdown_row *row)
{
	double all = (double)pesa_topdown_slots(view->topdown, PESA_TOPDOWN_SLOTS);

	return all > 0 ? (double)row->slots[PESA_TOPDOWN_SLOTS] / all : 0;
}

void topdown_locate(const struct topdown_view *view,
		    const struct pesa_topdown_instruction *instruction,
		    struct topdown_location *location)
{
	const struct profile_input *input = view->input;
	uint32_t dso = instruction->dso;

	*location = (struct topdown_location){
		.symbol = profile_symbol(input, dso, instruction->address),
		.dso = pesa_profile_dso(input->profile, dso)->path,
		.source = profile_source(input, dso, instruction->address),
		.row = {.address = instruction->address},
	};
	location->name = location->symbol && location->symbol->name
				 ? location->symbol->name
				 : profile_base_name(location->dso);
	listing_decode(input, view->isas, dso, &location->row);
}
