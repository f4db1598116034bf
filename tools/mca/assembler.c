/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembles a source with an assembler program: llvm-mc, clang or GNU as. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/number.h"
#include "tools/mca/limited_process.h"
#include "tools/mca/skip.h"
#include "tools/files/temporary_directory.h"

#define MESSAGES_MAX (1 << 20)

/* Time limit of the assembler; llvm-mc takes some seconds for a million lines. */
#define SECONDS	    60
#define SECONDS_MAX 86400
#define MEMORY_SIZE (UINT64_C(8) << 30)
#define FILE_SIZE   (UINT64_C(256) << 20)

/* The directory is removed when pesa ends for any reason (temporary_directory.h). */
struct files {
	const char *directory;
	char input[PATH_MAX], output[PATH_MAX], messages[PATH_MAX];
};

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

/* Convert "rv64imac_zba" to "+m,+a,+c,+zba". */
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

/* The ISA string without the sub-extensions of C, A, M and F, which older programs do not know. */
static void print_march(const char *isa, char *buffer, size_t size)
{
	static const struct {
		char letter;
		const char *part;
	} implied[] = {
		{'a', "zaamo"},
		{'a', "zalrsc"},
		{'c', "zca"},
		{'m', "zmmul"},
	};
	const char *letters = isa + 4;
	size_t letter_count = strcspn(letters, "_"), used;

	used = snprintf(buffer, size, "%.*s", (int)(4 + letter_count), isa);
	for (isa += 4 + letter_count; *isa == '_' && used < size;) {
		size_t length = strcspn(isa + 1, "_");
		bool left_out = false;

		for (size_t i = 0; i < sizeof(implied) / sizeof(implied[0]); i++)
			left_out |= memchr(letters, implied[i].letter, letter_count) &&
				    strlen(implied[i].part) == length &&
				    !strncmp(implied[i].part, isa + 1, length);
		if (!left_out)
			used += snprintf(buffer + used, size - used, "%.*s", (int)length + 1, isa);
		isa += length + 1;
	}
}

static void run_assembler(const struct assembler *assembler, const char *isa, const char *input,
			  const char *output)
{
	bool wide = !strncmp(isa, "rv64", 4);
	char attributes[4096], march[4200], triple[64];

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
		print_march(isa, attributes, sizeof(attributes));
		snprintf(march, sizeof(march), "-march=%s", attributes);
		execlp(assembler->program, assembler->program, triple, march, "-mno-relax",
		       "-menable-experimental-extensions", "-Wa,-L", "-x", "assembler", "-c", "-o",
		       output, input, (char *)NULL);
		break;
	case GNU_AS:
		print_march(isa, attributes, sizeof(attributes));
		snprintf(march, sizeof(march), "-march=%s", attributes);
		execlp(assembler->program, assembler->program, march,
		       wide ? "-mabi=lp64" : "-mabi=ilp32", "-mno-relax", "-L", "-o", output, input,
		       (char *)NULL);
		break;
	}
	_exit(127);
}

/* The result of running an assembler. */
enum outcome {
	ASSEMBLED,
	SKIPPED,  /* failed, but statements were left out: try again */
	FAILED,	  /* without naming a line: another assembler may succeed */
	REJECTED, /* the assembler's message names a line */
};

/* Return the assembler's first message as one line that names the input; or SKIPPED. */
static struct pesa_error *assembler_failed(struct mca_reader *reader, const char *messages,
					   const char *input, enum outcome *outcome)
{
	struct pesa_error *error = NULL;
	FILE *file = fopen(messages, "re");
	char *text = calloc(1, MESSAGES_MAX + 1), *line_end, *message;
	unsigned int skipped = 0;

	if (file && text)
		text[fread(text, 1, MESSAGES_MAX, file)] = '\0';
	if (file)
		fclose(file);
	if (!text)
		return pesa_error_no_memory();
	if (reader->options->skip_rejected)
		error = mca_skip_rejected(reader, text, input, &skipped);
	if (skipped) {
		*outcome = SKIPPED;
	} else if (!error) {
		for (message = text; (message = strstr(message, input)); message++)
			if (message[strlen(input)] == ':' &&
			    strspn(message + strlen(input) + 1, "0123456789"))
				break;
		*outcome = message ? REJECTED : FAILED;
		message = message ? message + strlen(input) : text;
		line_end = strchr(message, '\n');
		if (line_end)
			*line_end = '\0';
		error = pesa_error_create(
			PESA_ERROR_FORMAT, "%s%s%s%s", reader->name, *message == ':' ? "" : ": ",
			*message ? message : "the assembler failed",
			*outcome == REJECTED
				? "; -skip-unsupported-instructions=parse-failure leaves it out"
				: "");
	}
	free(text);
	return error;
}

