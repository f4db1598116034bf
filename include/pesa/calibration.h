/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * A calibration: where interrupts are taken on a machine, for samples whose PC skids (deskid.h).
 *
 * `pesa calibrate` runs loops of which it is known what holds them up, and learns from their samples
 * how far behind that samples land.  This depends on the core, on the kernel and on the event, not on
 * the program: what was learned once serves for all recordings of them.
 *
 * The file is text, a fact a line: a first line with the version, what was calibrated, the ways with
 * their shares of the samples, and a last line.  Blank lines and lines that begin with # are passed
 * over.  Documentation/plain-samples.md has an example.
 *
 * Threads: different objects may be used by different threads at the same time.
 */
#ifndef PESA_CALIBRATION_H
#define PESA_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pesa/deskid.h"

PESA_DECLARATIONS_BEGIN

/** Bytes of a name in a calibration, the terminating one included. */
#define PESA_CALIBRATION_NAME_MAX 128
/** Most bytes that a file has. */
#define PESA_CALIBRATION_FILE_MAX 65536

/** What was learned.  Holds no pointers: it may be copied. */
struct pesa_calibration {
	char cpu[PESA_CALIBRATION_NAME_MAX]; /**< mvendorid-marchid-mimpid, or of the virtual core */
	char event[PESA_CALIBRATION_NAME_MAX];	/**< that was sampled */
	char host[PESA_CALIBRATION_NAME_MAX];	/**< name of the machine, "" if unknown */
	char kernel[PESA_CALIBRATION_NAME_MAX]; /**< release of the kernel, "" if unknown */
	char model[PESA_CALIBRATION_NAME_MAX];	/**< of the processor, with which it was learned */
	uint64_t samples;			/**< from which it was learned */
	/** Ways in which interrupts are taken; the shares add up to 1. */
	struct pesa_deskid_way way[PESA_DESKID_WAYS_MAX];
	unsigned int ways; /**< how many, at least 1 */
};

/**
 * Read a calibration from `size` bytes of text, which need not be terminated; `name` is for messages.
 * PESA_ERROR_FORMAT: what is wrong, and in which line.
 * @any_thread @caller_owns */
struct pesa_error *pesa_calibration_parse(const char *name, const char *text, size_t size,
					  struct pesa_calibration *calibration);
/** Read it from a file, which others may have written.  With `own` a file is refused that is a link, or
 * is owned neither by root nor by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_calibration_open(const char *path, bool own,
					 struct pesa_calibration *calibration);
/** Write it, such that pesa_calibration_parse() reads the same.  Failures are those of the stream.
 * @readers @nothing_owned */
void pesa_calibration_write(const struct pesa_calibration *calibration, FILE *stream);

PESA_DECLARATIONS_END

#endif
