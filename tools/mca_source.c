/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembly source to instructions, see mca_source.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mca_source.h"

#define LABEL "__pesa_mca_"

#define R_CALL	   18
#define R_CALL_PLT 19

struct marker {
	char *text; /* what follows "LLVM-MCA-" */
	unsigned int line;
	uint64_t offset;
	size_t section;
	bool placed;
	bool after_vsetvli; /* on its line or the next one */
};

struct reader {
	const struct mca_source_options *options;
	struct mca_source *source;
	const char *name; /* of the input, for messages */
	struct marker *markers;
	unsigned int marker_count;
	uint64_t *offsets; /* of each instruction, with the section in the upper bits */
};

/* ---- Markers ------------------------------------------------------------------------------- */

static bool is_directive(const char *line, size_t length, const char *name)
{
	size_t size = strlen(name);

	while (length && isspace((unsigned char)*line)) {
		line++;
		length--;
	}
	return length >= size && !strncmp(line, name, size) &&
	       (length == size || isspace((unsigned char)line[size]));
}

/* Padding is no instruction of the source. */
static bool is_padding(const char *line, size_t length)
{
	static const char *const names[] = {".align", ".p2align", ".balign"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_directive(line, length, names[i]))
			return true;
	return false;
}

/* Where a comment begins in a line; its length if there is none. */
static size_t comment_start(const char *line, size_t length)
{
	bool quoted = false;

	for (size_t i = 0; i < length; i++) {
		if (line[i] == '"' && (!i || line[i - 1] != '\\'))
			quoted = !quoted;
		if (quoted)
			continue;
		if (line[i] == '#' || (line[i] == '/' && i + 1 < length && line[i + 1] == '/'))
			return i;
	}
	return length;
}

static struct pesa_error *add_marker(struct reader *reader, const char *text, size_t length,
				     unsigned int line, bool after_vsetvli)
{
	struct marker *larger =
		realloc(reader->markers, (reader->marker_count + 1) * sizeof(*larger));

	if (!larger)
		return pesa_error_no_memory();
	reader->markers = larger;
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	larger[reader->marker_count] = (struct marker){
		.text = strndup(text, length),
		.line = line,
		.after_vsetvli = after_vsetvli,
	};
	if (!larger[reader->marker_count].text)
		return pesa_error_no_memory();
	reader->marker_count++;
	return NULL;
}

/* Copy the source to the assembler, markers turned into labels. */
static struct pesa_error *rewrite(struct reader *reader, const char *text, size_t size,
				  FILE *output)
{
	unsigned int number = 1;
	bool vsetvli_before = false;

	for (const char *line = text, *end = text + size; line < end; number++) {
		const char *next = memchr(line, '\n', end - line);
		size_t length = (next ? next : end) - line;
		size_t comment = comment_start(line, length);
		const char *body = line + comment;
		size_t rest = length - comment;
		bool vsetvli =
			memmem(line, comment, "vsetvli", 7) || memmem(line, comment, "vsetivli", 8);

		if (!is_padding(line, comment))
			fwrite(line, 1, comment, output);
		while (rest && (*body == '#' || *body == '/' || *body == ' ' || *body == '\t')) {
			body++;
			rest--;
		}
		if (rest > 9 && !strncmp(body, "LLVM-MCA-", 9)) {
			struct pesa_error *error = add_marker(reader, body + 9, rest - 9, number,
							      vsetvli || vsetvli_before);

			if (error)
				return error;
			fprintf(output, "; " LABEL "%u:", reader->marker_count - 1);
		}
		fputc('\n', output);
		vsetvli_before = vsetvli;
		line = next ? next + 1 : end;
	}
	return NULL;
}

/* ---- Assembling ---------------------------------------------------------------------------- */

struct assembler {
	const char *program;
	enum { LLVM_MC, CLANG, GNU_AS } kind;
};

static bool find_program(const char *name)
{
	const char *path = getenv("PATH");
	char candidate[4096];

	while (path && *path) {
		size_t length = strcspn(path, ":");

		if (snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, path, name) <
			    (int)sizeof(candidate) &&
		    !access(candidate, X_OK))
			return true;
		path += length;
		path += *path == ':';
	}
	return false;
}

