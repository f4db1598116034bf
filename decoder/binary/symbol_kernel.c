/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/read_file.h"
#include "decoder/binary/symbol_kernel.h"

/* Longest name in /proc/kallsyms (KSYM_NAME_LEN) plus the name of a module. */
#define LINE_ROOM 1024

size_t pesa_kernel_notes_build_id(const uint8_t *notes, size_t size, const uint8_t **id)
{
	size_t offset = 0;

	while (size - offset >= sizeof(Elf32_Nhdr)) {
		Elf32_Nhdr header;
		uint64_t name, contents, end;

		memcpy(&header, notes + offset, sizeof(header));
		name = offset + sizeof(header);
		contents = name + (((uint64_t)header.n_namesz + 3) & ~UINT64_C(3));
		end = contents + (((uint64_t)header.n_descsz + 3) & ~UINT64_C(3));
		if (contents + header.n_descsz > size)
			return 0;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			*id = notes + contents;
			return header.n_descsz;
		}
		if (end > size)
			return 0;
		offset = (size_t)end;
	}
	return 0;
}

struct pesa_error *pesa_kernel_symbols_parse(const char *text, size_t size,
					     struct pesa_symbol_table *table, bool *hidden)
{
	struct pesa_error *error = NULL;
	const char *end = text + size;

	*hidden = true;
	while (text < end && !error) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((newline ? newline : end) - text);
		char line[LINE_ROOM], *rest, *name, type;
		/* Without sizes stock perf ends up with the last of several names of an address. */
		struct pesa_symbol_candidate symbol = {.latest_wins = true};

		if (length && length < sizeof(line)) {
			memcpy(line, text, length);
			line[length] = '\0';
			symbol.start = strtoull(line, &rest, 16);
			type = rest[0] == ' ' ? rest[1] : '\0';
			name = type && rest[2] == ' ' ? rest + 3 : NULL;
			if (symbol.start)
				*hidden = false;
			if (name && symbol.start && strchr("tTwW", type)) {
				name[strcspn(name, "\t ")] = '\0'; /* the name of a module
								    * follows */
				symbol.name = name;
				symbol.binding = type == 'T'   ? PESA_SYMBOL_GLOBAL
						 : type == 't' ? PESA_SYMBOL_LOCAL
							       : PESA_SYMBOL_WEAK;
				if (*name)
					error = pesa_symbol_table_add(table, &symbol);
			}
		}
		text += length + 1;
	}
	return error;
}

/* Read the file below the root if it exists, otherwise the file itself. */
static struct pesa_error *read_below(const char *root, const char *path, char **text, size_t *size)
{
	struct pesa_error *error;
	char *below;

	if (!root)
		return pesa_read_foreign_file(path, false, text, size);
	if (asprintf(&below, "%s%s", root, path) < 0)
		return pesa_error_no_memory();
	error = pesa_read_foreign_file(access(below, R_OK) ? path : below, false, text, size);
	free(below);
	return error;
}

/* Whether /proc/kallsyms text has the symbol at this address. */
static bool has_symbol(const char *text, size_t size, const char *symbol, uint64_t address)
{
	const char *end = text + size;
	size_t length = strlen(symbol);

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line = (size_t)((newline ? newline : end) - text);

		/* "ffffffff80000000 T _text" */
		if (line > length + 3 && text[line - length - 1] == ' ' &&
		    !memcmp(text + line - length, symbol, length) &&
		    strtoull(text, NULL, 16) == address)
			return true;
		text += line + 1;
	}
	return false;
}

struct pesa_error *pesa_kernel_running_build_id(const char *root, const char *symbol,
						uint64_t address, uint8_t id[PESA_BUILD_ID_MAX],
						size_t *result)
{
	struct pesa_error *error;
	const uint8_t *running;
	size_t size, found;
	char *text;

	*result = 0;
	if (!*symbol || !address)
		return NULL;
	error = read_below(root, "/proc/kallsyms", &text, &size);
	if (!error) {
		found = has_symbol(text, size, symbol, address);
		free(text);
		if (!found)
			return NULL;
		error = read_below(root, "/sys/kernel/notes", &text, &size);
	}
	if (error && error->code != PESA_ERROR_NO_MEMORY) {
		pesa_error_free(error);
		return NULL;
	}
	if (error)
		return error;
	found = pesa_kernel_notes_build_id((const uint8_t *)text, size, &running);
	if (found && found <= PESA_BUILD_ID_MAX) {
		memcpy(id, running, found);
		*result = found;
	}
	free(text);
	return NULL;
}

struct pesa_error *pesa_kernel_symbols_load(const char *root, const uint8_t *build_id,
					    size_t build_id_size, struct pesa_symbol_table *table)
{
	struct pesa_error *error;
	const uint8_t *running;
	bool hidden, same;
	char *text;
	size_t size;

	if (!build_id_size)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "the recording does not tell the kernel's build id");
	error = read_below(root, "/sys/kernel/notes", &text, &size);
	if (error)
		return error;
	size = pesa_kernel_notes_build_id((const uint8_t *)text, size, &running);
	same = size == build_id_size && !memcmp(running, build_id, size);
	free(text);
	if (!same)
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"the kernel that runs now is not the one that was recorded");
	error = read_below(root, "/proc/kallsyms", &text, &size);
	if (error)
		return error;
	error = pesa_kernel_symbols_parse(text, size, table, &hidden);
	if (!error && hidden)
		error = pesa_error_create(PESA_ERROR_NOT_FOUND,
					  "/proc/kallsyms hides addresses: be root, or set "
					  "kernel.kptr_restrict to 0");
	free(text);
	return error;
}
