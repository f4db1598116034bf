// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Export for speedscope: JSON in its own file format, profiles of the type "sampled".  Fields and
 * their meaning are those of speedscope's src/lib/file-format-spec.ts
 * (github.com/jlfwong/speedscope).
 *
 * The first profile has all threads; if there are several, each has a profile of its own too.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/json.h"
#include "decoder/export/stacks.h"
#include "pesa/version.h"

static void print_frames(const struct export_writing *writing, const struct export_stacks *stacks)
{
	const struct distinct_bytes *texts = &writing->frames.texts;
	FILE *out = writing->out;

	for (uint32_t i = 0; i < stacks->shown.index.count; i++) {
		const struct export_shown *shown = distinct_records_at(&stacks->shown, i);

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		export_json_text(out, distinct_text_at(texts, shown->name));
		if (shown->file) {
			fputs(",\"file\":", out);
			export_json_text(out, distinct_text_at(texts, shown->file));
		}
		if (shown->line)
			fprintf(out, ",\"line\":%" PRIu32, shown->line);
		fputc('}', out);
	}
}

static struct pesa_error *print_path(FILE *out, const struct export_stacks *stacks, uint32_t number)
{
	size_t length;
	uint32_t *path = export_stack_path(stacks, number, &length);

	if (!path)
		return pesa_error_no_memory();
	for (size_t i = 0; i < length; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "[", path[i]);
	fputc(']', out);
	free(path);
	return NULL;
}

/* Print the stacks from stacks->order[first] to stacks->order[end - 1]. */
static struct pesa_error *print_profile(const struct export_writing *writing,
					const struct export_stacks *stacks, const char *name,
					uint32_t first, uint32_t end)
{
	struct export_rounding rounding = {0};
	uint64_t all = 0;
	FILE *out = writing->out;

	fputs("\n{\"type\":\"sampled\",\"unit\":\"none\",\"name\":", out);
	export_json_text(out, name);
	fputs(",\"samples\":[", out);
	for (uint32_t i = first; i < end; i++) {
		struct pesa_error *error;

		fputs(i > first ? ",\n" : "\n", out);
		error = print_path(out, stacks, stacks->order[i]);
		if (error)
			return error;
	}
	fputs("],\"weights\":[", out);
	for (uint32_t i = first; i < end; i++) {
		uint64_t cycles =
			export_round(&rounding, export_stack_at(stacks, stacks->order[i])->weight);

		fprintf(out, "%s%" PRIu64, i > first ? "," : "", cycles);
		all += cycles;
	}
	fprintf(out, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", all);
	return NULL;
}

static struct pesa_error *print_threads(const struct export_writing *writing,
					const struct export_stacks *stacks)
{
	uint32_t end;

	for (uint32_t first = 0; first < stacks->ordered; first = end) {
		uint32_t number = export_stack_at(stacks, stacks->order[first])->thread;
		const struct export_thread *thread = distinct_records_at(&stacks->threads, number);
		const char *text = export_thread_name(writing, thread);
		struct pesa_error *error;
		char name[256];

		end = first;
		while (end < stacks->ordered &&
		       export_stack_at(stacks, stacks->order[end])->thread == number)
			end++;
		snprintf(name, sizeof(name), "%s %" PRIu32 "/%" PRIu32, text ? text : "thread",
			 thread->pid, thread->tid);
		fputc(',', writing->out);
		error = print_profile(writing, stacks, name, first, end);
		if (error)
			return error;
	}
	return NULL;
}

/* Both have the same frames in the same order, because both are made from the same rows. */
static struct pesa_error *print(struct export_writing *writing, const struct export_stacks *all,
				const struct export_stacks *threads)
{
	const char *command = pesa_profile_cmdline(writing->profile);
	FILE *out = writing->out;
	struct pesa_error *error;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"pesa " PESA_VERSION "\",\"name\":",
	      out);
	export_json_text(out, command ? command : "");
	fputs(",\"activeProfileIndex\":0,\"shared\":{\"frames\":[", out);
	print_frames(writing, all);
	fputs("]},\n\"profiles\":[", out);
	error = print_profile(writing, all, writing->plain ? writing->event : "cycles", 0,
			      all->ordered);
	if (!error && threads->threads.index.count > 1)
		error = print_threads(writing, threads);
	fputs("]}\n", out);
	return error;
}

struct pesa_error *export_speedscope(struct export_writing *writing)
{
	struct export_stacks all, threads = {0};
	struct pesa_error *error = export_stacks_make(&all, writing, EXPORT_ROOT_ALL);

	if (!error)
		error = export_stacks_make(&threads, writing, EXPORT_ROOT_THREAD);
	if (!error)
		error = print(writing, &all, &threads);
	export_stacks_free(&all);
	export_stacks_free(&threads);
	return error;
}
