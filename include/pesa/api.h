/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * How the functions of the library are declared: for C and C++ alike, and exported.
 *
 * What is between PESA_DECLARATIONS_BEGIN and PESA_DECLARATIONS_END in a header of this
 * directory is what libpesa.so exports; the library is compiled with -fvisibility=hidden, so that
 * nothing else is.  A user of the library needs neither macro.
 *
 * The comment of each function ends with two words, which the reference writes out.  Threads:
 * `any_thread` (any may call it at any time), `one_thread` (one object by one thread at a time),
 * `readers` (many threads on one object, as long as none changes that).  What it returns or stores
 * belongs to: `caller_owns`; `object_owns`, the object that it is of; `static_result`, the program;
 * `nothing_owned`, nobody, but for an error, which is the caller's.  `takes_object`: the object that
 * is passed is not to be used any more.
 */
#ifndef PESA_API_H
#define PESA_API_H

/**
 * @def PESA_DECLARATIONS_BEGIN
 * In front of the declarations of a header.
 *
 * With PESA_STATIC defined they are not exported: for code of the library that is compiled into
 * another shared object, as that of the virtual core is.
 *
 * @def PESA_DECLARATIONS_END
 * Behind them.
 */
#ifdef PESA_STATIC
#define PESA_VISIBILITY_BEGIN
#define PESA_VISIBILITY_END
#else
#define PESA_VISIBILITY_BEGIN _Pragma("GCC visibility push(default)") /**< Part of BEGIN. */
#define PESA_VISIBILITY_END   _Pragma("GCC visibility pop")	      /**< Part of END. */
#endif

#ifdef __cplusplus
#define PESA_DECLARATIONS_BEGIN \
	extern "C" {            \
	PESA_VISIBILITY_BEGIN
#define PESA_DECLARATIONS_END \
	PESA_VISIBILITY_END   \
	}
#else
#define PESA_DECLARATIONS_BEGIN PESA_VISIBILITY_BEGIN
#define PESA_DECLARATIONS_END	PESA_VISIBILITY_END
#endif

#endif
