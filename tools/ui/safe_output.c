// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes all output safe for terminals: see safe_output.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/terminal_text.h"
#include "tools/ui/safe_output.h"

#define HELD_MAX 16 /* bytes of the longest sequence or character */
#define CHUNK	 4096

/* Holds the start of a character or sequence until the rest is written. */
struct net {
	int descriptor;
	FILE *below; /* NULL: the descriptor outlives the stream */
	int (*close)(FILE *below);
	char held[HELD_MAX];
	size_t held_length;
	char chunk[CHUNK];
	size_t chunk_length;
	bool failed;
};

/* Streams of the process, as stdout and stderr are. */
static struct net nets[] = {{.descriptor = STDOUT_FILENO}, {.descriptor = STDERR_FILENO}};
static FILE *binary;
static bool colours;

/* The sequences that ui_style() and mca_highlight() make. */
static const char *const sequences[] = {
	"\033[0m",	"\033[1m",	"\033[2m",	"\033[31m",   "\033[32m",
	"\033[34m",	"\033[35m",	"\033[36m",	"\033[1;31m", "\033[0;1;31m",
	"\033[0;1;33m", "\033[0;1;35m", "\033[0;1;36m",
};

/* ---- Writing ------------------------------------------------------------------------------- */

static void flush_chunk(struct net *net)
{
	size_t done = 0;

	while (!net->failed && done < net->chunk_length) {
		ssize_t written =
			write(net->descriptor, net->chunk + done, net->chunk_length - done);

		if (written > 0)
			done += (size_t)written;
		else if (written == 0 || errno != EINTR)
			net->failed = true;
	}
	net->chunk_length = 0;
}

static void pass(struct net *net, const char *text, size_t length)
{
	while (length) {
		size_t part = CHUNK - net->chunk_length;

		part = part < length ? part : length;
		memcpy(net->chunk + net->chunk_length, text, part);
		net->chunk_length += part;
		text += part;
		length -= part;
		if (net->chunk_length == CHUNK)
			flush_chunk(net);
	}
}

/* ---- What passes --------------------------------------------------------------------------- */

/* Length of an allowed sequence; 0: not one, -1: incomplete. */
static int sequence_length(const struct net *net)
{
	int length = 0;

	for (size_t i = 0; colours && i < sizeof(sequences) / sizeof(*sequences); i++) {
		size_t whole = strlen(sequences[i]);

		if (net->held_length >= whole && !memcmp(net->held, sequences[i], whole))
			return (int)whole;
		if (net->held_length < whole && !memcmp(net->held, sequences[i], net->held_length))
			length = -1;
	}
	return length;
}

/* A line of CSV ends with both. */
static int line_end_length(const struct net *net)
{
	if (net->held_length < 2)
		return -1;
	return net->held[1] == '\n' ? 2 : 0;
}

/* Return whether the bytes are the start of an incomplete character. */
static bool is_beginning(const struct net *net)
{
	unsigned char first = (unsigned char)net->held[0];
	size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

	if (first < 0xc2 || first > 0xf4 || net->held_length >= whole)
		return false;
	for (size_t i = 1; i < net->held_length; i++)
		if (((unsigned char)net->held[i] & 0xc0) != 0x80)
			return false;
	return true;
}

static void drop(struct net *net, size_t length)
{
	net->held_length -= length;
	memmove(net->held, net->held + length, net->held_length);
}

/* Write the held bytes as far as they are complete; `last`: nothing follows. */
static void settle(struct net *net, bool last)
{
	while (net->held_length) {
		char escaped[TERMINAL_TEXT_ESCAPE], text[HELD_MAX + 1] = "";
		int passes = 0;
		size_t length;

		if (*net->held == '\n' || *net->held == '\t')
			passes = 1;
		else if (*net->held == '\033')
			passes = sequence_length(net);
		else if (*net->held == '\r')
			passes = line_end_length(net);
		if (!last && (passes < 0 || is_beginning(net)))
			return;
		if (passes > 0) {
			pass(net, net->held, (size_t)passes);
			drop(net, (size_t)passes);
			continue;
		}
		memcpy(text, net->held, net->held_length);
		length = terminal_text_next((const unsigned char *)text, escaped);
		if (*escaped)
			pass(net, escaped, strlen(escaped));
		else
			pass(net, text, length);
		drop(net, length);
	}
}

static ssize_t net_write(void *cookie, const char *text, size_t size)
{
	struct net *net = cookie;
	size_t done = 0;

	net->failed = false;
	while (done < size) {
		size_t plain = done;

		while (!net->held_length && plain < size && text[plain] >= ' ' &&
		       text[plain] < 0x7f)
			plain++;
		pass(net, text + done, plain - done);
		done = plain;
		if (done < size) {
			net->held[net->held_length++] = text[done++];
			settle(net, false);
		}
	}
	flush_chunk(net);
	return net->failed ? 0 : (ssize_t)size;
}

static int net_close(void *cookie)
{
	struct net *net = cookie;
	int status = 0;

	settle(net, true);
	flush_chunk(net);
	if (net->failed)
		status = EOF;
	if (net->below) {
		if (net->close(net->below))
			status = EOF;
		free(net);
	}
	return status;
}

/* ---- Streams ------------------------------------------------------------------------------- */

static FILE *open_net(struct net *net)
{
	return fopencookie(net, "w",
			   (cookie_io_functions_t){.write = net_write, .close = net_close});
}

/* If out of memory, output is not filtered; pesa fails soon anyway. */
void safe_output_start(void)
{
	FILE *out = open_net(&nets[0]), *messages = open_net(&nets[1]);

	binary = stdout;
	if (out) {
		setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
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

FILE *safe_output_to(FILE *below, int (*close)(FILE *))
{
	struct net *net = calloc(1, sizeof(*net));
	FILE *stream;

	if (net) {
		*net = (struct net){.descriptor = fileno(below), .below = below, .close = close};
		stream = open_net(net);
		if (stream)
			return stream;
		free(net);
	}
	close(below);
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
	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
		fflush(i ? stderr : stdout);
		settle(&nets[i], true);
		flush_chunk(&nets[i]);
	}
}
