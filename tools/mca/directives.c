/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads directives that compilers generate and that do not change the instructions.
 *
 * Only the forms that compilers write are accepted, so that nothing is accepted that an assembler
 * would reject.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tools/mca/assembly.h"

struct cursor {
	const char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
	while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
		cursor->at++;
}

static bool take(struct cursor *cursor, char character)
{
	skip_blanks(cursor);
	if (cursor->at == cursor->end || *cursor->at != character)
		return false;
	cursor->at++;
	return true;
}

static bool at_end(struct cursor *cursor)
{
	skip_blanks(cursor);
	return cursor->at == cursor->end;
}

static bool take_name(struct cursor *cursor, struct mca_name *name)
{
	skip_blanks(cursor);
	*name = (struct mca_name){cursor->at, 0};
	if (cursor->at == cursor->end ||
	    !(isalpha((unsigned char)*cursor->at) || *cursor->at == '_' || *cursor->at == '.'))
		return false;
	while (cursor->at < cursor->end &&
	       (isalnum((unsigned char)*cursor->at) || *cursor->at == '_' || *cursor->at == '.'))
		cursor->at++;
	name->length = cursor->at - name->text;
	return name->length > 1 || *name->text != '.';
}

static bool is(struct mca_name name, const char *text)
{
	return strlen(text) == name.length && !memcmp(text, name.text, name.length);
}

static bool begins(struct mca_name name, const char *text)
{
	return strlen(text) <= name.length && !memcmp(text, name.text, strlen(text));
}

/*
 * Parse a decimal or hexadecimal number, optionally negative, that fits into `bits` bits as a signed
 * or unsigned number.
 */
static bool take_wide(struct cursor *cursor, unsigned int bits)
{
	bool negative = take(cursor, '-');
	unsigned int base = 10;
	uint64_t value = 0, limit = UINT64_MAX >> (64 - bits);
	const char *start;

	if (!negative && cursor->end - cursor->at > 2 && cursor->at[0] == '0' &&
	    cursor->at[1] == 'x') {
		base = 16;
		cursor->at += 2;
	}
	for (start = cursor->at; cursor->at < cursor->end && isxdigit((unsigned char)*cursor->at);
	     cursor->at++) {
		unsigned int digit = isdigit((unsigned char)*cursor->at)
					     ? *cursor->at - '0'
					     : tolower((unsigned char)*cursor->at) - 'a' + 10;

		if (digit >= base || value > (limit - digit) / base)
			return false;
		value = value * base + digit;
	}
	return cursor->at > start && (!negative || value <= limit / 2) &&
	       (base == 16 || *start != '0' || cursor->at - start == 1);
}

/* Parse a decimal number of at most `digits` digits, optionally negative. */
static bool take_number(struct cursor *cursor, unsigned int digits)
{
	const char *start;

	take(cursor, '-');
	start = cursor->at;
	while (cursor->at < cursor->end && isdigit((unsigned char)*cursor->at))
		cursor->at++;
	return cursor->at > start && (size_t)(cursor->at - start) <= digits &&
	       (*start != '0' || cursor->at - start == 1);
}

/* Parse a string with the usual escapes. */
static bool take_string(struct cursor *cursor, struct mca_name *content)
{
	if (!take(cursor, '"'))
		return false;
	content->text = cursor->at;
	while (cursor->at < cursor->end && *cursor->at != '"') {
		if (*cursor->at == '\\' &&
		    (++cursor->at == cursor->end || !strchr("ntrbf\\\"01234567", *cursor->at)))
			return false;
		cursor->at++;
	}
	content->length = cursor->at - content->text;
	return take(cursor, '"');
}

/* ---- Symbols ------------------------------------------------------------------------------- */

static struct pesa_error *global(struct mca_program *program, struct cursor *cursor,
				 bool *supported)
{
	struct pesa_error *error = NULL;
	struct mca_name name;

	do {
		*supported = take_name(cursor, &name);
		if (*supported)
			error = mca_names_add(&program->global, name);
	} while (*supported && !error && take(cursor, ','));
	*supported = *supported && at_end(cursor);
	return error;
}

static bool visibility(struct mca_program *program, struct cursor *cursor)
{
	struct mca_name name;

	(void)program;
	do {
		if (!take_name(cursor, &name))
			return false;
	} while (take(cursor, ','));
	return at_end(cursor);
}

