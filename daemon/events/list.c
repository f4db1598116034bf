// SPDX-License-Identifier: GPL-2.0-or-later
/* Event lists: see name.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/events/name.h"

static struct pesa_error *add(struct pesa_event_list *list, const char *name, size_t length,
			      unsigned int group)
{
	struct pesa_event_item *grown =
		realloc(list->items, (list->count + 1) * sizeof(*list->items));

	if (!grown)
		return pesa_error_no_memory();
	list->items = grown;
	grown += list->count;
	*grown = (struct pesa_event_item){.name = strndup(name, length), .group = group};
	if (!grown->name)
		return pesa_error_no_memory();
	list->count++;
	return NULL;
}

/* "a" + "u" -> "a:u", "a:k" + "u" -> "a:ku", "pmu/a/" + "u" -> "pmu/a/u" */
static struct pesa_error *append_modifiers(struct pesa_event_item *item, const char *modifiers,
					   size_t length)
{
	size_t size = strlen(item->name) + length + 2;
	const char *slash = strrchr(item->name, '/'), *colon = strrchr(item->name, ':');
	bool has = slash || (colon && !colon[1 + strspn(colon + 1, "ukhHGIepPD")]);
	char *name = realloc(item->name, size);

	if (!name)
		return pesa_error_no_memory();
	item->name = name;
	if (!has)
		strcat(name, ":");
	strncat(name, modifiers, length);
	return NULL;
}

/* The length of the first event: up to a comma or brace that is not between slashes. */
static size_t event_length(const char *text)
{
	bool inside = false;
	size_t length = 0;

	for (; text[length]; length++) {
		if (text[length] == '/')
			inside = !inside;
		else if (!inside && strchr(",{}", text[length]))
			break;
	}
	return length;
}

/* Parse "{a,b}:u"; *text is advanced past it. */
static struct pesa_error *add_group(struct pesa_event_list *list, const char **text,
				    unsigned int group)
{
	size_t first = list->count, length;
	const char *at = *text + 1;
	struct pesa_error *error = NULL;

	for (;;) {
		length = event_length(at);
		if (!length || !at[length] || at[length] == '{')
			return pesa_error_create(
				PESA_ERROR_ARGUMENT,
				"'%.64s' should be a group of events, {EVENT,EVENT}", *text);
		error = add(list, at, length, group);
		if (error)
			return error;
		at += length + 1;
		if (at[-1] == '}')
			break;
	}
	if (*at == ':') {
		length = strcspn(at + 1, ",{}");
		for (size_t i = first; i < list->count && !error; i++)
			error = append_modifiers(&list->items[i], at + 1, length);
		at += 1 + length;
	}
	*text = at;
	return error;
}

struct pesa_error *pesa_event_list_add(struct pesa_event_list *list, const char *text)
{
	const char *at = text;

	for (;;) {
		unsigned int group = list->count ? list->items[list->count - 1].group + 1 : 0;
		struct pesa_error *error;

		if (*at == '{') {
			error = add_group(list, &at, group);
		} else {
			size_t length = event_length(at);

			error = length ? add(list, at, length, group)
				       : pesa_error_create(PESA_ERROR_ARGUMENT,
							   "'%.64s': an event is missing", text);
			at += length;
		}
		if (error || !*at)
			return error;
		if (*at != ',')
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "'%.64s': a comma should stand before '%.16s'",
						 text, at);
		at++;
	}
}

void pesa_event_list_free(struct pesa_event_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].name);
	free(list->items);
	*list = (struct pesa_event_list){0};
}
