/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/binaries.h"
#include "decoder/profile/thread_names.h"
#include "pesa/space.h"
#include "tools/ui/profile_input.h"
#include "tools/script/resolve.h"

struct script_resolver {
	struct pesa_spaces *spaces;
	struct pesa_binaries *binaries;
	struct pesa_symbols *symbols;
	struct thread_names *names;
};

static const struct pesa_dso *dso_of_spaces(void *context, uint32_t index)
{
	struct pesa_spaces *spaces = context;

	return index < pesa_spaces_dso_count(spaces) ? pesa_spaces_dso(spaces, index) : NULL;
}

struct pesa_error *script_resolver_create(const struct pesa_perfdata *reader, const char *root,
					  struct script_resolver **result)
{
	const struct pesa_origin origin = pesa_perfdata_origin(reader);
	struct script_resolver *resolver = calloc(1, sizeof(*resolver));
	struct pesa_error *error;

	if (!resolver)
		return pesa_error_no_memory();
	resolver->names = thread_names_create();
	error = resolver->names ? pesa_spaces_create(&resolver->spaces) : pesa_error_no_memory();
	if (!error) {
		resolver->binaries = pesa_binaries_create(resolver->spaces, root);
		if (!resolver->binaries)
			error = pesa_error_no_memory();
		else
			pesa_binaries_set_origin(resolver->binaries, &origin);
		if (!error)
			error = pesa_spaces_read_dumps(resolver->spaces, &origin, root);
	}
	if (!error)
		error = pesa_symbols_create_for(dso_of_spaces, resolver->spaces, root,
						&resolver->symbols);
	if (error) {
		script_resolver_free(resolver);
		return error;
	}
	*result = resolver;
	return NULL;
}

void script_resolver_free(struct script_resolver *resolver)
{
	if (!resolver)
		return;
	profile_report_refused_maps("script", resolver->symbols);
	if (resolver->spaces)
		profile_report_dumps("script", resolver->spaces);
	thread_names_free(resolver->names);
	pesa_symbols_free(resolver->symbols);
	pesa_binaries_free(resolver->binaries);
	pesa_spaces_free(resolver->spaces);
	free(resolver);
}

const char *script_thread_name(struct script_resolver *resolver, uint32_t tid)
{
	return thread_names_get(resolver->names, tid);
}

struct pesa_error *script_resolver_apply(struct script_resolver *resolver,
					 const struct pesa_event *event)
{
	uint64_t mappings = 0;
	struct pesa_error *error = thread_names_apply(resolver->names, event);

	if (!error)
		error = pesa_spaces_advance(resolver->spaces, event->time, &mappings);
	return error ? error : pesa_spaces_apply(resolver->spaces, event);
}

bool script_resolver_is_steady(const struct script_resolver *resolver)
{
	return pesa_spaces_due(resolver->spaces) == UINT64_MAX;
}

/* ---- Addresses ----------------------------------------------------------------------------- */

struct pesa_error *script_resolve(struct script_resolver *resolver, uint32_t pid, bool kernel,
				  uint64_t address, struct script_place *place)
{
	const struct pesa_layout *layout = kernel ? pesa_spaces_kernel(resolver->spaces)
						  : pesa_spaces_layout(resolver->spaces, pid);
	const struct pesa_mapping *mapping = layout ? pesa_layout_find(layout, address) : NULL;
	struct pesa_error *error;

	*place = (struct script_place){.address = address};
	if (!mapping)
		return NULL;
	/* Also if there is no file: sets the build id, by which symbols are found. */
	error = pesa_binaries_open(resolver->binaries, mapping->dso);
	if (error)
		return error;
	place->dso = pesa_spaces_dso(resolver->spaces, mapping->dso);
	place->address = pesa_binaries_address(resolver->binaries, mapping, address);
	return pesa_symbols_find(resolver->symbols, mapping->dso, place->address, &place->symbol);
}
