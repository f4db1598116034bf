/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Branch traces of pesa mca: any bytes are a path or one error. */
#include <stdio.h>

#include "tools/mca/path.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *file = size ? fmemopen((void *)data, size, "r") : NULL;
	struct mca_path path = {0};
	struct pesa_error *error;

	if (!file)
		return 0;
	error = mca_path_parse(file, "trace", &path);
	if (!error && path.count > MCA_PATH_MAX)
		__builtin_trap();
	pesa_error_free(error);
	mca_path_free(&path);
	fclose(file);
	return 0;
}
