/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Address spaces over time.
 *
 * A recording has events of mappings, execs, forks and exits between its samples.  struct
 * pesa_spaces follows them: apply every event in time order, and ask for the layout of a process at
 * any time.
 *
 * A layout is an immutable, sorted list of mappings, shared by all processes and moments that have the
 * same one (a fork copies nothing).  A new mapping replaces what it overlaps, as mmap(MAP_FIXED) does
 * and as the kernel reports re-used address ranges; exec starts an empty layout; the kernel's own
 * mappings are seen by every process.  Binaries are distinguished by path and build id (struct pesa_dso).
 *
 * Threads: different struct pesa_spaces may be used by different threads at the same time, one of them,
 * with all its layouts, by one thread at a time.
 */
#ifndef PESA_SPACE_H
#define PESA_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"
#include "pesa/event.h"

PESA_DECLARATIONS_BEGIN

/** What a binary is. */
enum pesa_dso_kind {
	PESA_DSO_FILE,	  /**< an ELF file */
	PESA_DSO_KERNEL,  /**< kernel or module */
	PESA_DSO_VDSO,	  /**< the code that the kernel maps into every process */
	PESA_DSO_JIT,	  /**< anonymous memory with code */
	PESA_DSO_UNKNOWN, /**< samples in no mapping */
};

/** Whether the file of a binary could be read. */
enum pesa_dso_status {
	PESA_DSO_OK,	  /**< it could */
	PESA_DSO_MISSING, /**< no such file (any more) */
	PESA_DSO_CHANGED, /**< it has another build id now */
	PESA_DSO_FOREIGN, /**< not an ELF file for RISC-V */
	PESA_DSO_DAMAGED, /**< not a readable ELF file */
	PESA_DSO_NO_FILE, /**< never had one (JIT, unknown) */
};

/** A binary: whatever has code, distinguished by path and build id. */
struct pesa_dso {
	const char *path; /**< as recorded, without the kernel's " (deleted)" */
	const char *
		file; /**< what was opened: path, or a copy below a root or in a build-id cache; NULL: nothing */
	enum pesa_dso_kind kind;	     /**< what it is */
	enum pesa_dso_status status;	     /**< whether it could be read */
	const char *problem;		     /**< one line where status is not OK, else NULL */
	uint8_t build_id_size;		     /**< 0: unknown */
	uint8_t build_id[PESA_BUILD_ID_MAX]; /**< of the recorded file */
	uint32_t pid;			     /**< JIT: whose memory; else 0 */
	uint32_t version; /**< JIT: of code that was overwritten, from 0 on; else 0 */
	struct pesa_code
		*code; /**< JIT: what is known of it (decoder/binary/code.h); NULL: nothing */
	struct pesa_functions *
		functions; /**< JIT: that a jitdump named (decoder/binary/functions.h); NULL: none */
};

/** A range of addresses that holds a part of a binary. */
struct pesa_mapping {
	uint64_t start;	 /**< run-time address */
	uint64_t end;	 /**< run-time address after its last byte */
	uint64_t offset; /**< in the file, of start */
	uint32_t dso;	 /**< index, for pesa_spaces_dso() */
};

/** The mappings of a process at one moment. */
struct pesa_layout {
	uint32_t references;	      /**< see pesa_layout_hold() */
	uint32_t count;		      /**< of the mappings */
	struct pesa_mapping *mapping; /**< by address, disjoint; lives as long as the layout */
};

/** The address spaces of all processes of a recording. */
struct pesa_spaces;

/** Spaces of no process yet.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_spaces_create(struct pesa_spaces **spaces);
/** Free them; layouts that are held stay.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_spaces_free(struct pesa_spaces *spaces);

/**
 * Read what just-in-time compilers wrote of their code (jit-PID.dump, decoder/binary/jitdump.h) when a
 * recording says that a process mapped such a file; otherwise none are read.  `root` as
 * pesa_profile_options.symbol_root.  `origin` has the clock of the recording; it is copied, and what
 * it names is needed as long as events are applied.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_spaces_read_dumps(struct pesa_spaces *spaces,
					  const struct pesa_origin *origin, const char *root);
/** The time, in ns, from which on a dump has something that was not applied; UINT64_MAX: none has.
 * @one_thread @nothing_owned */
uint64_t pesa_spaces_due(const struct pesa_spaces *spaces);
/** Apply what dumps have up to a time.  *mappings is increased by the sizes of the layouts made.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_spaces_advance(struct pesa_spaces *spaces, uint64_t time,
				       uint64_t *mappings);
/** A dump that the recording named, read or not. */
struct pesa_spaces_dump {
	const char *path; /**< as recorded */
	/** One line: why it is not read, or which part was lost or is uncertain; NULL: no
	 * problem. */
	const char *problem;
	bool refused; /**< nothing of it is used */
};
/** How many dumps the recording named.
 * @one_thread @nothing_owned */
size_t pesa_spaces_dump_count(const struct pesa_spaces *spaces);
/** A dump, by index.
 * @one_thread @object_owns */
struct pesa_spaces_dump pesa_spaces_dump(const struct pesa_spaces *spaces, size_t index);

/** Apply an event; those that do not concern address spaces are ignored.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_spaces_apply(struct pesa_spaces *spaces, const struct pesa_event *event);

/** The layout of a process now, never NULL except when memory ran out; valid until the next event is
 * applied unless held.  A process without any event has an empty layout.
 * @one_thread @object_owns */
const struct pesa_layout *pesa_spaces_layout(struct pesa_spaces *spaces, uint32_t pid);
/** The layout of the kernel.
 * @one_thread @object_owns */
const struct pesa_layout *pesa_spaces_kernel(struct pesa_spaces *spaces);

/** Keep a layout beyond the next event, until it is released.
 * @one_thread @nothing_owned */
void pesa_layout_hold(const struct pesa_layout *layout);
/** Release what was held.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_layout_release(const struct pesa_layout *layout);
/** The mapping that holds an address, NULL: none.
 * @one_thread @object_owns */
const struct pesa_mapping *pesa_layout_find(const struct pesa_layout *layout, uint64_t address);

/** Binaries seen so far.  Index 0 is the one for samples in no mapping.  The status is not
 * checked here (it is PESA_DSO_OK or _NO_FILE).
 * @one_thread @nothing_owned */
unsigned int pesa_spaces_dso_count(const struct pesa_spaces *spaces);
/** A binary; lives as long as the spaces.  The index must be below the count.
 * @one_thread @object_owns */
struct pesa_dso *pesa_spaces_dso(const struct pesa_spaces *spaces, unsigned int index);

PESA_DECLARATIONS_END

#endif
