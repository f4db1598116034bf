/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Secret: a token or a password that stands in a file of its own.
 *
 * The file is read again when it changes (its inode, size or time), so that tokens can be renewed
 * while the daemon runs.  It must be a regular file that belongs to the daemon's user or to root,
 * that no other user can read and no group can write; else it is refused, also when it has become
 * so, and until that is mended there is no secret.  It holds one line of visible ASCII characters
 * without blanks, since it travels in a header of HTTP.
 */
#ifndef DAEMON_PESAD_BASE_SECRET_H
#define DAEMON_PESAD_BASE_SECRET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pesa/error.h"

#define PESA_SECRET_SIZE 4096 /* bytes of the longest, terminated */

struct pesa_secret {
	pthread_mutex_t lock;
	char *path;
	/* what the file was when it was read */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
	bool known;
	char text[PESA_SECRET_SIZE];
};

/* Read for the first time.  `secret` is the caller's memory, closed with pesa_secret_close(). */
struct pesa_error *pesa_secret_open(struct pesa_secret *secret, const char *path);
void pesa_secret_close(struct pesa_secret *secret);

/* The secret as the file has it now. */
struct pesa_error *pesa_secret_get(struct pesa_secret *secret, char text[PESA_SECRET_SIZE]);

/* Whether two texts are equal, in a time that does not tell how far they are. */
bool pesa_secret_equal(const char *expected, const char *offered);

#endif
