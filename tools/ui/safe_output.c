// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes all output safe for terminals: see safe_output.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/terminal_text.h"
#include "tools/ui/safe_output.h"

#define HELD_MAX 16 /* bytes of the longest sequence or character */
#define CHUNK	 32768

/* Holds the start of a character or sequence until the rest is written. */
struct filter {
	int descriptor;
	FILE *target; /* NULL: the descriptor outlives the stream */
	int (*close)(FILE *target);
	char held[HELD_MAX];
	size_t held_length;
	char chunk[CHUNK];
	size_t chunk_length;
	bool failed;
};

/* The filters of stdout and stderr. */
static struct filter filters[] = {{.descriptor = STDOUT_FILENO}, {.descriptor = STDERR_FILENO}};
static FILE *binary;
static bool colours;

/* The sequences that ui_style() and mca_highlight() make. */
static const char *const sequences[] = {
	"\033[0m",	"\033[1m",	"\033[2m",	"\033[31m",   "\033[32m",
	"\033[34m",	"\033[35m",	"\033[36m",	"\033[1;31m", "\033[0;1;31m",
	"\033[0;1;33m", "\033[0;1;35m", "\033[0;1;36m",
};

/* ---- Writing ------------------------------------------------------------------------------- */

static void flush_chunk(struct filter *filter)
{
	size_t done = 0;

	while (!filter->failed && done < filter->chunk_length) {
		ssize_t written = write(filter->descriptor, filter->chunk + done,
					filter->chunk_length - done);

		if (written > 0)
			done += (size_t)written;
		else if (written == 0 || errno != EINTR)
			filter->failed = true;
	}
	filter->chunk_length = 0;
}

static void append(struct filter *filter, const char *text, size_t length)
{
	while (length) {
		size_t part = CHUNK - filter->chunk_length;

		part = part < length ? part : length;
		memcpy(filter->chunk + filter->chunk_length, text, part);
		filter->chunk_length += part;
		text += part;
		length -= part;
		if (filter->chunk_length == CHUNK)
			flush_chunk(filter);
	}
}

/* ---- Filtering ----------------------------------------------------------------------------- */

/* Length of an allowed sequence; 0: not one, -1: incomplete. */
static int sequence_length(const struct filter *filter)
{
	int length = 0;

	for (size_t i = 0; colours && i < sizeof(sequences) / sizeof(*sequences); i++) {
		size_t whole = strlen(sequences[i]);

		if (filter->held_length >= whole && !memcmp(filter->held, sequences[i], whole))
			return (int)whole;
		if (filter->held_length < whole &&
		    !memcmp(filter->held, sequences[i], filter->held_length))
			length = -1;
	}
	return length;
}

/* Length of the line end "\r\n" of CSV; 0: not one, -1: incomplete. */
static int line_end_length(const struct filter *filter)
{
	if (filter->held_length < 2)
		return -1;
	return filter->held[1] == '\n' ? 2 : 0;
}

/* Return whether the bytes are the start of an incomplete character. */
static bool is_incomplete_character(const struct filter *filter)
{
	unsigned char first = (unsigned char)filter->held[0];
	size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

	if (first < 0xc2 || first > 0xf4 || filter->held_length >= whole)
		return false;
	for (size_t i = 1; i < filter->held_length; i++)
		if (((unsigned char)filter->held[i] & 0xc0) != 0x80)
			return false;
	return true;
}

static void drop(struct filter *filter, size_t length)
{
	filter->held_length -= length;
	memmove(filter->held, filter->held + length, filter->held_length);
}

