/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A secret: a token or a password in a file of its own.
 *
 * The file is read again when it changes (inode, size or time), so tokens can be renewed while the
 * daemon runs.  It must be a regular file that belongs to the daemon's user or to root, unreadable
 * for other users and not writable for its group; otherwise there is no secret, also if the file
 * changes to that later.  It has one line of visible ASCII characters without blanks, because it is
 * sent in an HTTP header.
 */
#ifndef DECODER_BASE_SECRET_H
#define DECODER_BASE_SECRET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pesa/error.h"

#define PESA_SECRET_SIZE 4096 /* maximum size, including the terminator */

struct pesa_secret {
	pthread_mutex_t lock;
	char *path;
	/* identity of the file when it was read */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
	bool known;
	char text[PESA_SECRET_SIZE];
};

/* Open and read for the first time.  `secret` is the caller's, freed by pesa_secret_close(). */
struct pesa_error *pesa_secret_open(struct pesa_secret *secret, const char *path);
void pesa_secret_close(struct pesa_secret *secret);

/* Get the secret, after reading the file again if it changed. */
struct pesa_error *pesa_secret_get(struct pesa_secret *secret, char text[PESA_SECRET_SIZE]);

/* Compare in a time that does not depend on the position of the first difference. */
bool pesa_secret_equal(const char *expected, const char *offered);

#endif
