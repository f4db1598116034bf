/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The built-in assembler: makes instructions from assembly source, see reader.h.
 *
 * If it does not support a line, it gives up on the whole source, which is then assembled by
 * another program.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mca/assembly.h"

#define SECTION 1 /* there is one code section; its number does not matter */

static int compare_names(const void *left, const void *right)
{
	const struct mca_name *a = left, *b = right;
	int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);

	return order ? order : (a->length > b->length) - (a->length < b->length);
}

static void names_sort(struct mca_names *names)
{
	if (names->count)
		qsort(names->name, names->count, sizeof(*names->name), compare_names);
}

/* Return whether a sorted list has a name. */
static bool names_have(const struct mca_names *names, struct mca_name name)
{
	return names->count &&
	       bsearch(&name, names->name, names->count, sizeof(name), compare_names);
}

/* ---- Lines --------------------------------------------------------------------------------- */

/* The length of the label at the start of a text, without its colon; 0: no label. */
static size_t label_length(const char *text, size_t length)
{
	size_t used = 0;

	if (!length || !(isalpha((unsigned char)*text) || *text == '_' || *text == '.'))
		return 0;
	while (used < length && (isalnum((unsigned char)text[used]) || text[used] == '_' ||
				 text[used] == '.' || text[used] == '$'))
		used++;
	return used < length && text[used] == ':' && (used > 1 || *text != '.') ? used : 0;
}

static struct pesa_error *add_label(struct mca_program *program, struct mca_name name,
				    bool *supported)
{
	struct pesa_error *error;
	char start[16];

	snprintf(start, sizeof(start), "%.*s", (int)(name.length < 15 ? name.length : 15),
		 name.text);
	/* ".5" is a number; give up on names that this assembler or LLVM generates. */
	*supported =
		!(name.length > 1 && isdigit((unsigned char)name.text[1]) && *name.text == '.') &&
		mca_marker_of_label(start) < 0 && strncmp(start, ".Ltmp", 5) != 0;
	if (!*supported)
		return NULL;
	error = mca_names_add(&program->defined, name);
	if (!error && program->in_code)
		error = mca_label_add(program, name);
	return error;
}

static struct pesa_error *add_insn(struct mca_program *program, const struct pesa_insn *insn)
{
	struct pesa_error *error = mca_array_grow((void **)&program->insns, program->insn_count,
						  sizeof(*program->insns));

	if (!error)
		program->insns[program->insn_count++] = *insn;
	return error;
}

static struct pesa_error *keep(struct mca_program *program, const struct pesa_assembly *assembly)
{
	struct pesa_error *error =
		mca_array_grow((void **)&program->statements, program->statement_count,
			       sizeof(*program->statements));

	if (error)
		return error;
	program->statements[program->statement_count++] = (struct mca_statement){
		.first = program->insn_count,
		.count = assembly->count,
		.use = assembly->use,
		.grows = assembly->grows,
		.symbol = {assembly->symbol, assembly->symbol_length},
	};
	for (unsigned int i = 0; i < assembly->count && !error; i++)
		error = add_insn(program, &assembly->insn[i]);
	if (!error && assembly->grows)
		error = add_insn(program, &assembly->grown);
	return error;
}

/* Give up on pc-relative addresses, which depend on how they are written. */
static struct pesa_error *add_statement(struct mca_program *program, unsigned int line,
					const char *text, size_t length, bool *supported)
{
	struct pesa_assembly assembly;
	struct pesa_error *error = NULL;
	bool two_step;

	*supported = false;
	if (!program->in_code ||
	    !mca_ahead_assemble(program->ahead, program->isa, line, text, length, &assembly))
		return NULL;
	two_step = assembly.use == PESA_SYMBOL_DISTANCE && assembly.count == 2;
	if (two_step && program->position_independent)
		return NULL;
	if (two_step) /* LLVM creates a label here. */
		error = mca_label_add(program, (struct mca_name){NULL, 0});
	if (!error)
		error = keep(program, &assembly);
	*supported = !error;
	return error;
}

static struct pesa_error *read_line(struct mca_program *program, unsigned int line,
				    const char *text, size_t length, bool *supported)
{
	struct pesa_error *error = NULL;

	*supported = true;
	for (mca_trim(&text, &length); length && *supported && !error; mca_trim(&text, &length)) {
		size_t label = label_length(text, length);

		if (!label)
			return *text == '.' ? mca_directive(program, text, length, supported)
					    : add_statement(program, line, text, length, supported);
		error = add_label(program, (struct mca_name){text, label}, supported);
		text += label + 1;
		length -= label + 1;
	}
	return error;
}

