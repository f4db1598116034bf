// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/clock.h"
#include "decoder/base/terminal_text.h"

#define APART (60 * UINT64_C(1000000000)) /* ns between two lines of one kind */
/* bytes; a line is a single write and is cut to this size */
#define LINE 1024

void pesad_log_open(struct pesad_log *log, struct pesad_metrics *metrics)
{
	const char *journal = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;

	*log = (struct pesad_log){.metrics = metrics, .level = PESAD_LOG_INFO};
	log->journal = journal && sscanf(journal, "%llu:%llu", &device, &inode) == 2 &&
		       !fstat(STDERR_FILENO, &status) && status.st_dev == device &&
		       status.st_ino == inode;
}

static void print(const struct pesad_log *log, enum pesad_log_level level, uint64_t suppressed,
		  const char *format, va_list arguments) __attribute__((format(printf, 4, 0)));

static void print(const struct pesad_log *log, enum pesad_log_level level, uint64_t suppressed,
		  const char *format, va_list arguments)
{
	static const char *const priorities[] = {[PESAD_LOG_ERROR] = "<3>",
						 [PESAD_LOG_WARNING] = "<4>",
						 [PESAD_LOG_INFO] = "<6>",
						 [PESAD_LOG_DEBUG] = "<7>"};
	char line[LINE], more[64] = "";
	int start =
		snprintf(line, sizeof(line), "%spesad: ", log->journal ? priorities[level] : "");
	size_t length;

	if (suppressed)
		snprintf(more, sizeof(more), " (and %" PRIu64 " more since the last line)",
			 suppressed);
	vsnprintf(line + start, sizeof(line) - sizeof(more) - (size_t)start - 1, format, arguments);
	/* A message must not contain a line break and fake another line. */
	terminal_text_in_place(line, sizeof(line) - sizeof(more) - 1);
	length = strlen(line);
	length += (size_t)snprintf(line + length, sizeof(line) - length, "%s\n", more);
	/* There is no other place to report this failure. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

void pesad_log(struct pesad_log *log, enum pesad_log_level level, const char *format, ...)
{
	va_list arguments;

	if (level > log->level)
		return;
	va_start(arguments, format);
	print(log, level, 0, format, arguments);
	va_end(arguments);
}

void pesad_log_limited(struct pesad_log *log, enum pesad_log_kind kind, enum pesad_log_level level,
		       const char *format, ...)
{
	uint64_t time = pesa_monotonic(), suppressed = log->kinds[kind].suppressed;
	va_list arguments;

	if (level > log->level)
		return;
	if (log->kinds[kind].last && time - log->kinds[kind].last < APART) {
		log->kinds[kind].suppressed++;
		if (log->metrics)
			pesad_count(&log->metrics->log_suppressed, 1);
		return;
	}
	log->kinds[kind].last = time;
	log->kinds[kind].suppressed = 0;
	va_start(arguments, format);
	print(log, level, suppressed, format, arguments);
	va_end(arguments);
}

void pesad_log_error(struct pesad_log *log, enum pesad_log_kind kind, enum pesad_log_level level,
		     struct pesa_error *error)
{
	if (!error)
		return;
	pesad_log_limited(log, kind, level, "%s", error->message);
	pesa_error_free(error);
}
