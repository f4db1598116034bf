/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/calibrate/loops.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/assemble.h"

#define BASE	    UINT64_C(0x10000)
#define MEMORY	    UINT64_C(0x1000000)
#define MEMORY_BITS 24 /* 16 MB: larger than most caches */
#define WORDS_MAX   8192u
#define ALIGNMENT   16u	       /* instructions */
#define MOST	    0x7ffff000 /* iterations */
#define TARGET	    "target"

/* ---- What is in a loop ------------------------------------------------------------------------ */

/* A line, so many times.  In a branch, TARGET is so many instructions behind it. */
struct piece {
	const char *line;
	unsigned int times, skips;
};

struct plan {
	const char *name, *held_by;
	unsigned int holder, holders; /* instructions */
	unsigned int cycles;	      /* of an iteration, about */
	struct piece piece[8];
};

#define ADD "add a3, a1, a1"
/* a1 is -1 and a0 the largest number: the quotients stay as large, and take as long. */
#define DIVIDE "div a0, a0, a1"
#define DIVISION(fill)                                                  \
	{                                                               \
		"division_" #fill, "a division", 0, 1, 25 + (fill) / 2, \
		{                                                       \
			{DIVIDE, 1, 0},                                 \
			{                                               \
				ADD, fill, 0                            \
			}                                               \
		}                                                       \
	}
/* The next line of memory is not known before the load is done, and is nowhere near. */
#define CHASE                                                                               \
	{"mul a2, a2, a7", 1, 0}, {"addi a2, a2, 1", 1, 0}, {"slli a6, a2, 6", 1, 0},       \
		{"and a6, a6, a5", 1, 0}, {"add a6, a6, s1", 1, 0}, {"ld a0, 0(a6)", 1, 0}, \
	{                                                                                   \
		"add a2, a2, a0", 1, 0                                                      \
	}

static const struct plan plans[] = {
	DIVISION(3),
	DIVISION(10),
	DIVISION(27),
	DIVISION(60),
	DIVISION(151),
	{"divisions", "divisions", 0, 3, 100, {{DIVIDE, 3, 0}, {ADD, 41, 0}}},
	{"multiplications", "multiplications", 0, 9, 35, {{"mul a0, a0, a1", 9, 0}, {ADD, 12, 0}}},
	{"multiplications_50",
	 "multiplications",
	 0,
	 20,
	 90,
	 {{"mul a0, a0, a1", 20, 0}, {ADD, 50, 0}}},
	{"loads", "a load that misses, or what needs it", 5, 2, 150, {CHASE}},
	{"loads_37", "a load that misses, or what needs it", 5, 2, 160, {CHASE, {ADD, 30, 0}}},
	{"straight", NULL, 0, 0, 40, {{ADD, 45, 0}, {"add a4, a1, a1", 45, 0}}},
	{"taken", NULL, 0, 0, 40, {{"beq zero, zero, " TARGET, 14, 2}, {ADD, 14, 0}}},
	{"mispredicted",
	 NULL,
	 0,
	 0,
	 25,
	 {{"mul a2, a2, a7", 1, 0},
	  {"addi a2, a2, 1", 1, 0},
	  {"srli a6, a2, 33", 1, 0},
	  {"andi a6, a6, 1", 1, 0},
	  {"beqz a6, " TARGET, 1, 2},
	  {"addi a3, a3, 1", 1, 0},
	  {ADD, 9, 0}}},
};

#define PLANS (sizeof(plans) / sizeof(plans[0]))

/* What each loop begins with, besides its iterations. */
static const char *const registers[] = {
	"li a1, -1", "li a0, -1", "srli a0, a0, 1", "li a2, 1", "li a7, 1365",
};

/* ---- Assembling ------------------------------------------------------------------------------- */

struct assembling {
	struct pesa_isa *isa;
	uint32_t word[WORDS_MAX];
	unsigned int words;
};

/* Add a line, whose TARGET is so many instructions away. */
static struct pesa_error *add(struct assembling *program, const char *line, int distance)
{
	struct pesa_assembly assembly;