/* Read all lines.  Until finish(), a marker's offset is the index of the next statement. */
static struct pesa_error *read_lines(struct mca_program *program, struct mca_reader *reader,
				     bool *supported)
{
	*supported = false;
	for (unsigned int i = 0; i < reader->line_count; i++) {
		const struct mca_line *line = &reader->lines[i];
		unsigned int first = program->statement_count;
		struct pesa_error *error;
		struct mca_marker *marker;
		bool known;

		error = read_line(program, i, line->text, line->length, &known);
		if (error || !known)
			return error;
		for (unsigned int n = first; n < program->statement_count; n++)
			program->statements[n].comment =
				(struct mca_name){line->comment, line->comment_length};
		if (line->marker < 0)
			continue;
		marker = &reader->markers[line->marker];
		/* A marker in data has no position in the code. */
		if (!program->in_code)
			return NULL;
		marker->offset = program->statement_count;
	}
	*supported = !program->in_frame;
	return NULL;
}

/* ---- Symbols ------------------------------------------------------------------------------- */

static int compare_labels(const void *left, const void *right)
{
	const struct mca_label *a = left, *b = right;

	return compare_names(&a->name, &b->name);
}

/* The named labels, sorted by name; the caller frees them.  NULL: out of memory. */
static struct mca_label *sort_labels(const struct mca_program *program, size_t *count)
{
	struct mca_label *sorted = malloc((program->label_count + 1) * sizeof(*sorted));

	*count = 0;
	for (size_t i = 0; sorted && i < program->label_count; i++)
		if (program->labels[i].name.text)
			sorted[(*count)++] = program->labels[i];
	if (sorted)
		qsort(sorted, *count, sizeof(*sorted), compare_labels);
	return sorted;
}

/* Resolve a statement's symbol.  False: it is not valid here, or only a linker can resolve it. */
static bool resolve(struct mca_program *program, const struct mca_label *labels, size_t count,
		    struct mca_statement *statement)
{
	const struct mca_label key = {statement->symbol, 0};
	const struct mca_label *label;
	const struct mca_statement *other;
	bool global;

	if (statement->use == PESA_SYMBOL_NONE || statement->use == PESA_SYMBOL_ADDRESS)
		return true;
	label = count ? bsearch(&key, labels, count, sizeof(key), compare_labels) : NULL;
	global = names_have(&program->global, key.name);
	switch (statement->use) {
	case PESA_SYMBOL_TARGET:
		if (!label || global)
			return false;
		statement->target = label->statement;
		return true;
	case PESA_SYMBOL_CALL:
		return !label || global;
	case PESA_SYMBOL_ITS_LOWER:
		if (!label || label->statement >= program->statement_count)
			return false;
		other = &program->statements[label->statement];
		return other->use == PESA_SYMBOL_DISTANCE && other->count == 1;
	default:
		return !label;
	}
}

/* *resolved: every symbol is defined once, and all its uses are supported. */
static struct pesa_error *resolve_all(struct mca_program *program, bool *resolved)
{
	struct mca_label *labels;
	size_t count;

	names_sort(&program->defined);
	names_sort(&program->global);
	*resolved = true;
	/* A name that is defined twice is an error. */
	for (size_t i = 1; i < program->defined.count && *resolved; i++)
		*resolved = compare_names(&program->defined.name[i - 1],
					  &program->defined.name[i]) != 0;
	if (!*resolved)
		return NULL;
	labels = sort_labels(program, &count);
	if (!labels)
		return pesa_error_no_memory();
	for (unsigned int i = 0; *resolved && i < program->statement_count; i++)
		*resolved = resolve(program, labels, count, &program->statements[i]);
	for (size_t i = 0; *resolved && i < program->needed.count; i++) {
		const struct mca_label key = {program->needed.name[i], 0};

		*resolved = count && bsearch(&key, labels, count, sizeof(key), compare_labels);
	}
	free(labels);
	return NULL;
}

/* ---- Layout -------------------------------------------------------------------------------- */

