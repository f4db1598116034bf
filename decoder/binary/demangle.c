/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readable names of C++ and Rust functions, by libiberty's demangler.  Rust is tried first: its
 * legacy names are well-formed C++ names too, with a hash as the last component, which only the
 * Rust demangler omits.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/symbols.h"

/* A name, from the parts that the demangler gives.  It notes a lack of memory; pesa_demangle() asks for
 * it. */
struct readable {
	char *text; /* terminated, if there is any */
	size_t length, room;
	bool no_memory, too_long, rust;
	jmp_buf leave; /* from the demangler */
};

/* Numbers and references within a name let twenty bytes of it stand for gigabytes. */
#define READABLE_MAX 65536

/*
 * End a demangler that would go on for hours: it takes no other answer.  A jump loses nothing: the one
 * for C++ has no memory but the stack, and that for Rust only while it prints an identifier, which has
 * no blanks.
 */
static void leave_if_over(struct readable *readable, const char *part, size_t length)
{
	if ((readable->too_long || readable->no_memory) &&
	    (!readable->rust || memchr(part, ' ', length)))
		longjmp(readable->leave, 1);
}

static void add_part(const char *part, size_t length, void *context)
{
	struct readable *readable = context;
	size_t wanted = readable->length + length + 1;
	char *grown;

	if (!length)
		return; /* an empty part may have no address */
	if (readable->no_memory) {
		leave_if_over(readable, part, length);
		return;
	}
	if (wanted > READABLE_MAX) {
		readable->too_long = true;
		leave_if_over(readable, part, length);
		return;
	}
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
	if (setjmp(readable->leave))
		return false;
	readable->rust = true;
	if (rust_demangle_callback(name, DMGL_PARAMS, add_part, readable))
		return true;
	readable->rust = false;
	readable->too_long = false;
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
	if (!mangled || readable.too_long) {
		free(readable.text);
		readable.text = NULL;
	}
	*result = readable.text;
	return NULL;
}
