// SPDX-License-Identifier: GPL-2.0-or-later
/* A token or a password in a file of its own.  See secret.h. */
#include "decoder/base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same_time(const struct timespec *left, const struct timespec *right)
{
	return left->tv_sec == right->tv_sec && left->tv_nsec == right->tv_nsec;
}

static bool unchanged(const struct pesa_secret *secret, const struct stat *status)
{
	return secret->known && secret->device == status->st_dev &&
	       secret->inode == status->st_ino && secret->size == status->st_size &&
	       same_time(&secret->modified, &status->st_mtim) &&
	       same_time(&secret->changed, &status->st_ctim);
}

static struct pesa_error *check(const char *path, const struct stat *status)
{
	if (!S_ISREG(status->st_mode))
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: is no regular file", path);
	if (status->st_uid && status->st_uid != geteuid())
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s: belongs to user %u, must belong to root or to user "
					 "%u, who reads it",
					 path, (unsigned int)status->st_uid,
					 (unsigned int)geteuid());
	if (status->st_mode & (S_IWGRP | S_IRWXO))
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"%s: holds a secret and has mode %03o; chmod 0600 or 0640 it", path,
			(unsigned int)(status->st_mode & 0777));
	return NULL;
}

static struct pesa_error *take(struct pesa_secret *secret, int file)
{
	char text[PESA_SECRET_SIZE];
	size_t length = 0;

	while (length < sizeof(text)) {
		ssize_t got = read(file, text + length, sizeof(text) - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pesa_error_system(errno, "%s: cannot be read", secret->path);
		if (!got)
			break;
		length += (size_t)got;
	}
	if (length && text[length - 1] == '\n')
		length--;
	if (!length || length >= sizeof(text))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s: must hold one line of 1 to %d characters",
					 secret->path, PESA_SECRET_SIZE - 1);
	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "%s: byte %zu is no visible ASCII character; the "
						 "file must hold the secret alone",
						 secret->path, i);
	memcpy(secret->text, text, length);
	secret->text[length] = '\0';
	explicit_bzero(text, sizeof(text));
	return NULL;
}

static struct pesa_error *refresh(struct pesa_secret *secret)
{
	struct pesa_error *error;
	struct stat status;
	int file = open(secret->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (file < 0 || fstat(file, &status)) {
		error = pesa_error_system(errno, "%s: cannot be read", secret->path);
	} else if (unchanged(secret, &status)) {
		close(file);
		return NULL;
	} else {
		error = check(secret->path, &status);
		if (!error)
			error = take(secret, file);
	}
	if (file >= 0)
		close(file);
	secret->known = !error;
	if (error)
		return error;
	secret->device = status.st_dev;
	secret->inode = status.st_ino;
	secret->size = status.st_size;
	secret->modified = status.st_mtim;
	secret->changed = status.st_ctim;
	return NULL;
}

struct pesa_error *pesa_secret_open(struct pesa_secret *secret, const char *path)
{
	struct pesa_error *error;

	memset(secret, 0, sizeof(*secret));
	secret->path = strdup(path);
	if (!secret->path)
		return pesa_error_no_memory();
	pthread_mutex_init(&secret->lock, NULL);
	error = refresh(secret);
	if (error)
		pesa_secret_close(secret);
	return error;
}

void pesa_secret_close(struct pesa_secret *secret)
{
	if (!secret->path)
		return;
	pthread_mutex_destroy(&secret->lock);
	free(secret->path);
	explicit_bzero(secret, sizeof(*secret));
}

struct pesa_error *pesa_secret_get(struct pesa_secret *secret, char text[PESA_SECRET_SIZE])
{
	struct pesa_error *error;

	pthread_mutex_lock(&secret->lock);
	error = refresh(secret);
	if (!error)
		memcpy(text, secret->text, strlen(secret->text) + 1);
	pthread_mutex_unlock(&secret->lock);
	return error;
}

bool pesa_secret_equal(const char *expected, const char *offered)
{
	size_t length = strlen(offered), own = strlen(expected);
	unsigned int difference = length != own;

	/* Takes time by the length of the offered text only. */
	for (size_t i = 0; i < length; i++)
		difference |=
			(unsigned char)offered[i] ^ (unsigned char)expected[own ? i % own : 0];
	return !difference;
}
