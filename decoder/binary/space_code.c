// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code that programs make at run time: bytes in the recording, and functions in jitdumps.
 *
 * If the recording and the dump use the same clock, each event of the dump applies from its time
 * on.  Otherwise all events apply from the start, and the last one for an address is used.  Where
 * the recording has bytes of the code, they decide which function of the dump was there.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "decoder/binary/code.h"
#include "decoder/binary/functions.h"
#include "decoder/base/read_file.h"
#include "decoder/binary/space_data.h"

/* Maximum number of versions of code at one address.  The text of further versions is not kept. */
#define VERSIONS_MAX 256u
/* Maximum number of functions of a dump compared with the bytes at an address. */
#define COMPARED_MAX (4 * VERSIONS_MAX)
/* Limits for a recording: number of dumps, and their total size in memory. */
#define DUMPS_MAX      1024u
#define DUMP_BYTES_MAX (2 * (uint64_t)PESA_READ_MOST)
/* Maximum bytes of code placed by dumps in total: each move places a function again. */
#define PLACED_MAX (UINT64_C(2) << 30)

struct space_dump {
	char *path;
	char *problem;		   /* NULL: none */
	struct pesa_jitdump *dump; /* NULL: not read */
	bool by_time;
	bool overwrites;   /* two functions share an address, so that their times matter */
	bool confirmed;	   /* the recording has code bytes of the process */
	uint64_t placed;   /* bytes */
	uint64_t unplaced; /* events beyond PLACED_MAX */
	/* Events sorted by address, and for each the largest end of all events up to it. */
	uint32_t *by_address;
	uint64_t *reach;
};

struct attached_dump {
	uint32_t pid;
	struct space_dump *dump;
	size_t next;	  /* next event, by time */
	uint32_t matched; /* order + 1 of the last event that matched recorded bytes */
	struct attached_dump *following;
};

/* ---- Versions -------------------------------------------------------------------------------- */

/* Code at an address that is to be added to a version of a dso. */
struct claim {
	uint64_t address, size;
	const uint8_t *bytes;			      /* NULL: unknown */
	const struct pesa_jitdump_function *function; /* NULL: unknown */
	uint64_t start;				      /* start of the function */
};

static bool agrees(const struct pesa_dso *dso, const struct claim *claim)
{
	return (!dso->functions || !claim->function ||
		pesa_functions_agree(dso->functions, claim->start, claim->function)) &&
	       (!dso->code || !claim->bytes ||
		pesa_code_agrees(dso->code, claim->address, claim->bytes, claim->size));
}

/* The version of a dso that can hold the claimed code; UINT32_MAX: out of memory. */
static uint32_t version_for(struct pesa_spaces *spaces, uint32_t index, const struct claim *claim)
{
	struct pesa_dso wanted = *pesa_spaces_dso(spaces, index);

	/* The version mapped at present is the most likely one. */
	if (wanted.version < VERSIONS_MAX && agrees(&wanted, claim))
		return index;
	wanted.file = wanted.problem = NULL;
	wanted.code = NULL;
	wanted.functions = NULL;
	for (wanted.version = 0; wanted.version < VERSIONS_MAX; wanted.version++) {
		index = space_dso_index(spaces, &wanted);
		if (index == UINT32_MAX || agrees(pesa_spaces_dso(spaces, index), claim))
			return index;
	}
	return space_dso_index(spaces, &wanted);
}

static struct pesa_error *add_claim(struct pesa_dso *dso, const struct claim *claim)
{
	struct pesa_error *error = NULL;

	if (dso->version == VERSIONS_MAX)
		return NULL;
	if (claim->bytes && !dso->code)
		dso->code = pesa_code_create();
	if (claim->function && !dso->functions)
		dso->functions = pesa_functions_create();
	if ((claim->bytes && !dso->code) || (claim->function && !dso->functions))
		return pesa_error_no_memory();
	if (claim->bytes)
		error = pesa_code_add(dso->code, claim->address, claim->bytes, claim->size);
	if (!error && claim->function)
		error = pesa_functions_add(dso->functions, claim->start, claim->function);
	return error;
}

/* Merge adjacent mappings of the same dso; otherwise a program that overwrites its code in small
 * pieces would have ever more of them. */
