/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon says to a service manager: a datagram to the socket that the environment names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/pesad/notify.h"
#include "tests/temporary_folder.h"

static int listen_at(const struct sockaddr_un *address, size_t length)
{
	int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(descriptor >= 0);
	assert_int_equal(bind(descriptor, (const struct sockaddr *)address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
			 0);
	return descriptor;
}

static void assert_received(int descriptor, const char *state)
{
	char received[64];
	ssize_t size = recv(descriptor, received, sizeof(received), 0);

	if (!state) {
		assert_int_equal(size, -1);
		return;
	}
	assert_int_equal(size, strlen(state));
	assert_memory_equal(received, state, strlen(state));
}

static void a_socket_in_the_file_system_is_told(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int descriptor;

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", folder);
	descriptor = listen_at(&address, strlen(address.sun_path) + 1);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	pesad_notify("READY=1");
	assert_received(descriptor, "READY=1");
	assert_received(descriptor, NULL);
	unsetenv("NOTIFY_SOCKET");
	pesad_notify("STOPPING=1");
	assert_received(descriptor, NULL);
	close(descriptor);
	unlink(address.sun_path);
}

static void an_abstract_socket_is_told(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64];
	int length = snprintf(name, sizeof(name), "@pesa-notify-%d", (int)getpid()), descriptor;

	(void)state;
	memcpy(address.sun_path + 1, name + 1, (size_t)length - 1);
	descriptor = listen_at(&address, (size_t)length);
	setenv("NOTIFY_SOCKET", name, 1);
	pesad_notify("RELOADING=1");
	assert_received(descriptor, "RELOADING=1");
	unsetenv("NOTIFY_SOCKET");
	close(descriptor);
}

static void what_is_no_socket_is_ignored(void **state)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];

	(void)state;
	/* As long as the address, and thus one too long for it. */
	memset(name, 'x', sizeof(name));
	*name = '/';
	name[sizeof(name) - 1] = '\0';
	setenv("NOTIFY_SOCKET", name, 1);
	pesad_notify("READY=1");
	setenv("NOTIFY_SOCKET", "relative", 1);
	pesad_notify("READY=1");
	setenv("NOTIFY_SOCKET", "/no/such/socket", 1);
	pesad_notify("READY=1");
	unsetenv("NOTIFY_SOCKET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_in_the_file_system_is_told),
		cmocka_unit_test(an_abstract_socket_is_told),
		cmocka_unit_test(what_is_no_socket_is_ignored),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