	if (!pesa_assemble(program->isa, line, strlen(line), &assembly) ||
	    (assembly.use == PESA_SYMBOL_TARGET &&
	     !pesa_assembly_set_target(program->isa, &assembly.insn[0], 4 * (int64_t)distance)) ||
	    program->words + assembly.count > WORDS_MAX)
		return pesa_error_create(PESA_ERROR_OTHER, "cannot assemble '%s'", line);
	for (unsigned int i = 0; i < assembly.count; i++)
		program->word[program->words++] = (uint32_t)assembly.insn[i].bits;
	return NULL;
}

/* A number of 31 bits into a register. */
static struct pesa_error *add_number(struct assembling *program, const char *name, uint32_t number)
{
	char line[64];
	struct pesa_error *error;

	snprintf(line, sizeof(line), "lui %s, %" PRIu32, name, (number + 0x800) >> 12);
	error = add(program, line, 0);
	snprintf(line, sizeof(line), "addiw %s, %s, %" PRId32, name, name,
		 (int32_t)((number & 0xfff) ^ 0x800) - 0x800);
	return error ? error : add(program, line, 0);
}

/* The memory is written once: pages that were only read are all the same one. */
static struct pesa_error *add_memory(struct assembling *program)
{
	static const char *const lines[] = {"mv a6, s1",      "lui a4, 1",	"srli a3, a5, 12",
					    "sd zero, 0(a6)", "add a6, a6, a4", "addi a3, a3, -1",
					    "bnez a3, target"};
	struct pesa_error *error = add_number(program, "s1", MEMORY);

	if (!error)
		error = add_number(program, "a5", (1u << MEMORY_BITS) - 64);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && !error; i++)
		error = add(program, lines[i], -3);
	return error;
}

static struct pesa_error *add_loop(struct assembling *program, const struct plan *plan,
				   struct microloop *loop)
{
	struct pesa_error *error = add_number(program, "s0", (uint32_t)loop->iterations);
	unsigned int first;

	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]) && !error; i++)
		error = add(program, registers[i], 0);
	while (!error && program->words % ALIGNMENT)
		error = add(program, "nop", 0);
	first = program->words;
	for (const struct piece *piece = plan->piece; !error && piece->line; piece++)
		for (unsigned int i = 0; i < piece->times && !error; i++)
			error = add(program, piece->line, (int)piece->skips);
	if (!error)
		error = add(program, "addi s0, s0, -1", 0);
	if (!error)
		error = add(program, "bnez s0, " TARGET, (int)first - (int)program->words);
	loop->start = first;
	loop->length = program->words - first;
	return error;
}

static struct pesa_error *assemble(struct assembling *program, uint64_t cycles,
				   struct microloops *loops)
{
	struct pesa_error *error = add_memory(program);

	for (size_t i = 0; i < PLANS && !error; i++) {
		struct microloop *loop = &loops->loop[i];
		uint64_t iterations = cycles / PLANS / plans[i].cycles + 1;

		*loop = (struct microloop){
			.name = plans[i].name,
			.held_by = plans[i].held_by,
			.holder = plans[i].holder,
			.holders = plans[i].holders,
			.iterations = iterations < MOST ? iterations : MOST,
		};
		error = add_loop(program, &plans[i], loop);
	}
	if (!error)
		error = add(program, "li a0, 0", 0);
	if (!error)
		error = add(program, "li a7, 93", 0); /* exit */
	return error ? error : add(program, "ecall", 0);
}

/* ---- The file --------------------------------------------------------------------------------- */

enum { SECTION_NONE, SECTION_TEXT, SECTION_SYMBOLS, SECTION_STRINGS, SECTIONS };

static const char strings[] = "\0.text\0.symtab\0.strtab";

/* How the file is laid out; one string table is for sections and symbols. */
struct layout {
	size_t text, symbols, strings, sections, end;
};

static struct layout lay_out(const struct assembling *program, const struct microloops *loops)
{
	struct layout at = {.text = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr)};

	at.text = (at.text + 63) & ~(size_t)63;
	at.symbols = (at.text + 4 * (size_t)program->words + 7) & ~(size_t)7;
	at.strings = at.symbols + (loops->count + 1) * sizeof(Elf64_Sym);
	at.sections = at.strings + sizeof(strings);
	for (size_t i = 0; i < loops->count; i++)
		at.sections += strlen(loops->loop[i].name) + 1;
	at.sections = (at.sections + 7) & ~(size_t)7;
	at.end = at.sections + SECTIONS * sizeof(Elf64_Shdr);
	return at;
}

