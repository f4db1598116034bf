/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts that read assembly source share: source.c leads, markers.c finds markers
 * and makes regions, assemble.c assembles, assembler.c has it done by another program,
 * whose object file object.c reads.
 */
#ifndef TOOLS_MCA_READER_H
#define TOOLS_MCA_READER_H

#include "tools/mca/source.h"

/* A comment that begins with LLVM-MCA-. */
struct mca_marker {
	char *text; /* what follows that */
	unsigned int line;
	uint64_t offset;
	size_t section;
	bool placed;
	bool after_vsetvli; /* on its line or the next one */
};

/* A line of the source, with its comment cut off; where it was a marker, that comes after it. */
struct mca_line {
	const char *text;
	size_t length;
	int marker;	     /* -1: none */
	const char *slashes; /* from the first "//" to the end of the line; NULL: there is none */
	size_t slashes_length;
};

struct mca_reader {
	const struct mca_source_options *options;
	struct mca_source *source;
	const char *name; /* of the input, for messages */
	struct mca_line *lines;
	unsigned int line_count;
	struct mca_marker *markers;
	unsigned int marker_count;
	char **changed; /* lines of which something was left out */
	unsigned int changed_count;
	uint64_t *offsets; /* of each instruction, with the section in the upper bits; they rise */
};

/* Cut a text into lines and markers; the lines point into it. */
struct pesa_error *mca_lines_scan(struct mca_reader *reader, const char *text, size_t size);

/* Make the regions that the markers enclose, and set what instruments say of the instructions. */
struct pesa_error *mca_markers_apply(struct mca_reader *reader);

/*
 * Assemble the lines here.  *done: all of them were understood and are in the source; if not,
 * nothing is.
 */
struct pesa_error *mca_assemble(struct mca_reader *reader, bool *done);

/* Have them assembled by the first program found that can do it. */
struct pesa_error *mca_assemble_by_program(struct mca_reader *reader);

/* The instructions of an object file in which markers are labels. */
struct pesa_error *mca_object_read(struct mca_reader *reader, const char *path);

/* Put such a label, number and all, into `text` of 64 bytes; and the number back, or -1. */
void mca_marker_label(unsigned int marker, char *text);
int mca_marker_of_label(const char *label);

/* Append an instruction, its text, and the comment beside it (NULL: none). */
struct pesa_error *mca_reader_add(struct mca_reader *reader, size_t section, uint64_t offset,
				  const struct pesa_mca_instruction *instruction, const char *text,
				  const char *comment);

/* Leave nothing of what was added. */
void mca_reader_forget(struct mca_reader *reader);

/* Let the text of a branch or jump end with the label that it goes to. */
void mca_name_target(char *text, size_t size, const char *label);

/*
 * The encoding of a branch or jump to a label is shown as llvm-mca shows it: before it is known
 * where the target is.
 */
void mca_forget_target(const struct pesa_isa *isa, struct pesa_insn *insn);

/*
 * auipc and jalr that the linker may turn into one call are one instruction of the source.  `jump`
 * is what follows the instruction.  False: they are not that.
 */
bool mca_fuse_call(struct pesa_mca_instruction *instruction, const struct pesa_insn *jump,
		   const char *target, char *text, size_t size);

#endif
