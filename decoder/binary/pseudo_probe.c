/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading pseudo probes.  Little-endian; numbers are LEB128 where nothing else is said.
 *
 *	description	guid and checksum, 64 bits each; length of the name, name
 *	section		functions, one after another
 *	function	guid, 64 bits; number of probes, number of inlined calls; the probes; for each
 *			inlined call the number of its probe, and the function
 *	probe		number; a byte: kind, attributes, whether the address is a distance; address,
 *			64 bits or a signed distance from that of the probe before; discriminator, if an
 *			attribute says so
 *
 * The first probe's distance is from where the function begins.  Of a function that is in several parts,
 * the other parts begin with a sentinel, which has an address and is no probe.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/regular_file.h"
#include "decoder/binary/elf_section.h"
#include "decoder/binary/pseudo_probe.h"

#define KIND_MASK		0x0fu
#define KIND_BLOCK		0u
#define ATTRIBUTES(byte)	((byte) >> 4 & 7u)
#define ATTRIBUTE_SENTINEL	2u
#define ATTRIBUTE_DISCRIMINATOR 4u
#define IS_DISTANCE		0x80u
#define DEPTH_MAX		64 /* nested inlined calls; no compiler nests them deeper */

struct reader {
	const uint8_t *bytes;
	size_t at, size;
	bool failed; /* read past the end, or a number is too large */
};

static uint64_t read_fixed(struct reader *reader, unsigned int size)
{
	uint64_t value = 0;

	if (reader->size - reader->at < size) {
		reader->failed = true;
		return 0;
	}
	for (unsigned int i = 0; i < size; i++)
		value |= (uint64_t)reader->bytes[reader->at++] << 8 * i;
	return value;
}

static uint64_t read_leb(struct reader *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		if (shift >= 64) {
			reader->failed = true;
			return 0;
		}
		byte = (uint8_t)read_fixed(reader, 1);
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !reader->failed);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static uint32_t read_number(struct reader *reader)
{
	uint64_t value = read_leb(reader, false);

	if (value >= UINT32_MAX)
		reader->failed = true;
	return (uint32_t)value;
}

/* Room for one more element. */
static struct pesa_error *grow(void *array, size_t *room, size_t count, size_t size)
{
	void **pointer = array, *larger;
	size_t wanted = *room ? 2 * *room : 64;

	if (count < *room)
		return NULL;
	larger = realloc(*pointer, wanted * size);
	if (!larger)
		return pesa_error_no_memory();
	*pointer = larger;
	*room = wanted;
	return NULL;
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

static int by_guid(const void *left, const void *right)
{
	const struct pseudo_probe_function *a = left, *b = right;

	return a->guid < b->guid ? -1 : a->guid > b->guid;
}

static struct pesa_error *read_description(struct reader *reader, struct pseudo_probes *probes)
{
	struct pseudo_probe_function function = {.guid = read_fixed(reader, 8)};
	struct pesa_error *error;
	uint64_t length;

	function.checksum = read_fixed(reader, 8);
	length = read_leb(reader, false);
	if (reader->failed || length > reader->size - reader->at) {
		reader->failed = true;
		return NULL;
	}
	error = grow(&probes->function, &probes->function_room, probes->functions,
		     sizeof(*probes->function));
	if (error)
		return error;
	function.name = strndup((const char *)reader->bytes + reader->at, length);
	if (!function.name)
		return pesa_error_no_memory();
	reader->at += length;
	probes->function[probes->functions++] = function;
	return NULL;
}

static uint32_t find_function(const struct pseudo_probes *probes, uint64_t guid)
{
	const struct pseudo_probe_function key = {.guid = guid};
	const struct pseudo_probe_function *found =
		probes->functions
			? bsearch(&key, probes->function, probes->functions, sizeof(key), by_guid)
			: NULL;

	return found ? (uint32_t)(found - probes->function) : PSEUDO_PROBE_NONE;
}

/* ---- Probes ---------------------------------------------------------------------------------- */

struct reading {
	struct reader reader;
	struct pseudo_probes *probes;
	pseudo_probe_locate *locate;
	void *context;
	uint64_t address; /* of the probe before */
	bool known;	  /* that address is */
};

static struct pesa_error *read_probe(struct reading *reading, uint32_t body)
{
	struct pseudo_probes *probes = reading->probes;
	struct pseudo_probe probe = {.body = body, .number = read_number(&reading->reader)};
	uint8_t byte = (uint8_t)read_fixed(&reading->reader, 1);
	struct pesa_error *error;

