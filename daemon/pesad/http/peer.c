// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is at the other end of a unix socket.  See peer.h. */
#include "daemon/pesad/http/peer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AND_SEARCH 05u /* of one class of a mode */

static bool credentials_of(int socket, struct ucred *credentials)
{
	socklen_t size = sizeof(*credentials);

	return !getsockopt(socket, SOL_SOCKET, SO_PEERCRED, credentials, &size) &&
	       credentials->uid != (uid_t)-1;
}

bool pesad_peer_user(int socket, uid_t *user)
{
	struct ucred credentials;

	if (!credentials_of(socket, &credentials))
		return false;
	*user = credentials.uid;
	return true;
}

/* Return whether the peer has the group as a supplementary group. */
static bool has_group(int socket, gid_t group)
{
	socklen_t size = 0;
	bool found = false;
	gid_t *groups;

	/* The first call only returns the size. */
	if (!getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) || errno != ERANGE)
		return false;
	groups = malloc(size);
	if (groups && !getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		for (size_t i = 0; i < size / sizeof(*groups); i++)
			found |= groups[i] == group;
	free(groups);
	return found;
}

bool pesad_peer_reads(int socket, const char *directory)
{
	struct ucred credentials;
	struct stat status;
	mode_t class;

	if (!credentials_of(socket, &credentials))
		return false;
	if (!credentials.uid)
		return true;
	if (stat(directory, &status) || !S_ISDIR(status.st_mode))
		return false;
	if (credentials.uid == status.st_uid)
		class = status.st_mode >> 6;
	else if (credentials.gid == status.st_gid || has_group(socket, status.st_gid))
		class = status.st_mode >> 3;
	else
		class = status.st_mode;
	return (class & READ_AND_SEARCH) == READ_AND_SEARCH;
}

mode_t pesad_peer_socket_mode(const char *directory)
{
	struct stat status;

	/* A directory that does not exist yet will be created with mode 0750. */
	if (stat(directory, &status))
		return 0660;
	if ((status.st_mode & READ_AND_SEARCH) == READ_AND_SEARCH)
		return 0666;
	if ((status.st_mode >> 3 & READ_AND_SEARCH) != READ_AND_SEARCH)
		return 0600;
	return status.st_gid == getegid() ? 0660 : 0666;
}

static int number_in(const char *root, const char *name, int otherwise)
{
	char path[PATH_MAX];
	FILE *stream;
	int number;

	snprintf(path, sizeof(path), "%s/proc/sys/kernel/%s", root, name);
	stream = fopen(path, "re");
	if (!stream)
		return otherwise;
	if (fscanf(stream, "%d", &number) != 1)
		number = otherwise;
	fclose(stream);
	return number;
}

bool pesad_peer_sees_kernel(const char *root, uid_t user)
{
	/*
	 * Like kallsyms_show_value() in the kernel; if a setting cannot be read, hide the
	 * addresses.
	 */
	switch (number_in(root, "kptr_restrict", 2)) {
	case 0:
		return !user || number_in(root, "perf_event_paranoid", 2) <= 1;
	case 1:
		return !user;
	default:
		return false;
	}
}
