/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces over time: data shared by mappings (layout.c), mmap and munmap events (space.c),
 * and code that programs make at run time (space_code.c).
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
	struct pesa_layout *layout; /* with a reference */
	UT_hash_handle hh;
};

/* A dump of a process, and how much of it has been applied. */
struct space_dump;
struct attached_dump;

struct pesa_spaces {
	struct process *processes;
	struct pesa_layout *empty, *kernel; /* with a reference to each */
	struct dso_entry *by_key;
	struct dso_entry **dsos;
	unsigned int dso_count, dso_capacity;
	/* Processes that exited, oldest at exited_first.  They are kept for a while: threads may
	 * outlive the main thread, and samples may arrive late. */
	uint32_t exited[EXITED_KEPT];
	unsigned int exited_first, exited_count;

	struct pesa_origin origin; /* without functions: dumps are not read */
	char *root;		   /* NULL: none */
	struct space_dump **dumps;
	size_t dump_count;
	struct attached_dump *attached;
	uint64_t due; /* time of the next event of a dump, ns; UINT64_MAX: none */
};

/* ---- layout.c -------------------------------------------------------------------------------- */

/* An empty layout with room for `count` mappings and one reference; NULL: out of memory. */
struct pesa_layout *space_layout_new(uint32_t count);
/*
 * Replace the mappings of `old` that `added` overlaps, except functions of a dump if `keep` is not
 * NULL; insert `added` itself if `add` is true.  Takes the caller's reference to `old` and returns
 * a layout with a reference; NULL if out of memory (the caller then keeps its reference to `old`).
 */
struct pesa_layout *space_layout_replace(struct pesa_layout *old, const struct pesa_mapping *added,
					 bool add, const struct pesa_spaces *keep);
void space_dsos_free(struct pesa_spaces *spaces);
/* NULL: unknown process */
struct process *space_process_find(struct pesa_spaces *spaces, uint32_t pid);
/* Index of the dso equal to `wanted`, which is added if new.  UINT32_MAX: out of memory. */
uint32_t space_dso_index(struct pesa_spaces *spaces, const struct pesa_dso *wanted);
/* The part of a mapping between two addresses. */
struct pesa_mapping space_part(struct pesa_mapping mapping, uint64_t start, uint64_t end);
/* Add a mapping to a process; it replaces overlapping ones. */
struct pesa_error *space_put(struct process *process, const struct pesa_mapping *mapping);

/* ---- space_code.c ---------------------------------------------------------------------------- */

/* Apply an event of the recording with new code. */
struct pesa_error *space_apply_text(struct pesa_spaces *spaces, const struct pesa_event *event);
/* A file was mapped: if it is a jitdump, start following it. */
struct pesa_error *space_attach_dump(struct pesa_spaces *spaces, struct process *process,
				     const char *path, uint64_t time);
/* Stop following all dumps of the process. */
void space_detach_dumps(struct pesa_spaces *spaces, uint32_t pid);
bool space_has_dump(const struct pesa_spaces *spaces, uint32_t pid);
void space_free_dumps(struct pesa_spaces *spaces);

#endif
