// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "tools/groups/keys.h"

/* The first name of a key is what it is called. */
static const struct {
	const char *name;
	unsigned int key;
} known[] = {
	{"time", GROUP_BY_TIME},
	{"comm", GROUP_BY_COMM},
	{"pid", GROUP_BY_PID},
	{"tid", GROUP_BY_TID},
	{"cpu", GROUP_BY_CPU},
	{"cgroup", GROUP_BY_CGROUP},
	{"dso", GROUP_BY_DSO},
	{"sym", GROUP_BY_SYMBOL},
	{"symbol", GROUP_BY_SYMBOL},
	{"srcfile", GROUP_BY_FILE},
	{"srcline", GROUP_BY_LINE},
	{"line", GROUP_BY_LINE},
	{"insn", GROUP_BY_INSN},
	/* Perf's figures, which are always shown, in whatever form. */
	{"overhead", 0},
	{"overhead_children", 0},
	{"overhead_sys", 0},
	{"overhead_us", 0},
	{"sample", 0},
	{"period", 0},
};

#define KNOWN (sizeof(known) / sizeof(*known))

bool profile_keys_parse(const char *text, unsigned int *keys)
{
	*keys = 0;
	for (;;) {
		size_t length = strcspn(text, ","), i;

		for (i = 0; i < KNOWN; i++)
			if (strlen(known[i].name) == length &&
			    !strncmp(known[i].name, text, length))
				break;
		if (i == KNOWN)
			return false;
		*keys |= known[i].key;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

void profile_keys_add(struct ui_text *line, unsigned int keys)
{
	const char *separator = "";

	for (size_t i = 0; i < KNOWN; i++) {
		if (!(keys & known[i].key))
			continue;
		ui_text_add(line, "%s%s", separator, known[i].name);
		separator = ",";
		keys &= ~known[i].key;
	}
}