static bool type(struct mca_program *program, struct cursor *cursor)
{
	struct mca_name name, kind;

	(void)program;
	return take_name(cursor, &name) && take(cursor, ',') && take(cursor, '@') &&
	       take_name(cursor, &kind) && (is(kind, "function") || is(kind, "object")) &&
	       at_end(cursor);
}

/* ".size f, .-f", ".size f, .Lend-f", ".size data, 4". */
static struct pesa_error *size(struct mca_program *program, struct cursor *cursor, bool *supported)
{
	struct mca_name name, from = {NULL, 0}, to = {NULL, 0};
	struct pesa_error *error = NULL;

	*supported = take_name(cursor, &name) && take(cursor, ',');
	if (!*supported)
		return NULL;
	skip_blanks(cursor);
	if (cursor->at < cursor->end && isdigit((unsigned char)*cursor->at)) {
		*supported = take_number(cursor, 9) && at_end(cursor);
		return NULL;
	}
	if (cursor->end - cursor->at > 1 && cursor->at[0] == '.' && cursor->at[1] == '-')
		cursor->at++;
	else
		*supported = take_name(cursor, &to);
	*supported = *supported && program->in_code && take(cursor, '-') &&
		     take_name(cursor, &from) && at_end(cursor);
	if (*supported && to.text)
		error = mca_names_add(&program->needed, to);
	if (*supported && !error)
		error = mca_names_add(&program->needed, from);
	return error;
}

static bool is_alignment(struct mca_name text)
{
	static const char *const alignments[] = {"1",  "2",  "4",   "8",   "16",
						 "32", "64", "128", "256", "4096"};

	for (size_t i = 0; i < sizeof(alignments) / sizeof(*alignments); i++)
		if (is(text, alignments[i]))
			return true;
	return false;
}

/* ".comm NAME,SIZE,ALIGNMENT", which is a power of two. */
static struct pesa_error *common(struct mca_program *program, struct cursor *cursor,
				 bool *supported)
{
	struct mca_name name;

	*supported = take_name(cursor, &name) && take(cursor, ',') && take_number(cursor, 9) &&
		     take(cursor, ',');
	skip_blanks(cursor);
	*supported =
		*supported && is_alignment((struct mca_name){cursor->at, cursor->end - cursor->at});
	return *supported ? mca_names_add(&program->defined, name) : NULL;
}

/* ".set .LANCHOR0, . + 0": a name for a place in data. */
static struct pesa_error *set(struct mca_program *program, struct cursor *cursor, bool *supported)
{
	struct mca_name name;

	*supported = !program->in_code && take_name(cursor, &name) && take(cursor, ',') &&
		     take(cursor, '.') && take(cursor, '+') &&
		     (skip_blanks(cursor), cursor->at < cursor->end) && *cursor->at != '-' &&
		     take_number(cursor, 6) && at_end(cursor);
	return *supported ? mca_names_add(&program->defined, name) : NULL;
}

/* ---- Comments, options and attributes ------------------------------------------------------ */

static bool remark(struct mca_program *program, struct cursor *cursor)
{
	struct mca_name content;

	(void)program;
	return take_string(cursor, &content) && at_end(cursor);
}

static bool nothing(struct mca_program *program, struct cursor *cursor)
{
	(void)program;
	return at_end(cursor);
}

/* The options of linker relaxation and compression change the instructions: do not accept them. */
static bool option(struct mca_program *program, struct cursor *cursor)
{
	struct mca_name name;

	if (!take_name(cursor, &name) || !at_end(cursor))
		return false;
	if (is(name, "pic"))
		program->position_independent = true;
	else if (is(name, "nopic"))
		program->position_independent = false;
	else
		return is(name, "norelax");
	return true;
}

/*
 * Set the ISA, which overrides -mcpu and -mattr.  It is accepted only before all instructions,
 * because an instruction is printed with the ISA with which it was parsed.
 */
static struct pesa_error *architecture(struct mca_program *program, struct cursor *cursor,
				       bool *supported)
{
	struct mca_name string;
	struct pesa_isa *isa;
	struct pesa_error *error;
	char text[1024];

	*supported = take(cursor, ',') && take_string(cursor, &string) && at_end(cursor) &&
		     !program->statement_count && string.length < sizeof(text);
	if (!*supported)
		return NULL;
	snprintf(text, sizeof(text), "%.*s", (int)string.length, string.text);
	error = pesa_isa_create(text, &isa);
	if (error && error->code == PESA_ERROR_NO_MEMORY)
		return error;
	*supported = !error && pesa_isa_xlen(isa) == pesa_isa_xlen(program->isa);
	if (error) { /* an unknown extension: an assembler may know it */
		pesa_error_free(error);
		return NULL;
	}
	if (*supported) {
		pesa_isa_free(program->isa);
		program->isa = isa;
	} else {
		pesa_isa_free(isa);
	}
	return NULL;
}

