/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the assembly reader: source.c is the entry, markers.c finds markers and makes regions,
 * assemble.c is the built-in assembler, assembler.c runs another program, whose object file
 * object.c reads.
 */
#ifndef TOOLS_MCA_READER_H
#define TOOLS_MCA_READER_H

#include "tools/mca/source.h"

/* A comment that begins with LLVM-MCA-. */
struct mca_marker {
	char *text; /* the rest of the comment */
	unsigned int line;
	uint64_t offset;
	size_t section;
	bool placed;	    /* offset and section are set */
	bool after_vsetvli; /* on the line of a vsetvli or the next one */
};

/* A line of the source, without its comment; a marker in it applies after the line. */
struct mca_line {
	const char *text;
	size_t length;
	int marker;	     /* -1: none */
	const char *comment; /* from the first "//" to the end of the line; NULL: none */
	size_t comment_length;
};

struct mca_reader {
	const struct mca_source_options *options;
	struct mca_source *source;
	const char *name; /* of the input, for messages */
	struct mca_line *lines;
	unsigned int line_count;
	struct mca_marker *markers;
	unsigned int marker_count;
	char **changed; /* copies of lines from which statements were left out */
	unsigned int changed_count;
	uint64_t *offsets; /* of each instruction, with the section in the upper bits; ascending */
};

/* Split a text into lines and markers; the lines refer to the text. */
struct pesa_error *mca_lines_scan(struct mca_reader *reader, const char *text, size_t size);

/* Make the regions that the markers enclose, and set LMUL, SEW and latency by the instruments. */
struct pesa_error *mca_markers_apply(struct mca_reader *reader);

/* Run the built-in assembler.  *done: it supported all lines; otherwise nothing was added. */
struct pesa_error *mca_assemble(struct mca_reader *reader, bool *done);

/* Assemble with the first installed assembler that accepts the source. */
struct pesa_error *mca_assemble_by_program(struct mca_reader *reader);

/* Read the instructions of an object file in which markers are labels. */
struct pesa_error *mca_object_read(struct mca_reader *reader, const char *path);

/* Write the label of a marker to `text` of 64 bytes; and parse its number, or -1. */
void mca_marker_label(unsigned int marker, char *text);
int mca_marker_of_label(const char *label);

/* Append an instruction, its text, and the comment beside it (NULL: none). */
struct pesa_error *mca_reader_add(struct mca_reader *reader, size_t section, uint64_t offset,
				  const struct pesa_mca_instruction *instruction, const char *text,
				  const char *comment);

/* Remove all instructions that were added. */
void mca_reader_clear(struct mca_reader *reader);

/* Replace the target at the end of a branch's or jump's text by a label. */
void mca_name_target(char *text, size_t size, const char *label);

/* Clear the target in the encoding of a branch or jump to a label, as before relocation: llvm-mca shows
 * this encoding. */
void mca_clear_target(const struct pesa_isa *isa, struct pesa_insn *insn);

/*
 * auipc and jalr that a linker may relax are one pseudo instruction (call, tail, jump) in the
 * source.  `jump` is the instruction after `instruction`.  False: they are not such a pair.
 */
bool mca_fuse_call(struct pesa_mca_instruction *instruction, const struct pesa_insn *jump,
		   const char *target, char *text, size_t size);

#endif
