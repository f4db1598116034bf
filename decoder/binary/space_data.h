/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces over time, as their parts share them: what is mapped where (layout.c), events that
 * map and unmap (space.c), and code that programs make at run time (space_code.c).
 */
#ifndef DECODER_BINARY_SPACE_DATA_H
#define DECODER_BINARY_SPACE_DATA_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "pesa/space.h"

#define EXITED_KEPT 1024

struct process {
	uint32_t pid;
	bool exited;
	struct pesa_layout *layout; /* held */
	UT_hash_handle hh;
};

/* A dump of a process, as far as it was followed. */
struct space_dump;
struct attached_dump;

struct pesa_spaces {
	struct process *processes;
	struct pesa_layout *empty, *kernel; /* held */
	struct dso_entry *by_key;
	struct dso_entry **dsos;
	unsigned int dso_count, dso_capacity;
	/* Processes that exited, oldest at exited_first: threads may outlive the one that started
	 * the process and samples may come late, so they are kept for a while. */
	uint32_t exited[EXITED_KEPT];
	unsigned int exited_first, exited_count;

	/* Dumps: NULL reader: none are read. */
	const struct pesa_perfdata *reader;
	char *root; /* NULL: none */
	struct space_dump **dumps;
	size_t dump_count;
	struct attached_dump *attached;
	uint64_t due; /* when a dump has something next, ns; UINT64_MAX: none has */
};

/* ---- layout.c ------------------------------------------------------------------------------- */

/* An empty layout with room for so many mappings, held once; NULL: out of memory. */
struct pesa_layout *space_layout_new(uint32_t count);
/*
 * `old` with `added` in place of what it overlaps (but for functions that a dump told of, if `keep`
 * is not NULL); without `added` itself when `add` is false.  The caller gives its reference of old
 * and gets one of the result; NULL when memory ran out (old is kept).
 */
struct pesa_layout *space_layout_replace(struct pesa_layout *old, const struct pesa_mapping *added,
					 bool add, const struct pesa_spaces *keep);
void space_dsos_free(struct pesa_spaces *spaces);
/* NULL: it was never heard of. */
struct process *space_process_find(struct pesa_spaces *spaces, uint32_t pid);
/* The index of the binary like `wanted`, made when it is new.  UINT32_MAX: out of memory. */
uint32_t space_dso_index(struct pesa_spaces *spaces, const struct pesa_dso *wanted);
/* A part of a mapping. */
struct pesa_mapping space_part(struct pesa_mapping mapping, uint64_t start, uint64_t end);
/* Map something in a process in place of what it overlaps.  False: out of memory. */
bool space_put(struct process *process, const struct pesa_mapping *mapping);

/* ---- space_code.c --------------------------------------------------------------------------- */

/* Code appears in a process, as a recording tells. */
struct pesa_error *space_apply_text(struct pesa_spaces *spaces, const struct pesa_event *event);
/* A file was mapped: if it is a dump, follow it. */
struct pesa_error *space_attach_dump(struct pesa_spaces *spaces, struct process *process,
				     const char *path, uint64_t time);
/* The process has no dumps any more. */
void space_detach_dumps(struct pesa_spaces *spaces, uint32_t pid);
bool space_has_dump(const struct pesa_spaces *spaces, uint32_t pid);
void space_free_dumps(struct pesa_spaces *spaces);

#endif