/* "rv64imac_zba" as "+m,+a,+c,+zba". */
static void print_attributes(const char *isa, char *buffer, size_t size)
{
	size_t used = 0;

	*buffer = '\0';
	for (isa += 4; *isa && used + 80 < size;) {
		size_t length = *isa == '_' ? strcspn(isa + 1, "_") : 1;

		if (*isa == '_')
			isa++;
		if (length > 36)
			length = 36;
		used += snprintf(buffer + used, size - used, "%s+%.*s", used ? "," : "",
				 (int)length, isa);
		isa += length;
	}
}

static void run_assembler(const struct assembler *assembler, const char *isa, const char *input,
			  const char *output)
{
	bool wide = !strncmp(isa, "rv64", 4);
	char attributes[4096], march[4096], triple[64];

	print_attributes(isa, attributes, sizeof(attributes));
	switch (assembler->kind) {
	case LLVM_MC:
		snprintf(triple, sizeof(triple), "-triple=riscv%s", wide ? "64" : "32");
		snprintf(march, sizeof(march), "-mattr=%s", attributes);
		execlp(assembler->program, assembler->program, triple, march, "-filetype=obj",
		       "-save-temp-labels", "-o", output, input, (char *)NULL);
		break;
	case CLANG:
		snprintf(triple, sizeof(triple), "--target=riscv%s", wide ? "64" : "32");
		snprintf(march, sizeof(march), "-march=%s", isa);
		execlp(assembler->program, assembler->program, triple, march, "-mno-relax",
		       "-menable-experimental-extensions", "-Wa,-L", "-x", "assembler", "-c", "-o",
		       output, input, (char *)NULL);
		break;
	case GNU_AS:
		snprintf(march, sizeof(march), "-march=%s", isa);
		execlp(assembler->program, assembler->program, march,
		       wide ? "-mabi=lp64" : "-mabi=ilp32", "-mno-relax", "-L", "-o", output, input,
		       (char *)NULL);
		break;
	}
	_exit(127);
}

/* The first lines of the assembler's messages, as one line that names the input. */
static struct pesa_error *assembler_failed(const struct reader *reader, const char *messages,
					   const char *input)
{
	char text[1024] = "", *line_end, *place;
	FILE *file = fopen(messages, "r");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[size] = '\0';
	place = strstr(text, input);
	place = place ? place + strlen(input) : text;
	line_end = strchr(place, '\n');
	if (line_end)
		*line_end = '\0';
	return pesa_error_create(PESA_ERROR_FORMAT, "%s%s%s", reader->name,
				 *place == ':' ? "" : ": ",
				 *place ? place : "the assembler failed");
}

static struct pesa_error *assemble(const struct reader *reader, const char *input,
				   const char *output, const char *messages)
{
	static const struct assembler assemblers[] = {
		{"llvm-mc", LLVM_MC},
		{"llvm-mc-22", LLVM_MC},
		{"clang", CLANG},
		{"clang-22", CLANG},
		{"riscv64-linux-gnu-as", GNU_AS},
		{"riscv64-unknown-elf-as", GNU_AS},
	};
	const struct assembler *assembler = NULL;
	int status;
	pid_t child;

	/* A newer LLVM knows more extensions than the distribution's default. */
	if (find_program("llvm-mc-22"))
		assembler = &assemblers[1];
	for (size_t i = 0; !assembler && i < sizeof(assemblers) / sizeof(assemblers[0]); i++)
		if (find_program(assemblers[i].program))
			assembler = &assemblers[i];
	if (!assembler)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s: no assembler found; install llvm-mc, clang or "
					 "riscv64-linux-gnu-as",
					 reader->name);
	child = fork();
	if (child < 0)
		return pesa_error_system(errno, "cannot start %s", assembler->program);
	if (!child) {
		int log = open(messages, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		if (log >= 0)
			dup2(log, STDERR_FILENO);
		run_assembler(assembler, reader->options->isa, input, output);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return pesa_error_system(errno, "cannot wait for %s", assembler->program);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return assembler_failed(reader, messages, input);
	return NULL;
}

/* ---- The object file ----------------------------------------------------------------------- */

struct object {
	Elf *elf;
	Elf_Data *symbols, *relocations;
	size_t symbol_count, relocation_count, strings;
	bool addends;
};

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

static void find_relocations(struct object *object, size_t section_index)
{
	object->relocations = NULL;
	object->relocation_count = 0;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    header.sh_info != section_index || !header.sh_entsize)
			continue;
		object->relocations = elf_getdata(section, NULL);
		object->relocation_count =
			object->relocations ? header.sh_size / header.sh_entsize : 0;
	}
}

