// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/names/match.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"

struct pesa_error *name_typed_make(const char *text, struct name_typed *typed)
{
	*typed = (struct name_typed){.text = text};
	return pesa_demangle(text, &typed->demangled);
}

void name_typed_free(struct name_typed *typed)
{
	free(typed->demangled);
	typed->demangled = NULL;
}

/* ---- Clones -------------------------------------------------------------------------------- */

/* Length of a suffix ".isra.0" at the end of a name of `length` bytes; 0: none. */
static size_t clone_suffix(const char *name, size_t length)
{
	static const char *const words[] = {
		".constprop", ".isra", ".part",	      ".cold",	   ".lto_priv",	   ".llvm",
		".clone",     ".ipa",  ".localalias", ".resolver", ".specialized",
	};
	size_t end = length, digits;

	/* ".0", ".123" */
	for (;;) {
		digits = 0;
		while (digits < end && isdigit((unsigned char)name[end - digits - 1]))
			digits++;
		if (!digits || digits == end || name[end - digits - 1] != '.')
			break;
		end -= digits + 1;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t word = strlen(words[i]);

		if (end > word && !strncmp(name + end - word, words[i], word))
			return length - (end - word);
	}
	return 0;
}

/* Bytes of a name without what compilers add to the names of clones. */
static size_t length_without_clone(const char *name)
{
	const char *clone = strstr(name, " [clone ");
	size_t length = clone ? (size_t)(clone - name) : strlen(name), suffix;

	while ((suffix = clone_suffix(name, length)))
		length -= suffix;
	return length;
}

/* Whether the parameters follow the first `length` bytes of a name, not "(anonymous namespace)". */
static bool has_parameters_at(const char *name, size_t length)
{
	return name[length] == '(' && length && name[length - 1] != ':';
}

/* "ns::f" for "ns::f(int) const [clone .isra.0]"; and names that differ only in their clones. */
static bool same_without_clone(const char *typed, const char *name)
{
	size_t wanted = length_without_clone(typed), length = length_without_clone(name);

	return wanted && length >= wanted && !strncmp(typed, name, wanted) &&
	       (length == wanted || (has_parameters_at(name, wanted) && !strchr(typed, '(')));
}

/* "f+0x1c", as addresses are printed: a place in f. */
static bool same_without_offset(const char *typed, const char *name)
{
	const char *offset = strrchr(typed, '+');
	size_t length = offset ? (size_t)(offset - typed) : 0, digits;

	if (!offset || strncmp(offset, "+0x", 3))
		return false;
	digits = strspn(offset + 3, "0123456789abcdef");
	return digits && !offset[3 + digits] && !strncmp(typed, name, length) &&
	       (!name[length] || has_parameters_at(name, length));
}

/* ---- Elided names ---------------------------------------------------------------------------- */

static const char elision[] = "…", ascii_elision[] = "..";

/* Length of a mark for what was left out at the beginning of `text`; 0: there is none. */
static size_t mark_length(const char *text)
{
	if (!strncmp(text, elision, strlen(elision)))
		return strlen(elision);
	return strncmp(text, ascii_elision, strlen(ascii_elision)) ? 0 : strlen(ascii_elision);
}

/* A last ">" that closes no bracket is the mark of a cut. */
static bool is_cut(const char *text)
{
	size_t length = strlen(text);
	int depth = 0;

	if (length < 2 || text[length - 1] != '>' || strstr(text, "operator"))
		return false;
	for (size_t i = 0; i < length; i++)
		depth += text[i] == '<' ? 1 : text[i] == '>' && (!i || text[i - 1] != '-') ? -1 : 0;
	return depth < 0;
}

/* The plain text at the beginning of `text`, up to a mark or the end, in bytes. */
static size_t plain_length(const char *text)
{
	size_t length = 0;

	while (text[length] && !mark_length(text + length))
		length++;
	return length;
}

/* Whether `name` is the pieces of `typed` in their order, with anything in place of the marks. */
static bool matches_elided(const char *typed, const char *name)
{
	size_t piece = plain_length(typed), mark;

	if (strncmp(typed, name, piece))
		return false;
	for (name += piece; (mark = mark_length(typed + piece)); name += piece) {
		typed += piece + mark;
		piece = plain_length(typed);
		if (!typed[piece]) /* the last one ends the name */
			return strlen(name) >= piece && !strcmp(name + strlen(name) - piece, typed);
		name = memmem(name, strlen(name), typed, piece);
		if (!name)
			return false;
	}
	return !*name;
}

