// SPDX-License-Identifier: GPL-2.0-or-later
/* A file of its own: the virtual core links this function only. */
#include <string.h>

#include "decoder/binary/jitdump.h"

bool pesa_jitdump_is_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t digits;

	if (strncmp(name, "jit-", 4))
		return false;
	digits = strspn(name + 4, "0123456789");
	return digits && !strcmp(name + 4 + digits, ".dump");
}
