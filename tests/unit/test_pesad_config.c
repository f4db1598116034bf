/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/pesad/base/config.h"

static struct pesad_config *right(const char *text)
{
	struct pesad_config *config = NULL;
	struct pesa_error *error = pesad_config_parse("file", text, strlen(text), &config);

	if (error)
		fail_msg("%s", error->message);
	return config;
}

static void wrong(const char *text, const char *message)
{
	struct pesad_config *config = NULL;
	struct pesa_error *error = pesad_config_parse("file", text, strlen(text), &config);

	assert_non_null(error);
	assert_null(config);
	if (!strstr(error->message, message))
		fail_msg("'%s' is not in '%s'", message, error->message);
	pesa_error_free(error);
}

static void an_empty_file_has_the_defaults(void **state)
{
	struct pesad_config *config = right("");

	(void)state;
	assert_string_equal(config->collect.event, "best");
	assert_int_equal(config->collect.frequency, 100);
	assert_true(config->collect.jitter);
	assert_int_equal(config->collect.ring, 512 << 10);
	assert_int_equal(config->store.interval, UINT64_C(60000000000));
	assert_int_equal(config->store.age, 7 * UINT64_C(86400000000000));
	assert_int_equal(config->store.size, 1 << 30);
	assert_string_equal(config->push.url, "");
	assert_string_equal(config->http.listen, "");
	assert_string_equal(config->http.socket, "/run/pesa/pesad.socket");
	assert_false(config->http.open);
	assert_int_equal(config->filter.uid.count, 0);
	pesad_config_free(config);
}

static void values_have_their_units(void **state)
{
	struct pesad_config *config =
		right("[store]\nsize = 3T\nage = 36h\ninterval=1500ms\n[filter]\nuid =  0\t1000 \n"
		      "[push]\nkind = alloy\n[collect]\ncpus = 0-1 # two\r\n");

	(void)state;
	assert_true(config->store.size == UINT64_C(3) << 40);
	assert_true(config->store.age == 36 * UINT64_C(3600000000000));
	assert_int_equal(config->store.interval, 1500000000);
	assert_int_equal(config->filter.uid.count, 2);
	assert_string_equal(config->filter.uid.words[1], "1000");
	assert_int_equal(config->push.kind, PESAD_STORE_ALLOY);
	assert_string_equal(config->collect.cpus, "0-1");
	pesad_config_free(config);
}

static void a_comment_begins_behind_a_blank_only(void **state)
{
	struct pesad_config *config = right("[push]\nurl = http://host/#part # told\n  # [none]\n");

	(void)state;
	assert_string_equal(config->push.url, "http://host/#part");
	pesad_config_free(config);
}

static void errors_name_the_line(void **state)
{
	(void)state;
	wrong("\n\n[store]\nsize = 5X\n", "file:4: '5X' is no value for size");
	wrong("[store]\nsize = 99999999999G\n", "file:2: ");
	wrong("[store\n", "file:1: '[store' is no section");
	wrong("[store]\nsize\n", "file:2: 'size' is neither");
	wrong("[store]\nsize = 1\nsize = 2\n", "file:3: size was given in line 2 already");
	wrong("[http]\nsocket = here\n", "file:2: 'here' is no value for socket");
}

static void what_does_not_go_together_is_refused(void **state)
{
	(void)state;
	wrong("[http]\nlisten = 10.0.0.1:80\n", "open to other hosts: give a token-file");
	wrong("[http]\nlisten = 127.0.0.1:80\n", "open to every user of this host: give a");
	wrong("[http]\nlisten = 127.0.0.1:80\nopen = yes\ntoken-file = /t\n", "contradicts");
	wrong("[http]\nauthority = /a\n", "needs TLS");
	wrong("[http]\ncertificate = /c\n", "certificate and key go together");
	wrong("[push]\nretry-least = 2s\nretry-most = 1s\n", "retry-least is more");
	wrong("[push]\nlabels = =x\n", "label '=x' is no NAME=VALUE");
	wrong("[filter]\ncomm = abcdefghijklmnop\n", "longer than the 15 bytes");
	wrong("[collect]\nevent =\n", "event must not be empty");
}

static void addresses_are_split(void **state)
{
	static const struct {
		const char *text, *address;
		uint16_t port;
		bool loopback;
	} known[] = {
		{"127.0.0.1:80", "127.0.0.1", 80, true},
		{"127.9.9.9:0", "127.9.9.9", 0, true},
		{"0.0.0.0:65535", "0.0.0.0", 65535, false},
		{"[::1]:9", "::1", 9, true},
		{"[::]:9", "::", 9, false},
	};
	static const char *const none[] = {"",	    "localhost:1", "1.2.3.4",	  "1.2.3.4:65536",
					   "::1:9", "[::1:9",	   "[]:9",	  "1.2.3.4:-1",
					   ":80",   "[::1]9",	   "127.0.0.1:1x"};
	char address[64];
	uint16_t port;
	bool loopback;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_true(pesad_address_split(known[i].text, address, sizeof(address), &port,
						&loopback));
		assert_string_equal(address, known[i].address);
		assert_int_equal(port, known[i].port);
		assert_int_equal(loopback, known[i].loopback);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (pesad_address_split(none[i], address, sizeof(address), &port, &loopback))
			fail_msg("'%s' is taken for an address", none[i]);
}

static void every_default_is_a_value(void **state)
{
	(void)state;
	for (size_t i = 0; i < pesad_key_count; i++) {
		char text[256];

		snprintf(text, sizeof(text), "[%s]\n%s = %s\n", pesad_keys[i].section,
			 pesad_keys[i].name, pesad_keys[i].otherwise);
		pesad_config_free(right(text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_has_the_defaults),
		cmocka_unit_test(values_have_their_units),
		cmocka_unit_test(a_comment_begins_behind_a_blank_only),
		cmocka_unit_test(errors_name_the_line),
		cmocka_unit_test(what_does_not_go_together_is_refused),
		cmocka_unit_test(addresses_are_split),
		cmocka_unit_test(every_default_is_a_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
