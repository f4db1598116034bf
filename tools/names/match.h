/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that users type, or paste from what pesa printed, beside the names of functions.
 *
 * A name matches a function in one of several ways, the closest first:
 *   the same:    its name, demangled or as the linker has it, "_ZN3map4findEi";
 *   elided:      as text that was too long was printed: "…" (or "..", or a last ">", where the locale
 *                is not UTF-8) stands for what was left out;
 *   its clone:   they differ in what compilers add to copies of a function: "sort.constprop.0",
 *                "map::find(int) [clone .isra.0]", or in the parameters that were not typed;
 *   an offset:   "sort+0x1c", as the address of a sample is printed;
 *   a part:      the typed name is in its name, in the same case, or in any.
 * The matches of a name are all functions that match in the closest way that any does.
 */
#ifndef TOOLS_NAMES_MATCH_H
#define TOOLS_NAMES_MATCH_H

#include <stdbool.h>

#include "decoder/base/nearest.h"
#include "pesa/error.h"
#include "pesa/symbols.h"

enum name_match {
	NAME_SAME,
	NAME_ELIDED,
	NAME_CLONE,
	NAME_OFFSET,
	NAME_PART,
	NAME_PART_IN_ANY_CASE,
	NAME_OTHER, /* no match */
};

/* A typed name, prepared for many comparisons. */
struct name_typed {
	const char *text; /* as typed; not owned */
	char *demangled;  /* NULL: it is not mangled */
};

/* After an error there is nothing to free. */
struct pesa_error *name_typed_make(const char *text, struct name_typed *typed);
void name_typed_free(struct name_typed *typed);

/* How a function matches; `linkage` may be NULL. */
struct pesa_error *name_compare(const struct name_typed *typed, const char *name,
				const char *linkage, enum name_match *match);

/* The functions that a typed name means. */
struct name_search {
	struct name_typed typed;
	enum name_match closest;
	struct nearest nearest;
	const char *suggestion; /* the name nearest to the typed one; NULL: none is near */
};

/*
 * Begin with a name; consider every function that it may mean; then ask for each whether the name
 * means it: it matches in the closest way that any does.  Names have to outlive the search.  After
 * an error of begin() there is nothing to end.
 */
struct pesa_error *name_search_begin(struct name_search *search, const char *text);
struct pesa_error *name_search_consider(struct name_search *search, const char *name,
					const char *linkage);
struct pesa_error *name_search_means(const struct name_search *search, const char *name,
				     const char *linkage, bool *means);
void name_search_end(struct name_search *search);

/* Whether `length` characters are a path, or its last part. */
bool name_is_of_path(const char *name, size_t length, const char *path);
/* Whether a path, or its last part, is in a list with commas between. */
bool name_in_list(const char *list, const char *path);

#endif
