/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text, build id and instruction set of an ELF file: see include/pesa/image.h. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/regular_file.h"
#include "pesa/image.h"
#include "pesa/event.h"

#ifndef SHT_RISCV_ATTRIBUTES
#define SHT_RISCV_ATTRIBUTES 0x70000003
#endif

struct segment {
	uint64_t address, offset, file_size;
	bool executable;
	uint8_t *bytes; /* of executable segments only */
};

/* Maximum text of a file in bytes.  No program has more; a sparse file may claim any size. */
#define TEXT_MOST  (1u << 30)
#define NOTES_MOST (1u << 20)

struct pesa_image {
	char *isa;
	char machine[32];
	uint8_t build_id[PESA_BUILD_ID_MAX];
	unsigned int build_id_size;
	bool position_independent;
	unsigned int segment_count;
	struct segment *segments;
};

void pesa_image_close(struct pesa_image *image)
{
	if (!image)
		return;
	for (unsigned int i = 0; i < image->segment_count; i++)
		free(image->segments[i].bytes);
	free(image->segments);
	free(image->isa);
	free(image);
}

/* ---- ISA string ------------------------------------------------------------------------------ */

struct cursor {
	const uint8_t *at, *end;
};

static bool read_u32(struct cursor *cursor, uint32_t *value)
{
	if (cursor->end - cursor->at < 4)
		return false;
	*value = cursor->at[0] | cursor->at[1] << 8 | cursor->at[2] << 16 |
		 (uint32_t)cursor->at[3] << 24;
	cursor->at += 4;
	return true;
}

static bool read_uleb(struct cursor *cursor, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; cursor->at < cursor->end; shift += 7) {
		uint8_t byte = *cursor->at++;

		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static const char *read_string(struct cursor *cursor)
{
	const uint8_t *end = memchr(cursor->at, 0, cursor->end - cursor->at);
	const char *string = (const char *)cursor->at;

	if (!end)
		return NULL;
	cursor->at = end + 1;
	return string;
}

/*
 * The architecture string of a .riscv.attributes section (RISC-V psABI, "Attributes").  The format
 * is: version 'A', then subsections by vendor, each with the attributes of the file (tag 1).  Odd
 * tags are strings, even tags are numbers; Tag_RISCV_arch is 5.
 */
static const char *arch_attribute(const uint8_t *bytes, size_t size)
{
	struct cursor section = {bytes, bytes + size}, vendor, file;
	uint32_t length;
	uint64_t tag, number;
	const char *name, *string;

	if (!size || *section.at++ != 'A')
		return NULL;
	for (; read_u32(&section, &length); section.at = vendor.end) {
		if (length < 4 || length - 4 > section.end - section.at)
			return NULL;
		vendor = (struct cursor){section.at, section.at + length - 4};
		name = read_string(&vendor);
		if (!name || strcmp(name, "riscv"))
			continue;
		while (vendor.at < vendor.end) {
			const uint8_t *start = vendor.at;

			if (!read_uleb(&vendor, &tag) || !read_u32(&vendor, &length) ||
			    length > (size_t)(vendor.end - start) || start + length < vendor.at)
				return NULL;
			file = (struct cursor){vendor.at, start + length};
			vendor.at = file.end;
			while (tag == 1 && file.at < file.end) {
				uint64_t attribute;

				if (!read_uleb(&file, &attribute))
					return NULL;
				if (!(attribute & 1)) {
					if (!read_uleb(&file, &number))
						return NULL;
					continue;
				}
				string = read_string(&file);
				if (!string)
					return NULL;
				if (attribute == 5)
					return string;
			}
		}
	}
	return NULL;
}

static struct pesa_error *find_isa(struct pesa_image *image, Elf *elf, const GElf_Ehdr *header)
{
	Elf_Scn *section = NULL;
	const char *arch = NULL;

	while (!arch && (section = elf_nextscn(elf, section))) {
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(section, &shdr) || shdr.sh_type != SHT_RISCV_ATTRIBUTES)
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf)
			arch = arch_attribute(data->d_buf, data->d_size);
	}
	if (!arch)
		arch = header->e_ident[EI_CLASS] == ELFCLASS32 ? "rv32" : "rv64";
	image->isa = strdup(arch);
	return image->isa ? NULL : pesa_error_no_memory();
}

/* ---- Segments and notes ---------------------------------------------------------------------- */

static struct pesa_error *read_segment(int fd, uint64_t file_size, struct segment *segment,
				       const char *path)
{
	size_t done = 0;

	if (segment->offset > file_size || segment->file_size > file_size - segment->offset)
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"%s: segment at offset %#llx reaches beyond the end of the file", path,
			(unsigned long long)segment->offset);
	segment->bytes = malloc(segment->file_size ? segment->file_size : 1);
	if (!segment->bytes)
		return pesa_error_no_memory();
	while (done < segment->file_size) {
		ssize_t got = pread(fd, segment->bytes + done, segment->file_size - done,
				    (off_t)(segment->offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pesa_error_system(errno, "%s: cannot read", path);
		if (!got)
			break;
		done += (size_t)got;
	}
	segment->file_size = done;
	return NULL;
}

static void find_build_id(struct pesa_image *image, Elf *elf, const GElf_Phdr *phdr)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)phdr->p_offset, phdr->p_filesz,
					      phdr->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t offset = 0, name, description;
	GElf_Nhdr note;

	while (data && !image->build_id_size &&
	       (offset = gelf_getnote(data, offset, &note, &name, &description)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || !note.n_descsz ||
		    note.n_descsz > PESA_BUILD_ID_MAX ||
		    memcmp((char *)data->d_buf + name, "GNU", 4))
			continue;
		image->build_id_size = note.n_descsz;
		memcpy(image->build_id, (char *)data->d_buf + description, note.n_descsz);
	}
}

