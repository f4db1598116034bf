/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembly source to instructions by another program: llvm-mc, clang or GNU as. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mca_reader.h"

struct assembler {
	const char *program;
	enum { LLVM_MC, CLANG, GNU_AS } kind;
};

static bool find_program(const char *name)
{
	const char *path = getenv("PATH");
	char candidate[4096];

	while (path && *path) {
		size_t length = strcspn(path, ":");

		if (snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, path, name) <
			    (int)sizeof(candidate) &&
		    !access(candidate, X_OK))
			return true;
		path += length;
		path += *path == ':';
	}
	return false;
}

/* "rv64imac_zba" as "+m,+a,+c,+zba". */
static void print_attributes(const char *isa, char *buffer, size_t size)
{
	size_t used = 0;

	*buffer = '\0';
	for (isa += 4; *isa && used + 80 < size;) {
		size_t length = *isa == '_' ? strcspn(isa + 1, "_") : 1;

		if (*isa == '_')
			isa++;
		if (length > 36)
			length = 36;
		used += snprintf(buffer + used, size - used, "%s+%.*s", used ? "," : "",
				 (int)length, isa);
		isa += length;
	}
}

static void run_assembler(const struct assembler *assembler, const char *isa, const char *input,
			  const char *output)
{
	bool wide = !strncmp(isa, "rv64", 4);
	char attributes[4096], march[4096], triple[64];

	print_attributes(isa, attributes, sizeof(attributes));
	switch (assembler->kind) {
	case LLVM_MC:
		snprintf(triple, sizeof(triple), "-triple=riscv%s", wide ? "64" : "32");
		snprintf(march, sizeof(march), "-mattr=%s", attributes);
		execlp(assembler->program, assembler->program, triple, march, "-filetype=obj",
		       "-save-temp-labels", "-o", output, input, (char *)NULL);
		break;
	case CLANG:
		snprintf(triple, sizeof(triple), "--target=riscv%s", wide ? "64" : "32");
		snprintf(march, sizeof(march), "-march=%s", isa);
		execlp(assembler->program, assembler->program, triple, march, "-mno-relax",
		       "-menable-experimental-extensions", "-Wa,-L", "-x", "assembler", "-c", "-o",
		       output, input, (char *)NULL);
		break;
	case GNU_AS:
		snprintf(march, sizeof(march), "-march=%s", isa);
		execlp(assembler->program, assembler->program, march,
		       wide ? "-mabi=lp64" : "-mabi=ilp32", "-mno-relax", "-L", "-o", output, input,
		       (char *)NULL);
		break;
	}
	_exit(127);
}

/* The first lines of the assembler's messages, as one line that names the input. */
static struct pesa_error *assembler_failed(const struct mca_reader *reader, const char *messages,
					   const char *input)
{
	char text[1024] = "", *line_end, *place;
	FILE *file = fopen(messages, "r");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[size] = '\0';
	place = strstr(text, input);
	place = place ? place + strlen(input) : text;
	line_end = strchr(place, '\n');
	if (line_end)
		*line_end = '\0';
	return pesa_error_create(PESA_ERROR_FORMAT, "%s%s%s", reader->name,
				 *place == ':' ? "" : ": ",
				 *place ? place : "the assembler failed");
}

static struct pesa_error *assemble(const struct mca_reader *reader, const char *input,
				   const char *output, const char *messages)
{
	static const struct assembler assemblers[] = {
		{"llvm-mc", LLVM_MC},
		{"llvm-mc-22", LLVM_MC},
		{"clang", CLANG},
		{"clang-22", CLANG},
		{"riscv64-linux-gnu-as", GNU_AS},
		{"riscv64-unknown-elf-as", GNU_AS},
	};
	const struct assembler *assembler = NULL;
	int status;
	pid_t child;

	/* A newer LLVM knows more extensions than the distribution's default. */
	if (find_program("llvm-mc-22"))
		assembler = &assemblers[1];
	for (size_t i = 0; !assembler && i < sizeof(assemblers) / sizeof(assemblers[0]); i++)
		if (find_program(assemblers[i].program))
			assembler = &assemblers[i];
	if (!assembler)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s: no assembler found; install llvm-mc, clang or "
					 "riscv64-linux-gnu-as",
					 reader->name);
	child = fork();
	if (child < 0)
		return pesa_error_system(errno, "cannot start %s", assembler->program);
	if (!child) {
		int log = open(messages, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		if (log >= 0)
			dup2(log, STDERR_FILENO);
		run_assembler(assembler, reader->options->isa, input, output);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return pesa_error_system(errno, "cannot wait for %s", assembler->program);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return assembler_failed(reader, messages, input);
	return NULL;
}

static struct pesa_error *write_input(const struct mca_reader *reader, const char *path)
{
	FILE *file = fopen(path, "we");
	char label[64];

	if (!file)
		return pesa_error_system(errno, "%s: cannot write", path);
	for (unsigned int i = 0; i < reader->line_count; i++) {
		const struct mca_line *line = &reader->lines[i];

		fwrite(line->text, 1, line->length, file);
		if (line->marker >= 0) {
			mca_marker_label(line->marker, label);
			fprintf(file, "; %s:", label);
		}
		fputc('\n', file);
	}
	return fclose(file) ? pesa_error_system(errno, "%s: cannot write", path) : NULL;
}

struct pesa_error *mca_assemble_by_program(struct mca_reader *reader)
{
	const char *temporary = getenv("TMPDIR");
	char directory[200], input[256], output[256], messages[256];
	struct pesa_error *error;

	if (!temporary || strlen(temporary) > 150)
		temporary = "/tmp";
	snprintf(directory, sizeof(directory), "%s/pesa-mca-XXXXXX", temporary);
	if (!mkdtemp(directory))
		return pesa_error_system(errno, "%s: cannot make a directory", directory);
	snprintf(input, sizeof(input), "%s/input.s", directory);
	snprintf(output, sizeof(output), "%s/output.o", directory);
	snprintf(messages, sizeof(messages), "%s/messages", directory);
	error = write_input(reader, input);
	if (!error)
		error = assemble(reader, input, output, messages);
	if (!error)
		error = mca_object_read(reader, output);
	unlink(input);
	unlink(output);
	unlink(messages);
	rmdir(directory);
	return error;
}
