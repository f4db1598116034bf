/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump: what a just-in-time compiler writes of the code it makes (jit-PID.dump).
 *
 * A file header, then records with times: code was made (its name, address and bytes), source lines
 * of the code that is made next, code moved (tools/perf/Documentation/jitdump-specification.txt in
 * the kernel source).  Here it is functions, and a list of which function stood where from which
 * time on.
 *
 * The file may be cut off or damaged anywhere: what is in front of that is used, what is behind it
 * counted.  All that comes out points into the bytes that were read.
 */
#ifndef DECODER_BINARY_JITDUMP_H
#define DECODER_BINARY_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct pesa_jitdump_line {
	uint64_t offset; /* from the function's start, bytes */
	const char *file;
	uint32_t line, order; /* in the file */
};

struct pesa_jitdump_function {
	const char *name; /* may be empty */
	const uint8_t *code;
	uint64_t size;			      /* bytes of code, not 0 */
	uint64_t index;			      /* as the compiler numbers them */
	const struct pesa_jitdump_line *line; /* by offset */
	size_t lines;
};

/* From `time` on the function is at `address`. */
struct pesa_jitdump_event {
	uint64_t time;	  /* ns of CLOCK_MONOTONIC, unless `arch_clock` */
	uint64_t address; /* address + size does not wrap */
	uint32_t function, order;
};

struct pesa_jitdump {
	uint32_t machine; /* EM_* */
	uint32_t pid;	  /* as the process itself sees it */
	bool arch_clock;  /* times are of a clock of the machine's own */
	struct pesa_jitdump_function *function;
	size_t functions;
	struct pesa_jitdump_event *event; /* by time, then by order */
	size_t events;
	uint64_t damaged_records; /* passed over: they are not what they say, or of code that is
				     unknown */
	uint64_t damaged_bytes;	  /* at the end, which is cut off or has no more records */
	uint64_t foreign_records; /* of other processes, which fork() left with the same file */

	struct pesa_jitdump_line *all_lines;
	char *bytes;
	size_t size; /* of the bytes */
};

/*
 * Read a dump from `bytes`, which it owns from then on, also where this fails.  The error is for
 * what is no dump, or none of a machine with this byte order.
 */
struct pesa_error *pesa_jitdump_parse(char *bytes, size_t size, struct pesa_jitdump **dump);
/* Likewise a file, which somebody else may have made: as pesa_read_foreign_file() with `own`. */
struct pesa_error *pesa_jitdump_load(const char *path, struct pesa_jitdump **dump);
void pesa_jitdump_free(struct pesa_jitdump *dump);

/* Whether the file of a mapping is a dump by its name: .../jit-PID.dump. */
bool pesa_jitdump_is_name(const char *path);
/* Line of an address, in bytes from the function's start; NULL: unknown. */
const struct pesa_jitdump_line *pesa_jitdump_line_at(const struct pesa_jitdump_function *function,
						     uint64_t offset);

#endif
