// SPDX-License-Identifier: GPL-2.0-or-later
/* The sockets that requests come through.  See listen.h. */
#include "daemon/pesad/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/pesad/base/config.h"

#define BACKLOG 256

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un path;
};

static bool parse_address(const char *text, uint16_t port, union address *address, socklen_t *size,
			  bool *loopback)
{
	memset(address, 0, sizeof(*address));
	if (!strcmp(text, "localhost"))
		text = "127.0.0.1";
	if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1) {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons(port);
		*size = sizeof(address->v4);
		*loopback = ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
		return true;
	}
	if (inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons(port);
		*size = sizeof(address->v6);
		*loopback = IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
		return true;
	}
	return false;
}

static struct pesa_error *listen_at(const union address *address, socklen_t size, const char *text,
				    int *listener)
{
	int on = 1, descriptor;
	int family = address->any.sa_family;

	descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (descriptor < 0)
		return pesa_error_system(errno, "%s: cannot make a socket", text);
	if (family != AF_UNIX)
		setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(descriptor, &address->any, size) || listen(descriptor, BACKLOG)) {
		struct pesa_error *error =
			pesa_error_system(errno, "%s: cannot listen there", text);

		close(descriptor);
		return error;
	}
	*listener = descriptor;
	return NULL;
}

struct pesa_error *pesad_listen_port(const char *text, int *listener, bool *loopback)
{
	char host[INET6_ADDRSTRLEN];
	union address address;
	bool is_loopback_name, is_loopback;
	uint16_t port;
	socklen_t size;
	struct pesa_error *error;

	if (!pesad_address_split(text, host, sizeof(host), &port, &is_loopback_name) ||
	    !parse_address(host, port, &address, &size, &is_loopback))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "'%s' is no address to listen at: 127.0.0.1:9397 or "
					 "[::1]:9397 is one",
					 text);
	error = listen_at(&address, size, text, listener);
	if (!error)
		*loopback = is_loopback;
	return error;
}

/* Return whether there is a stale socket, without a listener, at the path. */
static bool is_left(const union address *address, socklen_t size)
{
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool left;

	if (descriptor < 0)
		return false;
	left = connect(descriptor, &address->any, size) && errno == ECONNREFUSED;
	close(descriptor);
	return left;
}

struct pesa_error *pesad_listen_path(const char *path, mode_t mode, int *listener)
{
	union address address = {.path = {.sun_family = AF_UNIX}};
	struct pesa_error *error;
	struct stat status;
	mode_t mask;

	if (strlen(path) >= sizeof(address.path.sun_path))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s: the path of a socket has at most %zu bytes", path,
					 sizeof(address.path.sun_path) - 1);
	strcpy(address.path.sun_path, path);
	if (!lstat(path, &status) && S_ISSOCK(status.st_mode) &&
	    is_left(&address, sizeof(address.path)))
		unlink(path);
	mask = umask(0777 & ~mode);
	error = listen_at(&address, sizeof(address.path), path, listener);
	umask(mask);
	return error;
}
