// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions without a symbol: see symbol_unnamed.h. */
#include <endian.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/distinct.h"
#include "decoder/base/intervals.h"
#include "decoder/binary/elf_section.h"
#include "decoder/binary/frame_table.h"
#include "decoder/binary/symbol_unnamed.h"

struct finding {
	Elf *elf;
	struct pesa_symbol_table *table;
	struct pesa_intervals code;	 /* sections */
	struct pesa_intervals described; /* by the unwinding table; adjoining ones are one */
	struct distinct_records used;	 /* addresses of other code, called or taken */
};

/* ---- Sections ------------------------------------------------------------------------------ */

/* The next section of code after `scn`; NULL: there is none.  *data: its bytes, not NULL. */
static Elf_Scn *next_code(Elf *elf, Elf_Scn *scn, GElf_Shdr *header, Elf_Data **data)
{
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, header) || header->sh_type != SHT_PROGBITS ||
		    !(header->sh_flags & SHF_EXECINSTR))
			continue;
		*data = elf_rawdata(scn, NULL);
		if (*data && (*data)->d_buf)
			return scn;
	}
	return NULL;
}

static struct pesa_error *list_code(struct finding *finding)
{
	struct pesa_error *error = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	for (Elf_Scn *scn = NULL; !error && (scn = next_code(finding->elf, scn, &header, &data));)
		error = pesa_intervals_add(&finding->code, header.sh_addr,
					   header.sh_addr + data->d_size, 0);
	pesa_intervals_sort(&finding->code);
	return error;
}

/* End of the code section that holds an address; 0: none does. */
static uint64_t end_of_code(const struct finding *finding, uint64_t address)
{
	const struct pesa_interval *section = pesa_intervals_find(&finding->code, address);

	return section ? section->end : 0;
}

/* ---- Unwinding table ----------------------------------------------------------------------- */

static struct pesa_error *add_described(void *context, uint64_t start, uint64_t size)
{
	struct finding *finding = context;
	uint64_t end = end_of_code(finding, start);
	struct pesa_error *error;

	/* The linker leaves entries of code that it removed. */
	if (!end || end - start < size)
		return NULL;
	error = pesa_intervals_add(&finding->described, start, start + size, 0);
	return error ? error
		     : pesa_symbol_table_add(finding->table, &(struct pesa_symbol_candidate){
								     .start = start, .size = size});
}

static struct pesa_error *load_frame_table(struct finding *finding, bool big_endian, bool wide)
{
	GElf_Shdr header;
	Elf_Scn *scn = pesa_elf_find_section(finding->elf, ".eh_frame", NULL, &header);
	Elf_Data *data = scn && header.sh_type != SHT_NOBITS ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf)
		return NULL;
	return pesa_frame_table_read(&(struct pesa_frame_table){.bytes = data->d_buf,
								.size = data->d_size,
								.address = header.sh_addr,
								.big_endian = big_endian,
								.wide = wide},
				     add_described, finding);
}

/* ---- Calls and addresses ------------------------------------------------------------------- */