/* The symbol that a call at this offset goes to, or NULL if it is no call. */
static const char *call_target(const struct object *object, uint64_t offset)
{
	for (size_t i = 0; i < object->relocation_count; i++) {
		GElf_Rela relocation;
		GElf_Sym symbol;

		if (gelf_getrela(object->relocations, i, &relocation) &&
		    relocation.r_offset == offset &&
		    (GELF_R_TYPE(relocation.r_info) == R_CALL ||
		     GELF_R_TYPE(relocation.r_info) == R_CALL_PLT) &&
		    gelf_getsym(object->symbols, GELF_R_SYM(relocation.r_info), &symbol))
			return symbol_name(object, &symbol);
	}
	return NULL;
}

/* The label at a place, or NULL. */
static const char *label_at(const struct object *object, size_t section, uint64_t offset)
{
	for (size_t i = 1; i < object->symbol_count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(object->symbols, i, &symbol) || symbol.st_shndx != section ||
		    symbol.st_value != offset || GELF_ST_TYPE(symbol.st_info) == STT_SECTION)
			continue;
		name = symbol_name(object, &symbol);
		if (*name && *name != '$' && strncmp(name, LABEL, strlen(LABEL)))
			return name;
	}
	return NULL;
}

/* Whether the bytes at an offset are data, by the mapping symbols $d and $x. */
static bool is_data(const struct object *object, size_t section, uint64_t offset)
{
	uint64_t nearest = 0;
	bool data = false;

	for (size_t i = 1; i < object->symbol_count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(object->symbols, i, &symbol) || symbol.st_shndx != section ||
		    symbol.st_value > offset)
			continue;
		name = symbol_name(object, &symbol);
		if (name[0] == '$' && (name[1] == 'd' || name[1] == 'x') &&
		    symbol.st_value >= nearest) {
			nearest = symbol.st_value;
			data = name[1] == 'd';
		}
	}
	return data;
}

static struct pesa_error *add_instruction(struct reader *reader, size_t section, uint64_t offset,
					  const struct pesa_mca_instruction *instruction,
					  const char *text)
{
	struct mca_source *source = reader->source;
	unsigned int count = source->count;

	if (!(count & (count - 1))) {
		size_t size = count ? 2 * (size_t)count : 1;
		void *instructions, *texts, *offsets;

		instructions = realloc(source->instructions, size * sizeof(*instruction));
		if (instructions)
			source->instructions = instructions;
		texts = realloc(source->text, size * sizeof(*source->text));
		if (texts)
			source->text = texts;
		offsets = realloc(reader->offsets, size * sizeof(*reader->offsets));
		if (offsets)
			reader->offsets = offsets;
		if (!instructions || !texts || !offsets)
			return pesa_error_no_memory();
	}
	source->instructions[count] = *instruction;
	source->text[count] = strdup(text);
	if (!source->text[count])
		return pesa_error_no_memory();
	reader->offsets[count] = (uint64_t)section << 48 | offset;
	source->count++;
	return NULL;
}

