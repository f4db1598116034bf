/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pseudo probes: marks that clang puts on blocks and calls (-fpseudo-probe-for-profiling), so that a
 * profile is keyed by them and not by lines.
 *
 * A function that was compiled with probes has a description: its name, and a checksum of its control
 * flow.  Its probes are numbered; an address of the code may have several, also of functions that were
 * inlined, which form a tree by the probes of their calls.  A probe whose code was copied is at several
 * addresses.  Formats: llvm/include/llvm/MC/MCPseudoProbe.h.
 */
#ifndef DECODER_BINARY_PSEUDO_PROBE_H
#define DECODER_BINARY_PSEUDO_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

#define PSEUDO_PROBE_NONE UINT32_MAX

/* A function with probes. */
struct pseudo_probe_function {
	uint64_t guid, checksum;
	char *name;
};

/* A function, or a copy of one that was inlined. */
struct pseudo_probe_body {
	uint32_t parent;   /* body that it was inlined into; PSEUDO_PROBE_NONE: none */
	uint32_t call;	   /* probe of the call there */
	uint32_t function; /* PSEUDO_PROBE_NONE: without description */
};

struct pseudo_probe {
	uint64_t address;
	uint32_t body, number;
	bool call; /* on a call, not on a block */
};

struct pseudo_probes {
	struct pseudo_probe_function *function; /* by guid */
	size_t functions, function_room;
	struct pseudo_probe_body *body;
	size_t bodies, body_room;
	struct pseudo_probe *probe; /* by address, in the order of the file otherwise */
	size_t count, room;
	size_t lost;  /* probes of functions whose address is not known */
	bool damaged; /* the rest of a section was left out */
};

/* Where a function begins, by its name: *found is false if that is not known. */
typedef struct pesa_error *pseudo_probe_locate(void *context, const char *name, uint64_t *address,
					       bool *found);

/* Read the two sections, .pseudo_probe_desc and .pseudo_probe.  `probes` is freed with
 * pseudo_probes_free(), also after an error. */
struct pesa_error *pseudo_probes_read(const uint8_t *descriptions, size_t descriptions_size,
				      const uint8_t *sections, size_t sections_size,
				      pseudo_probe_locate *locate, void *context,
				      struct pseudo_probes *probes);
/* The same of an ELF file; without these sections there are no probes. */
struct pesa_error *pseudo_probes_open(const char *path, pseudo_probe_locate *locate, void *context,
				      struct pseudo_probes *probes);
void pseudo_probes_free(struct pseudo_probes *probes);
/* The first probe at an address or behind it, an index up to the count. */
size_t pseudo_probes_from(const struct pseudo_probes *probes, uint64_t address);

#endif
