// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing the collected data: formats, order, and the parts common to all formats. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/write.h"

static const struct {
	const char *name;
	export_function_of_format *write;
} formats[PESA_EXPORT_FORMATS] = {
	[PESA_EXPORT_PPROF] = {"pprof", export_pprof},
	[PESA_EXPORT_FOLDED] = {"folded", export_folded},
	[PESA_EXPORT_SPEEDSCOPE] = {"speedscope", export_speedscope},
	[PESA_EXPORT_FIREFOX] = {"firefox", export_firefox},
};

const char *pesa_export_format_name(enum pesa_export_format format)
{
	return formats[format].name;
}

bool pesa_export_format_parse(const char *name, enum pesa_export_format *format)
{
	for (unsigned int i = 0; i < PESA_EXPORT_FORMATS; i++) {
		if (strcmp(name, formats[i].name))
			continue;
		*format = (enum pesa_export_format)i;
		return true;
	}
	return false;
}

static int compare(uint64_t left, uint64_t right)
{
	return left < right ? -1 : left > right;
}

static int by_state_and_place(const void *left, const void *right, void *context)
{
	const struct export_row *a = *(const struct export_row *const *)left;
	const struct export_row *b = *(const struct export_row *const *)right;
	const struct export_writing *writing = context;
	const struct export_node *x = export_node_at(writing, a->node);
	const struct export_node *y = export_node_at(writing, b->node);
	int order = compare(a->state, b->state);

	order = order ? order : compare(a->cause, b->cause);
	order = order ? order : compare(x->dso, y->dso);
	order = order ? order : compare(x->address, y->address);
	order = order ? order : compare(a->node, b->node);
	return order ? order : compare(a->task, b->task);
}

static struct pesa_error *sort_rows(struct export_writing *writing)
{
	const struct distinct_records *rows = &writing->rows->rows;

	writing->count = rows->index.count;
	writing->row = malloc((writing->count + 1) * sizeof(*writing->row));
	if (!writing->row)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < writing->count; i++)
		writing->row[i] = distinct_records_at(rows, i);
	qsort_r(writing->row, writing->count, sizeof(*writing->row), by_state_and_place, writing);
	return NULL;
}

struct pesa_error *pesa_export_write(struct pesa_export *rows, const struct pesa_profile *profile,
				     struct pesa_symbols *symbols,
				     const struct pesa_export_options *options, FILE *out)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(profile);
	struct export_writing writing = {
		.profile = profile,
		.rows = rows,
		.options = options,
		.plain = totals->samples && totals->plain_samples == totals->samples,
		.event = pesa_profile_event(profile),
		.out = out,
	};
	struct pesa_error *error;

	error = export_frames_make(&writing.frames, rows, profile, symbols);
	if (!error)
		error = sort_rows(&writing);
	if (!error)
		error = formats[options->format].write(&writing);
	if (!error && ferror(out))
		error = pesa_error_system(errno, "the export could not be written in full");
	free(writing.row);
	export_frames_free(&writing.frames);
	return error;
}

struct pesa_error *pesa_export_recording(const char *path, const struct pesa_profile_options *load,
					 const struct pesa_export_options *options, FILE *out,
					 size_t *refused)
{
	struct pesa_export *rows = pesa_export_create();
	struct pesa_profile_options with_listener;
	struct pesa_profile *profile = NULL;
	struct pesa_symbols *symbols = NULL;
	struct pesa_error *error;
	const char *first;

	*refused = 0;
	if (!rows)
		return pesa_error_no_memory();
	pesa_profile_options_default(&with_listener);
	if (load)
		with_listener = *load;
	with_listener.listener = pesa_export_listener(rows);
	error = pesa_profile_load(path, &with_listener, &profile);
	if (!error && !(options->addresses_only && options->format == PESA_EXPORT_PPROF))
		error = pesa_symbols_create(profile, with_listener.symbol_root, &symbols);
	if (!error)
		error = pesa_export_write(rows, profile, symbols, options, out);
	if (symbols)
		*refused = pesa_symbols_refused(symbols, &first);
	pesa_symbols_free(symbols);
	pesa_profile_free(profile);
	pesa_export_free(rows);
	return error;
}
