/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LLVM's sample profile in its extensible binary form (llvm/ProfileData/SampleProfReader.h):
 *
 *	magic, version					ULEB128
 *	number of sections				64 bits
 *	each: type, flags, offset, size			64 bits each
 *	section of the summary, of names, of places of functions, of functions, of checksums (with
 *	pseudo probes only)
 *
 * A compiler reads only the functions that it compiles, by the section of places: number of functions,
 * each: name, offset in the section of functions.
 *
 * Numbers in sections are ULEB128.  A function: times it was entered, then its body: name,
 * executions of its lines, number of lines, each: offset, discriminator, executions, number of
 * calls, each: name, times; number of inlined calls, each: offset, discriminator, body.  Checksums of a
 * function: name, checksum, number of inlined calls, each: offset, discriminator, checksums.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/pgo/write.h"

/* "SPROF42" and the number of the format, extensible binary. */
#define MAGIC		(UINT64_C(0x5350524f46343200) | 4)
#define VERSION		103u
#define SECTION_SUMMARY 1u
#define SECTION_NAMES	2u
#define SECTION_PLACES	4u
#define SECTION_CHECKS	5u
#define SECTION_BODIES	32u
/* Flags of sections: the upper half is for one section each. */
#define PROBED (UINT64_C(1) << 32) /* SECTION_CHECKS: of pseudo probes */
#define UNIQUE (UINT64_C(1) << 34) /* SECTION_NAMES: some of -funique-internal-linkage-names */

/* Shares of all executions, in millionths, of which the summary tells by how few lines they are
 * reached: those of LLVM's own. */
static const uint32_t cutoffs[] = {10000,  100000, 200000, 300000, 400000, 500000, 600000, 700000,
				   800000, 900000, 950000, 990000, 999000, 999900, 999990, 999999};

struct bytes {
	uint8_t *byte;
	size_t size, room;
	bool failed; /* out of memory: what follows is dropped */
};

static void put(struct bytes *bytes, const void *from, size_t size)
{
	if (bytes->size + size > bytes->room) {
		size_t room = 2 * (bytes->size + size) + 4096;
		uint8_t *larger = bytes->failed ? NULL : realloc(bytes->byte, room);

		if (!larger) {
			bytes->failed = true;
			return;
		}
		bytes->byte = larger;
		bytes->room = room;
	}
	memcpy(bytes->byte + bytes->size, from, size);
	bytes->size += size;
}

static void put_number(struct bytes *bytes, uint64_t value)
{
	do {
		uint8_t byte = value & 0x7f;

		value >>= 7;
		if (value)
			byte |= 0x80;
		put(bytes, &byte, 1);
	} while (value);
}