static uint32_t word_at(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/* Immediate of JAL (unprivileged specification, "J-type"). */
static int32_t jump_distance(uint32_t word)
{
	uint32_t distance = (word >> 31) << 20 | (word >> 12 & 0xff) << 12 |
			    (word >> 20 & 1) << 11 | (word >> 21 & 0x3ff) << 1;

	return (int32_t)(distance << 11) >> 11;
}

/*
 * The function that is called at `bytes`, by `jal ra` or `auipc ra` and `jalr ra`, or whose address is
 * taken there, by `auipc` and `addi` of the same register.  False: none.
 */
static bool function_used(const uint8_t *bytes, size_t size, uint64_t pc, uint64_t *target)
{
	uint32_t word = size < 4 ? 0 : word_at(bytes), next = size < 8 ? 0 : word_at(bytes + 4);
	uint32_t rd = word >> 7 & 31;
	bool calls = rd == 1 && (next & 0xfffff) == 0x080e7;
	bool takes = (next & 0xfffff) == (0x13 | rd << 7 | rd << 15);

	if ((word & 0xfff) == 0x0ef)
		*target = pc + (uint64_t)(int64_t)jump_distance(word);
	else if ((word & 0x7f) == 0x17 && (calls || takes))
		*target = pc + (uint64_t)(int64_t)(int32_t)(word & 0xfffff000) +
			  (uint64_t)(int64_t)((int32_t)next >> 20);
	else
		return false;
	return true;
}

static int by_address(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* The search of a section for calls and addresses taken. */
struct search {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	size_t last, longs; /* the last place that was tested, and its `longs` */
};

static bool is_long(const uint8_t *bytes)
{
	/* Longer encodings than of 4 bytes are in no ratified extension. */
	return (bytes[0] & 3) == 3;
}

/*
 * Whether an instruction begins at a place whose 2 bytes could begin a long one.  Places are tested in
 * their order.
 *
 * After 2 bytes that do not begin a long instruction, another instruction begins: they are a short one, or
 * the second half of a long one.  Of those in a row that could, every other one begins an instruction.
 * `longs` is how many of the row come before the place.
 */
static bool begins_instruction(struct search *search, size_t at)
{
	size_t start = at;

	while (start > search->last && is_long(search->bytes + start - 2))
		start -= 2;
	search->longs = (at - start) / 2 + (start == search->last ? search->longs : 0);
	search->last = at;
	return !(search->longs & 1);
}

/* Take the function that an instruction uses, if one begins there. */
static struct pesa_error *test_place(struct finding *finding, struct search *search, size_t at)
{
	uint64_t target;

	if (search->size - at < 4 || !begins_instruction(search, at) ||
	    !function_used(search->bytes + at, search->size - at, search->address + at, &target) ||
	    pesa_intervals_find(&finding->described, target))
		return NULL;
	return distinct_records_get(&finding->used, &target) == DISTINCT_NONE
		       ? pesa_error_no_memory()
		       : NULL;
}

/* Places are at 2 bytes: of four, those whose first byte is that of JAL to ra, or of AUIPC, have their
 * highest bit set in the result. */
static uint64_t find_candidates(const uint8_t *bytes)
{
	const uint64_t ones = UINT64_C(0x0001000100010001);
	uint64_t word, calls, addresses;

	memcpy(&word, bytes, sizeof(word));
	word = le64toh(word);
	/* Zero where it is the byte: nothing but a zero stays below 0x8000 when 0x7fff is added. */
	calls = (word & 0xff * ones) ^ 0xef * ones;
	addresses = (word & 0x7f * ones) ^ 0x17 * ones;
	return (~(calls + 0x7fff * ones) | ~(addresses + 0x7fff * ones)) & 0x8000 * ones;
}

static struct pesa_error *find_used(struct finding *finding, const GElf_Shdr *header,
				    const Elf_Data *data)
{
	struct search search = {
		.bytes = data->d_buf, .size = data->d_size, .address = header->sh_addr};
	struct pesa_error *error = NULL;
	size_t at = 0;

	for (; search.size - at >= sizeof(uint64_t) && !error; at += sizeof(uint64_t)) {
		uint64_t found = find_candidates(search.bytes + at);

		for (; found && !error; found &= found - 1)
			error = test_place(finding, &search,
					   at + (size_t)__builtin_ctzll(found) / 16 * 2);
	}
	for (; search.size - at >= 4 && !error; at += 2)
		if (is_long(search.bytes + at))
			error = test_place(finding, &search, at);
	return error;
}

static struct pesa_error *load_used(struct finding *finding)
{
	struct pesa_error *error = NULL;
	uint64_t *used;
	size_t count;
	GElf_Shdr header;
	Elf_Data *data;

	distinct_records_begin(&finding->used, sizeof(*used), sizeof(*used));
	for (Elf_Scn *scn = NULL; !error && (scn = next_code(finding->elf, scn, &header, &data));)
		error = find_used(finding, &header, data);
	used = (uint64_t *)finding->used.record;
	count = finding->used.index.count;
	if (count)
		qsort(used, count, sizeof(*used), by_address);
	for (size_t i = 0; i < count && !error; i++) {
		uint64_t end = end_of_code(finding, used[i]);

		if (end)
			error = pesa_symbol_table_add(
				finding->table,
				&(struct pesa_symbol_candidate){.start = used[i], .limit = end});
	}
	return error;
}

struct pesa_error *pesa_unnamed_functions_load(Elf *elf, struct pesa_symbol_table *table)
{
	struct finding finding = {.elf = elf, .table = table};
	struct pesa_error *error;
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header) || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return NULL;
	error = list_code(&finding);
	if (!error)
		error = load_frame_table(&finding, header.e_ident[EI_DATA] == ELFDATA2MSB,
					 header.e_ident[EI_CLASS] == ELFCLASS64);
	pesa_intervals_sort(&finding.described);
	pesa_intervals_merge(&finding.described);
	if (!error && header.e_machine == EM_RISCV && header.e_ident[EI_DATA] == ELFDATA2LSB)
		error = load_used(&finding);
	pesa_intervals_free(&finding.code);
	pesa_intervals_free(&finding.described);
	distinct_records_free(&finding.used);
	return error;
}