/* ".attribute TAG, VALUE"; the tag is a name, or its number in the psABI. */
static struct pesa_error *attribute(struct mca_program *program, struct cursor *cursor,
				    bool *supported)
{
	struct mca_name name = {"", 0};

	skip_blanks(cursor);
	*supported = true;
	if (cursor->at < cursor->end && *cursor->at >= '4' && *cursor->at <= '6')
		name = (struct mca_name){cursor->at++, 1};
	else
		*supported = take_name(cursor, &name);
	if (*supported && (is(name, "arch") || is(name, "5")))
		return architecture(program, cursor, supported);
	*supported = *supported &&
		     (is(name, "stack_align") || is(name, "4") || is(name, "unaligned_access") ||
		      is(name, "6")) &&
		     take(cursor, ',') && take_number(cursor, 4) && at_end(cursor);
	return NULL;
}

/* ---- Call frames --------------------------------------------------------------------------- */

static struct pesa_error *frame_start(struct mca_program *program, struct cursor *cursor,
				      bool *supported)
{
	*supported = !program->in_frame && program->in_code && at_end(cursor);
	if (!*supported)
		return NULL;
	program->in_frame = true;
	/* LLVM creates a label here. */
	return mca_label_add(program, (struct mca_name){NULL, 0});
}

static bool frame_end(struct mca_program *program, struct cursor *cursor)
{
	if (!program->in_frame || !at_end(cursor))
		return false;
	program->in_frame = false;
	return true;
}

static bool frame_register(struct cursor *cursor)
{
	struct mca_name name;

	skip_blanks(cursor);
	if (cursor->at < cursor->end && isdigit((unsigned char)*cursor->at))
		return take_number(cursor, 2);
	return take_name(cursor, &name) && pesa_is_register_name(name.text, name.length) &&
	       *name.text != 'v' && *name.text != 'm';
}

static bool frame_offset(struct mca_program *program, struct cursor *cursor)
{
	return program->in_frame && take_number(cursor, 6) && at_end(cursor);
}

static bool frame_register_only(struct mca_program *program, struct cursor *cursor)
{
	return program->in_frame && frame_register(cursor) && at_end(cursor);
}

static bool frame_register_offset(struct mca_program *program, struct cursor *cursor)
{
	return program->in_frame && frame_register(cursor) && take(cursor, ',') &&
	       take_number(cursor, 6) && at_end(cursor);
}

static bool frame_state(struct mca_program *program, struct cursor *cursor)
{
	return program->in_frame && at_end(cursor);
}

/* ---- Sections and data ---------------------------------------------------------------------- */

/* Enter the code section; there can be only one. */
static bool enter_code(struct mca_program *program, struct mca_name name)
{
	bool used = program->statement_count || program->label_count;

	if (program->in_frame || (used && (program->section.length != name.length ||
					   memcmp(program->section.text, name.text, name.length))))
		return false;
	program->section = name;
	program->in_code = true;
	return true;
}

static bool text(struct mca_program *program, struct cursor *cursor)
{
	return at_end(cursor) && enter_code(program, (struct mca_name){".text", 5});
}

static bool leave_code(struct mca_program *program, bool zeros_only)
{
	program->in_code = false;
	program->in_zeros = zeros_only;
	return !program->in_frame;
}

static bool data(struct mca_program *program, struct cursor *cursor)
{
	return at_end(cursor) && leave_code(program, false);
}

static bool bss(struct mca_program *program, struct cursor *cursor)
{
	return at_end(cursor) && leave_code(program, true);
}

/* Return whether data is allowed here. */
static bool in_data(const struct mca_program *program)
{
	return !program->in_code && !program->in_zeros;
}

