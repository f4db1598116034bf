// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings of a process, and the set of binaries: see space_data.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/code.h"
#include "decoder/binary/functions.h"
#include "decoder/binary/space_data.h"

struct dso_entry {
	struct pesa_dso dso;
	uint32_t index;
	char *key;
	UT_hash_handle hh;
};

struct pesa_layout *space_layout_new(uint32_t count)
{
	struct pesa_layout *layout = malloc(sizeof(*layout) + count * sizeof(layout->mapping[0]));

	if (layout) {
		layout->references = 1;
		layout->count = 0;
		layout->mapping = (struct pesa_mapping *)(layout + 1);
	}
	return layout;
}

void pesa_layout_hold(const struct pesa_layout *layout)
{
	((struct pesa_layout *)layout)->references++;
}

void pesa_layout_release(const struct pesa_layout *layout)
{
	struct pesa_layout *mutable = (struct pesa_layout *)layout;

	if (mutable && !--mutable->references)
		free(mutable);
}

/* Index of the first mapping that ends above `address`. */
static uint32_t layout_search(const struct pesa_layout *layout, uint64_t address)
{
	uint32_t low = 0, high = layout->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (layout->mapping[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct pesa_mapping *pesa_layout_find(const struct pesa_layout *layout, uint64_t address)
{
	uint32_t index = layout_search(layout, address);

	if (index < layout->count && layout->mapping[index].start <= address)
		return &layout->mapping[index];
	return NULL;
}

struct pesa_mapping space_part(struct pesa_mapping mapping, uint64_t start, uint64_t end)
{
	mapping.offset += start - mapping.start;
	mapping.start = start;
	mapping.end = end;
	return mapping;
}

struct pesa_layout *space_layout_replace(struct pesa_layout *old, const struct pesa_mapping *added,
					 bool add, const struct pesa_spaces *keep)
{
	uint32_t first = layout_search(old, added->start), last = first;
	uint64_t done = added->start;
	struct pesa_layout *layout;

	while (last < old->count && old->mapping[last].start < added->end)
		last++;
	layout = space_layout_new(old->count + 3 + (last - first));
	if (!layout)
		return NULL;
	memcpy(layout->mapping, old->mapping, first * sizeof(*old->mapping));
	layout->count = first;
	if (last > first && old->mapping[first].start < added->start)
		layout->mapping[layout->count++] =
			space_part(old->mapping[first], old->mapping[first].start, added->start);
	for (uint32_t i = first; keep && i < last; i++) {
		struct pesa_mapping left = old->mapping[i];

		if (!pesa_spaces_dso(keep, left.dso)->functions)
			continue;
		left = space_part(left, left.start > added->start ? left.start : added->start,
				  left.end < added->end ? left.end : added->end);
		if (add && done < left.start)
			layout->mapping[layout->count++] = space_part(*added, done, left.start);
		layout->mapping[layout->count++] = left;
		done = left.end;
	}
	if (add && done < added->end)
		layout->mapping[layout->count++] = space_part(*added, done, added->end);
	if (last > first && old->mapping[last - 1].end > added->end)
		layout->mapping[layout->count++] =
			space_part(old->mapping[last - 1], added->end, old->mapping[last - 1].end);
	memcpy(&layout->mapping[layout->count], &old->mapping[last],
	       (old->count - last) * sizeof(*old->mapping));
	layout->count += old->count - last;
	pesa_layout_release(old);
	return layout;
}

struct pesa_error *space_put(struct process *process, const struct pesa_mapping *mapping)
{
	struct pesa_layout *replaced = space_layout_replace(process->layout, mapping, true, NULL);

	if (!replaced)
		return pesa_error_no_memory();
	process->layout = replaced;
	return NULL;
}

static void dso_entry_free(struct dso_entry *entry)
{
	if (!entry)
		return;
	free((char *)entry->dso.path);
	free((char *)entry->dso.file);
	free((char *)entry->dso.problem);
	pesa_code_free(entry->dso.code);
	pesa_functions_free(entry->dso.functions);
	free(entry->key);
	free(entry);
}

static char *dso_key(const struct pesa_dso *dso)
{
	char build_id[2 * PESA_BUILD_ID_MAX + 1] = "", *key;

	for (unsigned int i = 0; i < dso->build_id_size; i++)
		snprintf(build_id + 2 * i, 3, "%02x", dso->build_id[i]);
	if (asprintf(&key, "%d %u %u %s %s", dso->kind, dso->pid, dso->version, build_id,
		     dso->path) < 0)
		return NULL;
	return key;
}

uint32_t space_dso_index(struct pesa_spaces *spaces, const struct pesa_dso *wanted)
{
	struct dso_entry *entry, *added;
	char *key = dso_key(wanted);

	if (!key)
		return UINT32_MAX;
	HASH_FIND_STR(spaces->by_key, key, entry);
	if (entry) {
		free(key);
		return entry->index;
	}
	if (spaces->dso_count == spaces->dso_capacity) {
		unsigned int capacity = spaces->dso_capacity ? 2 * spaces->dso_capacity : 16;
		void *dsos = realloc(spaces->dsos, capacity * sizeof(*spaces->dsos));

		if (!dsos) {
			free(key);
			return UINT32_MAX;
		}
		spaces->dsos = dsos;
		spaces->dso_capacity = capacity;
	}
	entry = calloc(1, sizeof(*entry));
	if (entry) {
		entry->key = key;
		entry->dso = *wanted;
		entry->index = spaces->dso_count;
		entry->dso.path = strdup(wanted->path);
	} else {
		free(key);
	}
	if (!entry || !entry->dso.path) {
		dso_entry_free(entry);
		return UINT32_MAX;
	}
	HASH_ADD_KEYPTR(hh, spaces->by_key, entry->key, strlen(entry->key), entry);
	HASH_FIND_STR(spaces->by_key, entry->key, added);
	if (added != entry) { /* out of memory in uthash */
		dso_entry_free(entry);
		return UINT32_MAX;
	}
	spaces->dsos[spaces->dso_count++] = entry;
	return entry->index;
}

unsigned int pesa_spaces_dso_count(const struct pesa_spaces *spaces)
{
	return spaces->dso_count;
}

struct pesa_dso *pesa_spaces_dso(const struct pesa_spaces *spaces, unsigned int index)
{
	return &spaces->dsos[index]->dso;
}

struct process *space_process_find(struct pesa_spaces *spaces, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, spaces->processes, &pid, sizeof(pid), process);
	return process;
}

void space_dsos_free(struct pesa_spaces *spaces)
{
	HASH_CLEAR(hh, spaces->by_key);
	for (unsigned int i = 0; i < spaces->dso_count; i++)
		dso_entry_free(spaces->dsos[i]);
	free(spaces->dsos);
}
