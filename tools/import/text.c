// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF files of a pipeline trace: see text.h. */
#include "tools/import/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/number.h"

static struct pesa_error *open_file(struct import_file *file, const char *path)
{
	struct pesa_error *error = pesa_image_open(path, &file->image);
	const char *isa;

	if (error)
		return error;
	isa = pesa_image_isa(file->image);
	if (!isa)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: is for %s, not RISC-V", path,
					 pesa_image_machine(file->image));
	/* An unknown extension: decode with the known ones. */
	pesa_error_free(pesa_isa_create(isa, &file->own));
	return pesa_isa_create(strncmp(isa, "rv32", 4) ? "rv64" : "rv32", &file->every);
}

static void close_file(struct import_file *file)
{
	pesa_image_close(file->image);
	pesa_isa_free(file->own);
	pesa_isa_free(file->every);
	free(file->path);
}

struct pesa_error *import_text_add(struct import_text *text, const char *argument)
{
	struct import_file file = {0};
	const char *mark = strrchr(argument, '@');
	char *name = strdup(argument);
	struct pesa_error *error;
	bool narrow, given = false;

	if (!name)
		return pesa_error_no_memory();
	if (text->count == IMPORT_FILES) {
		free(name);
		return pesa_error_create(PESA_ERROR_ARGUMENT, "more than %u --elf", IMPORT_FILES);
	}
	/* First look for a file whose name has the '@'. */
	if (mark && access(argument, F_OK)) {
		if (!number_read(mark + 1, 0, 0, UINT64_MAX, &file.moved)) {
			error = pesa_error_create(PESA_ERROR_ARGUMENT,
						  "--elf %s: '%s' is no address", argument,
						  mark + 1);
			free(name);
			return error;
		}
		name[mark - argument] = '\0';
		given = true;
	}
	error = open_file(&file, name);
	if (!error) {
		file.path = realpath(name, NULL);
		if (!file.path)
			error = pesa_error_system(errno, "%s", name);
	}
	free(name);
	if (!error && !given && pesa_image_is_position_independent(file.image))
		file.place = IMPORT_PLACE_UNKNOWN;
	narrow = !error && pesa_isa_xlen(file.every) == 32;
	if (!error && text->count && narrow != text->narrow)
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s and %s: one is for RV32, the other for RV64",
					  text->file[0].path, file.path);
	if (error) {
		close_file(&file);
		return error;
	}
	text->narrow = narrow;
	text->file[text->count++] = file;
	return NULL;
}

void import_text_free(struct import_text *text)
{
	for (unsigned int i = 0; i < text->count; i++)
		close_file(&text->file[i]);
	text->count = 0;
}

/* Instructions that flush the pipeline in most cores: system instructions, CSR writes, fence.i. */
static bool serialises(const struct pesa_insn *insn)
{
	const struct pesa_opcode *opcode = pesa_opcode_get(insn->opcode);

	return opcode->properties & (PESA_OPCODE_SYSTEM | PESA_OPCODE_CSR | PESA_OPCODE_TRAP) ||
	       !strcmp(opcode->mnemonic, "fence.i");
}

enum pesa_text_status import_file_instruction(const struct import_file *file, uint64_t address,
					      struct pesa_text_insn *insn, bool *serialise)
{
	struct pesa_insn decoded;
	const uint8_t *bytes;
	size_t size;

	bytes = pesa_image_text_at(file->image, address, &size);
	if (!bytes)
		return PESA_TEXT_UNMAPPED;
	if ((!file->own || !pesa_insn_decode(file->own, bytes, size, &decoded)) &&
	    !pesa_insn_decode(file->every, bytes, size, &decoded))
		return PESA_TEXT_UNDECODABLE;
	insn->length = decoded.length;
	insn->flow = (uint8_t)pesa_insn_flow(&decoded);
	insn->has_target = pesa_insn_target(&decoded, address, &insn->target);
	*serialise = serialises(&decoded);
	return PESA_TEXT_OK;
}

enum pesa_text_status import_text_instruction(const struct import_text *text, uint64_t address,
					      struct pesa_text_insn *insn, bool *serialise)
{
	enum pesa_text_status status = PESA_TEXT_UNMAPPED, here;

	for (unsigned int i = 0; i < text->count; i++) {
		const struct import_file *file = &text->file[i];

		here = import_file_instruction(file, address - file->moved, insn, serialise);
		if (here == PESA_TEXT_UNMAPPED)
			continue;
		status = here;
		if (here != PESA_TEXT_OK)
			continue;
		insn->target += file->moved;
		if (text->narrow)
			insn->target &= UINT32_MAX;
		return here;
	}
	return status;
}
