/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: core descriptions.  What is accepted makes capabilities. */
#include <stddef.h>
#include <stdint.h>

#include "decoder/core/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_capabilities capabilities;
	struct pesa_core core;
	struct pesa_error *error = pesa_core_parse("input", (const char *)data, size, &core);

	if (!error)
		pesa_core_capabilities(&core, &capabilities);
	pesa_error_free(error);
	return 0;
}
