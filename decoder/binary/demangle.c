/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readable names of C++ and Rust functions, by libiberty's demangler.  Rust is tried first: its
 * legacy names are well-formed C++ names too, with a hash as the last component, which only the
 * Rust demangler omits.
 */
#include <libiberty/demangle.h>
#include <string.h>

#include "pesa/symbols.h"

char *pesa_demangle(const char *name)
{
	char *readable;

	/* All mangling schemes used here start with _Z or _R; Darwin adds one more underscore. */
	if (!name || name[0] != '_')
		return NULL;
	if (strncmp(name, "_R", 2) && strncmp(name, "_Z", 2) && strncmp(name, "__", 2))
		return NULL;
	readable = rust_demangle(name, DMGL_PARAMS);
	if (!readable)
		readable = cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
	return readable;
}
