/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "pesa/image.h"
#include "pesa/space.h"
#include "tools/script_resolve.h"

struct thread {
	uint32_t tid;
	char *name;
	UT_hash_handle hh;
};

struct image_slot {
	bool tried;
	struct pesa_image *image; /* NULL: none that fits */
};

struct script_resolver {
	char *root;
	struct pesa_spaces *spaces;
	struct pesa_symbols *symbols;
	struct thread *threads;
	struct image_slot *slot; /* by dso */
	unsigned int slots;
};

static const struct pesa_dso *dso_of_spaces(void *context, uint32_t index)
{
	struct pesa_spaces *spaces = context;

	return index < pesa_spaces_dso_count(spaces) ? pesa_spaces_dso(spaces, index) : NULL;
}

struct pesa_error *script_resolver_create(const char *root, struct script_resolver **result)
{
	struct script_resolver *resolver = calloc(1, sizeof(*resolver));
	struct pesa_error *error;

	if (!resolver || (root && !(resolver->root = strdup(root)))) {
		free(resolver);
		return pesa_error_no_memory();
	}
	error = pesa_spaces_create(&resolver->spaces);
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
	struct thread *thread, *next;

	if (!resolver)
		return;
	HASH_ITER(hh, resolver->threads, thread, next)
	{
		HASH_DEL(resolver->threads, thread);
		free(thread->name);
		free(thread);
	}
	for (unsigned int i = 0; i < resolver->slots; i++)
		pesa_image_close(resolver->slot[i].image);
	free(resolver->slot);
	pesa_symbols_free(resolver->symbols);
	pesa_spaces_free(resolver->spaces);
	free(resolver->root);
	free(resolver);
}

/* ---- Threads ------------------------------------------------------------------------------- */

static bool name_thread(struct script_resolver *resolver, uint32_t tid, const char *name)
{
	struct thread *thread;
	char *copy = strdup(name);

	if (!copy)
		return false;
	HASH_FIND(hh, resolver->threads, &tid, sizeof(tid), thread);
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread) {
			free(copy);
			return false;
		}
		thread->tid = tid;
		HASH_ADD(hh, resolver->threads, tid, sizeof(thread->tid), thread);
	}
	free(thread->name);
	thread->name = copy;
	return true;
}

static void forget_thread(struct script_resolver *resolver, uint32_t tid)
{
	struct thread *thread;

	HASH_FIND(hh, resolver->threads, &tid, sizeof(tid), thread);
	if (!thread)
		return;
	HASH_DEL(resolver->threads, thread);
	free(thread->name);
	free(thread);
}

const char *script_thread_name(struct script_resolver *resolver, uint32_t tid)
{
	struct thread *thread;

	HASH_FIND(hh, resolver->threads, &tid, sizeof(tid), thread);
	return thread ? thread->name : NULL;
}

struct pesa_error *script_resolver_apply(struct script_resolver *resolver,
					 const struct pesa_event *event)
{
	bool done = true;

	switch (event->type) {
	case PERF_RECORD_COMM:
		done = name_thread(resolver, event->comm.tid, event->comm.name);
		break;
	case PERF_RECORD_FORK: {
		const char *parent = script_thread_name(resolver, event->task.parent_tid);

		if (parent)
			done = name_thread(resolver, event->task.tid, parent);
		break;
	}
	case PERF_RECORD_EXIT:
		forget_thread(resolver, event->task.tid);
		break;
	}
	if (!done)
		return pesa_error_no_memory();
	return pesa_spaces_apply(resolver->spaces, event);
}

/* ---- Addresses ----------------------------------------------------------------------------- */

/* Open the file of a dso, and say in its status what cannot be. */
static struct pesa_image *open_image(struct script_resolver *resolver, struct pesa_dso *dso)
{
	struct pesa_image *image = NULL;
	struct pesa_error *error = NULL;
	unsigned int size;
	const uint8_t *id;
	char *below;

	if (resolver->root && asprintf(&below, "%s/%s", resolver->root, dso->path) >= 0) {
		if (!access(below, R_OK))
			error = pesa_image_open(below, &image);
		free(below);
	}
	if (!image && !error)
		error = pesa_image_open(dso->path, &image);
	if (error) {
		dso->status =
			error->code == PESA_ERROR_SYSTEM ? PESA_DSO_MISSING : PESA_DSO_DAMAGED;
		pesa_error_free(error);
		return NULL;
	}
	id = pesa_image_build_id(image, &size);
	if (dso->build_id_size && size &&
	    (size != dso->build_id_size || memcmp(id, dso->build_id, size))) {
		dso->status = PESA_DSO_CHANGED;
		pesa_image_close(image);
		return NULL;
	}
	if (!pesa_image_isa(image))
		dso->status = PESA_DSO_FOREIGN;
	return image;
}

static struct pesa_image *image_of(struct script_resolver *resolver, unsigned int index)
{
	struct pesa_dso *dso = pesa_spaces_dso(resolver->spaces, index);
	struct image_slot *slot;

	if (dso->kind != PESA_DSO_FILE)
		return NULL;
	if (index >= resolver->slots) {
		unsigned int count = pesa_spaces_dso_count(resolver->spaces) * 2;
		struct image_slot *grown = realloc(resolver->slot, count * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + resolver->slots, 0, (count - resolver->slots) * sizeof(*grown));
		resolver->slot = grown;
		resolver->slots = count;
	}
	slot = &resolver->slot[index];
	if (!slot->tried) {
		slot->tried = true;
		slot->image = open_image(resolver, dso);
	}
	return slot->image;
}

struct script_place script_resolve(struct script_resolver *resolver, uint32_t pid, bool kernel,
				   uint64_t address)
{
	const struct pesa_layout *layout = kernel ? pesa_spaces_kernel(resolver->spaces)
						  : pesa_spaces_layout(resolver->spaces, pid);
	const struct pesa_mapping *mapping = layout ? pesa_layout_find(layout, address) : NULL;
	struct script_place place = {.address = address};
	const struct pesa_image *image;

	if (!mapping)
		return place;
	place.dso = pesa_spaces_dso(resolver->spaces, mapping->dso);
	image = image_of(resolver, mapping->dso);
	if (image &&
	    !pesa_image_address(image, address - mapping->start + mapping->offset, &place.address))
		place.address = address;
	if (image || place.dso->kind == PESA_DSO_JIT)
		place.symbol = pesa_symbols_find(resolver->symbols, mapping->dso, place.address);
	return place;
}
