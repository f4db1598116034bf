/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "tools/advise/hints.h"

#define FRAMES_MAX 64

static uint64_t count_of(double executions)
{
	return executions > 0 ? (uint64_t)executions : 0;
}

/* A line of the file is a name and numbers: no linker's name has blanks or control characters. */
static bool has_names(const struct pesa_source_frame *frame, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = frame[i].function;

		if (!name || !*name)
			return false;
		for (; *name; name++)
			if ((unsigned char)*name <= ' ' || *name == 0x7f)
				return false;
	}
	return count > 0;
}

static void write_place(const struct pesa_source_frame *frame, unsigned int depth, FILE *out)
{
	fprintf(out, "%*s%u", (int)depth, "", (frame->line - frame->begins) & 0xffff);
	if (frame->discriminator)
		fprintf(out, ".%u", frame->discriminator);
	fputs(": ", out);
}

/* The function, the calls that were inlined, outermost first, and the line. */
static void write_hint(const struct pesa_source_frame *frame, size_t count,
		       const struct pesa_advice_remark *remark, FILE *out)
{
	const uint64_t executions = count_of(remark->executions);
	unsigned int depth = 1;

	fprintf(out, "%s:%" PRIu64 ":0\n", frame[count - 1].function, executions);
	for (size_t i = count - 1; i > 0; i--) {
		write_place(&frame[i], depth++, out);
		fprintf(out, "%s:%" PRIu64 "\n", frame[i - 1].function, executions);
	}
	write_place(&frame[0], depth, out);
	fprintf(out, "%" PRIu64 " __prefetch_t0_0:%" PRIu64 "\n", executions,
		(uint64_t)(remark->stride * remark->distance));
}

struct pesa_error *advise_write_hints(const struct profile_input *input,
				      const struct pesa_advice *advice, FILE *out, size_t *count)
{
	struct pesa_error *error = NULL;

	*count = 0;
	for (size_t i = 0; i < pesa_advice_count(advice) && !error; i++) {
		const struct pesa_advice_remark *remark = pesa_advice_remark(advice, i);
		struct pesa_source_frame frame[FRAMES_MAX];
		size_t frames;

		if (remark->kind != PESA_ADVICE_PREFETCH || remark->address != PESA_ADVICE_STRIDE ||
		    !remark->distance)
			continue;
		error = pesa_symbols_source_frames(input->symbols, remark->place.dso,
						   remark->place.address, frame, FRAMES_MAX,
						   &frames);
		if (error || !has_names(frame, frames))
			continue;
		write_hint(frame, frames, remark, out);
		++*count;
	}
	return error;
}