static void write_headers(uint8_t *file, const struct layout *at, size_t text_size)
{
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_RISCV,
		.e_version = EV_CURRENT,
		.e_entry = BASE + at->text,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = at->sections,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = SECTION_STRINGS,
	};
	const Elf64_Phdr segments[2] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_vaddr = BASE,
		 .p_paddr = BASE,
		 .p_filesz = at->text + text_size,
		 .p_memsz = at->text + text_size,
		 .p_align = 0x1000},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_W,
		 .p_vaddr = MEMORY,
		 .p_paddr = MEMORY,
		 .p_memsz = UINT64_C(1) << MEMORY_BITS,
		 .p_align = 0x1000},
	};

	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), segments, sizeof(segments));
}

/* Symbols of the loops, and their names. */
static void write_symbols(uint8_t *file, const struct layout *at, const struct microloops *loops)
{
	size_t name = sizeof(strings);

	memcpy(file + at->strings, strings, sizeof(strings));
	for (size_t i = 0; i < loops->count; i++) {
		const struct microloop *loop = &loops->loop[i];
		const Elf64_Sym symbol = {
			.st_name = (Elf64_Word)name,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = SECTION_TEXT,
			.st_value = loop->start,
			.st_size = 4 * (Elf64_Xword)loop->length,
		};

		memcpy(file + at->symbols + (i + 1) * sizeof(symbol), &symbol, sizeof(symbol));
		strcpy((char *)file + at->strings + name, loop->name);
		name += strlen(loop->name) + 1;
	}
}

static void write_sections(uint8_t *file, const struct layout *at, size_t text_size)
{
	const Elf64_Shdr sections[SECTIONS] = {
		[SECTION_TEXT] = {.sh_name = 1,
				  .sh_type = SHT_PROGBITS,
				  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				  .sh_addr = BASE + at->text,
				  .sh_offset = at->text,
				  .sh_size = text_size,
				  .sh_addralign = 4},
		[SECTION_SYMBOLS] = {.sh_name = 7,
				     .sh_type = SHT_SYMTAB,
				     .sh_offset = at->symbols,
				     .sh_size = at->strings - at->symbols,
				     .sh_link = SECTION_STRINGS,
				     .sh_info = 1,
				     .sh_addralign = 8,
				     .sh_entsize = sizeof(Elf64_Sym)},
		[SECTION_STRINGS] = {.sh_name = 15,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = at->strings,
				     .sh_size = at->sections - at->strings,
				     .sh_addralign = 1},
	};

	memcpy(file + at->sections, sections, sizeof(sections));
}

static struct pesa_error *write_file(const struct assembling *program, struct microloops *loops)
{
	struct layout at = lay_out(program, loops);
	size_t text_size = 4 * (size_t)program->words;

	loops->file = calloc(1, at.end);
	if (!loops->file)
		return pesa_error_no_memory();
	loops->size = at.end;
	for (size_t i = 0; i < loops->count; i++)
		loops->loop[i].start = BASE + at.text + 4 * loops->loop[i].start;
	write_headers(loops->file, &at, text_size);
	/* Instructions are little-endian, as pesa's machines are. */
	memcpy(loops->file + at.text, program->word, text_size);
	write_symbols(loops->file, &at, loops);
	write_sections(loops->file, &at, text_size);
	return NULL;
}

struct pesa_error *microloops_create(uint64_t cycles, struct microloops *loops)
{
	struct assembling *program = calloc(1, sizeof(*program));
	struct pesa_error *error;

	*loops = (struct microloops){.count = PLANS};
	loops->loop = calloc(PLANS, sizeof(*loops->loop));
	error = program && loops->loop ? pesa_isa_create("rv64im", &program->isa)
				       : pesa_error_no_memory();
	if (!error)
		error = assemble(program, cycles, loops);
	if (!error)
		error = write_file(program, loops);
	if (program)
		pesa_isa_free(program->isa);
	free(program);
	if (error)
		microloops_free(loops);
	return error;
}

void microloops_free(struct microloops *loops)
{
	free(loops->loop);
	free(loops->file);
	*loops = (struct microloops){0};
}