/* Write the held bytes that form complete characters or sequences; `last`: no more will follow. */
static void write_complete(struct filter *filter, bool last)
{
	while (filter->held_length) {
		char escaped[TERMINAL_TEXT_ESCAPE], text[HELD_MAX + 1] = "";
		int allowed = 0;
		size_t length;

		if (*filter->held == '\n' || *filter->held == '\t')
			allowed = 1;
		else if (*filter->held == '\033')
			allowed = sequence_length(filter);
		else if (*filter->held == '\r')
			allowed = line_end_length(filter);
		if (!last && (allowed < 0 || is_incomplete_character(filter)))
			return;
		if (allowed > 0) {
			append(filter, filter->held, (size_t)allowed);
			drop(filter, (size_t)allowed);
			continue;
		}
		memcpy(text, filter->held, filter->held_length);
		length = terminal_text_next((const unsigned char *)text, escaped);
		if (*escaped)
			append(filter, escaped, strlen(escaped));
		else
			append(filter, text, length);
		drop(filter, length);
	}
}

/* Whether eight characters are printable ones of ASCII or line ends.  Without a highest bit, no sum carries
 * into the next character. */
static bool is_plain(const char *text)
{
	const uint64_t high = UINT64_C(0x8080808080808080), ones = UINT64_C(0x0101010101010101);
	uint64_t word, printable, ends;

	memcpy(&word, text, sizeof(word));
	printable = (word + (0x80 - ' ') * ones) & ~(word + (0x80 - 0x7f) * ones);
	ends = ~((word ^ '\n' * ones) + 0x7f * ones);
	return !(word & high) && ((printable | ends) & high) == high;
}

static ssize_t filter_write(void *cookie, const char *text, size_t size)
{
	struct filter *filter = cookie;
	size_t done = 0;

	filter->failed = false;
	while (done < size) {
		size_t plain = done;

		while (!filter->held_length && size - plain >= sizeof(uint64_t) &&
		       is_plain(text + plain))
			plain += sizeof(uint64_t);
		while (!filter->held_length && plain < size &&
		       ((text[plain] >= ' ' && text[plain] < 0x7f) || text[plain] == '\n'))
			plain++;
		append(filter, text + done, plain - done);
		done = plain;
		if (done < size) {
			filter->held[filter->held_length++] = text[done++];
			write_complete(filter, false);
		}
	}
	flush_chunk(filter);
	return filter->failed ? 0 : (ssize_t)size;
}

static int filter_close(void *cookie)
{
	struct filter *filter = cookie;
	int status = 0;

	write_complete(filter, true);
	flush_chunk(filter);
	if (filter->failed)
		status = EOF;
	if (filter->target) {
		if (filter->close(filter->target))
			status = EOF;
		free(filter);
	}
	return status;
}

/* ---- Streams ------------------------------------------------------------------------------- */

static FILE *open_filter(struct filter *filter)
{
	return fopencookie(filter, "w",
			   (cookie_io_functions_t){.write = filter_write, .close = filter_close});
}

/* If out of memory, output is not filtered; pesa fails soon anyway. */
void safe_output_start(void)
{
	FILE *out = open_filter(&filters[0]), *messages = open_filter(&filters[1]);

	binary = stdout;
	if (out) {
		setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, CHUNK);
		stdout = out;
	}
	if (messages) {
		setvbuf(messages, NULL, _IONBF, 0);
		stderr = messages;
	}
}

void safe_output_colours(bool wanted)
{
	colours = wanted;
}

FILE *safe_output_binary(void)
{
	fflush(stdout);
	return binary ? binary : stdout;
}

FILE *safe_output_to(FILE *target, int (*close)(FILE *))
{
	struct filter *filter = calloc(1, sizeof(*filter));
	FILE *stream;

	if (filter) {
		*filter = (struct filter){
			.descriptor = fileno(target), .target = target, .close = close};
		stream = open_filter(filter);
		if (stream)
			return stream;
		free(filter);
	}
	close(target);
	errno = ENOMEM;
	return NULL;
}

FILE *safe_output_file(const char *path)
{
	FILE *file = fopen(path, "we");

	return file ? safe_output_to(file, fclose) : NULL;
}

void safe_output_message(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	terminal_text_print(stderr, text ? text : "pesa: out of memory");
	fputc('\n', stderr);
	free(text);
}

void safe_output_finish(void)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		fflush(i ? stderr : stdout);
		write_complete(&filters[i], true);
		flush_chunk(&filters[i]);
	}
}
