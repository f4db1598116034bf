// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/completion/options.h"

#include <ctype.h>
#include <stdbool.h>

/* `option` is what the user types, `meaning` the option that it is an alias of, or itself. */
static void print_option(const struct argp_option *option, const struct argp_option *meaning,
			 FILE *out)
{
	bool letter = option->key > 0 && option->key < 128 && isprint(option->key);
	const char *argument = meaning->arg ? meaning->arg : "";
	const char *doc = meaning->doc ? meaning->doc : "";

	if (option->name)
		fprintf(out, "--%s", option->name);
	fputc('\t', out);
	if (letter)
		fprintf(out, "-%c", option->key);
	if (meaning->flags & OPTION_ARG_OPTIONAL)
		fprintf(out, "\t[%s]\t%s\n", argument, doc);
	else
		fprintf(out, "\t%s\t%s\n", argument, doc);
}

void completion_list_options(const struct argp *argp, FILE *out)
{
	const struct argp_option *meaning = NULL, *option = argp->options;

	for (; option && (option->name || option->key || option->doc || option->group); option++) {
		if (!(option->flags & OPTION_ALIAS))
			meaning = option;
		if ((option->name || option->key) && !(option->flags & OPTION_HIDDEN) && meaning)
			print_option(option, meaning, out);
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		completion_list_options(child->argp, out);
}
