/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads machine code as instructions, see program.h. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/image.h"
#include "pesa/symbols.h"
#include "tools/mca/program.h"
#include "tools/ui/safe_output.h"

struct builder {
	const struct mca_program_options *options;
	struct mca_source *source;
	const struct pesa_isa *isa;
};

static struct pesa_error *add(struct builder *builder, uint64_t address,
			      const struct pesa_insn *insn)
{
	bool program = builder->options->path;
	struct mca_source *source = builder->source;
	unsigned int count = source->count;
	char text[512];

	if (count >= MCA_PATH_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "more than %d instructions; analyse a smaller part",
					 MCA_PATH_MAX);
	if (!(count & (count - 1))) {
		size_t size = count ? 2 * (size_t)count : 1;
		void *instructions, *texts, *addresses;

		instructions = realloc(source->instructions, size * sizeof(*source->instructions));
		if (instructions)
			source->instructions = instructions;
		texts = realloc(source->text, size * sizeof(*source->text));
		if (texts)
			source->text = texts;
		addresses = realloc(source->address, size * sizeof(*source->address));
		if (addresses)
			source->address = addresses;
		if (!instructions || !texts || !addresses)
			return pesa_error_no_memory();
	}
	pesa_insn_print(builder->isa, insn, address, program ? PESA_PRINT_ADDRESSES : 0, text,
			sizeof(text));
	source->text[count] = strdup(*text == '\t' ? text + 1 : text);
	if (!source->text[count])
		return pesa_error_no_memory();
	source->instructions[count] = (struct pesa_mca_instruction){.insn = *insn, .latency = -1};
	source->address[count] = address;
	source->count++;
	return NULL;
}

/* ---- Bytes --------------------------------------------------------------------------------- */

static struct pesa_error *parse_hex(const char *hex, uint8_t **bytes, size_t *size)
{
	uint8_t *result = malloc(strlen(hex) / 2 + 1);
	size_t count = 0;

	if (!result)
		return pesa_error_no_memory();
	for (const char *p = hex; *p;) {
		char digits[3] = {0};

		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1])) {
			free(result);
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "--hex: expected two hexadecimal digits at "
						 "character %zu, found '%.2s'",
						 (size_t)(p - hex) + 1, p);
		}
		memcpy(digits, p, 2);
		result[count++] = strtoul(digits, NULL, 16);
		p += 2;
	}
	*bytes = result;
	*size = count;
	return NULL;
}

static struct pesa_error *read_hex(struct builder *builder)
{
	struct pesa_error *error;
	size_t size, offset = 0;
	uint8_t *bytes;

	error = parse_hex(builder->options->hex, &bytes, &size);
	if (error)
		return error;
	while (offset < size && !error) {
		struct pesa_insn insn;
		unsigned int length =
			pesa_insn_decode(builder->isa, bytes + offset, size - offset, &insn);

		if (length)
			error = add(builder, offset, &insn);
		else
			error = pesa_error_create(PESA_ERROR_UNSUPPORTED,
						  "--hex: no instruction of %s begins at byte %zu",
						  builder->options->isa, offset);
		offset += length;
	}
	if (!error && !size)
		error = pesa_error_create(PESA_ERROR_ARGUMENT, "--hex: no bytes are given");
	free(bytes);
	return error;
}

/* ---- A part of a program ------------------------------------------------------------------- */

static const struct pesa_dso *only_dso(void *context, uint32_t index)
{
	return index ? NULL : context;
}