static bool is_elided(const char *text)
{
	for (; *text; text++)
		if (mark_length(text))
			return true;
	return false;
}

static bool same_elided(const char *typed, const char *name)
{
	size_t length = strlen(typed);

	if (is_cut(typed))
		return !strncmp(typed, name, length - 1) && strlen(name) >= length - 1;
	return is_elided(typed) && matches_elided(typed, name);
}

/* ---- The comparison -------------------------------------------------------------------------- */

/* A part of a name that is elided itself, "find<…>(…)" in "void map::find<int>(int)". */
static bool ends_elided(const char *typed, const char *name)
{
	if (!is_elided(typed))
		return false;
	for (; *name; name++)
		if (matches_elided(typed, name))
			return true;
	return false;
}

static enum name_match compare(const char *typed, const char *name)
{
	if (!strcmp(typed, name))
		return NAME_SAME;
	if (same_elided(typed, name))
		return NAME_ELIDED;
	if (same_without_clone(typed, name))
		return NAME_CLONE;
	if (same_without_offset(typed, name))
		return NAME_OFFSET;
	if (!*typed)
		return NAME_OTHER;
	if (strstr(name, typed) || ends_elided(typed, name))
		return NAME_PART;
	return strcasestr(name, typed) ? NAME_PART_IN_ANY_CASE : NAME_OTHER;
}

static enum name_match closer(enum name_match a, enum name_match b)
{
	return a < b ? a : b;
}

struct pesa_error *name_compare(const struct name_typed *typed, const char *name,
				const char *linkage, enum name_match *match)
{
	/* Names are printed as terminal_text() makes them safe, and pasted so. */
	char *shown = terminal_text(name);

	if (!shown)
		return pesa_error_no_memory();
	*match = closer(compare(typed->text, shown), compare(typed->text, name));
	if (typed->demangled)
		*match = closer(*match, compare(typed->demangled, name));
	if (linkage)
		*match = closer(*match, compare(typed->text, linkage));
	free(shown);
	return NULL;
}

/* ---- Search ---------------------------------------------------------------------------------- */

struct pesa_error *name_search_begin(struct name_search *search, const char *text)
{
	*search = (struct name_search){.closest = NAME_OTHER};
	nearest_begin(&search->nearest, text);
	return name_typed_make(text, &search->typed);
}

/* Look for a mistyped name in "ns::map<int>::find(int)" as ns::map<int>::find, and as find. */
static void suggest(struct name_search *search, const char *name)
{
	size_t length = strcspn(name, "("), whole = length_without_clone(name), last;

	length = last = whole < length ? whole : length;
	while (last && name[last - 1] != ':')
		last--;
	if (nearest_try(&search->nearest, name, length) ||
	    nearest_try(&search->nearest, name + last, length - last))
		search->suggestion = name;
}

struct pesa_error *name_search_consider(struct name_search *search, const char *name,
					const char *linkage)
{
	enum name_match match;
	struct pesa_error *error = name_compare(&search->typed, name, linkage, &match);

	if (error)
		return error;
	search->closest = closer(search->closest, match);
	suggest(search, name);
	return NULL;
}

struct pesa_error *name_search_means(const struct name_search *search, const char *name,
				     const char *linkage, bool *means)
{
	enum name_match match;
	struct pesa_error *error = name_compare(&search->typed, name, linkage, &match);

	*means = !error && match != NAME_OTHER && match == search->closest;
	return error;
}

void name_search_end(struct name_search *search)
{
	name_typed_free(&search->typed);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

bool name_is_of_path(const char *name, size_t length, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return (length == strlen(path) && !strncmp(name, path, length)) ||
	       (length == strlen(base) && !strncmp(name, base, length));
}

bool name_in_list(const char *list, const char *path)
{
	for (;; list++) {
		size_t length = strcspn(list, ",");

		if (name_is_of_path(list, length, path))
			return true;
		list += length;
		if (!*list)
			return false;
	}
}
