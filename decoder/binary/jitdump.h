/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump: the file that a just-in-time compiler writes about its generated code (jit-PID.dump).
 *
 * A file header is followed by records with times: code was generated (name, address and bytes),
 * source lines of the code generated next, code was moved
 * (tools/perf/Documentation/jitdump-specification.txt in the kernel source).  The parser returns
 * the functions, and a list of events: which function was at which address from which time on.
 *
 * The file may be truncated or damaged anywhere: everything before the damage is used, the rest is
 * counted.  All pointers in the result point into the file's bytes.
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
	uint32_t line, order; /* of the source file; position in the dump */
};

struct pesa_jitdump_function {
	const char *name; /* may be empty */
	const uint8_t *code;
	uint64_t size;			      /* bytes of code, never 0 */
	uint64_t index;			      /* assigned by the compiler */
	const struct pesa_jitdump_line *line; /* sorted by offset */
	size_t lines;
};

/* The function is at `address` from `time` on. */
struct pesa_jitdump_event {
	uint64_t time;	  /* ns of CLOCK_MONOTONIC, unless `arch_clock` */
	uint64_t address; /* address + size does not wrap */
	uint32_t function, order;
};

struct pesa_jitdump {
	uint32_t machine; /* EM_* */
	uint32_t pid;	  /* in the process's own pid namespace */
	bool arch_clock;  /* times are from an architecture-specific clock */
	struct pesa_jitdump_function *function;
	size_t functions;
	struct pesa_jitdump_event *event; /* sorted by time, then by position */
	size_t events;
	uint64_t damaged_records; /* skipped: malformed, or about unknown code */
	uint64_t damaged_bytes;	  /* at the end of a truncated or damaged file */
	uint64_t foreign_records; /* from other processes, which share the file after fork() */

	struct pesa_jitdump_line *all_lines;
	char *bytes;
	size_t size; /* size of the file's bytes */
};

/*
 * Parse a dump.  Takes ownership of `bytes`, also on failure.  Fails if the file is not a dump, or
 * is from a machine with the other byte order.
 */
struct pesa_error *pesa_jitdump_parse(char *bytes, size_t size, struct pesa_jitdump **dump);
/* Load a dump from a file that another user may have written: `own` as for
 * pesa_read_foreign_file(). */
struct pesa_error *pesa_jitdump_load(const char *path, struct pesa_jitdump **dump);
void pesa_jitdump_free(struct pesa_jitdump *dump);

/* Whether the path of a mapping is that of a dump: .../jit-PID.dump. */
bool pesa_jitdump_is_name(const char *path);
/* Line at an offset in bytes from the function's start; NULL: unknown. */
const struct pesa_jitdump_line *pesa_jitdump_line_at(const struct pesa_jitdump_function *function,
						     uint64_t offset);

#endif
