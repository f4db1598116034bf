/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/isas.h"

struct pesa_error *profile_isas_create(const struct pesa_profile *profile,
				       struct profile_isas *isas)
{
	isas->count = pesa_profile_dso_count(profile);
	isas->isa = calloc(isas->count + 1, sizeof(*isas->isa));
	if (!isas->isa)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < isas->count; i++) {
		const char *text = pesa_profile_isa(profile, i);
		struct pesa_error *error;

		if (!text)
			continue;
		error = pesa_isa_create(text, &isas->isa[i]);
		if (error && error->code != PESA_ERROR_NO_MEMORY) {
			pesa_error_free(error);
			error = pesa_isa_create(strncmp(text, "rv32", 4) ? "rv64" : "rv32",
						&isas->isa[i]);
		}
		if (error)
			return error;
	}
	return NULL;
}

void profile_isas_free(struct profile_isas *isas)
{
	for (uint32_t i = 0; isas->isa && i < isas->count; i++)
		pesa_isa_free(isas->isa[i]);
	free(isas->isa);
}

bool profile_isas_decode(const struct profile_isas *isas, const struct pesa_profile *profile,
			 uint32_t dso, uint64_t address, struct pesa_insn *insn)
{
	uint8_t bytes[8];
	size_t size;

	if (dso >= isas->count || !isas->isa[dso])
		return false;
	size = pesa_profile_text(profile, dso, address, bytes, sizeof(bytes));
	return size && pesa_insn_decode(isas->isa[dso], bytes, size, insn);
}