/* auipc and jalr that the linker may turn into one call are one instruction of the source. */
static bool fuse_call(const struct pesa_isa *isa, const uint8_t *bytes, size_t size,
		      const char *target, struct pesa_mca_instruction *instruction, char *text,
		      size_t text_size)
{
	static const char *const links[] = {"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2"};
	struct pesa_insn jump;
	int64_t base, link;

	if (!target || !pesa_insn_decode(isa, bytes + 4, size - 4, &jump) ||
	    strcmp(pesa_opcode_get(jump.opcode)->name, "JALR"))
		return false;
	base = instruction->insn.operand[0].value;
	link = jump.operand[0].value;
	if (link == base) {
		instruction->pseudo = link == 1 ? "PseudoCALL" : "PseudoCALLReg";
		if (link == 1)
			snprintf(text, text_size, "call\t%s", target);
		else
			snprintf(text, text_size, "call\t%s, %s", links[link & 7], target);
	} else if (!link) {
		instruction->pseudo = base == 6 ? "PseudoTAIL" : "PseudoJump";
		if (base == 6)
			snprintf(text, text_size, "tail\t%s", target);
		else
			snprintf(text, text_size, "jump\t%s, %s", target, links[base & 7]);
	} else {
		return false;
	}
	/* Pseudo instructions have the target and, where they name one, a register. */
	if (!strcmp(instruction->pseudo, "PseudoCALLReg") ||
	    !strcmp(instruction->pseudo, "PseudoJump")) {
		instruction->insn.operands = 2;
		instruction->insn.operand[1] =
			(struct pesa_operand){.kind = PESA_OPERAND_IMMEDIATE};
	} else {
		instruction->insn.operands = 1;
		instruction->insn.operand[0] =
			(struct pesa_operand){.kind = PESA_OPERAND_IMMEDIATE};
	}
	instruction->insn.length = 8;
	return true;
}

/* The assembly of an instruction; a target that has a label is shown by it. */
static void print_instruction(const struct pesa_isa *isa, const struct object *object,
			      size_t section, uint64_t offset, const struct pesa_insn *insn,
			      char *text, size_t size)
{
	const char *label = NULL;
	uint64_t target;
	char *last;

	pesa_insn_print(isa, insn, offset, 0, text, size);
	if (pesa_insn_target(insn, offset, &target) && target != offset)
		label = label_at(object, section, target);
	if (!label)
		return;
	last = strrchr(text, ' ');
	if (!last)
		last = strchr(text, '\t');
	if (last)
		snprintf(last + 1, size - (last + 1 - text), "%s", label);
}

static struct pesa_error *read_section(struct reader *reader, const struct pesa_isa *isa,
				       struct object *object, Elf_Scn *section)
{
	size_t index = elf_ndxscn(section);
	Elf_Data *data = elf_getdata(section, NULL);
	size_t offset = 0;

	find_relocations(object, index);
	while (data && offset < data->d_size) {
		const uint8_t *bytes = (const uint8_t *)data->d_buf + offset;
		size_t left = data->d_size - offset;
		struct pesa_mca_instruction instruction = {.latency = -1};
		struct pesa_error *error;
		char text[512];
		unsigned int length;

		if (is_data(object, index, offset)) {
			offset++;
			continue;
		}
		length = pesa_insn_decode(isa, bytes, left, &instruction.insn);
		if (!length)
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "%s: the instruction at offset %#zx of the object "
						 "file is not known for %s",
						 reader->name, offset, reader->options->isa);
		if (length == 4 && left >= 8 &&
		    fuse_call(isa, bytes, left, call_target(object, offset), &instruction, text,
			      sizeof(text)))
			length = 8;
		else
			print_instruction(isa, object, index, offset, &instruction.insn, text,
					  sizeof(text));
		error = add_instruction(reader, index, offset, &instruction, text);
		if (error)
			return error;
		offset += length;
	}
	return NULL;
}

static void place_markers(struct reader *reader, const struct object *object)
{
	for (size_t i = 1; i < object->symbol_count; i++) {
		GElf_Sym symbol;
		const char *name;
		unsigned int number;

		if (!gelf_getsym(object->symbols, i, &symbol))
			continue;
		name = symbol_name(object, &symbol);
		if (sscanf(name, LABEL "%u", &number) != 1 || number >= reader->marker_count)
			continue;
		reader->markers[number].offset = symbol.st_value;
		reader->markers[number].section = symbol.st_shndx;
		reader->markers[number].placed = true;
	}
}

static struct pesa_error *read_object(struct reader *reader, const char *path)
{
	struct object object = {0};
	struct pesa_error *error = NULL;
	struct pesa_isa *isa;
	int file;