	if (byte & IS_DISTANCE) {
		reading->address += read_leb(&reading->reader, true);
	} else {
		reading->address = read_fixed(&reading->reader, 8);
		reading->known = true;
	}
	if (ATTRIBUTES(byte) & ATTRIBUTE_DISCRIMINATOR)
		read_leb(&reading->reader, false);
	if (reading->reader.failed || ATTRIBUTES(byte) & ATTRIBUTE_SENTINEL)
		return NULL;
	if (!reading->known) {
		probes->lost++;
		return NULL;
	}
	probe.address = reading->address;
	probe.call = (byte & KIND_MASK) != KIND_BLOCK;
	error = grow(&probes->probe, &probes->room, probes->count, sizeof(*probes->probe));
	if (!error)
		probes->probe[probes->count++] = probe;
	return error;
}

static struct pesa_error *read_body(struct reading *reading, uint32_t parent, uint32_t call,
				    unsigned int depth)
{
	struct pseudo_probes *probes = reading->probes;
	struct pseudo_probe_body body = {.parent = parent, .call = call};
	uint32_t count, inlined, number = (uint32_t)probes->bodies;
	struct pesa_error *error;

	body.function = find_function(probes, read_fixed(&reading->reader, 8));
	count = read_number(&reading->reader);
	inlined = read_number(&reading->reader);
	if (reading->reader.failed || depth == DEPTH_MAX || number == PSEUDO_PROBE_NONE) {
		reading->reader.failed = true;
		return NULL;
	}
	error = grow(&probes->body, &probes->body_room, probes->bodies, sizeof(*probes->body));
	if (!error)
		probes->body[probes->bodies++] = body;
	if (!error && parent == PSEUDO_PROBE_NONE) {
		reading->known = false;
		if (body.function != PSEUDO_PROBE_NONE)
			error = reading->locate(reading->context,
						probes->function[body.function].name,
						&reading->address, &reading->known);
	}
	for (uint32_t i = 0; i < count && !error && !reading->reader.failed; i++)
		error = read_probe(reading, number);
	for (uint32_t i = 0; i < inlined && !error && !reading->reader.failed; i++) {
		uint32_t at = read_number(&reading->reader);

		error = read_body(reading, number, at, depth + 1);
	}
	return error;
}

static int by_address(const void *left, const void *right)
{
	const struct pseudo_probe *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->body != b->body)
		return a->body < b->body ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

struct pesa_error *pseudo_probes_read(const uint8_t *descriptions, size_t descriptions_size,
				      const uint8_t *sections, size_t sections_size,
				      pseudo_probe_locate *locate, void *context,
				      struct pseudo_probes *probes)
{
	struct reader reader = {.bytes = descriptions, .size = descriptions_size};
	struct reading reading = {.reader = {.bytes = sections, .size = sections_size},
				  .probes = probes,
				  .locate = locate,
				  .context = context};
	struct pesa_error *error = NULL;

	*probes = (struct pseudo_probes){0};
	while (reader.at < reader.size && !reader.failed && !error)
		error = read_description(&reader, probes);
	if (!error && probes->functions)
		qsort(probes->function, probes->functions, sizeof(*probes->function), by_guid);
	while (reading.reader.at < reading.reader.size && !reading.reader.failed && !error)
		error = read_body(&reading, PSEUDO_PROBE_NONE, 0, 0);
	probes->damaged = reader.failed || reading.reader.failed;
	if (!error && probes->count)
		qsort(probes->probe, probes->count, sizeof(*probes->probe), by_address);
	return error;
}

static struct pesa_error *read_elf(Elf *elf, pseudo_probe_locate *locate, void *context,
				   struct pseudo_probes *probes)
{
	static const char *const names[2] = {".pseudo_probe_desc", ".pseudo_probe"};
	Elf_Data *data[2];

	for (unsigned int i = 0; i < 2; i++) {
		GElf_Shdr header;
		Elf_Scn *scn = pesa_elf_find_section(elf, names[i], NULL, &header);

		data[i] = scn && header.sh_type != SHT_NOBITS ? elf_rawdata(scn, NULL) : NULL;
		if (!data[i] || !data[i]->d_buf)
			return NULL;
	}
	return pseudo_probes_read(data[0]->d_buf, data[0]->d_size, data[1]->d_buf, data[1]->d_size,
				  locate, context, probes);
}

struct pesa_error *pseudo_probes_open(const char *path, pseudo_probe_locate *locate, void *context,
				      struct pseudo_probes *probes)
{
	int descriptor = pesa_binary_open(path);
	struct pesa_error *error = NULL;
	Elf *elf;

	*probes = (struct pseudo_probes){0};
	if (descriptor < 0)
		return pesa_regular_file_failed(path);
	elf_version(EV_CURRENT);
	elf = elf_begin(descriptor, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		error = read_elf(elf, locate, context, probes);
	elf_end(elf);
	close(descriptor);
	return error;
}

void pseudo_probes_free(struct pseudo_probes *probes)
{
	for (size_t i = 0; i < probes->functions; i++)
		free(probes->function[i].name);
	free(probes->function);
	free(probes->body);
	free(probes->probe);
	*probes = (struct pseudo_probes){0};
}

size_t pseudo_probes_from(const struct pseudo_probes *probes, uint64_t address)
{
	size_t low = 0, high = probes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (probes->probe[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
