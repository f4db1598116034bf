/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording that a test writes: process 7, which has mapped a program with text of the test's. */
#ifndef TESTS_UNIT_RECORDED_PROGRAM_H
#define TESTS_UNIT_RECORDED_PROGRAM_H

#include <elf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pesa/perfdata.h"
#include "tests/elf_file.h"
#include "tests/temporary_folder.h"

#define TEXT 0x10400u /* address and offset of the text */
#define MAP  0x10000u

struct recorded_program {
	struct pesa_perfdata_writer *writer;
	char path[160], binary[160]; /* of the recording and of the program */
};

/* Write the program into the temporary folder, and begin the recording.  The test finishes the writer. */
static inline void recorded_program_begin(struct recorded_program *recorded,
					  const struct pesa_perfdata_writer_options *options,
					  const void *text, size_t size)
{
	const struct elf_file file = {.machine = EM_RISCV,
				      .text = text,
				      .text_size = size,
				      .text_address = TEXT,
				      .text_offset = TEXT - MAP,
				      .isa = "rv64gc"};
	const struct pesa_mmap mmap = {.pid = 7,
				       .tid = 7,
				       .address = MAP,
				       .length = 0x1000,
				       .path = recorded->binary,
				       .protection = PROT_READ | PROT_EXEC};

	snprintf(recorded->path, sizeof(recorded->path), "%s/perf.data", folder);
	snprintf(recorded->binary, sizeof(recorded->binary), "%s/program", folder);
	assert_true(elf_file_write(&file, recorded->binary));
	assert_null(pesa_perfdata_writer_create(recorded->path, options, &recorded->writer));
	assert_null(pesa_perfdata_write_mmap(recorded->writer, &mmap, 1000));
}

static inline void recorded_program_remove(const struct recorded_program *recorded)
{
	unlink(recorded->path);
	unlink(recorded->binary);
}

#endif
