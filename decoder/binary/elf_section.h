/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of an ELF file by name. */
#ifndef DECODER_BINARY_ELF_SECTION_H
#define DECODER_BINARY_ELF_SECTION_H

#include <gelf.h>

/* The first section of one of two names (`alternative` NULL: of one), and its header.  NULL: the file
 * has none. */
Elf_Scn *pesa_elf_find_section(Elf *elf, const char *wanted, const char *alternative,
			       GElf_Shdr *header);

#endif
