/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is sent to a database and comes from it: texts in statements, blocks, parcels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/fleet/native.h"
#include "decoder/fleet/parcel.h"
#include "decoder/fleet/schema.h"

static void assert_quoted(const char *text, const char *expected)
{
	struct perfdata_buffer sql = {0};

	sql_quote(&sql, text);
	perfdata_buffer_append(&sql, "", 1);
	assert_string_equal((const char *)sql.bytes, expected);
	perfdata_buffer_free(&sql);
}

static void test_no_character_of_a_value_has_a_meaning_in_sql(void **state)
{
	(void)state;
	assert_quoted("web_1", "'web_1'");
	assert_quoted("", "''");
	assert_quoted("' OR 1=1 --", "'\\x27\\x20OR\\x201\\x3D1\\x20\\x2D\\x2D'");
	assert_quoted("\\'", "'\\x5C\\x27'");
	assert_quoted("\xc3\xa4", "'\\xC3\\xA4'");
}

static void test_names_are_letters_digits_and_underscores(void **state)
{
	(void)state;
	assert_true(sql_is_name("pesa_2"));
	assert_false(sql_is_name(""));
	assert_false(sql_is_name("2pesa"));
	assert_false(sql_is_name("a.b"));
	assert_false(sql_is_name("a b"));
	assert_false(sql_is_name("`a`"));
	assert_false(sql_is_name(
		"a23456789012345678901234567890123456789012345678901234567890123456789"));
}

static void make_block(struct perfdata_buffer *bytes)
{
	native_begin(bytes, 4, 2);
	native_column(bytes, "number", "UInt64");
	native_u64(bytes, UINT64_MAX);
	native_u64(bytes, 7);
	native_column(bytes, "text", "String");
	native_text(bytes, "abc", 3);
	native_text(bytes, "", 0);
	native_column(bytes, "time", "DateTime('UTC')");
	native_u32(bytes, 5);
	native_u32(bytes, 6);
	native_column(bytes, "list", "Array(UInt64)");
	native_u64(bytes, 1);
	native_u64(bytes, 3);
	for (uint64_t i = 10; i < 13; i++)
		native_u64(bytes, i);
	assert_false(bytes->failed);
}

static const enum native_type types[] = {NATIVE_U64, NATIVE_STRING, NATIVE_U32, NATIVE_U64_LIST};

static void test_a_block_is_read_as_it_was_written(void **state)
{
	struct perfdata_buffer bytes = {0};
	struct native_reader reader;
	struct native_block block;
	size_t first;
	bool any;

	(void)state;
	make_block(&bytes);
	reader = (struct native_reader){bytes.bytes, bytes.bytes, bytes.bytes + bytes.size};
	assert_null(native_read(&reader, types, 4, &block, &any));
	assert_true(any);
	assert_int_equal(block.rows, 2);
	assert_true(native_number(&block, 0, 0) == UINT64_MAX);
	assert_int_equal(native_number(&block, 0, 1), 7);
	assert_int_equal(native_string(&block, 1, 0).size, 3);
	assert_memory_equal(native_string(&block, 1, 0).bytes, "abc", 3);
	assert_int_equal(native_string(&block, 1, 1).size, 0);
	assert_int_equal(native_number(&block, 2, 1), 6);
	assert_int_equal(native_list(&block, 3, 0, &first), 1);
	assert_int_equal(native_list(&block, 3, 1, &first), 2);
	assert_int_equal(native_list_number(&block, 3, first + 1), 12);
	native_block_free(&block);
	assert_null(native_read(&reader, types, 4, &block, &any));
	assert_false(any);
	perfdata_buffer_free(&bytes);
}

static void test_a_block_that_is_cut_off_anywhere_is_an_error(void **state)
{
	struct perfdata_buffer bytes = {0};

	(void)state;
	make_block(&bytes);
	for (size_t size = 1; size < bytes.size; size++) {
		uint8_t *cut = malloc(size); /* so that a sanitizer sees what reads beyond */
		struct native_reader reader = {cut, cut, cut + size};
		struct native_block block;
		struct pesa_error *error;
		bool any;

		assert_non_null(cut);
		memcpy(cut, bytes.bytes, size);
		error = native_read(&reader, types, 4, &block, &any);
		assert_non_null(error);
		pesa_error_free(error);
		native_block_free(&block);
		free(cut);
	}
	perfdata_buffer_free(&bytes);
}

static void test_columns_of_another_type_or_number_are_an_error(void **state)
{
	const enum native_type other[] = {NATIVE_U64, NATIVE_U64, NATIVE_U32, NATIVE_U64_LIST};
	struct perfdata_buffer bytes = {0};
	struct pesa_error *error;
	struct native_reader reader;
	struct native_block block;
	bool any;

	(void)state;
	make_block(&bytes);
	reader = (struct native_reader){bytes.bytes, bytes.bytes, bytes.bytes + bytes.size};
	error = native_read(&reader, other, 4, &block, &any);
	assert_non_null(error);
	assert_non_null(strstr(error->message, "String"));
	pesa_error_free(error);
	native_block_free(&block);
	reader.at = reader.begin;
	error = native_read(&reader, types, 3, &block, &any);
	assert_non_null(error);
	pesa_error_free(error);
	native_block_free(&block);
	perfdata_buffer_free(&bytes);
}

/* Blocks of one row each, whose numbers of the attempt are at their end. */
static void make_blocks(struct fleet_blocks *blocks)
{
	*blocks = (struct fleet_blocks){0};
	for (unsigned int i = 0; i < FLEET_TABLES; i++) {
		struct fleet_block *block = &blocks->table[i];

		block->rows = 1;
		native_u64(&block->bytes, i);
		block->attempt = i == FLEET_SAMPLES ? block->bytes.size : 0;
		native_u64(&block->bytes, 0);
	}
}

static void test_a_parcel_has_the_blocks_that_were_put_into_it(void **state)
{
	struct fleet_blocks blocks, read;
	char *bytes = NULL;
	size_t size = 0;
	uint64_t attempt;
	FILE *out = open_memstream(&bytes, &size);

	(void)state;
	make_blocks(&blocks);
	assert_null(parcel_write(&blocks, out));
	fclose(out);
	assert_null(parcel_read(bytes, size, &read));
	for (unsigned int i = 0; i < FLEET_TABLES; i++) {
		fleet_block_set_attempt(&read.table[i], read.table[i].bytes.bytes, 99);
		memcpy(&attempt, read.table[i].bytes.bytes + sizeof(attempt), sizeof(attempt));
		assert_int_equal(attempt, i == FLEET_SAMPLES ? 99 : 0);
		assert_memory_equal(read.table[i].bytes.bytes, blocks.table[i].bytes.bytes,
				    sizeof(attempt));
	}
	fleet_blocks_free(&read);
	for (size_t i = 0; i < size; i++) { /* the checksum sees every change */
		struct pesa_error *error;

		bytes[i] ^= 0x04;
		error = parcel_read(bytes, size, &read);
		assert_non_null(error);
		pesa_error_free(error);
		fleet_blocks_free(&read);
		bytes[i] ^= 0x04;
	}
	fleet_blocks_free(&blocks);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_character_of_a_value_has_a_meaning_in_sql),
		cmocka_unit_test(test_names_are_letters_digits_and_underscores),
		cmocka_unit_test(test_a_block_is_read_as_it_was_written),
		cmocka_unit_test(test_a_block_that_is_cut_off_anywhere_is_an_error),
		cmocka_unit_test(test_columns_of_another_type_or_number_are_an_error),
		cmocka_unit_test(test_a_parcel_has_the_blocks_that_were_put_into_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
