/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: what kind of program a file is, its interpreter, its build id. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/binary/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_program program;
	uint8_t build_id[20];
	char path[64];
	int fd = memfd_create("program", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	pesa_program_probe(path, &program);
	pesa_program_build_id(path, build_id, sizeof(build_id));
	close(fd);
	return 0;
}
