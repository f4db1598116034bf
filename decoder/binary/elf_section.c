/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "decoder/binary/elf_section.h"

Elf_Scn *pesa_elf_find_section(Elf *elf, const char *wanted, const char *alternative,
			       GElf_Shdr *header)
{
	size_t names;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, header))
			continue;
		name = elf_strptr(elf, names, header->sh_name);
		if (name && (!strcmp(name, wanted) || (alternative && !strcmp(name, alternative))))
			return scn;
	}
	return NULL;
}