static void join(const struct pesa_layout *layout, struct pesa_mapping *mapping)
{
	const struct pesa_mapping *other;

	other = mapping->start ? pesa_layout_find(layout, mapping->start - 1) : NULL;
	if (other && other->dso == mapping->dso)
		*mapping = space_part(*other, other->start, mapping->end);
	other = pesa_layout_find(layout, mapping->end);
	if (other && other->dso == mapping->dso)
		mapping->end = other->end;
}

/* Map new code.  If it replaces other code, it goes to another version of the dso. */
static struct pesa_error *put_claim(struct pesa_spaces *spaces, struct process *process,
				    uint32_t dso, const struct claim *claim)
{
	struct pesa_mapping changed = {
		.start = claim->address,
		.end = claim->address + claim->size,
	};
	const struct pesa_mapping *mapping;
	struct pesa_error *error;

	changed.dso = version_for(spaces, dso, claim);
	if (changed.dso == UINT32_MAX)
		return pesa_error_no_memory();
	error = add_claim(pesa_spaces_dso(spaces, changed.dso), claim);
	if (error)
		return error;
	mapping = pesa_layout_find(process->layout, changed.start);
	if (mapping && mapping->dso == changed.dso && mapping->end >= changed.end)
		return NULL;
	join(process->layout, &changed);
	return space_put(process, &changed);
}

/* Map a function of a dump. */
static struct pesa_error *place(struct pesa_spaces *spaces, struct process *process,
				struct space_dump *dump, const struct pesa_jitdump_event *event)
{
	const struct pesa_jitdump_function *function = &dump->dump->function[event->function];
	const struct pesa_mapping *mapping = pesa_layout_find(process->layout, event->address);
	struct claim claim = {
		.address = event->address,
		.size = function->size,
		.bytes = dump->dump->machine == EM_RISCV ? function->code : NULL,
		.function = function,
		.start = event->address,
	};
	const struct pesa_dso memory = {
		.path = "//anon",
		.kind = PESA_DSO_JIT,
		.status = PESA_DSO_NO_FILE,
		.pid = process->pid,
	};
	struct pesa_error *error;
	uint32_t dso;

	if (function->size > PLACED_MAX - dump->placed) {
		dump->unplaced++;
		return NULL;
	}
	dump->placed += function->size;
	if (mapping && pesa_spaces_dso(spaces, mapping->dso)->kind == PESA_DSO_JIT)
		dso = mapping->dso;
	else
		dso = space_dso_index(spaces, &memory);
	if (dso == UINT32_MAX)
		return pesa_error_no_memory();
	error = put_claim(spaces, process, dso, &claim);
	if (error)
		return error;
	mapping = pesa_layout_find(process->layout, event->address);
	dump->unplaced += pesa_spaces_dso(spaces, mapping->dso)->version == VERSIONS_MAX;
	return NULL;
}

/* ---- Dumps ----------------------------------------------------------------------------------- */

struct pesa_error *pesa_spaces_read_dumps(struct pesa_spaces *spaces,
					  const struct pesa_origin *origin, const char *root)
{
	spaces->origin = *origin;
	if (root && !(spaces->root = strdup(root)))
		return pesa_error_no_memory();
	return NULL;
}

static void dump_free(struct space_dump *dump)
{
	if (!dump)
		return;
	pesa_jitdump_free(dump->dump);
	free(dump->by_address);
	free(dump->reach);
	free(dump->path);
	free(dump->problem);
	free(dump);
}

void space_free_dumps(struct pesa_spaces *spaces)
{
	for (size_t i = 0; i < spaces->dump_count; i++)
		dump_free(spaces->dumps[i]);
	free(spaces->dumps);
	while (spaces->attached) {
		struct attached_dump *next = spaces->attached->following;

		free(spaces->attached);
		spaces->attached = next;
	}
}