static void put_fixed(struct bytes *bytes, uint64_t value)
{
	for (unsigned int i = 0; i < 8; i++)
		put(bytes, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

/* ---- Sections -------------------------------------------------------------------------------- */

static int larger_first(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a > b ? -1 : a < b;
}

/*
 * For each share, the executions of the lines that reach it, and how many lines have that many or
 * more.  Lines of equal executions are taken together, as LLVM does when it reads the text form.
 */
static void put_cutoffs(struct bytes *bytes, const uint64_t *count, size_t lines, uint64_t total)
{
	uint64_t sum = 0, least = 0;
	size_t at = 0;

	put_number(bytes, sizeof(cutoffs) / sizeof(*cutoffs));
	for (size_t i = 0; i < sizeof(cutoffs) / sizeof(*cutoffs); i++) {
		/* The share without the products' overflow. */
		uint64_t wanted =
			total / 1000000 * cutoffs[i] + total % 1000000 * cutoffs[i] / 1000000;

		while (at < lines && sum < wanted) {
			least = count[at];
			while (at < lines && count[at] == least)
				sum += count[at++];
		}
		put_number(bytes, cutoffs[i]);
		put_number(bytes, least);
		put_number(bytes, at);
	}
}

/* Append the executions of the lines of a function, and of those that were inlined into it. */
static void collect_counts(const struct pgo_tree *tree, uint32_t function, uint64_t *count,
			   size_t *lines)
{
	struct pgo_range range = pgo_lines(tree, function);
	struct pgo_range inlined = pgo_children(tree, function);

	for (uint32_t i = range.begin; i < range.end; i++)
		count[(*lines)++] = pgo_count(pgo_line_at(tree, tree->line[i])->executions);
	for (uint32_t i = inlined.begin; i < inlined.end; i++)
		collect_counts(tree, tree->function[i], count, lines);
}

static struct pesa_error *put_summary(struct bytes *bytes, const struct pgo_tree *tree,
				      uint64_t functions)
{
	struct pgo_range roots = pgo_children(tree, PGO_NONE);
	uint64_t *count = calloc((size_t)tree->lines.index.count + 1, sizeof(*count));
	uint64_t total = 0, entered = 0;
	size_t lines = 0;

	if (!count)
		return pesa_error_no_memory();
	for (uint32_t i = roots.begin; i < roots.end; i++) {
		const struct pgo_function *root = pgo_function_at(tree, tree->function[i]);
		uint64_t here = pgo_count(root->entered);

		if (!pgo_count(root->total))
			continue;
		entered = here > entered ? here : entered;
		collect_counts(tree, tree->function[i], count, &lines);
	}
	for (size_t i = 0; i < lines; i++)
		total += count[i];
	qsort(count, lines, sizeof(*count), larger_first);
	put_number(bytes, total);
	put_number(bytes, count[0]);
	put_number(bytes, entered);
	put_number(bytes, lines);
	put_number(bytes, functions);
	put_cutoffs(bytes, count, lines, total);
	free(count);
	return NULL;
}

static void put_names(struct bytes *bytes, const struct pgo_tree *tree)
{
	put_number(bytes, tree->texts.index.count);
	for (uint32_t i = 0; i < tree->texts.index.count; i++) {
		const char *name = distinct_text_at(&tree->texts, i);

		put(bytes, name, strlen(name) + 1);
	}
}

static void put_line(struct bytes *bytes, const struct pgo_tree *tree, const struct pgo_line *line)
{
	struct pgo_range calls = pgo_calls(tree, line->function, &line->place);

	put_number(bytes, line->place.offset);
	put_number(bytes, line->place.discriminator);
	put_number(bytes, pgo_count(line->executions));
	put_number(bytes, calls.end - calls.begin);
	for (uint32_t i = calls.begin; i < calls.end; i++) {
		put_number(bytes, pgo_call_at(tree, tree->call[i])->name);
		put_number(bytes, pgo_count(pgo_call_at(tree, tree->call[i])->executions));
	}
}

static void put_body(struct bytes *bytes, const struct pgo_tree *tree, uint32_t function,
		     struct pesa_pgo_summary *summary)
{
	struct pgo_range lines = pgo_lines(tree, function);
	struct pgo_range inlined = pgo_children(tree, function);

	put_number(bytes, pgo_function_at(tree, function)->name);
	put_number(bytes, pgo_count(pgo_function_at(tree, function)->total));
	put_number(bytes, lines.end - lines.begin);
	for (uint32_t i = lines.begin; i < lines.end; i++)
		put_line(bytes, tree, pgo_line_at(tree, tree->line[i]));
	summary->records += lines.end - lines.begin;
	put_number(bytes, inlined.end - inlined.begin);
	for (uint32_t i = inlined.begin; i < inlined.end; i++) {
		const struct pgo_function *child = pgo_function_at(tree, tree->function[i]);

		put_number(bytes, child->place.offset);
		put_number(bytes, child->place.discriminator);
		put_body(bytes, tree, tree->function[i], summary);
	}
}

static void put_bodies(struct bytes *bytes, struct bytes *places, const struct pgo_tree *tree,
		       struct pesa_pgo_summary *summary)
{
	struct pgo_range roots = pgo_children(tree, PGO_NONE);
	uint64_t count = 0;

	for (uint32_t i = roots.begin; i < roots.end; i++)
		count += pgo_count(pgo_function_at(tree, tree->function[i])->total) > 0;
	put_number(places, count);

	for (uint32_t i = roots.begin; i < roots.end; i++) {
		const struct pgo_function *root = pgo_function_at(tree, tree->function[i]);

		if (!pgo_count(root->total))
			continue;
		put_number(places, root->name);
		put_number(places, bytes->size);
		put_number(bytes, pgo_count(root->entered));
		put_body(bytes, tree, tree->function[i], summary);
		summary->functions++;
	}
}

static void put_checksums(struct bytes *bytes, const struct pgo_tree *tree, uint32_t function)
{
	struct pgo_range inlined = pgo_children(tree, function);

	put_number(bytes, pgo_function_at(tree, function)->name);
	put_number(bytes, pgo_function_at(tree, function)->checksum);
	put_number(bytes, inlined.end - inlined.begin);
	for (uint32_t i = inlined.begin; i < inlined.end; i++) {
		const struct pgo_function *child = pgo_function_at(tree, tree->function[i]);

		put_number(bytes, child->place.offset);
		put_number(bytes, child->place.discriminator);
		put_checksums(bytes, tree, tree->function[i]);
	}
}

static void put_all_checksums(struct bytes *bytes, const struct pgo_tree *tree)
{
	struct pgo_range roots = pgo_children(tree, PGO_NONE);

	for (uint32_t i = roots.begin; i < roots.end; i++)
		if (pgo_count(pgo_function_at(tree, tree->function[i])->total))
			put_checksums(bytes, tree, tree->function[i]);
}

/* ---- File ------------------------------------------------------------------------------------ */

/* In the order of the file. */
enum { SUMMARY, NAMES, PLACES, BODIES, CHECKS, SECTIONS };

static bool has_unique_names(const struct pgo_tree *tree)
{
	for (uint32_t i = 0; i < tree->texts.index.count; i++)
		if (strstr(distinct_text_at(&tree->texts, i), ".__uniq."))
			return true;
	return false;
}

static void write_sections(const struct bytes *section, const struct pgo_tree *tree, FILE *out)
{
	const unsigned int sections = tree->probed ? SECTIONS : CHECKS;
	const uint64_t flags[SECTIONS] = {
		[NAMES] = has_unique_names(tree) ? UNIQUE : 0, [CHECKS] = PROBED};
	static const uint32_t type[SECTIONS] = {
		[SUMMARY] = SECTION_SUMMARY, [NAMES] = SECTION_NAMES,	[PLACES] = SECTION_PLACES,
		[BODIES] = SECTION_BODIES,   [CHECKS] = SECTION_CHECKS,
	};
	struct bytes head = {0};
	uint64_t offset;

	put_number(&head, MAGIC);
	put_number(&head, VERSION);
	offset = head.size + 8 + (uint64_t)sections * 4 * 8;
	put_fixed(&head, sections);
	for (unsigned int i = 0; i < sections; i++) {
		put_fixed(&head, type[i]);
		put_fixed(&head, flags[i]);
		put_fixed(&head, offset);
		put_fixed(&head, section[i].size);
		offset += section[i].size;
	}
	fwrite(head.byte, 1, head.size, out);
	for (unsigned int i = 0; i < sections; i++)
		fwrite(section[i].byte, 1, section[i].size, out);
	free(head.byte);
}

struct pesa_error *pgo_write_llvm_binary(const struct pgo_tree *tree,
					 struct pesa_pgo_summary *summary, FILE *out)
{
	struct bytes section[SECTIONS] = {0};
	struct pesa_error *error;
	bool failed = false;

	put_bodies(&section[BODIES], &section[PLACES], tree, summary);
	put_names(&section[NAMES], tree);
	error = put_summary(&section[SUMMARY], tree, summary->functions);
	if (tree->probed)
		put_all_checksums(&section[CHECKS], tree);
	for (unsigned int i = 0; i < SECTIONS; i++)
		failed |= section[i].failed;
	if (!error && failed)
		error = pesa_error_no_memory();
	if (!error)
		write_sections(section, tree, out);
	for (unsigned int i = 0; i < SECTIONS; i++)
		free(section[i].byte);
	return error;
}
