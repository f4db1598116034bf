/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of a profile. decoder/binary/, which reads symbols, does not depend on profiles. */
#include "pesa/profile.h"
#include "pesa/symbols.h"

static const struct pesa_dso *dso_of_profile(void *context, uint32_t index)
{
	const struct pesa_profile *profile = context;

	return index < pesa_profile_dso_count(profile) ? pesa_profile_dso(profile, index) : NULL;
}

struct pesa_error *pesa_symbols_create(const struct pesa_profile *profile, const char *root,
				       struct pesa_symbols **symbols)
{
	return pesa_symbols_create_for(dso_of_profile, (void *)profile, root, symbols);
}