	error = pesa_isa_create(reader->options->isa, &isa);
	if (error)
		return error;
	elf_version(EV_CURRENT);
	file = open(path, O_RDONLY | O_CLOEXEC);
	object.elf = file < 0 ? NULL : elf_begin(file, ELF_C_READ_MMAP, NULL);
	if (!object.elf || elf_kind(object.elf) != ELF_K_ELF) {
		error = pesa_error_create(PESA_ERROR_FORMAT,
					  "%s: the assembler did not make an object file",
					  reader->name);
	} else {
		find_symbols(&object);
		place_markers(reader, &object);
		for (Elf_Scn *section = NULL;
		     !error && (section = elf_nextscn(object.elf, section));) {
			GElf_Shdr header;

			if (gelf_getshdr(section, &header) && header.sh_type == SHT_PROGBITS &&
			    header.sh_flags & SHF_EXECINSTR)
				error = read_section(reader, isa, &object, section);
		}
	}
	if (object.elf)
		elf_end(object.elf);
	if (file >= 0)
		close(file);
	pesa_isa_free(isa);
	return error;
}

/* ---- Regions and instruments --------------------------------------------------------------- */

/* One line that says what is wrong, and below it the marker, as llvm-mca shows it. */
static struct pesa_error *fail_at(const struct reader *reader, const struct marker *marker,
				  const char *format, ...) __attribute__((format(printf, 3, 4)));
static struct pesa_error *fail_at(const struct reader *reader, const struct marker *marker,
				  const char *format, ...)
{
	struct pesa_error *error;
	char *message;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	va_end(arguments);
	if (!message)
		return pesa_error_no_memory();
	error = pesa_error_create(
		PESA_ERROR_FORMAT,
		"%s:%u: error: %s\n# LLVM-MCA-%s\n ^\nerror: There was an error parsing comments.",
		reader->name, marker->line, message, marker->text);
	free(message);
	return error;
}

/* The number of the first instruction at or after a marker. */
static unsigned int instruction_at(const struct reader *reader, const struct marker *marker)
{
	uint64_t place = (uint64_t)marker->section << 48 | marker->offset;
	unsigned int index = 0;

	while (index < reader->source->count && reader->offsets[index] < place)
		index++;
	return index;
}

static struct mca_source_region *find_open(struct mca_source *source, const char *name,
					   unsigned int *open)
{
	struct mca_source_region *found = NULL;

	*open = 0;
	for (unsigned int i = 0; i < source->region_count; i++) {
		struct mca_source_region *region = &source->regions[i];

		if (!region->has_begin || region->has_end)
			continue;
		++*open;
		if (!name || !strcmp(region->name, name))
			found = region;
	}
	return found;
}

static struct pesa_error *begin_region(struct reader *reader, const struct marker *marker,
				       const char *name)
{
	struct mca_source *source = reader->source;
	struct mca_source_region *region;
	unsigned int open;

	if (find_open(source, name, &open))
		return *name ? fail_at(reader, marker,
				       "overlapping regions cannot have the same name: %s", name)
			     : fail_at(reader, marker,
				       "found multiple overlapping anonymous regions");
	if (!open && source->region_count == 1 && !source->regions[0].has_begin &&
	    !source->regions[0].has_end) {
		region = &source->regions[0];
		free(region->name);
	} else {
		region = realloc(source->regions, (source->region_count + 1) * sizeof(*region));
		if (!region)
			return pesa_error_no_memory();
		source->regions = region;
		region += source->region_count++;
	}
	*region = (struct mca_source_region){
		.name = strdup(name),
		.has_begin = true,
		.first = instruction_at(reader, marker),
	};
	region->count = source->count - region->first;
	return region->name ? NULL : pesa_error_no_memory();
}

static struct pesa_error *end_region(struct reader *reader, const struct marker *marker,
				     const char *name)
{
	struct mca_source *source = reader->source;
	struct mca_source_region *region;
	unsigned int open, end = instruction_at(reader, marker);

	region = find_open(source, *name ? name : NULL, &open);
	if (!*name && open != 1) {
		region = find_open(source, "", &open);
		if (!open && source->region_count == 1 && !source->regions[0].has_begin &&
		    !source->regions[0].has_end)
			region = &source->regions[0];
	}
	if (!region)
		return fail_at(
			reader, marker,
			"found an invalid region end directive: there is no active region%s%s",
			*name ? " named " : "", name);
	region->has_end = true;
	region->count = end > region->first ? end - region->first : 0;
	return NULL;
}

/* The instruments in force. */
struct instruments {
	enum pesa_mca_lmul lmul;
	unsigned int sew;
	int latency;
};

