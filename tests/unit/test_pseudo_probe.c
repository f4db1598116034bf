// SPDX-License-Identifier: GPL-2.0-or-later
/* Pseudo probes (decoder/binary/pseudo_probe.h), of sections written byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/binary/pseudo_probe.h"

#define GUID(n) (n), 0, 0, 0, 0, 0, 0, 0
#define BLOCK	0x80 /* with a distance */
#define CALL	0x82

static const uint8_t descriptions[] = {
	GUID(2), GUID(77), 5, 'i', 'n', 'n', 'e', 'r', GUID(1), 0xff, 0xff,
	0xff,	 0xff,	   0, 0,   0,	0,   4,	  'm', 'a',	'i',  'n',
};

/* Where a function begins: only that of main is known. */
static struct pesa_error *locate(void *context, const char *name, uint64_t *address, bool *found)
{
	(void)context;
	*found = !strcmp(name, "main");
	*address = 0x1000;
	return NULL;
}

static void read_all(const uint8_t *section, size_t size, struct pseudo_probes *probes)
{
	assert_null(pseudo_probes_read(descriptions, sizeof(descriptions), section, size, locate,
				       NULL, probes));
}

static void descriptions_have_name_and_checksum(void **state)
{
	struct pseudo_probes probes;

	(void)state;
	read_all(NULL, 0, &probes);
	assert_int_equal(probes.functions, 2);
	assert_string_equal(probes.function[0].name, "main");
	assert_true(probes.function[0].checksum == 0xffffffff);
	assert_string_equal(probes.function[1].name, "inner");
	assert_true(probes.function[1].checksum == 77);
	assert_false(probes.damaged);
	pseudo_probes_free(&probes);
}

/* main: block 1 at its begin, call 3 at +16, block 2 at +8; inner, inlined at 3: block 1 at +12. */
static void distances_are_from_the_probe_before(void **state)
{
	static const uint8_t section[] = {GUID(1), 3,	 1, 1,	     BLOCK, 0, 3, CALL,	 16, 2,
					  BLOCK,   0x78, 3, GUID(2), 1,	    0, 1, BLOCK, 4};
	struct pseudo_probes probes;

	(void)state;
	read_all(section, sizeof(section), &probes);
	assert_false(probes.damaged);
	assert_int_equal(probes.count, 4);
	assert_int_equal(probes.bodies, 2);
	assert_true(probes.probe[0].address == 0x1000 && probes.probe[0].number == 1);
	assert_true(probes.probe[1].address == 0x1008 && probes.probe[1].number == 2);
	assert_true(probes.probe[2].address == 0x100c && probes.probe[2].body == 1);
	assert_true(probes.probe[3].address == 0x1010 && probes.probe[3].call);
	assert_false(probes.probe[2].call);
	assert_int_equal(probes.body[1].parent, 0);
	assert_int_equal(probes.body[1].call, 3);
	assert_int_equal(probes.body[1].function, 1);
	assert_int_equal(pseudo_probes_from(&probes, 0x1001), 1);
	assert_int_equal(pseudo_probes_from(&probes, 0x2000), 4);
	pseudo_probes_free(&probes);
}

/* A part of a function elsewhere: the sentinel has an address of 64 bits. */
static void a_sentinel_has_the_address_of_a_part(void **state)
{
	static const uint8_t section[] = {GUID(2), 2, 0, 0, 0x20, 0, 0x30, 0, 0, 0, 0, 0, 0,
					  /* a discriminator behind the address */
					  7, BLOCK | 0x40, 2, 9};
	struct pseudo_probes probes;

	(void)state;
	read_all(section, sizeof(section), &probes);
	assert_false(probes.damaged);
	assert_int_equal(probes.count, 1);
	assert_true(probes.probe[0].address == 0x3002 && probes.probe[0].number == 7);
	pseudo_probes_free(&probes);
}

static void probes_of_a_function_without_address_are_lost(void **state)
{
	static const uint8_t section[] = {GUID(2), 1, 0, 1, BLOCK, 0, GUID(1), 1, 0, 1, BLOCK, 6};
	struct pseudo_probes probes;

	(void)state;
	read_all(section, sizeof(section), &probes);
	assert_int_equal(probes.lost, 1);
	assert_int_equal(probes.count, 1);
	assert_true(probes.probe[0].address == 0x1006);
	pseudo_probes_free(&probes);
}

/* Every beginning of good sections is read without harm, and says that it is none where one is cut. */
static void what_is_cut_off_is_damaged(void **state)
{
	static const uint8_t section[] = {GUID(1), 2, 1,       1, BLOCK, 0, 3,	   CALL,
					  16,	   3, GUID(2), 1, 0,	 1, BLOCK, 4};

	(void)state;
	for (size_t size = 0; size <= sizeof(section); size++) {
		struct pseudo_probes probes;

		read_all(section, size, &probes);
		assert_int_equal(probes.damaged, size && size < sizeof(section));
		pseudo_probes_free(&probes);
	}
	for (size_t size = 0; size < sizeof(descriptions); size++) {
		struct pseudo_probes probes;

		assert_null(pseudo_probes_read(descriptions, size, NULL, 0, locate, NULL, &probes));
		assert_int_equal(probes.damaged, size && size != 22);
		pseudo_probes_free(&probes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptions_have_name_and_checksum),
		cmocka_unit_test(distances_are_from_the_probe_before),
		cmocka_unit_test(a_sentinel_has_the_address_of_a_part),
		cmocka_unit_test(probes_of_a_function_without_address_are_lost),
		cmocka_unit_test(what_is_cut_off_is_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
