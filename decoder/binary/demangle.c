/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readable names of C++ and Rust functions, by libiberty's demangler.  Rust is tried first: its
 * legacy names are well-formed C++ names too, with a hash as the last component, which only the
 * Rust demangler omits.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
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

/*
 * A name in Rust's second scheme (RFC 2603) is read here before the demangler sees it.  It has parts
 * that are not printed: the path of an impl, and that of the crate which made an instance.  In them the
 * demangler still counts the lifetimes that a function type binds, one by one, up to 2^64, and prints
 * nothing that could end it.
 */
struct rust_name {
	const char *at;
	unsigned depth;
	uint64_t lifetimes; /* bound so far, in all */
};

/* What the demangler allows, too. */
#define RUST_DEPTH_MAX 1024

static bool rust_path(struct rust_name *name);
static bool rust_type(struct rust_name *name);

static bool takes(struct rust_name *name, char wanted)
{
	if (*name->at != wanted)
		return false;
	name->at++;
	return true;
}

/* Digits of base 62 and an underscore: "_" is 0, "0_" is 1.  No more than UINT64_MAX. */
static bool rust_number(struct rust_name *name, uint64_t *value)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	bool any = false;

	for (*value = 0; *name->at && *name->at != '_'; name->at++, any = true) {
		const char *digit = strchr(digits, *name->at);

		if (!digit || __builtin_mul_overflow(*value, 62, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(digit - digits), value))
			return false;
	}
	return takes(name, '_') && !(any && __builtin_add_overflow(*value, 1, value));
}

/* A number after a letter, if the letter is there. */
static bool rust_tagged(struct rust_name *name, char letter)
{
	uint64_t ignored;

	return !takes(name, letter) || rust_number(name, &ignored);
}

static bool rust_plain_identifier(struct rust_name *name)
{
	size_t length = 0;

	takes(name, 'u');
	if (*name->at < '0' || *name->at > '9')
		return false;
	if (!takes(name, '0'))
		for (; *name->at >= '0' && *name->at <= '9'; name->at++)
			if (__builtin_mul_overflow(length, 10, &length) ||
			    __builtin_add_overflow(length, (size_t)(*name->at - '0'), &length))
				return false;
	takes(name, '_');
	if (strnlen(name->at, length) < length)
		return false;
	name->at += length;
	return true;
}

static bool rust_identifier(struct rust_name *name)
{
	return rust_tagged(name, 's') && rust_plain_identifier(name);
}

static bool rust_binder(struct rust_name *name)
{
	uint64_t bound;

	if (!takes(name, 'G'))
		return true;
	return rust_number(name, &bound) && bound < READABLE_MAX &&
	       (name->lifetimes += bound + 1) < READABLE_MAX;
}

static bool rust_constant(struct rust_name *name)
{
	if (takes(name, 'p'))
		return true;
	if (*name->at == 'B')
		return rust_tagged(name, 'B');
	if (!rust_type(name))
		return false;
	takes(name, 'n');
	name->at += strspn(name->at, "0123456789abcdef");
	return takes(name, '_');
}

static bool rust_argument(struct rust_name *name)
{
	if (*name->at == 'L')
		return rust_tagged(name, 'L');
	return takes(name, 'K') ? rust_constant(name) : rust_type(name);
}

static bool rust_up_to_end(struct rust_name *name, bool (*part)(struct rust_name *name))
{
	while (!takes(name, 'E'))
		if (!part(name))
			return false;
	return true;
}

static bool rust_function_type(struct rust_name *name)
{
	if (!rust_binder(name))
		return false;
	takes(name, 'U');
	if (takes(name, 'K') && !takes(name, 'C') && !rust_plain_identifier(name))
		return false;
	return rust_up_to_end(name, rust_type) && rust_type(name);
}

static bool rust_trait(struct rust_name *name)
{
	if (!rust_path(name))
		return false;
	while (takes(name, 'p'))
		if (!rust_plain_identifier(name) || !rust_type(name))
			return false;
	return true;
}

static bool rust_inner_type(struct rust_name *name)
{
	static const char basic[] = "abcdefhijlmnopstuvxyz";

	if (*name->at && strchr(basic, *name->at)) {
		name->at++;
		return true;
	}
	switch (*name->at) {
	case 'A':
		return takes(name, 'A') && rust_type(name) && rust_constant(name);
	case 'R':
	case 'Q':
		name->at++;
		return rust_tagged(name, 'L') && rust_type(name);
	case 'S':
	case 'P':
	case 'O':
		name->at++;
		return rust_type(name);
	case 'T':
		return takes(name, 'T') && rust_up_to_end(name, rust_type);
	case 'F':
		return takes(name, 'F') && rust_function_type(name);
	case 'D':
		return takes(name, 'D') && rust_binder(name) && rust_up_to_end(name, rust_trait) &&
		       *name->at == 'L' && rust_tagged(name, 'L');
	default:
		return rust_path(name);
	}
}

static bool rust_inner_path(struct rust_name *name)
{
	switch (*name->at) {
	case 'B':
		return rust_tagged(name, 'B');
	case 'C':
		return takes(name, 'C') && rust_identifier(name);
	case 'N':
		name->at++;
		if (!*name->at)
			return false;
		name->at++; /* the name space */
		return rust_path(name) && rust_identifier(name);
	case 'M':
		return takes(name, 'M') && rust_tagged(name, 's') && rust_path(name) &&
		       rust_type(name);
	case 'X':
		return takes(name, 'X') && rust_tagged(name, 's') && rust_path(name) &&
		       rust_type(name) && rust_path(name);
	case 'Y':
		return takes(name, 'Y') && rust_type(name) && rust_path(name);
	case 'I':
		return takes(name, 'I') && rust_path(name) && rust_up_to_end(name, rust_argument);
	default:
		return false;
	}
}

/* Paths and types are what nests. */
static bool rust_nested(struct rust_name *name, bool (*inner)(struct rust_name *name))
{
	bool good;

	if (name->depth == RUST_DEPTH_MAX)
		return false;
	name->depth++;
	good = inner(name);
	name->depth--;
	return good;
}

static bool rust_path(struct rust_name *name)
{
	return rust_nested(name, rust_inner_path);
}

static bool rust_type(struct rust_name *name)
{
	return rust_nested(name, rust_inner_type);
}

/* Whether a name may be shown to the demangler of Rust: it is of the first scheme, of another language,
 * or follows the grammar and binds few lifetimes. */
static bool may_be_rust(const char *text)
{
	struct rust_name name = {0};

	text += text[0] == '_' && text[1] == '_';
	if (strncmp(text, "_R", 2))
		return true;
	name.at = text + 2;
	return rust_path(&name) && (!*name.at || strchr(".$", *name.at) || rust_path(&name));
}

static bool demangle(const char *name, struct readable *readable)
{
	if (setjmp(readable->leave))
		return false;
	readable->rust = true;
	if (may_be_rust(name) && rust_demangle_callback(name, DMGL_PARAMS, add_part, readable))
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