/* Parse a section name.  Compilers quote only .note.GNU-stack. */
static bool take_section(struct cursor *cursor, struct mca_name *name)
{
	static const char stack[] = ".note.GNU-stack";
	struct cursor start;

	skip_blanks(cursor);
	start = *cursor;
	if (take(&start, '"') && take_string(cursor, name))
		return is(*name, stack);
	*name = (struct mca_name){cursor->at, strlen(stack)};
	if (begins((struct mca_name){cursor->at, cursor->end - cursor->at}, stack)) {
		cursor->at += name->length;
		return true;
	}
	return take_name(cursor, name);
}

/* Copy the rest of the line without blanks.  False: it is too long. */
static bool take_attributes(struct cursor *cursor, char *attributes, size_t size)
{
	size_t length = 0;

	for (; cursor->at < cursor->end; cursor->at++)
		if (*cursor->at != ' ' && *cursor->at != '\t') {
			if (length == size - 1)
				return false;
			attributes[length++] = *cursor->at;
		}
	attributes[length] = '\0';
	return true;
}

/*
 * Return whether a section's attributes are the same as at its first directive.  If this directive
 * has none, *whole (name and attributes) is replaced by that of the first one.  For different
 * attributes the source is left to an assembler program, which rejects it.
 */
static bool agrees(const struct mca_program *program, struct mca_name name, struct mca_name *whole)
{
	for (size_t i = 0; i < program->sections.count; i++) {
		const struct mca_name *other = &program->sections.name[i];

		if (other->length < name.length || memcmp(other->text, name.text, name.length) ||
		    (other->length > name.length && other->text[name.length] != ',' &&
		     other->text[name.length] != '"'))
			continue;
		if (whole->length == name.length)
			*whole = *other;
		return whole->length == other->length &&
		       !memcmp(whole->text, other->text, other->length);
	}
	return true;
}

/*
 * Enter a section; *whole: its name and attributes.  The table has the allowed attributes by name; a
 * name that ends with a dot is a prefix.
 */
static bool enter_section(struct mca_program *program, struct cursor *cursor,
			  struct mca_name *whole)
{
	static const struct {
		const char *name, *attributes;
	} known[] = {
		{".text.", ",\"ax\",@progbits"},
		{".rodata", ""},
		{".rodata", ",\"a\""},
		{".rodata", ",\"a\",@progbits"},
		{".rodata.", ",\"a\",@progbits"},
		{".rodata.cst4", ",\"aM\",@progbits,4"},
		{".rodata.cst8", ",\"aM\",@progbits,8"},
		{".rodata.cst16", ",\"aM\",@progbits,16"},
		{".rodata.str1.", ",\"aMS\",@progbits,1"},
		{".srodata", ",\"a\""},
		{".srodata", ",\"a\",@progbits"},
		{".srodata.cst4", ",\"aM\",@progbits,4"},
		{".srodata.cst8", ",\"aM\",@progbits,8"},
		{".data", ""},
		{".data", ",\"aw\",@progbits"},
		{".data.rel.ro", ",\"aw\",@progbits"},
		{".data.rel.ro.local", ",\"aw\",@progbits"},
		{".sdata", ",\"aw\""},
		{".sdata", ",\"aw\",@progbits"},
		{".bss", ",\"aw\",@nobits"},
		{".sbss", ",\"aw\",@nobits"},
		{".note.GNU-stack", ",\"\",@progbits"},
	};
	struct mca_name name;
	struct cursor rest;
	char attributes[40];

	if (!take_section(cursor, &name))
		return false;
	*whole = (struct mca_name){name.text, cursor->end - name.text};
	if (!agrees(program, name, whole))
		return false;
	/* The attributes of this directive or, if it has none, of the section's first one. */
	rest = whole->text == name.text
		       ? *cursor
		       : (struct cursor){whole->text + name.length, whole->text + whole->length};
	if (!take_attributes(&rest, attributes, sizeof(attributes)))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		bool prefix = known[i].name[strlen(known[i].name) - 1] == '.';

		if (strcmp(known[i].attributes, attributes) ||
		    !(prefix ? begins(name, known[i].name) : is(name, known[i].name)))
			continue;
		if (begins(name, ".text."))
			return enter_code(program, name);
		return leave_code(program, is(name, ".bss") || is(name, ".sbss"));
	}
	return false;
}

static struct pesa_error *section(struct mca_program *program, struct cursor *cursor,
				  bool *supported)
{
	struct mca_name whole;

	*supported = enter_section(program, cursor, &whole);
	return *supported ? mca_names_add(&program->sections, whole) : NULL;
}

