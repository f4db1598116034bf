// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void pesad_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int descriptor;

	if (!path || strlen(path) >= sizeof(address.sun_path) || !strchr("/@", *path))
		return;
	memcpy(address.sun_path, path, strlen(path));
	if (*path == '@') /* an abstract socket name */
		address.sun_path[0] = '\0';
	descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (descriptor < 0)
		return;
	/* A failure does not matter: the service manager does not listen. */
	(void)!sendto(descriptor, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
		      (const struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
	close(descriptor);
}