static struct pesa_error *find_symbol(const char *path, const char *name, uint64_t *start,
				      uint64_t *end)
{
	struct pesa_dso dso = {.path = path, .file = path, .kind = PESA_DSO_FILE};
	const struct pesa_symbol *found[2];
	struct pesa_symbols *symbols;
	struct pesa_error *error = pesa_symbols_create_for(only_dso, &dso, NULL, &symbols);
	const char *problem;
	size_t count;

	if (error)
		return error;
	error = pesa_symbols_by_name(symbols, 0, name, found, 2, &count);
	if (!error)
		error = pesa_symbols_problem(symbols, 0, &problem);
	if (error) {
		pesa_symbols_free(symbols);
		return error;
	}
	if (!count) {
		error = pesa_error_create(PESA_ERROR_NOT_FOUND, "%s: no function '%s'%s%s%s", path,
					  name, problem ? " (" : "", problem ? problem : "",
					  problem ? ")" : "");
	} else if (count > 1) {
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s: there are several functions '%s', at %#" PRIx64
					  " and %#" PRIx64 "; choose one with --range",
					  path, name, found[0]->start, found[1]->start);
	} else {
		*start = found[0]->start;
		*end = found[0]->start + found[0]->size;
	}
	pesa_symbols_free(symbols);
	return error;
}

static struct pesa_error *parse_range(const char *range, uint64_t *start, uint64_t *end)
{
	char *rest, *last;

	errno = 0;
	*start = strtoull(range, &rest, 16);
	if (rest != range && *rest == '-' && isxdigit((unsigned char)rest[1]) &&
	    isxdigit((unsigned char)*range)) {
		*end = strtoull(rest + 1, &last, 16);
		if (!errno && !*last && *end > *start)
			return NULL;
	}
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "--range=%s: expected A-B, two hexadecimal addresses, the second "
				 "one after the last instruction",
				 range);
}

static struct pesa_error *decode(const struct builder *builder, const struct pesa_image *image,
				 uint64_t address, struct pesa_insn *insn)
{
	const uint8_t *bytes;
	size_t size = 0;

	bytes = pesa_image_text_at(image, address, &size);
	if (!bytes)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "%s: there is no text at %#" PRIx64,
					 builder->options->path, address);
	if (!pesa_insn_decode(builder->isa, bytes, size, insn))
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s: no instruction of %s begins at %#" PRIx64,
					 builder->options->path, pesa_image_isa(image), address);
	return NULL;
}

static struct pesa_error *read_part(struct builder *builder, const struct pesa_image *image,
				    uint64_t start, uint64_t end)
{
	struct pesa_error *error = NULL;
	struct pesa_insn insn;

	for (uint64_t address = start; address < end && !error; address += insn.length) {
		error = decode(builder, image, address, &insn);
		if (!error)
			error = add(builder, address, &insn);
	}
	return error;
}

/* ---- A path -------------------------------------------------------------------------------- */

static struct pesa_error *wrong_successor(const struct builder *builder,
					  const struct mca_path *path, unsigned int index,
					  uint64_t address, const char *text)
{
	return pesa_error_create(
		PESA_ERROR_FORMAT, "%s:%u: %#" PRIx64 " cannot follow '%s' at %#" PRIx64,
		builder->options->trace, path->line[index], path->successor[index], text, address);
}

/* Return whether a transfer can go to `successor`; an indirect one can go anywhere. */
static bool possible(const struct builder *builder, const struct pesa_insn *insn, uint64_t address,
		     uint64_t successor)
{
	enum pesa_flow flow = pesa_insn_flow(insn);
	uint64_t target;

	if (!pesa_insn_target(insn, address, &target))
		return true;
	if (pesa_isa_xlen(builder->isa) == 32)
		target = (uint32_t)target;
	return successor == target ||
	       (flow == PESA_FLOW_BRANCH && successor == address + insn->length);
}

static struct pesa_error *read_path(struct builder *builder, const struct pesa_image *image,
				    const struct mca_path *path)
{
	uint64_t address = path->entry;
	struct pesa_error *error;
	unsigned int next = 0;

	for (;;) {
		const struct mca_source *source = builder->source;
		struct pesa_mca_instruction *last;
		struct pesa_insn insn;
		enum pesa_flow flow;

		error = decode(builder, image, address, &insn);
		if (!error)
			error = add(builder, address, &insn);
		if (error || (path->instructions && source->count == path->instructions))
			return error;
		flow = pesa_insn_flow(&insn);
		if (flow == PESA_FLOW_NEXT || flow == PESA_FLOW_TRAP) {
			address += insn.length;
			continue;
		}
		if (next == path->count)
			return NULL;
		last = &builder->source->instructions[source->count - 1];
		last->taken = path->successor[next] != address + insn.length;
		if (path->line && !possible(builder, &insn, address, path->successor[next]))
			return wrong_successor(builder, path, next, address,
					       source->text[source->count - 1]);
		address = path->successor[next++];
	}
}