static bool strings(struct mca_program *program, struct cursor *cursor)
{
	struct mca_name content;

	return in_data(program) && take_string(cursor, &content) && at_end(cursor);
}

static bool zeros(struct mca_program *program, struct cursor *cursor)
{
	return !program->in_code && (skip_blanks(cursor), cursor->at < cursor->end) &&
	       *cursor->at != '-' && take_number(cursor, 9) && at_end(cursor);
}

static bool numbers(struct mca_program *program, struct cursor *cursor, unsigned int bits)
{
	if (program->in_code)
		return false;
	do {
		const char *start;

		skip_blanks(cursor);
		start = cursor->at;
		if (!take_wide(cursor, bits) ||
		    (program->in_zeros && (*start != '0' || cursor->at != start + 1)))
			return false;
	} while (take(cursor, ','));
	return at_end(cursor);
}

/* Numbers, or the address of one symbol. */
static bool addresses(struct mca_program *program, struct cursor *cursor, unsigned int bits)
{
	const struct cursor before = *cursor;
	struct mca_name name;

	if (in_data(program) && take_name(cursor, &name))
		return !pesa_is_register_name(name.text, name.length) && at_end(cursor);
	*cursor = before;
	return numbers(program, cursor, bits);
}

static bool bytes(struct mca_program *program, struct cursor *cursor)
{
	return numbers(program, cursor, 8);
}

static bool halves(struct mca_program *program, struct cursor *cursor)
{
	return numbers(program, cursor, 16);
}

static bool words(struct mca_program *program, struct cursor *cursor)
{
	return addresses(program, cursor, 32);
}

static bool doubles(struct mca_program *program, struct cursor *cursor)
{
	return addresses(program, cursor, 64);
}

/* A directive has a function `read`, which returns whether it is supported, or `add`, which can also
 * return an error (out of memory). */
struct directive {
	const char *name;
	bool (*read)(struct mca_program *program, struct cursor *cursor);
	struct pesa_error *(*add)(struct mca_program *program, struct cursor *cursor,
				  bool *supported); /* set after an error too */
};

struct pesa_error *mca_directive(struct mca_program *program, const char *text_, size_t length,
				 bool *supported)
{
	static const struct directive directives[] = {
		{".globl", NULL, global},
		{".global", NULL, global},
		{".weak", NULL, global},
		{".local", visibility, NULL},
		{".hidden", visibility, NULL},
		{".type", type, NULL},
		{".size", NULL, size},
		{".comm", NULL, common},
		{".set", NULL, set},
		{".file", remark, NULL},
		{".ident", remark, NULL},
		{".addrsig", nothing, NULL},
		{".addrsig_sym", visibility, NULL},
		{".option", option, NULL},
		{".attribute", NULL, attribute},
		{".cfi_startproc", NULL, frame_start},
		{".cfi_endproc", frame_end, NULL},
		{".cfi_def_cfa", frame_register_offset, NULL},
		{".cfi_def_cfa_offset", frame_offset, NULL},
		{".cfi_adjust_cfa_offset", frame_offset, NULL},
		{".cfi_def_cfa_register", frame_register_only, NULL},
		{".cfi_offset", frame_register_offset, NULL},
		{".cfi_restore", frame_register_only, NULL},
		{".cfi_remember_state", frame_state, NULL},
		{".text", text, NULL},
		{".data", data, NULL},
		{".bss", bss, NULL},
		{".section", NULL, section},
		{".string", strings, NULL},
		{".asciz", strings, NULL},
		{".ascii", strings, NULL},
		{".zero", zeros, NULL},
		{".byte", bytes, NULL},
		{".half", halves, NULL},
		{".short", halves, NULL},
		{".word", words, NULL},
		{".long", words, NULL},
		{".dword", doubles, NULL},
		{".quad", doubles, NULL},
	};
	struct cursor cursor = {text_, text_ + length};
	const struct directive *found = NULL;
	struct pesa_error *error = NULL;
	bool accepted = false;
	struct mca_name name;

	if (take_name(&cursor, &name) &&
	    (cursor.at == cursor.end || *cursor.at == ' ' || *cursor.at == '\t'))
		for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++)
			if (is(name, directives[i].name))
				found = &directives[i];
	if (found && found->add)
		error = found->add(program, &cursor, &accepted);
	else if (found)
		accepted = found->read(program, &cursor);
	if (!error)
		*supported = accepted;
	return error;
}