/* Set the offset of every statement; returns the end offset. */
static uint64_t lay_out(struct mca_program *program)
{
	uint64_t offset = 0;

	for (unsigned int i = 0; i < program->statement_count; i++) {
		struct mca_statement *statement = &program->statements[i];

		statement->offset = offset;
		for (unsigned int n = 0; n < statement->count; n++)
			offset += program->insns[statement->first + n].length;
	}
	return offset;
}

static uint64_t offset_of(const struct mca_program *program, unsigned int statement, uint64_t end)
{
	return statement < program->statement_count ? program->statements[statement].offset : end;
}

/* Set a branch's target, or replace the branch by its long form.  False: out of range. */
static bool reach(struct mca_program *program, struct mca_statement *statement, uint64_t end,
		  bool *grown)
{
	int64_t distance = offset_of(program, statement->target, end) - statement->offset;
	struct pesa_insn *first = &program->insns[statement->first], insn = *first;

	if (pesa_assembly_set_target(program->isa, &insn, distance)) {
		*first = insn;
		return true;
	}
	if (!statement->grows)
		return false;
	*first = first[statement->count];
	statement->grows = false;
	*grown = true;
	return true;
}

/*
 * Branch relaxation: replace short branches by their long form until all reach their targets.  It
 * ends because no branch becomes shorter again.
 */
static bool fit_branches(struct mca_program *program)
{
	bool grown;

	do {
		uint64_t end = lay_out(program);

		grown = false;
		for (unsigned int i = 0; i < program->statement_count; i++)
			if (program->statements[i].use == PESA_SYMBOL_TARGET &&
			    !reach(program, &program->statements[i], end, &grown))
				return false;
	} while (grown);
	return true;
}

/* ---- Instructions --------------------------------------------------------------------------- */

/* The statement at an offset, or at the end; false: not the start of a statement. */
static bool statement_at(const struct mca_program *program, uint64_t offset, uint64_t end,
			 unsigned int *statement)
{
	unsigned int low = 0, high = program->statement_count;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (program->statements[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	*statement = low;
	return offset_of(program, low, end) == offset;
}

/*
 * The only label at a statement, or NULL.  False: it has several labels, or one without a name, and
 * their order in an object file is not known.
 */
static bool only_label(const struct mca_program *program, unsigned int statement,
		       const struct mca_label **label)
{
	size_t low = 0, high = program->label_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (program->labels[middle].statement < statement)
			low = middle + 1;
		else
			high = middle;
	}
	*label = NULL;
	if (low == program->label_count || program->labels[low].statement != statement)
		return true;
	if (!program->labels[low].name.text ||
	    (low + 1 < program->label_count && program->labels[low + 1].statement == statement))
		return false;
	*label = &program->labels[low];
	return true;
}

/* Return whether a symbol is neither a local label reference ("1b", "2f") nor ".". */
static bool is_named(struct mca_name symbol)
{
	return symbol.length && !isdigit((unsigned char)*symbol.text) &&
	       !(symbol.length == 1 && *symbol.text == '.');
}

/*
 * Print an instruction as object.c does.  Exception: the target of the last instruction of a
 * statement is shown by the symbol in the source, even if other labels have the same address.  (In
 * a branch that had to grow, the first instruction jumps over the last one.)  False: object.c might
 * print another text.
 */
static bool print(const struct mca_program *program, const struct pesa_insn *insn,
		  struct mca_name symbol, bool last, uint64_t offset, uint64_t end, char *text,
		  size_t size)
{
	const struct mca_label *label = NULL;
	unsigned int statement;
	uint64_t target;
	char name[256];

	pesa_insn_print(program->isa, insn, offset, 0, text, size);
	if (last && is_named(symbol) && symbol.length < sizeof(name)) {
		snprintf(name, sizeof(name), "%.*s", (int)symbol.length, symbol.text);
		mca_name_target(text, size, name);
		return true;
	}
	if (!symbol.length || !pesa_insn_target(insn, offset, &target))
		return true; /* the source has a number, not a label */
	if (statement_at(program, target, end, &statement) &&
	    !only_label(program, statement, &label))
		return false;
	if (label) {
		if (label->name.length >= sizeof(name))
			return false;
		snprintf(name, sizeof(name), "%.*s", (int)label->name.length, label->name.text);
		mca_name_target(text, size, name);
	}
	return true;
}

/*
 * Decode the bits again, to get the same result as from an object file.  Exception: a processor may
 * have a second name for an encoding (mips.ihb for slli); then keep the instruction of the source.
 * False: the bits cannot be decoded.
 */
static bool decode(const struct mca_program *program, const struct pesa_insn *insn,
		   struct pesa_insn *decoded)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = insn->bits >> i * 8;
	if (pesa_insn_decode(program->isa, bytes, insn->length, decoded) != insn->length)
		return false;
	if (decoded->opcode != insn->opcode && insn->operands && !decoded->operands)
		*decoded = *insn;
	return true;
}

