/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small ELF files for tests: one executable segment with the given text, an optional build id and
 * an optional RISC-V ISA attribute.
 */
#ifndef TESTS_ELF_FILE_H
#define TESTS_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct elf_file {
	uint16_t machine;
	bool is_32;
	const void *text;
	size_t text_size;
	uint64_t text_address, text_offset; /* offset: at least ELF_FILE_TEXT */
	const uint8_t *build_id;	    /* 20 bytes, NULL: none */
	const char *isa;		    /* NULL: no attributes */
};

#define ELF_FILE_TEXT 0x200

#define ELF_FILE_PUT(structure)                                      \
	do {                                                         \
		memcpy(bytes + at, &(structure), sizeof(structure)); \
		at += sizeof(structure);                             \
	} while (0)

/* "A", length, "riscv\0", tag 1 (file), length, tag 5 (arch), string */
static inline size_t elf_file_attributes(uint8_t *bytes, const char *isa)
{
	uint32_t inner = 1 + 4 + 1 + (uint32_t)strlen(isa) + 1, outer = 4 + 6 + inner;
	size_t at = 0;

	bytes[at++] = 'A';
	ELF_FILE_PUT(outer);
	memcpy(bytes + at, "riscv", 6);
	at += 6;
	bytes[at++] = 1;
	ELF_FILE_PUT(inner);
	bytes[at++] = 5;
	memcpy(bytes + at, isa, strlen(isa) + 1);
	return at + strlen(isa) + 1;
}

/*
 * Make the file in `bytes`, which has room for the text and 4096 bytes more.  Returns its size.
 * Layout: header, two program headers, note, text, attributes, names, section headers.
 */
static inline size_t elf_file_make(const struct elf_file *file, uint8_t *bytes)
{
	static const char names[] = "\0.riscv.attributes\0.shstrtab";
	uint32_t note[3] = {4, 20, NT_GNU_BUILD_ID};
	size_t note_at = 0x180, attributes, attributes_size = 0, names_at, sections, at;
	unsigned int section_count = file->isa ? 3 : 0;

	at = file->text_offset + file->text_size;
	memset(bytes, 0, at);
	memcpy(bytes + file->text_offset, file->text, file->text_size);
	attributes = at;
	if (file->isa)
		attributes_size = elf_file_attributes(bytes + attributes, file->isa);
	names_at = attributes + attributes_size;
	memcpy(bytes + names_at, names, sizeof(names));
	sections = (names_at + sizeof(names) + 7) / 8 * 8;
	memset(bytes + names_at + sizeof(names), 0, sections - names_at - sizeof(names));
	if (file->build_id) {
		at = note_at;
		ELF_FILE_PUT(note);
		memcpy(bytes + at, "GNU", 4);
		memcpy(bytes + at + 4, file->build_id, 20);
	}
	at = 0;
	if (file->is_32) {
		Elf32_Ehdr header = {
			.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				    EV_CURRENT},
			.e_type = ET_EXEC,
			.e_machine = file->machine,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(header),
			.e_shoff = section_count ? (uint32_t)sections : 0,
			.e_ehsize = sizeof(header),
			.e_phentsize = sizeof(Elf32_Phdr),
			.e_phnum = file->build_id ? 2 : 1,
			.e_shentsize = sizeof(Elf32_Shdr),
			.e_shnum = (uint16_t)section_count,
			.e_shstrndx = section_count ? 2 : 0,
		};
		Elf32_Phdr load = {.p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_offset = (uint32_t)file->text_offset,
				   .p_vaddr = (uint32_t)file->text_address,
				   .p_filesz = (uint32_t)file->text_size,
				   .p_memsz = (uint32_t)file->text_size};
		Elf32_Phdr notes = {.p_type = PT_NOTE,
				    .p_offset = (uint32_t)note_at,
				    .p_filesz = 36,
				    .p_align = 4};

		ELF_FILE_PUT(header);
		ELF_FILE_PUT(load);
		ELF_FILE_PUT(notes);
	} else {
		Elf64_Ehdr header = {
			.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = file->machine,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(header),
			.e_shoff = section_count ? sections : 0,
			.e_ehsize = sizeof(header),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = file->build_id ? 2 : 1,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = (uint16_t)section_count,
			.e_shstrndx = section_count ? 2 : 0,
		};
		Elf64_Phdr load = {.p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_offset = file->text_offset,
				   .p_vaddr = file->text_address,
				   .p_filesz = file->text_size,
				   .p_memsz = file->text_size};
		Elf64_Phdr notes = {
			.p_type = PT_NOTE, .p_offset = note_at, .p_filesz = 36, .p_align = 4};

		ELF_FILE_PUT(header);
		ELF_FILE_PUT(load);
		ELF_FILE_PUT(notes);
	}
	if (!section_count)
		return sections;
	at = sections;
	for (unsigned int i = 0; i < section_count; i++) {
		bool is_names = i == 2;
		uint64_t offset = !i ? 0 : is_names ? names_at : attributes;
		uint64_t size = !i ? 0 : is_names ? sizeof(names) : attributes_size;
		uint32_t name = !i ? 0 : is_names ? 19 : 1;
		uint32_t type = !i ? SHT_NULL : is_names ? SHT_STRTAB : 0x70000003;

		if (file->is_32) {
			Elf32_Shdr section = {.sh_name = name,
					      .sh_type = type,
					      .sh_offset = (uint32_t)offset,
					      .sh_size = (uint32_t)size,
					      .sh_addralign = 1};
			ELF_FILE_PUT(section);
		} else {
			Elf64_Shdr section = {.sh_name = name,
					      .sh_type = type,
					      .sh_offset = offset,
					      .sh_size = size,
					      .sh_addralign = 1};
			ELF_FILE_PUT(section);
		}
	}
	return at;
}

/* The same, written to a path.  False: it could not be written. */
static inline bool elf_file_write(const struct elf_file *file, const char *path)
{
	static uint8_t bytes[65536];
	FILE *stream = fopen(path, "w");
	size_t size = elf_file_make(file, bytes);
	bool done = stream && fwrite(bytes, 1, size, stream) == size;

	return (!stream || !fclose(stream)) && done;
}

#endif
