/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of the object file that an assembler made of the source. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/mca/reader.h"

/* Relocations, from the RISC-V ELF psABI. */
#define R_BRANCH     16
#define R_JAL	     17
#define R_CALL	     18
#define R_CALL_PLT   19
#define R_RVC_BRANCH 44
#define R_RVC_JUMP   45

/* A name at an offset of a section. */
struct place {
	uint64_t offset;
	size_t order; /* in the table that it is from */
	const char *name;
};

struct places {
	struct place *place; /* sorted by offset, then by order */
	size_t count;
};

struct object {
	Elf *elf;
	Elf_Data *symbols;
	size_t symbol_count, strings;
	/* Of the section that is being read: */
	struct places labels, mappings, calls, branches;
};

/* ---- Names by place ------------------------------------------------------------------------ */

static bool places_create(struct places *places, size_t size)
{
	places->count = 0;
	places->place = malloc((size + 1) * sizeof(*places->place));
	return places->place != NULL;
}

static void places_add(struct places *places, uint64_t offset, const char *name)
{
	places->place[places->count] =
		(struct place){.offset = offset, .order = places->count, .name = name};
	places->count++;
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static void places_sort(struct places *places)
{
	if (places->count)
		qsort(places->place, places->count, sizeof(*places->place), compare_places);
}

/* How many are before an offset. */
static size_t places_before(const struct places *places, uint64_t offset)
{
	size_t low = 0, high = places->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places->place[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first name at an offset, or NULL. */
static const char *places_at(const struct places *places, uint64_t offset)
{
	size_t index = places_before(places, offset);

	return index < places->count && places->place[index].offset == offset
		       ? places->place[index].name
		       : NULL;
}

/* ---- The object file ----------------------------------------------------------------------- */

static const char *symbol_name(const struct object *object, const GElf_Sym *symbol)
{
	const char *name = elf_strptr(object->elf, object->strings, symbol->st_name);

	return name ? name : "";
}

static void find_symbols(struct object *object)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB ||
		    !header.sh_entsize)
			continue;
		object->symbols = elf_getdata(section, NULL);
		object->symbol_count = object->symbols ? header.sh_size / header.sh_entsize : 0;
		object->strings = header.sh_link;
	}
}

/* Labels, and the mapping symbols $d and $x, of a section. */
static struct pesa_error *find_labels(struct object *object, size_t section)
{
	if (!places_create(&object->labels, object->symbol_count) ||
	    !places_create(&object->mappings, object->symbol_count))
		return pesa_error_no_memory();
	for (size_t i = 1; i < object->symbol_count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(object->symbols, i, &symbol) || symbol.st_shndx != section)
			continue;
		name = symbol_name(object, &symbol);
		if (name[0] == '$' && (name[1] == 'd' || name[1] == 'x'))
			places_add(&object->mappings, symbol.st_value, name);
		else if (*name && *name != '$' && mca_marker_of_label(name) < 0 &&
			 GELF_ST_TYPE(symbol.st_info) != STT_SECTION)
			places_add(&object->labels, symbol.st_value, name);
	}
	places_sort(&object->labels);
	places_sort(&object->mappings);
	return NULL;
}

static void add_calls(struct object *object, Elf_Data *relocations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		GElf_Rela relocation;
		GElf_Sym symbol;
		struct places *places;

		if (!gelf_getrela(relocations, i, &relocation) ||
		    !gelf_getsym(object->symbols, GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		switch (GELF_R_TYPE(relocation.r_info)) {
		case R_CALL:
		case R_CALL_PLT:
			places = &object->calls;
			break;
		case R_BRANCH:
		case R_JAL:
		case R_RVC_BRANCH:
		case R_RVC_JUMP:
			if (relocation.r_addend)
				continue;
			places = &object->branches;
			break;
		default:
			continue;
		}
		if (*symbol_name(object, &symbol))
			places_add(places, relocation.r_offset, symbol_name(object, &symbol));
	}
}

/* The calls and branches of a section that a linker completes, by the symbol that they go to. */
static struct pesa_error *find_calls(struct object *object, size_t section_index)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
		Elf_Data *relocations;
		GElf_Shdr header;
		size_t count;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    header.sh_info != section_index || !header.sh_entsize)
			continue;
		relocations = elf_getdata(section, NULL);
		count = relocations ? header.sh_size / header.sh_entsize : 0;
		free(object->calls.place);
		free(object->branches.place);
		if (!places_create(&object->calls, count) ||
		    !places_create(&object->branches, count))
			return pesa_error_no_memory();
		add_calls(object, relocations, count);
	}
	places_sort(&object->calls);
	places_sort(&object->branches);
	return NULL;
}

static void forget_section(struct object *object)
{
	free(object->labels.place);
	free(object->mappings.place);
	free(object->calls.place);
	free(object->branches.place);
	memset(&object->labels, 0, sizeof(object->labels));
	memset(&object->mappings, 0, sizeof(object->mappings));
	memset(&object->calls, 0, sizeof(object->calls));
	memset(&object->branches, 0, sizeof(object->branches));
}

