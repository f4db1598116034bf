/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to a profile: see include/pesa/profile.h.  Loading is in profile_load.c. */
#include <stdlib.h>

#include "decoder/profile_private.h"

void pesa_profile_options_default(struct pesa_profile_options *options)
{
	*options = (struct pesa_profile_options){.pid = -1, .tid = -1};
}

void pesa_profile_free(struct pesa_profile *profile)
{
	if (!profile)
		return;
	binaries_free(profile);
	pesa_spaces_free(profile->spaces);
	free(profile->table.instruction);
	free(profile->table.buckets);
	free(profile->table.shares);
	free(profile->table.edges);
	free(profile->losses.damage);
	free(profile->event);
	free(profile->arch);
	free(profile->cmdline);
	free(profile->symbol_root);
	free(profile);
}

const struct pesa_profile_totals *pesa_profile_totals(const struct pesa_profile *profile)
{
	return &profile->totals;
}

const struct pesa_perfdata_losses *pesa_profile_losses(const struct pesa_profile *profile)
{
	return &profile->losses;
}

const struct pesa_capabilities *pesa_profile_capabilities(const struct pesa_profile *profile)
{
	return &profile->capabilities;
}

const char *pesa_profile_event(const struct pesa_profile *profile)
{
	return profile->event;
}

const char *pesa_profile_arch(const struct pesa_profile *profile)
{
	return profile->arch;
}

const char *pesa_profile_cmdline(const struct pesa_profile *profile)
{
	return profile->cmdline;
}

unsigned int pesa_profile_dso_count(const struct pesa_profile *profile)
{
	return pesa_spaces_dso_count(profile->spaces);
}

const struct pesa_dso *pesa_profile_dso(const struct pesa_profile *profile, unsigned int index)
{
	return pesa_spaces_dso(profile->spaces, index);
}

size_t pesa_profile_instruction_count(const struct pesa_profile *profile)
{
	return profile->table.count;
}

const struct pesa_instruction *pesa_profile_instruction(const struct pesa_profile *profile,
							size_t index)
{
	return &profile->table.instruction[index];
}

const struct pesa_instruction *pesa_profile_find(const struct pesa_profile *profile, uint32_t dso,
						 uint64_t address)
{
	size_t low = 0, high = profile->table.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct pesa_instruction *instruction = &profile->table.instruction[middle];

		if (instruction->dso == dso && instruction->address == address)
			return instruction;
		if (instruction->dso < dso ||
		    (instruction->dso == dso && instruction->address < address))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

size_t pesa_profile_text(const struct pesa_profile *profile, uint32_t dso, uint64_t address,
			 void *buffer, size_t size)
{
	if (dso >= profile->binary_capacity || !profile->binaries[dso].image)
		return 0;
	return pesa_image_text(profile->binaries[dso].image, address, buffer, size);
}

const char *pesa_profile_isa(const struct pesa_profile *profile, uint32_t dso)
{
	if (dso >= profile->binary_capacity || !profile->binaries[dso].image)
		return NULL;
	return pesa_image_isa(profile->binaries[dso].image);
}