/* Warn about missing parts of a path from a profile. */
static void warn_of_end(const struct mca_program_options *options, const struct mca_path *path)
{
	static const char *const reasons[] = {
		[MCA_PATH_UNMEASURED] = "the profile has no successor of this instruction",
		[MCA_PATH_LEFT] = "control leaves the program, and its return is not known",
		[MCA_PATH_UNDECODABLE] = "this is not an instruction",
	};

	if (path->end != MCA_PATH_COMPLETE)
		safe_output_message("warning: the path from %s ends at %#" PRIx64 ": %s",
				    options->profile, path->end_address, reasons[path->end]);
	if (path->restarts)
		fprintf(stderr,
			"warning: the path ended and was restarted at its entry %" PRIu64
			" times\n",
			path->restarts);
	if (path->outside)
		fprintf(stderr,
			"warning: %" PRIu64 " calls into other binaries or unmeasured code are not "
			"in the path\n",
			path->outside);
}

static struct pesa_error *make_path(struct builder *builder, const struct pesa_image *image,
				    bool has_entry, uint64_t entry)
{
	const struct mca_program_options *options = builder->options;
	const struct mca_path_from from = {
		.profile = options->profile,
		.program = options->path,
		.image = image,
		.isa = builder->isa,
		.has_entry = has_entry,
		.entry = entry,
		.length = options->length,
	};
	struct mca_path path = {0};
	struct pesa_error *error;

	error = options->trace ? mca_path_read(options->trace, &path)
			       : mca_path_from_profile(&from, &path);
	if (!error)
		error = read_path(builder, image, &path);
	if (!error)
		warn_of_end(options, &path);
	mca_path_free(&path);
	return error;
}

/* ---- The input ----------------------------------------------------------------------------- */

static struct pesa_error *read_program(struct builder *builder)
{
	const struct mca_program_options *options = builder->options;
	uint64_t start = 0, end = 0;
	struct pesa_image *image;
	struct pesa_isa *isa;
	struct pesa_error *error = pesa_image_open(options->path, &image);
	bool part = options->symbol || options->range;

	if (error)
		return error;
	if (!pesa_image_isa(image)) {
		error = pesa_error_create(PESA_ERROR_UNSUPPORTED, "%s is for %s, not for RISC-V",
					  options->path, pesa_image_machine(image));
		pesa_image_close(image);
		return error;
	}
	error = pesa_isa_create(pesa_image_isa(image), &isa);
	if (error) { /* an unknown extension: decode with all known ones that do not conflict */
		pesa_error_free(error);
		error = pesa_isa_create(strncmp(pesa_image_isa(image), "rv32", 4) ? "rv64" : "rv32",
					&isa);
	}
	if (!error) {
		builder->isa = isa;
		if (options->symbol)
			error = find_symbol(options->path, options->symbol, &start, &end);
		else if (options->range)
			error = parse_range(options->range, &start, &end);
		if (!error && (options->trace || options->profile))
			error = make_path(builder, image, part, start);
		else if (!error)
			error = read_part(builder, image, start, end);
		pesa_isa_free(isa);
	}
	pesa_image_close(image);
	return error;
}

struct pesa_error *mca_program_read(const struct mca_program_options *options,
				    struct mca_source *source)
{
	struct builder builder = {.options = options, .source = source};
	struct pesa_error *error;

	memset(source, 0, sizeof(*source));
	if (options->hex) {
		struct pesa_isa *isa;

		error = pesa_isa_create(options->isa, &isa);
		if (!error) {
			builder.isa = isa;
			error = read_hex(&builder);
			pesa_isa_free(isa);
		}
		free(source->address);
		source->address = NULL;
	} else {
		error = read_program(&builder);
	}
	if (!error)
		error = mca_source_whole(source, options->instruments);
	if (error)
		mca_source_free(source);
	return error;
}
