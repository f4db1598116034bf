// SPDX-License-Identifier: GPL-2.0-or-later
/* The kind of a program file: see program.h. */
#include "decoder/binary/program.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/regular_file.h"

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

#define SEGMENTS_MOST 128u   /* maximum number of segments read; linkers make a dozen */
#define NOTES_MOST    65536u /* maximum bytes of notes read from a file */

/* The used fields of program headers of either class. */
struct segment {
	uint32_t type;
	uint64_t offset, size, align;
};

struct elf_file {
	int fd;
	unsigned int xlen;
	uint64_t table, entry_size, count;
};

static bool read_at(int fd, uint64_t offset, void *buffer, size_t size)
{
	return offset <= INT64_MAX && pread(fd, buffer, size, (off_t)offset) == (ssize_t)size;
}

static bool read_header(int fd, struct elf_file *file, uint16_t *machine)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr small;
		Elf64_Ehdr large;
	} header;
	bool large;

	if (!read_at(fd, 0, &header.small, sizeof(header.small)) ||
	    memcmp(header.ident, ELFMAG, SELFMAG))
		return false;
	large = header.ident[EI_CLASS] == ELFCLASS64;
	if (large && !read_at(fd, 0, &header.large, sizeof(header.large)))
		return false;
	*machine = large ? header.large.e_machine : header.small.e_machine;
	file->fd = fd;
	file->xlen = large ? 64 : 32;
	file->table = large ? header.large.e_phoff : header.small.e_phoff;
	file->count = large ? header.large.e_phnum : header.small.e_phnum;
	file->entry_size = large ? header.large.e_phentsize : header.small.e_phentsize;
	if (file->count > SEGMENTS_MOST)
		file->count = SEGMENTS_MOST;
	return true;
}

static bool read_segment(const struct elf_file *file, uint64_t index, struct segment *segment)
{
	uint64_t offset = file->table + index * file->entry_size;
	Elf32_Phdr small;
	Elf64_Phdr large;

	if (file->xlen == 64) {
		if (!read_at(file->fd, offset, &large, sizeof(large)))
			return false;
		*segment = (struct segment){large.p_type, large.p_offset, large.p_filesz,
					    large.p_align};
		return true;
	}
	if (!read_at(file->fd, offset, &small, sizeof(small)))
		return false;
	*segment = (struct segment){small.p_type, small.p_offset, small.p_filesz, small.p_align};
	return true;
}

static void probe_elf(const struct elf_file *file, struct pesa_program *program)
{
	struct segment segment;

	program->kind = PESA_PROGRAM_RISCV;
	program->xlen = file->xlen;
	for (uint64_t i = 0; i < file->count && read_segment(file, i, &segment); i++) {
		if (segment.type != PT_INTERP || segment.size >= sizeof(program->interpreter))
			continue;
		if (read_at(file->fd, segment.offset, program->interpreter, segment.size))
			program->interpreter[segment.size] = '\0';
	}
}

/* "#! interpreter argument": the kernel passes the rest of the line as one argument. */
static void probe_script(int fd, struct pesa_program *program)
{
	char line[512], *word, *end;
	ssize_t size = pread(fd, line, sizeof(line) - 1, 0);

	line[size > 0 ? size : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = line + 2;
	while (isblank((unsigned char)*word))
		word++;
	end = word + strcspn(word, " \t");
	if (end == word)
		return;
	program->kind = PESA_PROGRAM_SCRIPT;
	memcpy(program->interpreter, word, (size_t)(end - word));
	program->interpreter[end - word] = '\0';
	while (isblank((unsigned char)*end))
		end++;
	word = end + strlen(end);
	while (word > end && isblank((unsigned char)word[-1]))
		word--;
	*word = '\0';
	strncpy(program->argument, end, sizeof(program->argument) - 1);
}

void pesa_program_probe(const char *path, struct pesa_program *program)
{
	struct elf_file file;
	uint16_t machine;
	char start[2];
	int fd = pesa_regular_file_open(path, 0);

	memset(program, 0, sizeof(*program));
	if (fd < 0)
		return;
	program->kind = PESA_PROGRAM_OTHER;
	if (read_header(fd, &file, &machine)) {
		program->kind = PESA_PROGRAM_FOREIGN;
		if (machine == EM_RISCV)
			probe_elf(&file, program);
	} else if (read_at(fd, 0, start, sizeof(start)) && !memcmp(start, "#!", 2)) {
		probe_script(fd, program);
	}
	close(fd);
}

/* Find the GNU build id in ELF notes.  Returns its length, 0: none. */
static size_t find_build_id(const uint8_t *notes, size_t size, uint64_t align, uint8_t *build_id,
			    size_t room)
{
	size_t at = 0;
	Elf64_Nhdr note; /* identical in both classes */

	while (size - at >= sizeof(note)) {
		uint64_t name = at + sizeof(note), content, end;

		memcpy(&note, notes + at, sizeof(note));
		content = name + (((uint64_t)note.n_namesz + align - 1) & ~(align - 1));
		end = content + note.n_descsz;
		if (end > size)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    note.n_descsz <= room && !memcmp(notes + name, "GNU", sizeof("GNU"))) {
			memcpy(build_id, notes + content, note.n_descsz);
			return note.n_descsz;
		}
		at = content + (((uint64_t)note.n_descsz + align - 1) & ~(align - 1));
		if (at > size)
			break;
	}
	return 0;
}

/* The mapped file may be hostile: the work is bounded for any contents. */
size_t pesa_program_build_id_read(int fd, uint8_t *build_id, size_t size)
{
	uint8_t notes[NOTES_MOST];
	struct elf_file file;
	struct segment segment;
	uint16_t machine;
	size_t found = 0, left = sizeof(notes);

	if (!read_header(fd, &file, &machine))
		return 0;
	for (uint64_t i = 0; i < file.count && left && !found; i++) {
		ssize_t got;

		if (!read_segment(&file, i, &segment))
			break;
		if (segment.type != PT_NOTE || segment.offset > INT64_MAX)
			continue;
		got = pread(fd, notes, segment.size < left ? (size_t)segment.size : left,
			    (off_t)segment.offset);
		if (got <= 0)
			continue;
		left -= (size_t)got;
		found = find_build_id(notes, (size_t)got, segment.align == 8 ? 8 : 4, build_id,
				      size);
	}
	return found;
}

size_t pesa_program_build_id(const char *path, uint8_t *build_id, size_t size)
{
	int fd = pesa_regular_file_open(path, 0);
	size_t found;

	if (fd < 0)
		return 0;
	found = pesa_program_build_id_read(fd, build_id, size);
	close(fd);
	return found;
}