static int compare_addresses(const void *left, const void *right, void *context)
{
	const struct pesa_jitdump_event *event = context;
	const struct pesa_jitdump_event *a = &event[*(const uint32_t *)left];
	const struct pesa_jitdump_event *b = &event[*(const uint32_t *)right];

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Sort events by address. */
static struct pesa_error *index_addresses(struct space_dump *dump)
{
	const struct pesa_jitdump *read = dump->dump;
	uint64_t reach = 0;

	dump->by_address = calloc(read->events + 1, sizeof(*dump->by_address));
	dump->reach = calloc(read->events + 1, sizeof(*dump->reach));
	if (!dump->by_address || !dump->reach)
		return pesa_error_no_memory();
	for (size_t i = 0; i < read->events; i++)
		dump->by_address[i] = (uint32_t)i;
	qsort_r(dump->by_address, read->events, sizeof(*dump->by_address), compare_addresses,
		read->event);
	for (size_t i = 0; i < read->events; i++) {
		const struct pesa_jitdump_event *event = &read->event[dump->by_address[i]];
		uint64_t end = event->address + read->function[event->function].size;

		dump->overwrites |= reach > event->address;
		reach = end > reach ? end : reach;
		dump->reach[i] = reach;
	}
	return NULL;
}

static struct pesa_error *load_dump(const struct pesa_spaces *spaces, const char *path,
				    struct pesa_jitdump **read)
{
	uint64_t size = 0;
	struct pesa_error *error;
	char *below = NULL;

	if (spaces->root && asprintf(&below, "%s/%s", spaces->root, path) < 0)
		return pesa_error_no_memory();
	error = pesa_jitdump_load(below && !access(below, R_OK) ? below : path, read);
	free(below);
	if (error)
		return error;
	for (size_t i = 0; i < spaces->dump_count; i++)
		size += spaces->dumps[i]->dump ? spaces->dumps[i]->dump->size : 0;
	if (size + (*read)->size <= DUMP_BYTES_MAX)
		return NULL;
	pesa_jitdump_free(*read);
	*read = NULL;
	return pesa_error_create(PESA_ERROR_UNSUPPORTED,
				 "%s: the dumps of the recording have more than %llu bytes", path,
				 (unsigned long long)DUMP_BYTES_MAX);
}

/* Get the dump at this path, which is read at the first request.  A dump that cannot be read has
 * a problem, which is not an error. */
static struct pesa_error *dump_of(struct pesa_spaces *spaces, const char *path,
				  struct space_dump **result)
{
	struct space_dump *dump, **grown;
	struct pesa_error *error;

	for (size_t i = 0; i < spaces->dump_count; i++)
		if (!strcmp(spaces->dumps[i]->path, path)) {
			*result = spaces->dumps[i];
			return NULL;
		}
	grown = realloc(spaces->dumps, (spaces->dump_count + 1) * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	spaces->dumps = grown;
	dump = calloc(1, sizeof(*dump));
	if (!dump || !(dump->path = strdup(path))) {
		dump_free(dump);
		return pesa_error_no_memory();
	}
	spaces->dumps[spaces->dump_count++] = dump;
	*result = dump;
	error = load_dump(spaces, path, &dump->dump);
	if (error) {
		dump->problem = strdup(error->message);
		pesa_error_free(error);
		return NULL;
	}
	dump->by_time = !dump->dump->arch_clock &&
			spaces->origin.has_monotonic_clock(spaces->origin.recording);
	return index_addresses(dump);
}

/* Find the time of the next event of all dumps. */
static void find_due(struct pesa_spaces *spaces)
{
	spaces->due = UINT64_MAX;
	for (const struct attached_dump *one = spaces->attached; one; one = one->following) {
		const struct pesa_jitdump *dump = one->dump->dump;

		if (one->next < dump->events && dump->event[one->next].time < spaces->due)
			spaces->due = dump->event[one->next].time;
	}
}

/* Map the functions of a dump up to a time. */
static struct pesa_error *advance(struct pesa_spaces *spaces, struct attached_dump *one,
				  uint64_t time, uint64_t *mappings)
{
	struct process *process = space_process_find(spaces, one->pid);
	const struct pesa_jitdump *dump = one->dump->dump;

	for (; one->next < dump->events && dump->event[one->next].time <= time; one->next++) {
		struct pesa_error *error;

		if (!process)
			continue;
		error = place(spaces, process, one->dump, &dump->event[one->next]);
		if (error)
			return error;
		*mappings += process->layout->count;
	}
	return NULL;
}

bool space_has_dump(const struct pesa_spaces *spaces, uint32_t pid)
{
	for (const struct attached_dump *one = spaces->attached; one; one = one->following)
		if (one->pid == pid)
			return true;
	return false;
}

void space_detach_dumps(struct pesa_spaces *spaces, uint32_t pid)
{
	struct attached_dump **place = &spaces->attached, *one;

	while ((one = *place)) {
		if (one->pid != pid) {
			place = &one->following;
			continue;
		}
		*place = one->following;
		free(one);
	}
	find_due(spaces);
}

struct pesa_error *space_attach_dump(struct pesa_spaces *spaces, struct process *process,
				     const char *path, uint64_t time)
{
	struct attached_dump *one;
	struct space_dump *dump = NULL;
	struct pesa_error *error;
	uint64_t mappings = 0;

	if (!spaces->origin.has_monotonic_clock || !pesa_jitdump_is_name(path) ||
	    spaces->dump_count >= DUMPS_MAX)
		return NULL;
	error = dump_of(spaces, path, &dump);
	if (error)
		return error;
	for (one = spaces->attached; one; one = one->following)
		if (one->pid == process->pid && one->dump == dump)
			return NULL;
	if (!dump->dump)
		return NULL;
	one = calloc(1, sizeof(*one));
	if (!one)
		return pesa_error_no_memory();
	one->pid = process->pid;
	one->dump = dump;
	one->following = spaces->attached;
	spaces->attached = one;
	error = advance(spaces, one, dump->by_time ? time : UINT64_MAX, &mappings);
	find_due(spaces);
	return error;
}

uint64_t pesa_spaces_due(const struct pesa_spaces *spaces)
{
	return spaces->due;
}

struct pesa_error *pesa_spaces_advance(struct pesa_spaces *spaces, uint64_t time,
				       uint64_t *mappings)
{
	struct pesa_error *error = NULL;

	if (time < spaces->due)
		return NULL;
	for (struct attached_dump *one = spaces->attached; one && !error; one = one->following)
		error = advance(spaces, one, time, mappings);
	find_due(spaces);
	return error;
}

/* ---- Status of dumps ------------------------------------------------------------------------- */

size_t pesa_spaces_dump_count(const struct pesa_spaces *spaces)
{
	return spaces->dump_count;
}

static char *losses(const struct space_dump *dump)
{
	const struct pesa_jitdump *read = dump->dump;
	char *text;

	if (read->damaged_records || read->damaged_bytes || dump->unplaced)
		return asprintf(&text,
				"%s: damaged, the rest is used: %llu records and %llu bytes at its "
				"end not read, %llu not placed",
				dump->path, (unsigned long long)read->damaged_records,
				(unsigned long long)read->damaged_bytes,
				(unsigned long long)dump->unplaced) < 0
			       ? NULL
			       : text;
	if (!dump->by_time && dump->overwrites && !dump->confirmed)
		return asprintf(&text,
				"%s: its clock is not the recording's (perf record -k mono), so "
				"code that was replaced has the name of what replaced it",
				dump->path) < 0
			       ? NULL
			       : text;
	return NULL;
}

struct pesa_spaces_dump pesa_spaces_dump(const struct pesa_spaces *spaces, size_t index)
{
	struct space_dump *dump = spaces->dumps[index];

	if (dump->dump && !dump->problem)
		dump->problem = losses(dump);
	return (struct pesa_spaces_dump){
		.path = dump->path,
		.problem = dump->problem,
		.refused = !dump->dump,
	};
}

/* ---- Bytes in the recording ------------------------------------------------------------------ */

/* Whether the bytes at an address equal those of the function, in the common range. */
static bool is_code_of(const struct pesa_jitdump_function *function, uint64_t start,
		       uint64_t address, const uint8_t *bytes, uint64_t size)
{
	uint64_t offset = address - start;

	if (size > function->size - offset)
		size = function->size - offset;
	return !memcmp(function->code + offset, bytes, size);
}

/*
 * Find the event of a dump whose function has these bytes at an address: the first one after the
 * last match, or otherwise the last of all.  NULL: none.
 */
static const struct pesa_jitdump_event *
event_with(const struct attached_dump *one, uint64_t address, const uint8_t *bytes, uint64_t size)
{
	const struct pesa_jitdump *dump = one->dump->dump;
	const struct pesa_jitdump_event *behind = NULL, *last = NULL;
	size_t low = 0, high = dump->events, compared = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dump->event[one->dump->by_address[middle]].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- && one->dump->reach[low] > address && compared++ < COMPARED_MAX) {
		const struct pesa_jitdump_event *event = &dump->event[one->dump->by_address[low]];
		const struct pesa_jitdump_function *function = &dump->function[event->function];

		if (address - event->address >= function->size ||
		    !is_code_of(function, event->address, address, bytes, size))
			continue;
		if (event->order >= one->matched && (!behind || event->order < behind->order))
			behind = event;
		if (!last || event->order > last->order)
			last = event;
	}
	return behind ? behind : last;
}

/* If recorded bytes differ from the function mapped there, map the function of the dump that has
 * these bytes. */
static struct pesa_error *match_dumps(struct pesa_spaces *spaces, struct process *process,
				      uint64_t address, const uint8_t *bytes, uint64_t size)
{
	for (struct attached_dump *one = spaces->attached; one; one = one->following) {
		const struct pesa_jitdump_event *event;

		if (one->pid != process->pid || one->dump->by_time)
			continue;
		one->dump->confirmed = true;
		event = event_with(one, address, bytes, size);
		if (!event)
			continue;
		one->matched = event->order + 1;
		return place(spaces, process, one->dump, event);
	}
	return NULL;
}

/* The function at an address of a process, or the next one below `end`; NULL: none. */
static const struct pesa_function *function_at(const struct pesa_spaces *spaces,
					       const struct pesa_mapping *mapping, uint64_t address,
					       uint64_t end)
{
	const struct pesa_dso *dso = pesa_spaces_dso(spaces, mapping->dso);

	return dso->functions ? pesa_functions_first(dso->functions, address, end) : NULL;
}

/* Find the function for recorded bytes that belong to none yet. */
static struct pesa_error *find_function(struct pesa_spaces *spaces, struct process *process,
					uint64_t address, const uint8_t *bytes, uint64_t size)
{
	const struct pesa_mapping *mapping = pesa_layout_find(process->layout, address);
	const struct pesa_function *function;

	if (!space_has_dump(spaces, process->pid))
		return NULL;
	function = mapping ? function_at(spaces, mapping, address, address + 1) : NULL;
	if (function &&
	    is_code_of(function->dumped, function->symbol.start, address, bytes, size)) {
		for (struct attached_dump *one = spaces->attached; one; one = one->following)
			one->dump->confirmed |= one->pid == process->pid;
		return NULL;
	}
	return match_dumps(spaces, process, address, bytes, size);
}

/* Add bytes of one function, or of none, within one mapping.  claim->size becomes their number. */
static struct pesa_error *put_text(struct pesa_spaces *spaces, struct process *process,
				   const struct pesa_mapping *mapping, struct claim *claim)
{
	const struct pesa_function *function;
	uint64_t end = claim->address + claim->size;

	if (mapping->end < end)
		end = mapping->end;
	function = function_at(spaces, mapping, claim->address, end);
	if (function && function->symbol.start > claim->address) {
		end = function->symbol.start;
		function = NULL;
	}
	if (function) {
		claim->function = function->dumped;
		claim->start = function->symbol.start;
		if (function->symbol.start + function->symbol.size < end)
			end = function->symbol.start + function->symbol.size;
	}
	claim->size = end - claim->address;
	return put_claim(spaces, process, mapping->dso, claim);
}

struct pesa_error *space_apply_text(struct pesa_spaces *spaces, const struct pesa_event *event)
{
	struct process *process = space_process_find(spaces, event->text.pid);
	uint64_t address = event->text.address, left = event->text.size;
	const uint8_t *bytes = event->text.bytes;

	while (process && left) {
		const struct pesa_mapping *mapping;
		struct claim claim = {.address = address, .size = left, .bytes = bytes};
		struct pesa_error *error = find_function(spaces, process, address, bytes, left);

		if (error)
			return error;
		mapping = pesa_layout_find(process->layout, address);
		if (!mapping || pesa_spaces_dso(spaces, mapping->dso)->kind != PESA_DSO_JIT)
			break;
		error = put_text(spaces, process, mapping, &claim);
		if (error)
			return error;
		address += claim.size;
		bytes += claim.size;
		left -= claim.size;
	}
	return NULL;
}