static struct pesa_error *read_program_headers(struct pesa_image *image, Elf *elf, int fd,
					       const char *path)
{
	uint64_t text_left = TEXT_MOST, notes_left = NOTES_MOST;
	struct pesa_error *error = NULL;
	struct stat status;
	size_t count;

	if (fstat(fd, &status) < 0)
		return pesa_error_system(errno, "%s", path);
	if (elf_getphdrnum(elf, &count) < 0)
		return pesa_error_create(PESA_ERROR_FORMAT, "%s: damaged ELF file: %s", path,
					 elf_errmsg(-1));
	image->segments = calloc(count ? count : 1, sizeof(*image->segments));
	if (!image->segments)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		struct segment *segment = &image->segments[image->segment_count];
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			return pesa_error_create(PESA_ERROR_FORMAT,
						 "%s: damaged program header %zu: %s", path, i,
						 elf_errmsg(-1));
		if (phdr.p_type == PT_NOTE && phdr.p_filesz <= notes_left) {
			find_build_id(image, elf, &phdr);
			notes_left -= phdr.p_filesz;
		}
		if (phdr.p_type != PT_LOAD)
			continue;
		*segment = (struct segment){
			.address = phdr.p_vaddr,
			.offset = phdr.p_offset,
			.file_size = phdr.p_filesz,
			.executable = phdr.p_flags & PF_X,
		};
		image->segment_count++;
		if (!segment->executable)
			continue;
		if (segment->file_size > text_left)
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "%s: has more than %#x bytes of code", path,
						 TEXT_MOST);
		text_left -= segment->file_size;
		error = read_segment(fd, (uint64_t)status.st_size, segment, path);
	}
	return error;
}

static struct pesa_error *read_image(struct pesa_image *image, int fd, const char *path)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} machines[] = {
		{EM_RISCV, "RISC-V"}, {EM_X86_64, "x86-64"}, {EM_AARCH64, "AArch64"},
		{EM_386, "x86"},      {EM_ARM, "Arm"},	     {EM_PPC64, "PowerPC"},
	};
	struct pesa_error *error;
	GElf_Ehdr header;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return pesa_error_create(PESA_ERROR_FORMAT, "%s: cannot be read as ELF: %s", path,
					 elf_errmsg(-1));
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header)) {
		elf_end(elf);
		return pesa_error_create(PESA_ERROR_FORMAT, "%s: is no ELF file", path);
	}
	snprintf(image->machine, sizeof(image->machine), "machine %u", header.e_machine);
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].machine == header.e_machine)
			snprintf(image->machine, sizeof(image->machine), "%s", machines[i].name);
	image->position_independent = header.e_type == ET_DYN;
	error = read_program_headers(image, elf, fd, path);
	if (!error && header.e_machine == EM_RISCV)
		error = find_isa(image, elf, &header);
	elf_end(elf);
	return error;
}

struct pesa_error *pesa_image_open(const char *path, struct pesa_image **image)
{
	struct pesa_image *opened;
	struct pesa_error *error;
	int fd = pesa_binary_open(path);

	if (fd < 0)
		return pesa_regular_file_failed(path);
	opened = calloc(1, sizeof(*opened));
	if (!opened) {
		close(fd);
		return pesa_error_no_memory();
	}
	error = read_image(opened, fd, path);
	close(fd);
	if (error) {
		pesa_image_close(opened);
		return error;
	}
	*image = opened;
	return NULL;
}

/* ---- Accessors ------------------------------------------------------------------------------- */

const uint8_t *pesa_image_build_id(const struct pesa_image *image, unsigned int *size)
{
	*size = image->build_id_size;
	return image->build_id;
}

const char *pesa_image_isa(const struct pesa_image *image)
{
	return image->isa;
}

bool pesa_image_is_position_independent(const struct pesa_image *image)
{
	return image->position_independent;
}

const char *pesa_image_machine(const struct pesa_image *image)
{
	return image->machine;
}

bool pesa_image_address(const struct pesa_image *image, uint64_t offset, uint64_t *address)
{
	for (int executable = 1; executable >= 0; executable--) {
		for (unsigned int i = 0; i < image->segment_count; i++) {
			const struct segment *segment = &image->segments[i];

			if (segment->executable != (bool)executable || offset < segment->offset ||
			    offset - segment->offset >= segment->file_size)
				continue;
			*address = segment->address + (offset - segment->offset);
			return true;
		}
	}
	return false;
}

bool pesa_image_segment(const struct pesa_image *image, unsigned int index, uint64_t *address,
			uint64_t *offset, uint64_t *size)
{
	for (unsigned int i = 0; i < image->segment_count; i++) {
		const struct segment *segment = &image->segments[i];

		if (!segment->executable || index--)
			continue;
		*address = segment->address;
		*offset = segment->offset;
		*size = segment->file_size;
		return true;
	}
	return false;
}

const uint8_t *pesa_image_text_at(const struct pesa_image *image, uint64_t address, size_t *size)
{
	for (unsigned int i = 0; i < image->segment_count; i++) {
		const struct segment *segment = &image->segments[i];

		if (!segment->bytes || address < segment->address ||
		    address - segment->address >= segment->file_size)
			continue;
		*size = segment->file_size - (address - segment->address);
		return segment->bytes + (address - segment->address);
	}
	return NULL;
}

size_t pesa_image_text(const struct pesa_image *image, uint64_t address, void *buffer, size_t size)
{
	size_t there;
	const uint8_t *text = pesa_image_text_at(image, address, &there);

	if (!text)
		return 0;
	if (size > there)
		size = there;
	memcpy(buffer, text, size);
	return size;
}