/* In llvm-mca's words, which its users' scripts look for, and what would have been right. */
static struct pesa_error *bad_instrument(const struct reader *reader, const struct marker *marker,
					 const char *instrument, const char *data,
					 const char *expected)
{
	return fail_at(reader, marker, "Failed to create %s instrument with %s%s; expected %s",
		       instrument, *data ? "data: " : "no data", data, expected);
}

static struct pesa_error *set_instrument(struct reader *reader, const struct marker *marker,
					 struct instruments *instruments)
{
	static const char *const lmuls[] = {"", "M1", "M2", "M4", "M8", "MF8", "MF4", "MF2"};
	const struct instruments before = *instruments;
	const char *data;
	char *end;
	long value;

	if (!strncmp(marker->text, "RISCV-LMUL", 10)) {
		data = marker->text + 10 + strspn(marker->text + 10, " \t");
		for (unsigned int i = 1; i < 8; i++)
			if (!strcmp(data, lmuls[i])) {
				instruments->lmul =
					marker->after_vsetvli ? before.lmul : (enum pesa_mca_lmul)i;
				return NULL;
			}
		return bad_instrument(reader, marker, "RISCV-LMUL", data,
				      "M1, M2, M4, M8, MF2, MF4 or MF8");
	}
	if (!strncmp(marker->text, "RISCV-SEW", 9)) {
		data = marker->text + 9 + strspn(marker->text + 9, " \t");
		value = *data == 'E' ? strtol(data + 1, &end, 10) : 0;
		if ((value == 8 || value == 16 || value == 32 || value == 64) && !*end) {
			instruments->sew = marker->after_vsetvli ? before.sew : (unsigned int)value;
			return NULL;
		}
		return bad_instrument(reader, marker, "RISCV-SEW", data, "E8, E16, E32 or E64");
	}
	if (!strncmp(marker->text, "LATENCY", 7)) {
		data = marker->text + 7 + strspn(marker->text + 7, " \t");
		value = strtol(data, &end, 10);
		if (*data && !*end && value >= 0 && value <= 32767) {
			instruments->latency = value;
			return NULL;
		}
		return bad_instrument(reader, marker, "LATENCY", data, "a number of cycles");
	}
	return fail_at(reader, marker,
		       "Unknown instrumentation type in LLVM-MCA comment: %.*s; expected "
		       "RISCV-LMUL, RISCV-SEW or LATENCY",
		       (int)strcspn(marker->text, " \t"), marker->text);
}

/* vsetvli and vsetivli say under which LMUL and SEW the instructions after them run. */
static void follow_vsetvli(const struct pesa_mca_instruction *instruction,
			   struct instruments *instruments)
{
	static const uint8_t lmuls[] = {PESA_MCA_LMUL_1,   PESA_MCA_LMUL_2,    PESA_MCA_LMUL_4,
					PESA_MCA_LMUL_8,   PESA_MCA_LMUL_NONE, PESA_MCA_LMUL_1_8,
					PESA_MCA_LMUL_1_4, PESA_MCA_LMUL_1_2};
	const char *name = pesa_opcode_get(instruction->insn.opcode)->name;
	uint64_t type;

	if (instruction->pseudo || (strcmp(name, "VSETVLI") && strcmp(name, "VSETIVLI")))
		return;
	type = instruction->insn.operand[2].value;
	if (lmuls[type & 7] == PESA_MCA_LMUL_NONE || (type >> 3 & 7) > 3)
		return;
	instruments->lmul = lmuls[type & 7];
	instruments->sew = 8u << (type >> 3 & 7);
}

static struct pesa_error *apply_markers(struct reader *reader)
{
	struct mca_source *source = reader->source;
	struct instruments instruments = {.latency = -1};
	unsigned int instruction = 0;

