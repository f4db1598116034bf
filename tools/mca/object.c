/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the instructions of the object file that an assembler made from the source. */
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
struct named_offset {
	uint64_t offset;
	size_t order; /* index in its symbol or relocation table */
	const char *name;
};

struct named_offsets {
	struct named_offset *entry; /* sorted by offset, then by order */
	size_t count;
};

struct object {
	Elf *elf;
	Elf_Data *symbols;
	size_t symbol_count, strings;
	/* Of the current section: */
	struct named_offsets labels, mappings, calls, branches;
};

/* ---- Names by offset ----------------------------------------------------------------------- */

static bool names_create(struct named_offsets *names, size_t size)
{
	names->count = 0;
	names->entry = malloc((size + 1) * sizeof(*names->entry));
	return names->entry != NULL;
}

static void names_add(struct named_offsets *names, uint64_t offset, const char *name)
{
	names->entry[names->count] =
		(struct named_offset){.offset = offset, .order = names->count, .name = name};
	names->count++;
}

static int compare_offsets(const void *left, const void *right)
{
	const struct named_offset *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static void names_sort(struct named_offsets *names)
{
	if (names->count)
		qsort(names->entry, names->count, sizeof(*names->entry), compare_offsets);
}

/* The number of names before an offset. */
static size_t names_before(const struct named_offsets *names, uint64_t offset)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->entry[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first name at an offset, or NULL. */
static const char *name_at(const struct named_offsets *names, uint64_t offset)
{
	size_t index = names_before(names, offset);

	return index < names->count && names->entry[index].offset == offset
		       ? names->entry[index].name
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

/* Find the labels and the mapping symbols ($d and $x) of a section. */
static struct pesa_error *find_labels(struct object *object, size_t section)
{
	if (!names_create(&object->labels, object->symbol_count) ||
	    !names_create(&object->mappings, object->symbol_count))
		return pesa_error_no_memory();
	for (size_t i = 1; i < object->symbol_count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(object->symbols, i, &symbol) || symbol.st_shndx != section)
			continue;
		name = symbol_name(object, &symbol);
		if (name[0] == '$' && (name[1] == 'd' || name[1] == 'x'))
			names_add(&object->mappings, symbol.st_value, name);
		else if (*name && *name != '$' && mca_marker_of_label(name) < 0 &&
			 GELF_ST_TYPE(symbol.st_info) != STT_SECTION)
			names_add(&object->labels, symbol.st_value, name);
	}
	names_sort(&object->labels);
	names_sort(&object->mappings);
	return NULL;
}

static void add_calls(struct object *object, Elf_Data *relocations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		GElf_Rela relocation;
		GElf_Sym symbol;
		struct named_offsets *names;

		if (!gelf_getrela(relocations, i, &relocation) ||
		    !gelf_getsym(object->symbols, GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		switch (GELF_R_TYPE(relocation.r_info)) {
		case R_CALL:
		case R_CALL_PLT:
			names = &object->calls;
			break;
		case R_BRANCH:
		case R_JAL:
		case R_RVC_BRANCH:
		case R_RVC_JUMP:
			if (relocation.r_addend)
				continue;
			names = &object->branches;
			break;
		default:
			continue;
		}
		if (*symbol_name(object, &symbol))
			names_add(names, relocation.r_offset, symbol_name(object, &symbol));
	}
}

/* Find the calls and branches of a section that have a relocation, with their target's symbol. */
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
		free(object->calls.entry);
		free(object->branches.entry);
		if (!names_create(&object->calls, count) || !names_create(&object->branches, count))
			return pesa_error_no_memory();
		add_calls(object, relocations, count);
	}
	names_sort(&object->calls);
	names_sort(&object->branches);
	return NULL;
}

static void clear_section(struct object *object)
{
	free(object->labels.entry);
	free(object->mappings.entry);
	free(object->calls.entry);
	free(object->branches.entry);
	memset(&object->labels, 0, sizeof(object->labels));
	memset(&object->mappings, 0, sizeof(object->mappings));
	memset(&object->calls, 0, sizeof(object->calls));
	memset(&object->branches, 0, sizeof(object->branches));
}

/* Return whether the byte at an offset is data: the last mapping symbol up to it is $d. */
static bool is_data(const struct object *object, uint64_t offset)
{
	size_t index = names_before(&object->mappings, offset + 1);

	return index && object->mappings.entry[index - 1].name[1] == 'd';
}

/* Print an instruction; if its target has a label, the label replaces the address. */
static void print_instruction(const struct pesa_isa *isa, const struct object *object,
			      uint64_t offset, struct pesa_insn *insn, char *text, size_t size)
{
	const char *label = name_at(&object->branches, offset);
	uint64_t target;

	pesa_insn_print(isa, insn, offset, 0, text, size);
	if (!label && pesa_insn_target(insn, offset, &target))
		label = name_at(&object->labels, target);
	if (label) {
		mca_name_target(text, size, label);
		mca_clear_target(isa, insn);
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
		if (!is_call(isa, bytes, left, name_at(&object->calls, offset), &instruction, text,
			     sizeof(text)))
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
	clear_section(object);
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
