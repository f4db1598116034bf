// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Export of folded stacks.  Each stack is a line: frames from the outermost to the innermost with
 * semicolons between them, a blank, and integer cycles.  The format is that of FlameGraph's
 * stackcollapse programs (github.com/brendangregg/FlameGraph), which flamegraph.pl and many other
 * tools read.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/stacks.h"
#include "decoder/base/terminal_text.h"

/* Replace the frame separator in names; line separators are escaped. */
static struct pesa_error *print_frame(FILE *out, const char *name)
{
	while (*name) {
		size_t length = strcspn(name, ";");
		char *part = strndup(name, length);

		if (!part)
			return pesa_error_no_memory();
		terminal_text_print(out, part);
		free(part);
		name += length;
		if (*name) {
			fputc(':', out);
			name++;
		}
	}
	return NULL;
}

static struct pesa_error *print_stack(const struct export_writing *writing,
				      const struct export_stacks *stacks, uint32_t number,
				      uint64_t cycles)
{
	const struct distinct_bytes *texts = &writing->frames.texts;
	struct pesa_error *error = NULL;
	size_t length;
	uint32_t *path = export_stack_path(stacks, number, &length);

	if (!path)
		return pesa_error_no_memory();
	for (size_t i = 0; i < length && !error; i++) {
		const struct export_shown *shown = distinct_records_at(&stacks->shown, path[i]);

		if (i)
			fputc(';', writing->out);
		error = print_frame(writing->out, distinct_text_at(texts, shown->name));
	}
	fprintf(writing->out, " %" PRIu64 "\n", cycles);
	free(path);
	return error;
}

struct pesa_error *export_folded(struct export_writing *writing)
{
	struct export_rounding rounding = {0};
	struct export_stacks stacks;
	struct pesa_error *error = export_stacks_make(&stacks, writing, EXPORT_ROOT_PROCESS);

	for (uint32_t i = 0; !error && i < stacks.ordered; i++) {
		uint64_t cycles =
			export_round(&rounding, export_stack_at(&stacks, stacks.order[i])->weight);

		if (cycles)
			error = print_stack(writing, &stacks, stacks.order[i], cycles);
	}
	export_stacks_free(&stacks);
	return error;
}