/* Whether the bytes at an offset are data, by the last mapping symbol up to there. */
static bool is_data(const struct object *object, uint64_t offset)
{
	size_t index = places_before(&object->mappings, offset + 1);

	return index && object->mappings.place[index - 1].name[1] == 'd';
}

/* The assembly of an instruction; a target that has a label is shown by it. */
static void print_instruction(const struct pesa_isa *isa, const struct object *object,
			      uint64_t offset, struct pesa_insn *insn, char *text, size_t size)
{
	const char *label = places_at(&object->branches, offset);
	uint64_t target;

	pesa_insn_print(isa, insn, offset, 0, text, size);
	if (!label && pesa_insn_target(insn, offset, &target))
		label = places_at(&object->labels, target);
	if (label) {
		mca_name_target(text, size, label);
		mca_forget_target(isa, insn);
	}
}

static bool is_call(const struct pesa_isa *isa, const uint8_t *bytes, size_t size,
		    const char *target, struct pesa_mca_instruction *instruction, char *text,
		    size_t text_size)
{
	struct pesa_insn jump;

	return target && instruction->insn.length == 4 && size >= 8 &&
	       pesa_insn_decode(isa, bytes + 4, size - 4, &jump) &&
	       mca_fuse_call(instruction, &jump, target, text, text_size);
}

static struct pesa_error *read_instructions(struct mca_reader *reader, const struct pesa_isa *isa,
					    struct object *object, size_t section,
					    const Elf_Data *data)
{
	size_t offset = 0;

	while (data && offset < data->d_size) {
		const uint8_t *bytes = (const uint8_t *)data->d_buf + offset;
		size_t left = data->d_size - offset;
		struct pesa_mca_instruction instruction = {.latency = -1};
		struct pesa_error *error;
		char text[512];

		if (is_data(object, offset)) {
			offset++;
			continue;
		}
		if (!pesa_insn_decode(isa, bytes, left, &instruction.insn))
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "%s: the instruction at offset %#zx of the object "
						 "file is not known for %s",
						 reader->name, offset, reader->options->isa);
		if (!is_call(isa, bytes, left, places_at(&object->calls, offset), &instruction,
			     text, sizeof(text)))
			print_instruction(isa, object, offset, &instruction.insn, text,
					  sizeof(text));
		error = mca_reader_add(reader, section, offset, &instruction, text, NULL);
		if (error)
			return error;
		offset += instruction.insn.length;
	}
	return NULL;
}

static struct pesa_error *read_section(struct mca_reader *reader, const struct pesa_isa *isa,
				       struct object *object, Elf_Scn *section)
{
	size_t index = elf_ndxscn(section);
	struct pesa_error *error = find_labels(object, index);

	if (!error)
		error = find_calls(object, index);
	if (!error)
		error = read_instructions(reader, isa, object, index, elf_getdata(section, NULL));
	forget_section(object);
	return error;
}

static void place_markers(struct mca_reader *reader, const struct object *object)
{
	for (size_t i = 1; i < object->symbol_count; i++) {
		GElf_Sym symbol;
		int number;

		if (!gelf_getsym(object->symbols, i, &symbol))
			continue;
		number = mca_marker_of_label(symbol_name(object, &symbol));
		if (number < 0 || (unsigned int)number >= reader->marker_count)
			continue;
		reader->markers[number].offset = symbol.st_value;
		reader->markers[number].section = symbol.st_shndx;
		reader->markers[number].placed = true;
	}
}

static struct pesa_error *read_sections(struct mca_reader *reader, const struct pesa_isa *isa,
					struct object *object)
{
	struct pesa_error *error = NULL;

	find_symbols(object);
	place_markers(reader, object);
	for (Elf_Scn *section = NULL; !error && (section = elf_nextscn(object->elf, section));) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_PROGBITS &&
		    header.sh_flags & SHF_EXECINSTR)
			error = read_section(reader, isa, object, section);
	}
	return error;
}

struct pesa_error *mca_object_read(struct mca_reader *reader, const char *path)
{
	struct object object = {0};
	struct pesa_error *error;
	struct pesa_isa *isa;
	int file;

	error = pesa_isa_create(reader->options->isa, &isa);
	if (error)
		return error;
	elf_version(EV_CURRENT);
	file = open(path, O_RDONLY | O_CLOEXEC);
	object.elf = file < 0 ? NULL : elf_begin(file, ELF_C_READ_MMAP, NULL);
	if (object.elf && elf_kind(object.elf) == ELF_K_ELF)
		error = read_sections(reader, isa, &object);
	else
		error = pesa_error_create(PESA_ERROR_FORMAT,
					  "%s: the assembler did not make an object file",
					  reader->name);
	if (object.elf)
		elf_end(object.elf);
	if (file >= 0)
		close(file);
	pesa_isa_free(isa);
	return error;
}
