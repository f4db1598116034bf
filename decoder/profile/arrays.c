/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finishing a profile: what the file says of itself, the dsos that are used, and the arrays.  See loader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/loader.h"

static struct pesa_error *no_such_event(const struct profile_loader *loader)
{
	unsigned int count = pesa_perfdata_attribute_count(loader->reader);
	struct pesa_error *error;
	char *names = strdup("");

	for (unsigned int i = 0; i < count && names; i++) {
		const char *name = pesa_perfdata_attribute(loader->reader, i)->name;
		char *longer = NULL;

		if (asprintf(&longer, "%s%s%s", names, i ? ", " : "", name ? name : "?") < 0)
			longer = NULL;
		free(names);
		names = longer;
	}
	error = pesa_error_create(PESA_ERROR_NOT_FOUND, "no event is named '%s'; the file has: %s",
				  loader->options->event, names ? names : "?");
	free(names);
	return error;
}

static struct pesa_error *copy_string(const char *from, char **to)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? pesa_error_no_memory() : NULL;
}

static struct pesa_error *copy_counts(struct profile_loader *loader)
{
	struct pesa_profile *profile = loader->profile;
	size_t count;
	const struct pesa_count *counts = pesa_perfdata_counts(loader->reader, &count);

	profile->count = calloc(count ? count : 1, sizeof(*profile->count));
	if (!profile->count)
		return pesa_error_no_memory();
	for (; profile->counts < count; profile->counts++) {
		struct pesa_count *copy = &profile->count[profile->counts];

		copy->value = counts[profile->counts].value;
		copy->event = strdup(counts[profile->counts].event);
		if (!copy->event)
			return pesa_error_no_memory();
	}
	return NULL;
}

static struct pesa_error *copy_facts(struct profile_loader *loader)
{
	struct pesa_profile *profile = loader->profile;
	const struct pesa_capabilities *capabilities = pesa_perfdata_capabilities(loader->reader);
	struct pesa_error *error;

	if (capabilities)
		profile->capabilities = *capabilities;
	else
		pesa_capabilities_default(&profile->capabilities);
	profile->losses = *pesa_perfdata_losses(loader->reader);
	profile->totals.lost += profile->losses.lost;
	profile->losses.damage = NULL;
	error = copy_counts(loader);
	if (!error)
		error = copy_string(pesa_perfdata_losses(loader->reader)->damage,
				    &profile->losses.damage);
	if (!error)
		error = copy_string(pesa_perfdata_arch(loader->reader), &profile->arch);
	if (!error)
		error = copy_string(pesa_perfdata_cmdline(loader->reader), &profile->cmdline);
	if (!error)
		error = copy_string(pesa_perfdata_cpu_id(loader->reader), &profile->cpu_id);
	if (!error)
		error = copy_string(pesa_perfdata_hostname(loader->reader), &profile->hostname);
	if (!error)
		error = copy_string(pesa_perfdata_os_release(loader->reader), &profile->os_release);
	return error;
}

/* Keep the dsos that are used, and open them, which determines their status. */
static struct pesa_error *keep_dsos(struct pesa_profile *profile, const bool *used,
				    unsigned int count, uint32_t *renumber)
{
	for (unsigned int i = 0; i < count; i++) {
		struct pesa_error *error;

		if (!used[i])
			continue;
		renumber[i] = profile->dsos;
		profile->dso[profile->dsos++] = i;
		error = pesa_binaries_open(profile->binaries, i);
		if (error)
			return error;
	}
	return NULL;
}

/* Keep the dsos that instructions or edges refer to. */
static struct pesa_error *renumber_dsos(struct profile_loader *loader, uint32_t **renumber)
{
	struct pesa_profile *profile = loader->profile;
	unsigned int count = pesa_spaces_dso_count(profile->spaces);
	bool *used = calloc(count, sizeof(*used));
	struct pesa_error *error = NULL;

	*renumber = calloc(count, sizeof(**renumber));
	profile->dso = calloc(count, sizeof(*profile->dso));
	if (used && *renumber && profile->dso) {
		pesa_profile_store_dsos(loader->store, used);
		for (uint32_t i = 0; i < loader->located_count; i++)
			used[i] |= loader->located[i];
		error = keep_dsos(profile, used, count, *renumber);
	} else {
		error = pesa_error_no_memory();
	}
	free(used);
	return error;
}

static struct pesa_error *index_instructions(struct pesa_profile *profile)
{
	size_t at = 0;

	profile->first = malloc((profile->dsos + 1u) * sizeof(*profile->first));
	if (!profile->first)
		return pesa_error_no_memory();
	for (uint32_t dso = 0; dso <= profile->dsos; dso++) {
		while (at < profile->arrays.instructions &&
		       profile->arrays.instruction[at].dso < dso)
			at++;
		profile->first[dso] = at;
	}
	return NULL;
}

struct pesa_error *profile_make_arrays(struct profile_loader *loader)
{
	struct pesa_profile *profile = loader->profile;
	struct pesa_profile_totals *totals = &profile->totals;
	uint64_t weighed = totals->samples - totals->overflowed;
	struct pesa_error *error;
	uint32_t *renumber = NULL;

	if (!profile->event && loader->options->event)
		return no_such_event(loader);
	totals->weight = loader->periods * PESA_CYCLE;
	if (__builtin_add_overflow(totals->weight, loader->exact_weight, &totals->weight))
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "samples and exact records in one event are more cycles "
					 "than can be counted; choose one event");
	totals->exact = loader->exact_records && !totals->samples;
	totals->period = weighed ? (double)loader->periods / (double)weighed : 0;
	error = copy_facts(loader);
	if (!error)
		error = renumber_dsos(loader, &renumber);
	if (!error)
		error = pesa_profile_store_finish(loader->store, renumber, &profile->arrays);
	if (!error)
		error = index_instructions(profile);
	free(renumber);
	/* The origin is the reader, which is freed after this. */
	pesa_binaries_set_origin(profile->binaries, NULL);
	return error;
}
