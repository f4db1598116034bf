/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Errors are values.
 *
 * A function that can fail returns `struct pesa_error *`: NULL when it succeeded, otherwise an error
 * that the caller owns and either frees or passes up.  The message is one line without a newline that
 * names what failed, where (file, offset, address) and, where there is something to do, what to do.
 * It is safe to print: what a name in it holds that is no printable text is escaped
 * (decoder/base/terminal_text.h).
 * Callers that know more of the context put it in front with pesa_error_prefix().
 *
 * Output parameters are untouched when an error is returned, unless the function says otherwise.
 *
 * There is one convention, in the library and in the programs:
 * - A function that can fail for a reason that a user has to hear returns `struct pesa_error *`.  Out of
 *   memory is such a reason: pesa_error_no_memory().
 * - A function that makes something, and can fail for memory alone, may return it as malloc() does: NULL
 *   then, or the number that is none.
 * - bool is the answer to a question, and does not say whether something failed.
 * - A cursor over bytes, or a writer of text, that checks each step may note a failure and go on
 *   harmlessly (decoder/perfdata/decode.c).  The note belongs to that type, and its user asks for it once,
 *   at the end.  No other object has such a flag.
 *
 * Threads: every function here may be called by any thread at any time; an error belongs to one thread
 * at a time.
 */
#ifndef PESA_ERROR_H
#define PESA_ERROR_H

#include <stdarg.h>

#include "pesa/api.h"

PESA_DECLARATIONS_BEGIN

/** What kind of error it is, for callers that treat some of them in their own way. */
enum pesa_error_code {
	PESA_ERROR_OTHER,	/**< anything that no caller tells apart */
	PESA_ERROR_NO_MEMORY,	/**< allocation failed */
	PESA_ERROR_SYSTEM,	/**< a system call failed; system_error is its errno */
	PESA_ERROR_FORMAT,	/**< input that is damaged or not what it claims to be */
	PESA_ERROR_NOT_FOUND,	/**< what was asked for does not exist */
	PESA_ERROR_UNSUPPORTED, /**< well-formed, but not supported */
	PESA_ERROR_ARGUMENT,	/**< the caller's (user's) argument makes no sense */
};

/** An error.  Read it, do not change it. */
struct pesa_error {
	enum pesa_error_code code; /**< which kind */
	int system_error;	   /**< errno for PESA_ERROR_SYSTEM, else 0 */
	char *message;		   /**< one line, owned by the error */
};

/** Make an error with a printf-style message.  Never returns NULL: out of memory is an error too.
 * @any_thread @caller_owns */
struct pesa_error *pesa_error_create(enum pesa_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/** The same with the arguments of a caller's own variadic function.
 * @any_thread @caller_owns */
struct pesa_error *pesa_error_vcreate(enum pesa_error_code code, const char *format,
				      va_list arguments)
	__attribute__((format(printf, 2, 0), returns_nonnull));

/** Add lines, up to NULL, to a message that has to look like that of another program.
 * @one_thread @caller_owns */
struct pesa_error *pesa_error_lines(struct pesa_error *first, const char *const *lines)
	__attribute__((returns_nonnull));

/** pesa_error_create() for a failed system call: ": " and strerror(system_error) are appended.
 * @any_thread @caller_owns */
struct pesa_error *pesa_error_system(int system_error, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/** The error for a failed allocation.  Allocates nothing; freeing it is harmless.
 * @any_thread @caller_owns */
struct pesa_error *pesa_error_no_memory(void) __attribute__((returns_nonnull));

/** Put a printf-style prefix in front of the message of `error` (may be NULL, then NULL is returned).
 * @one_thread @caller_owns */
struct pesa_error *pesa_error_prefix(struct pesa_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Free an error.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_error_free(struct pesa_error *error);

PESA_DECLARATIONS_END

#endif