/* The error for an exceeded limit.  Other assemblers are not tried: they would probably fail too. */
static struct pesa_error *over_limit(const struct mca_reader *reader,
				     const struct assembler *assembler,
				     const struct process_limits *limits, enum process_end end)
{
	if (end == PROCESS_LATE)
		return pesa_error_create(PESA_ERROR_OTHER,
					 "%s: %s took more than %u seconds and was stopped; "
					 "set PESA_ASSEMBLER_SECONDS to raise the limit",
					 reader->name, assembler->program, limits->seconds);
	return pesa_error_create(PESA_ERROR_OTHER, "%s: %s wrote more than %u MiB and was stopped",
				 reader->name, assembler->program,
				 (unsigned int)(limits->file_size >> 20));
}

static struct pesa_error *run(struct mca_reader *reader, const struct assembler *assembler,
			      const struct files *files, const struct process_limits *limits,
			      enum outcome *outcome)
{
	int log = open(files->messages, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct pesa_error *error;
	enum process_end end;
	pid_t process;

	*outcome = REJECTED;
	if (log < 0)
		return pesa_error_system(errno, "%s: cannot write", files->messages);
	process = limited_process_start(limits, log);
	if (!process) {
		/* The assembler's temporary files are removed with the directory. */
		setenv("TMPDIR", files->directory, 1);
		run_assembler(assembler, reader->options->isa, files->input, files->output);
	}
	error = process < 0 ? pesa_error_system(errno, "cannot start %s", assembler->program)
			    : limited_process_wait(process, limits, &end);
	close(log);
	if (error)
		return error;
	if (end == PROCESS_LATE || end == PROCESS_WROTE_TOO_MUCH)
		return over_limit(reader, assembler, limits, end);
	if (end == PROCESS_FAILED)
		return assembler_failed(reader, files->messages, files->input, outcome);
	*outcome = ASSEMBLED;
	return NULL;
}

static struct pesa_error *assemble(struct mca_reader *reader, const struct files *files,
				   const struct process_limits *limits, enum outcome *outcome)
{
	/* The newest LLVM is first: it knows more extensions than the distribution's default. */
	static const struct assembler assemblers[] = {
		{"llvm-mc-22", LLVM_MC},
		{"llvm-mc", LLVM_MC},
		{"clang-22", CLANG},
		{"clang", CLANG},
		{"riscv64-linux-gnu-as", GNU_AS},
		{"riscv64-unknown-elf-as", GNU_AS},
	};
	struct pesa_error *first = NULL;

	for (size_t i = 0; i < sizeof(assemblers) / sizeof(assemblers[0]); i++) {
		struct pesa_error *error;

		if (!find_program(assemblers[i].program))
			continue;
		error = run(reader, &assemblers[i], files, limits, outcome);
		if (*outcome != FAILED) {
			pesa_error_free(first);
			return error;
		}
		if (first)
			pesa_error_free(error);
		else
			first = error;
	}
	return first ? first
		     : pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s: no assembler found; install llvm-mc, clang or "
					 "riscv64-linux-gnu-as",
					 reader->name);
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

static struct pesa_error *read_limits(struct process_limits *limits)
{
	const char *value = getenv("PESA_ASSEMBLER_SECONDS");
	uint64_t seconds = SECONDS;

	if (value && !number_read(value, 10, 1, SECONDS_MAX, &seconds))
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"PESA_ASSEMBLER_SECONDS is a number from 1 to %d, not '%s'", SECONDS_MAX,
			value);
	*limits = (struct process_limits){.seconds = (unsigned int)seconds,
					  .memory_size = MEMORY_SIZE,
					  .file_size = FILE_SIZE};
	return NULL;
}

struct pesa_error *mca_assemble_by_program(struct mca_reader *reader)
{
	struct process_limits limits;
	struct files files;
	struct pesa_error *error = read_limits(&limits);
	enum outcome outcome;

	if (!error)
		error = temporary_directory_create("pesa-mca", &files.directory);
	if (error)
		return error;
	snprintf(files.input, sizeof(files.input), "%s/input.s", files.directory);
	snprintf(files.output, sizeof(files.output), "%s/output.o", files.directory);
	snprintf(files.messages, sizeof(files.messages), "%s/messages", files.directory);
	do {
		error = write_input(reader, files.input);
		if (!error)
			error = assemble(reader, &files, &limits, &outcome);
	} while (!error && outcome == SKIPPED);
	if (!error)
		error = mca_object_read(reader, files.output);
	unlink(files.input);
	unlink(files.output);
	unlink(files.messages);
	return error;
}
