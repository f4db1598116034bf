// SPDX-License-Identifier: GPL-2.0-or-later
/* Accessors of a loaded profile: see include/pesa/profile.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/data.h"
#include "pesa/csr.h"
#include "pesa/record.h"

void pesa_profile_options_default(struct pesa_profile_options *options)
{
	*options = (struct pesa_profile_options){.pid = -1, .tid = -1};
}

void pesa_profile_free(struct pesa_profile *profile)
{
	if (!profile)
		return;
	pesa_profile_arrays_free(&profile->arrays);
	pesa_binaries_free(profile->binaries);
	pesa_spaces_free(profile->spaces);
	free(profile->losses.damage);
	free(profile->event);
	free(profile->arch);
	free(profile->cmdline);
	free(profile->cpu_id);
	free(profile->hostname);
	free(profile->os_release);
	free(profile->dso);
	free(profile->first);
	free(profile->executions);
	free(profile->errors);
	for (size_t i = 0; i < profile->counts; i++)
		free((char *)profile->count[i].event);
	free(profile->count);
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

const char *pesa_profile_cpu_id(const struct pesa_profile *profile)
{
	return profile->cpu_id;
}

const char *pesa_profile_hostname(const struct pesa_profile *profile)
{
	return profile->hostname;
}

const char *pesa_profile_os_release(const struct pesa_profile *profile)
{
	return profile->os_release;
}

const struct pesa_count *pesa_profile_counts(const struct pesa_profile *profile, size_t *count)
{
	*count = profile->counts;
	return profile->count;
}

const struct pesa_spaces *pesa_profile_spaces(const struct pesa_profile *profile)
{
	return profile->spaces;
}

uint32_t pesa_profile_dso_of_number(const struct pesa_profile *profile, uint32_t number)
{
	for (uint32_t i = 0; i < profile->dsos; i++)
		if (profile->dso[i] == number)
			return i;
	return UINT32_MAX;
}

unsigned int pesa_profile_dso_count(const struct pesa_profile *profile)
{
	return profile->dsos;
}

const struct pesa_dso *pesa_profile_dso(const struct pesa_profile *profile, unsigned int index)
{
	return pesa_spaces_dso(profile->spaces, profile->dso[index]);
}

struct pesa_error *pesa_profile_set_executions(struct pesa_profile *profile,
					       const double *executions, const double *errors)
{
	size_t bytes = profile->arrays.instructions * sizeof(double);
	double *copy = malloc(bytes + 1), *copy_of_errors = malloc(bytes + 1);

	if (!copy || !copy_of_errors) {
		free(copy);
		free(copy_of_errors);
		return pesa_error_no_memory();
	}
	memcpy(copy, executions, bytes);
	memcpy(copy_of_errors, errors, bytes);
	free(profile->executions);
	free(profile->errors);
	profile->executions = copy;
	profile->errors = copy_of_errors;
	return NULL;
}

bool pesa_profile_better_executions(const struct pesa_profile *profile,
				    const struct pesa_instruction *instruction, double *executions,
				    double *error)
{
	const struct pesa_instruction *first = profile->arrays.instruction;

	if (!profile->executions || instruction < first ||
	    instruction >= first + profile->arrays.instructions)
		return false;
	*executions = profile->executions[instruction - first];
	*error = profile->errors[instruction - first];
	return true;
}

/* The samples that as many cycles are worth; the squares are those from which estimate.c gets the
 * error. */
static struct pesa_instruction instruction_of(const struct pesa_profile *profile,
					      const struct pesa_profile_cycles *cycles,
					      const struct pesa_bucket *bucket)
{
	double sum = (double)profile->totals.weight / PESA_CYCLE;
	double samples =
		profile->totals.period_squared > 0 ? sum * sum / profile->totals.period_squared : 0;

	return (struct pesa_instruction){
		.dso = cycles->dso,
		.address = cycles->address,
		.weight = bucket->weight,
		.samples = bucket->samples,
		.weight_squared = cycles->error * cycles->error +
				  (samples > 0 ? cycles->cycles * cycles->cycles / samples : 0),
		.bucket = bucket,
		.buckets = 1,
	};
}

struct pesa_error *pesa_profile_set_cycles(struct pesa_profile *profile,
					   const struct pesa_profile_cycles *cycles, size_t count)
{
	struct pesa_profile_arrays made = {
		.instruction = calloc(count + 1, sizeof(*made.instruction)),
		.bucket = calloc(count + 1, sizeof(*made.bucket)),
		.edge = calloc(1, sizeof(*made.edge)),
		.share = calloc(1, sizeof(*made.share)),
	};

	if (!made.instruction || !made.bucket || !made.edge || !made.share) {
		pesa_profile_arrays_free(&made);
		return pesa_error_no_memory();
	}
	for (size_t i = 0; i < count; i++) {
		struct pesa_bucket *bucket = &made.bucket[made.instructions];
		double weight = cycles[i].cycles * PESA_CYCLE;

		if (!(weight >= 1))
			continue;
		*bucket = (struct pesa_bucket){
			.state = PESA_STATE_UNKNOWN,
			.weight = (uint64_t)weight,
			.samples = profile->totals.period > 0
					   ? (uint64_t)(cycles[i].cycles / profile->totals.period +
							0.5)
					   : 0,
		};
		made.instruction[made.instructions++] = instruction_of(profile, &cycles[i], bucket);
	}
	pesa_profile_arrays_free(&profile->arrays);
	profile->arrays = made;
	for (uint32_t dso = 0, i = 0; dso <= profile->dsos; dso++) {
		while (i < made.instructions && made.instruction[i].dso < dso)
			i++;
		profile->first[dso] = i;
	}
	free(profile->executions);
	free(profile->errors);
	profile->executions = profile->errors = NULL;
	return NULL;
}

size_t pesa_profile_instruction_count(const struct pesa_profile *profile)
{
	return profile->arrays.instructions;
}

const struct pesa_instruction *pesa_profile_instruction(const struct pesa_profile *profile,
							size_t index)
{
	return &profile->arrays.instruction[index];
}

const struct pesa_instruction *pesa_profile_find(const struct pesa_profile *profile, uint32_t dso,
						 uint64_t address)
{
	size_t low, high;

	if (dso >= profile->dsos)
		return NULL;
	low = profile->first[dso];
	high = profile->first[dso + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile->arrays.instruction[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < profile->first[dso + 1] && profile->arrays.instruction[low].address == address)
		return &profile->arrays.instruction[low];
	return NULL;
}

size_t pesa_profile_text(const struct pesa_profile *profile, uint32_t dso, uint64_t address,
			 void *buffer, size_t size)
{
	if (dso >= profile->dsos)
		return 0;
	return pesa_binaries_text(profile->binaries, profile->dso[dso], address, buffer, size);
}

const char *pesa_profile_isa(const struct pesa_profile *profile, uint32_t dso)
{
	return dso < profile->dsos ? pesa_binaries_isa(profile->binaries, profile->dso[dso]) : NULL;
}
