/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: the daemon's configuration.  What is accepted holds what the table of keys promises,
 * and an error is one line that names the file.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/pesad/base/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct pesad_config *config, const struct pesad_key *key)
{
	const void *member = (const char *)config + key->offset;
	uint64_t number;

	switch (key->value) {
	case PESAD_TEXT:
		if (!*(char *const *)member)
			abort();
		break;
	case PESAD_PATH:
		if (**(char *const *)member && **(char *const *)member != '/')
			abort();
		break;
	case PESAD_NUMBER:
	case PESAD_SIZE:
	case PESAD_TIME:
		memcpy(&number, member, sizeof(number));
		if (number < key->least || number > key->most)
			abort();
		break;
	case PESAD_CHOICE:
		memcpy(&number, member, sizeof(number));
		for (uint64_t i = 0; i <= number; i++)
			if (!key->choices[i])
				abort();
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesad_config *config;
	struct pesa_error *error = pesad_config_parse("file", (const char *)data, size, &config);

	if (error) {
		if ((strncmp(error->message, "file:", 5) &&
		     strcmp(error->message, "out of memory")) ||
		    strchr(error->message, '\n'))
			abort();
		pesa_error_free(error);
		return 0;
	}
	for (size_t i = 0; i < pesad_key_count; i++)
		check(config, &pesad_keys[i]);
	pesad_config_free(config);
	return 0;
}
