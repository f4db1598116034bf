/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbol map: names of code that a program made at run time.
 *
 * A just-in-time compiler that supports profiling appends a line to /tmp/perf-PID.map for every
 * function: start and size in hexadecimal, then the name, which may contain spaces
 * (tools/perf/Documentation/jit-interface.txt in the kernel source).  If code is replaced, the
 * later line is valid.
 */
#ifndef DECODER_BINARY_SYMBOL_MAP_H
#define DECODER_BINARY_SYMBOL_MAP_H

#include <stddef.h>

#include "decoder/binary/symbol_table.h"
#include "pesa/error.h"

/* Parse the lines of `text` into `table`.  `ignored` counts malformed lines. */
struct pesa_error *pesa_symbol_map_parse(const char *text, size_t size,
					 struct pesa_symbol_table *table, size_t *ignored);
/* Likewise from a file.  Malformed lines give an error that names the first; the rest is used. */
struct pesa_error *pesa_symbol_map_load(const char *path, struct pesa_symbol_table *table);

#endif
