/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Binaries: the files behind the dsos of a recording.
 *
 * A file is looked for when its first instruction is asked for: below the root, under its path, and
 * in perf's build-id cache.  Its text is used only when its build id is the recorded one (or none
 * was recorded); otherwise the dso's status and problem say what is wrong.
 */
#ifndef DECODER_BINARY_BINARIES_H
#define DECODER_BINARY_BINARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/image.h"
#include "pesa/perfdata.h"
#include "pesa/space.h"
#include "pesa/walk.h"

struct pesa_binaries;

/* root: look below this directory first; NULL: none.  spaces must outlive the result, and the dsos
 * live there.  NULL: out of memory. */
struct pesa_binaries *pesa_binaries_create(struct pesa_spaces *spaces, const char *root);
void pesa_binaries_free(struct pesa_binaries *binaries);

/* Where build ids are looked up that a map did not tell; may be NULL. */
void pesa_binaries_set_reader(struct pesa_binaries *binaries, const struct pesa_perfdata *reader);

/* The opened file of a dso; NULL: none that may be used.  Settles the dso's status. */
const struct pesa_image *pesa_binaries_image(struct pesa_binaries *binaries, uint32_t dso);

/* The address that an instruction of a mapping has in a profile (struct pesa_instruction). */
uint64_t pesa_binaries_address(struct pesa_binaries *binaries, const struct pesa_mapping *mapping,
			       uint64_t address);

/* The instruction at an ELF virtual address of a dso.  Direct targets are ELF virtual addresses. */
enum pesa_text_status pesa_binaries_instruction(struct pesa_binaries *binaries, uint32_t dso,
						uint64_t address, struct pesa_text_insn *insn);

/* Copy text of a dso.  Returns how many of `size` bytes there are (0: none). */
size_t pesa_binaries_text(struct pesa_binaries *binaries, uint32_t dso, uint64_t address,
			  void *buffer, size_t size);
/* Its instruction set, as pesa_image_isa(); NULL: not RISC-V, or no text. */
const char *pesa_binaries_isa(struct pesa_binaries *binaries, uint32_t dso);

/* False once memory ran out, which makes what came since unreliable. */
bool pesa_binaries_complete(const struct pesa_binaries *binaries);

#endif
