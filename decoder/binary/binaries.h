/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Binaries: the files of the dsos of a recording.
 *
 * pesa_binaries_open() searches the file of a dso below the root, at its path, in perf's build-id
 * cache, and asks the servers in DEBUGINFOD_URLS.  Its text is used only if its build id is the recorded one (or none was recorded);
 * otherwise the dso's status and problem describe the reason.  Lookups use what is open.
 */
#ifndef DECODER_BINARY_BINARIES_H
#define DECODER_BINARY_BINARIES_H

#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/event.h"
#include "pesa/image.h"
#include "pesa/space.h"
#include "pesa/walk.h"

struct pesa_binaries;

/* root: directory searched first; NULL: none. spaces must outlive the result and own the dsos.
 * Returns NULL if out of memory. */
struct pesa_binaries *pesa_binaries_create(struct pesa_spaces *spaces, const char *root);
void pesa_binaries_free(struct pesa_binaries *binaries);

/* Set where the recording is from: build ids that are not in its maps, its machine.  Copied; NULL:
 * nothing is known. */
void pesa_binaries_set_origin(struct pesa_binaries *binaries, const struct pesa_origin *origin);

/* Open the file of a dso and determine the dso's status.  A file that cannot be used is not an
 * error.  May be repeated: it opens a dso once, and again when code made at run time was added to
 * it. */
struct pesa_error *pesa_binaries_open(struct pesa_binaries *binaries, uint32_t dso);

/* The opened file of a dso; NULL: no usable file. */
const struct pesa_image *pesa_binaries_image(const struct pesa_binaries *binaries, uint32_t dso);

/* Address in a profile (struct pesa_instruction) of a run-time address in a mapping. */
uint64_t pesa_binaries_address(const struct pesa_binaries *binaries,
			       const struct pesa_mapping *mapping, uint64_t address);

/* The instruction at an ELF virtual address of a dso.  Targets of direct transfers are ELF virtual
 * addresses too. */
enum pesa_text_status pesa_binaries_instruction(struct pesa_binaries *binaries, uint32_t dso,
						uint64_t address, struct pesa_text_insn *insn);

/* Copy text of a dso.  Returns the number of bytes available, at most `size`; 0: none. */
size_t pesa_binaries_text(const struct pesa_binaries *binaries, uint32_t dso, uint64_t address,
			  void *buffer, size_t size);
/* Instruction set of a dso, as pesa_image_isa(); NULL: not RISC-V, or no text. */
const char *pesa_binaries_isa(const struct pesa_binaries *binaries, uint32_t dso);

#endif
