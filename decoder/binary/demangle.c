/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readable names of C++ and Rust functions, by libiberty's demangler.  Rust is tried first: its
 * legacy names are well-formed C++ names too, with a hash as the last component, which only the
 * Rust demangler omits.
 */
#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/symbols.h"

/* A name, from the parts that the demangler gives.  It notes a lack of memory; pesa_demangle() asks for
 * it. */
struct readable {
	char *text; /* terminated, if there is any */
	size_t length, room;
	bool no_memory;
};

static void add_part(const char *part, size_t length, void *context)
{
	struct readable *readable = context;
	size_t wanted = readable->length + length + 1;
	char *grown;

	if (readable->no_memory || !length)
		return; /* an empty part may have no address */
	if (wanted > readable->room) {
		wanted = wanted < 64 ? 64 : 2 * wanted;
		grown = realloc(readable->text, wanted);
		if (!grown) {
			readable->no_memory = true;
			return;
		}
		readable->text = grown;
		readable->room = wanted;
	}
	memcpy(readable->text + readable->length, part, length);
	readable->length += length;
	readable->text[readable->length] = '\0';
}

static bool demangle(const char *name, struct readable *readable)
{
	if (rust_demangle_callback(name, DMGL_PARAMS, add_part, readable))
		return true;
	readable->length = 0;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, add_part, readable);
}

struct pesa_error *pesa_demangle(const char *name, char **result)
{
	struct readable readable = {0};
	bool mangled;

	/* All mangling schemes used here start with _Z or _R; Darwin adds one more underscore. */
	mangled = name &&
		  (!strncmp(name, "_R", 2) || !strncmp(name, "_Z", 2) || !strncmp(name, "__", 2)) &&
		  demangle(name, &readable);
	if (readable.no_memory) {
		free(readable.text);
		return pesa_error_no_memory();
	}
	if (!mangled) {
		free(readable.text);
		readable.text = NULL;
	}
	*result = readable.text;
	return NULL;
}