	source->regions = calloc(1, sizeof(*source->regions));
	if (!source->regions)
		return pesa_error_no_memory();
	source->region_count = 1;
	source->regions[0] = (struct mca_source_region){.name = strdup(""), .count = source->count};
	if (!source->regions[0].name)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i <= reader->marker_count; i++) {
		const struct marker *marker = &reader->markers[i];
		unsigned int until = source->count;
		struct pesa_error *error = NULL;
		const char *text;

		if (i < reader->marker_count && marker->placed)
			until = instruction_at(reader, marker);
		for (; reader->options->instruments && instruction < until; instruction++) {
			struct pesa_mca_instruction *entry = &source->instructions[instruction];

			follow_vsetvli(entry, &instruments);
			entry->lmul = instruments.lmul;
			entry->sew = instruments.sew;
			entry->latency = instruments.latency;
		}
		if (i == reader->marker_count)
			break;
		text = marker->text;
		if (!strncmp(text, "BEGIN", 5))
			error = begin_region(reader, marker, text + 5 + strspn(text + 5, " \t"));
		else if (!strncmp(text, "END", 3))
			error = end_region(reader, marker, text + 3 + strspn(text + 3, " \t"));
		else if (reader->options->instruments)
			/* llvm-mca reads such a marker before the vsetvli, which then overrides it.
			 */
			error = set_instrument(reader, marker, &instruments);
		if (error)
			return error;
	}
	return NULL;
}

struct pesa_error *mca_source_whole(struct mca_source *source, bool instruments)
{
	const struct mca_source_options options = {.instruments = instruments};
	struct reader reader = {.options = &options, .source = source};

	return apply_markers(&reader);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static struct pesa_error *read_all(const char *path, char **text, size_t *size)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct stat status;
	size_t room = 0;

	*text = NULL;
	*size = 0;
	if (!file)
		return pesa_error_system(errno, "%s: cannot open", path);
	if (!fstat(fileno(file), &status) && S_ISDIR(status.st_mode)) {
		fclose(file);
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: is a directory", path);
	}
	do {
		if (*size + 1 >= room) {
			char *larger = realloc(*text, room = 2 * room + 65536);

			if (!larger) {
				if (file != stdin)
					fclose(file);
				return pesa_error_no_memory();
			}
			*text = larger;
		}
		*size += fread(*text + *size, 1, room - *size - 1, file);
	} while (!feof(file) && !ferror(file));
	if (file != stdin)
		fclose(file);
	return NULL;
}

static struct pesa_error *read_in(struct reader *reader, const char *directory)
{
	char input[256], output[256], messages[256], *text;
	struct pesa_error *error;
	size_t size;
	FILE *file;

	snprintf(input, sizeof(input), "%s/input.s", directory);
	snprintf(output, sizeof(output), "%s/output.o", directory);
	snprintf(messages, sizeof(messages), "%s/messages", directory);
	error = read_all(reader->options->path, &text, &size);
	if (!error) {
		file = fopen(input, "we");
		if (file) {
			error = rewrite(reader, text, size, file);
			if (fclose(file) && !error)
				error = pesa_error_system(errno, "%s: cannot write", input);
		} else {
			error = pesa_error_system(errno, "%s: cannot write", input);
		}
	}
	if (!error)
		error = assemble(reader, input, output, messages);
	if (!error)
		error = read_object(reader, output);
	if (!error)
		error = apply_markers(reader);
	free(text);
	unlink(input);
	unlink(output);
	unlink(messages);
	return error;
}

struct pesa_error *mca_source_read(const struct mca_source_options *options,
				   struct mca_source *source)
{
	const char *temporary = getenv("TMPDIR");
	struct reader reader = {.options = options, .source = source};
	struct pesa_error *error;
	char directory[200];

	memset(source, 0, sizeof(*source));
	reader.name = strcmp(options->path, "-") ? options->path : "<stdin>";
	if (!temporary || strlen(temporary) > 150)
		temporary = "/tmp";
	snprintf(directory, sizeof(directory), "%s/pesa-mca-XXXXXX", temporary);
	if (!mkdtemp(directory))
		return pesa_error_system(errno, "%s: cannot make a directory", directory);
	error = read_in(&reader, directory);
	rmdir(directory);
	for (unsigned int i = 0; i < reader.marker_count; i++)
		free(reader.markers[i].text);
	free(reader.markers);
	free(reader.offsets);
	if (error)
		mca_source_free(source);
	return error;
}

void mca_source_free(struct mca_source *source)
{
	for (unsigned int i = 0; i < source->count; i++)
		free(source->text[i]);
	for (unsigned int i = 0; i < source->region_count; i++)
		free(source->regions[i].name);
	free(source->text);
	free(source->regions);
	free(source->instructions);
	free(source->address);
	memset(source, 0, sizeof(*source));
}
