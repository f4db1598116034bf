// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is at the other end of a connection, and how many connections a peer may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/pesad/http/clients.h"
#include "daemon/pesad/http/peer.h"
#include "tests/file_tree.h"

#define SECOND UINT64_C(1000000000)

static int set_up(void **state)
{
	return file_tree_set_up(state, NULL, 0);
}

/* ---- Peers --------------------------------------------------------------------------------- */

static void kernel_addresses_are_for_who_finds_them_in_kallsyms(void **state)
{
	static const struct {
		const char *restrict_pointers, *paranoid;
		bool root, other;
	} known[] = {
		{"0\n", "1\n", true, true},    {"0\n", "-1\n", true, true},
		{"0\n", "2\n", true, false},   {"1\n", "-1\n", true, false},
		{"2\n", "-1\n", false, false}, {"x\n", "-1\n", false, false},
	};
	const struct file_tree *tree = *state;

	assert_false(pesad_peer_sees_kernel(tree->root, 0));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		file_tree_write(tree, "proc/sys/kernel/kptr_restrict", known[i].restrict_pointers);
		file_tree_write(tree, "proc/sys/kernel/perf_event_paranoid", known[i].paranoid);
		assert_int_equal(pesad_peer_sees_kernel(tree->root, 0), known[i].root);
		assert_int_equal(pesad_peer_sees_kernel(tree->root, 1000), known[i].other);
	}
}

static void the_socket_is_open_to_those_who_may_read_the_store(void **state)
{
	static const struct {
		mode_t directory, socket;
	} known[] = {{0700, 0600}, {0750, 0660}, {0740, 0600},
		     {0710, 0600}, {0755, 0666}, {0705, 0666}};
	const struct file_tree *tree = *state;
	char missing[96];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		assert_int_equal(chmod(tree->root, known[i].directory), 0);
		assert_int_equal(pesad_peer_socket_mode(tree->root), known[i].socket);
	}
	snprintf(missing, sizeof(missing), "%s/missing", tree->root);
	assert_int_equal(pesad_peer_socket_mode(missing), 0660);
}

static void the_user_at_the_other_end_is_the_kernels_word(void **state)
{
	const struct file_tree *tree = *state;
	uid_t user = 1234567;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_true(pesad_peer_user(ends[0], &user));
	assert_int_equal(user, geteuid());
	assert_int_equal(chmod(tree->root, 0700), 0);
	assert_true(pesad_peer_reads(ends[0], tree->root));
	if (geteuid())
		assert_false(pesad_peer_reads(ends[0], "/nowhere"));
	assert_false(pesad_peer_reads(-1, tree->root));
	close(ends[0]);
	close(ends[1]);
}

/* ---- Clients ------------------------------------------------------------------------------- */

static bool is_shut_down(int other_end)
{
	char byte;

	return recv(other_end, &byte, 1, MSG_DONTWAIT) == 0;
}

static void a_peer_has_a_share(void **state)
{
	const struct pesad_client_key one = {AF_UNIX, 1}, other = {AF_UNIX, 2}, far = {AF_INET, 1};
	struct pesad_clients *clients = pesad_clients_create(2, SECOND);
	struct pesad_client *first = pesad_clients_add(clients, -1, one);

	(void)state;
	assert_non_null(first);
	assert_non_null(pesad_clients_add(clients, -1, one));
	assert_null(pesad_clients_add(clients, -1, one));
	assert_non_null(pesad_clients_add(clients, -1, other));
	assert_non_null(pesad_clients_add(clients, -1, far));
	pesad_clients_remove(clients, first);
	pesad_clients_remove(clients, NULL);
	assert_non_null(pesad_clients_add(clients, -1, one));
	assert_null(pesad_clients_add(clients, -1, one));
	pesad_clients_free(clients);
}

static void who_does_not_ask_in_time_is_shut_down(void **state)
{
	struct pesad_clients *at_once = pesad_clients_create(9, 0),
			     *later = pesad_clients_create(9, 3600 * SECOND);
	const struct pesad_client_key key = {AF_UNIX, 1};
	struct pesad_client *client;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_non_null(pesad_clients_add(later, ends[0], key));
	assert_int_equal(pesad_clients_drop_late(later), 0);
	client = pesad_clients_add(at_once, ends[0], key);
	pesad_client_request_complete(at_once, client);
	assert_int_equal(pesad_clients_drop_late(at_once), 0);
	assert_false(is_shut_down(ends[1]));
	pesad_client_was_answered(at_once, client);
	assert_int_equal(pesad_clients_drop_late(at_once), 1);
	assert_true(is_shut_down(ends[1]));
	assert_int_equal(pesad_clients_drop_late(at_once), 0);
	pesad_clients_free(at_once);
	pesad_clients_free(later);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kernel_addresses_are_for_who_finds_them_in_kallsyms,
						set_up, file_tree_tear_down),
		cmocka_unit_test_setup_teardown(the_socket_is_open_to_those_who_may_read_the_store,
						set_up, file_tree_tear_down),
		cmocka_unit_test_setup_teardown(the_user_at_the_other_end_is_the_kernels_word,
						set_up, file_tree_tear_down),
		cmocka_unit_test(a_peer_has_a_share),
		cmocka_unit_test(who_does_not_ask_in_time_is_shut_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