/* *sure: an assembler would give the same instructions and texts for this statement. */
static struct pesa_error *add_instructions(struct mca_reader *reader,
					   const struct mca_program *program,
					   const struct mca_statement *statement, uint64_t end,
					   bool *sure)
{
	const struct pesa_insn *insns = &program->insns[statement->first];
	bool call = statement->use == PESA_SYMBOL_CALL;
	uint64_t offset = statement->offset;
	struct pesa_error *error = NULL;
	struct mca_name symbol = {0};
	char text[512], *comment = NULL;

	*sure = true;
	/* LLVM has no source location, and so no comment, for the instructions of an expansion. */
	if (statement->comment.text && (statement->count == 1 || call)) {
		comment = strndup(statement->comment.text, statement->comment.length);
		if (!comment)
			return pesa_error_no_memory();
	}
	if (statement->use == PESA_SYMBOL_TARGET)
		symbol = statement->symbol;
	for (unsigned int i = 0; i < statement->count && *sure && !error; i++) {
		struct pesa_mca_instruction instruction = {.latency = -1};

		*sure = decode(program, &insns[i], &instruction.insn);
		if (*sure && call) {
			char target[256];

			*sure = statement->symbol.length < sizeof(target);
			snprintf(target, sizeof(target), "%.*s", (int)statement->symbol.length,
				 statement->symbol.text);
			i++;
			*sure = *sure &&
				mca_fuse_call(&instruction, &insns[i], target, text, sizeof(text));
		} else if (*sure) {
			*sure = print(program, &instruction.insn, symbol, i + 1 == statement->count,
				      offset, end, text, sizeof(text));
			if (*sure && symbol.length)
				mca_clear_target(program->isa, &instruction.insn);
		}
		if (*sure)
			error = mca_reader_add(reader, SECTION, offset, &instruction, text,
					       comment);
		offset += instruction.insn.length;
	}
	free(comment);
	return error;
}

static struct pesa_error *finish(struct mca_reader *reader, const struct mca_program *program,
				 bool *done)
{
	const struct mca_statement *last =
		program->statement_count ? &program->statements[program->statement_count - 1]
					 : NULL;
	uint64_t end = last ? last->offset : 0;
	struct pesa_error *error = NULL;

	*done = true;
	for (unsigned int n = 0; last && n < last->count; n++)
		end += program->insns[last->first + n].length;
	for (unsigned int i = 0; i < program->statement_count && *done && !error; i++)
		error = add_instructions(reader, program, &program->statements[i], end, done);
	for (unsigned int i = 0; i < reader->marker_count && *done; i++) {
		struct mca_marker *marker = &reader->markers[i];

		marker->offset = offset_of(program, marker->offset, end);
		marker->section = SECTION;
		marker->placed = true;
	}
	if (!*done)
		mca_reader_clear(reader);
	return error;
}

struct pesa_error *mca_assemble(struct mca_reader *reader, bool *done)
{
	struct mca_program program = {.section = {".text", 5}, .in_code = true};
	struct pesa_error *error;
	bool supported = false;

	*done = false;
	error = pesa_isa_create(reader->options->isa, &program.isa);
	if (error && error->code == PESA_ERROR_NO_MEMORY)
		return error;
	if (error) { /* an unknown extension: an assembler may know it */
		pesa_error_free(error);
		return NULL;
	}
	program.ahead = mca_ahead_create(reader);
	error = read_lines(&program, reader, &supported);
	mca_ahead_free(program.ahead);
	if (!error && supported)
		error = resolve_all(&program, &supported);
	if (!error && supported && fit_branches(&program))
		error = finish(reader, &program, done);
	free(program.statements);
	free(program.insns);
	free(program.labels);
	free(program.defined.name);
	free(program.global.name);
	free(program.needed.name);
	free(program.sections.name);
	pesa_isa_free(program.isa);
	return error;
}
