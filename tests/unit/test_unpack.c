// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compressed files as a stream: whatever they are packed with, however they are read, and wherever
 * they were cut, what comes out is what was put in, as far as it is there.
 */
#include <fcntl.h>
#include <lzma.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "decoder/base/unpack.h"
#include "tests/perfdata_builder.h"

/* ---- Packing --------------------------------------------------------------------------------- */

/* Text that shrinks to less than half, always the same. */
static struct bytes some_text(size_t size)
{
	struct bytes text = {0};
	uint64_t random = 88172645463325252ull;

	for (size_t i = 0; i < size; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		put8(&text, (uint8_t) "retired\n"[random >> 40 & 7]);
	}
	return text;
}

static void pack_plain(struct bytes *packed, const uint8_t *text, size_t size)
{
	put(packed, text, size);
}

static void pack_gzip(struct bytes *packed, const uint8_t *text, size_t size)
{
	uint8_t none = 0, *room;
	z_stream stream = {.next_in = size ? (uint8_t *)text : &none, .avail_in = (uInt)size};
	size_t bound;

	assert_int_equal(
		deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	bound = deflateBound(&stream, size);
	room = malloc(bound);
	stream.next_out = room;
	stream.avail_out = (uInt)bound;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	put(packed, room, bound - stream.avail_out);
	deflateEnd(&stream);
	free(room);
}

static void pack_zstd(struct bytes *packed, const uint8_t *text, size_t size)
{
	ZSTD_CCtx *compressor = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(size), done;
	uint8_t *room = malloc(bound);

	ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1);
	done = ZSTD_compress2(compressor, room, bound, text, size);
	assert_false(ZSTD_isError(done));
	put(packed, room, done);
	ZSTD_freeCCtx(compressor);
	free(room);
}

static void pack_xz_with(struct bytes *packed, const uint8_t *text, size_t size,
			 uint32_t dictionary)
{
	lzma_options_lzma options;
	lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
	size_t bound = lzma_stream_buffer_bound(size), done = 0;
	uint8_t *room = malloc(bound);

	assert_false(lzma_lzma_preset(&options, 0));
	options.dict_size = dictionary;
	assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC64, NULL, text, size,
						   room, &done, bound),
			 LZMA_OK);
	put(packed, room, done);
	free(room);
}

static void pack_xz(struct bytes *packed, const uint8_t *text, size_t size)
{
	pack_xz_with(packed, text, size, 65536);
}

static const struct packer {
	const char *name;
	void (*pack)(struct bytes *packed, const uint8_t *text, size_t size);
} packers[] = {
	{"plain", pack_plain},
	{"gzip", pack_gzip},
	{"zstd", pack_zstd},
	{"xz", pack_xz},
};

#define PACKERS (sizeof(packers) / sizeof(packers[0]))

/* ---- Unpacking ------------------------------------------------------------------------------- */

static struct pesa_unpack *open_path(const char *path)
{
	struct pesa_unpack *unpack = NULL;
	struct pesa_error *error = pesa_unpack_open(path, &unpack);

	if (error)
		fail_msg("%s", error->message);
	return unpack;
}

/* All that can be read, in pieces of at most so much; *damage: what was said of it. */
static struct bytes read_all(struct pesa_unpack *unpack, size_t piece, const char **damage)
{
	uint8_t *room = malloc(piece);
	struct bytes text = {0};
	size_t got;

	for (;;) {
		assert_null(pesa_unpack_read(unpack, room, piece, &got));
		assert_true(got <= piece);
		if (!got)
			break;
		put(&text, room, got);
	}
	/* The end stays the end. */
	*damage = pesa_unpack_damage(unpack);
	assert_null(pesa_unpack_read(unpack, room, piece, &got));
	assert_int_equal(got, 0);
	assert_ptr_equal(pesa_unpack_damage(unpack), *damage);
	free(room);
	return text;
}

/* The text of a file, read in pieces. */
static struct bytes unpack(const struct bytes *packed, size_t piece, const char **damage)
{
	char *path = save(packed->at, packed->size);
	struct pesa_unpack *unpack = open_path(path);
	uint64_t done = 0, total = 0;
	struct bytes text;

	pesa_unpack_progress(unpack, &done, &total);
	assert_int_equal(total, packed->size);
	assert_true(done <= total);
	text = read_all(unpack, piece, damage);
	pesa_unpack_progress(unpack, &done, &total);
	assert_int_equal(total, packed->size);
	if (!*damage)
		assert_int_equal(done, total);
	pesa_unpack_close(unpack);
	unlink(path);
	free(path);
	return text;
}

static void same(const struct bytes *text, const struct bytes *expected, size_t size)
{
	assert_int_equal(text->size, size);
	if (size)
		assert_memory_equal(text->at, expected->at, size);
}

static void what_was_packed_is_read_back(void **state)
{
	/* Around what is read and what is expanded at a time, and shorter than what tells a kind.
	 */
	static const size_t sizes[] = {0, 1, 2, 5, 6, 7, 65535, 65536, 65537, 131072, 400000};
	static const size_t pieces[] = {1, 7, 4096, 65536, 1 << 20};

	(void)state;
	for (size_t i = 0; i < PACKERS; i++)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++) {
				struct bytes text, packed = {0}, read;
				const char *damage;

				if (pieces[k] < 4096 && sizes[j] > 65536)
					continue; /* takes long, and is no other case */
				text = some_text(sizes[j]);
				packers[i].pack(&packed, text.at, text.size);
				read = unpack(&packed, pieces[k], &damage);
				assert_null(damage);
				same(&read, &text, text.size);
				free(read.at);
				free(packed.at);
				free(text.at);
			}
}

/* As `cat` makes them of several, an empty one among them. */
static void packed_files_behind_each_other_are_one(void **state)
{
	static const size_t borders[] = {0, 1000, 1000, 200000, 200003, 260000};
	const size_t parts = sizeof(borders) / sizeof(borders[0]) - 1;
	struct bytes text = some_text(borders[parts]);

	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct bytes packed = {0}, read;
		const char *damage;

		for (size_t j = 0; j < parts; j++) {
			packers[i].pack(&packed, text.at + borders[j], borders[j + 1] - borders[j]);
			/* Whole files so far: nothing is missing. */
			read = unpack(&packed, 3000, &damage);
			assert_null(damage);
			same(&read, &text, borders[j + 1]);
			free(read.at);
		}
		free(packed.at);
	}
	free(text.at);
}

static void what_is_cut_off_is_read_up_to_there(void **state)
{
	struct bytes text = some_text(5000);

	(void)state;
	for (size_t i = 1; i < PACKERS; i++) {
		struct bytes packed = {0}, read;
		const char *damage;
		size_t whole, before = 0;

		packers[i].pack(&packed, text.at, 2500);
		whole = packed.size;
		packers[i].pack(&packed, text.at + 2500, 2500);
		/* From where its first bytes tell what it is. */
		for (size_t size = 6; size < packed.size; size++) {
			const struct bytes cut = {.at = packed.at, .size = size};

			read = unpack(&cut, 4096, &damage);
			if (size == whole)
				assert_null(damage);
			else if (!damage || strcmp(damage, "its compressed data is cut off"))
				fail_msg("%s of %zu bytes, not %zu: %s", packers[i].name, size,
					 packed.size, damage ? damage : "no damage");
			assert_true(read.size >= before);
			if (size >= whole)
				assert_true(read.size >= 2500);
			before = read.size;
			same(&read, &text, read.size);
			free(read.at);
		}
		assert_true(before > 2500);
		free(packed.at);
	}
	free(text.at);
}

/* All three have a checksum of what was packed. */
static void a_flipped_bit_is_noticed(void **state)
{
	struct bytes text = some_text(200000);

	(void)state;
	for (size_t i = 1; i < PACKERS; i++) {
		struct bytes packed = {0}, read;
		const char *damage;

		packers[i].pack(&packed, text.at, text.size);
		for (size_t at = 100; at < packed.size; at += packed.size / 40) {
			packed.at[at] ^= 0x10;
			read = unpack(&packed, 1 << 20, &damage);
			if (!damage || strcmp(damage, "its compressed data is damaged"))
				fail_msg("%s, byte %zu: %s", packers[i].name, at,
					 damage ? damage : "no damage");
			packed.at[at] ^= 0x10;
			free(read.at);
		}
		/* What stands behind and is nothing that was packed. */
		put(&packed, "no frame", 8);
		read = unpack(&packed, 1 << 20, &damage);
		assert_non_null(damage);
		same(&read, &text, text.size);
		free(read.at);
		free(packed.at);
	}
	free(text.at);
}

/* Memory is limited, but not below what the best level of xz needs, a dictionary of 64 MiB. */
static void what_needs_too_much_memory_is_refused(void **state)
{
	struct bytes text = some_text(1000);

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct bytes packed = {0}, read;
		const char *damage;

		pack_xz_with(&packed, text.at, text.size, i ? 256u << 20 : 64u << 20);
		read = unpack(&packed, 4096, &damage);
		same(&read, &text, i ? 0 : text.size);
		assert_int_equal(!damage, !i);
		free(read.at);
		free(packed.at);
	}
	free(text.at);
}

/* ---- Standard input -------------------------------------------------------------------------- */

/* Standard input is this descriptor until stdin_is_over(). */
static int stdin_is(int descriptor)
{
	int own = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);

	assert_int_equal(dup2(descriptor, STDIN_FILENO), STDIN_FILENO);
	close(descriptor);
	return own;
}

static void stdin_is_over(int own)
{
	if (own < 0) {
		close(STDIN_FILENO);
		return;
	}
	assert_int_equal(dup2(own, STDIN_FILENO), STDIN_FILENO);
	close(own);
}

/* What comes in pieces, as through a pipe: each packet is one read(), the first shorter than what
 * tells a kind. */
static void standard_input_comes_in_pieces(void **state)
{
	struct bytes text = some_text(1000);

	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct bytes packed = {0}, read;
		const char *damage;
		struct pesa_unpack *unpack;
		uint64_t done, total = 1;
		int ends[2], own;

		packers[i].pack(&packed, text.at, text.size);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
		for (size_t at = 0, size; at < packed.size; at += size) {
			size = at < 12 ? 3 : 60;
			size = packed.size - at < size ? packed.size - at : size;
			assert_int_equal(write(ends[1], packed.at + at, size), size);
		}
		close(ends[1]);
		own = stdin_is(ends[0]);
		unpack = open_path("-");
		stdin_is_over(own);
		read = read_all(unpack, 4096, &damage);
		assert_null(damage);
		same(&read, &text, text.size);
		pesa_unpack_progress(unpack, &done, &total);
		assert_int_equal(done, packed.size);
		assert_int_equal(total, 0);
		pesa_unpack_close(unpack);
		free(read.at);
		free(packed.at);
	}
	free(text.at);
}

static int signal_writes_to;

static void write_from_signal(int number)
{
	(void)number;
	if (write(signal_writes_to, "interrupted", 11) != 11)
		abort();
	close(signal_writes_to);
}

/* A signal comes while a pipe that is empty is waited for. */
static void reading_goes_on_behind_a_signal(void **state)
{
	const struct sigaction action = {.sa_handler = write_from_signal};
	const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
	const char *damage;
	struct sigaction before;
	struct pesa_unpack *unpack;
	struct bytes read;
	int ends[2], own;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	signal_writes_to = ends[1];
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	own = stdin_is(ends[0]);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	unpack = open_path("-");
	stdin_is_over(own);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	read = read_all(unpack, 4096, &damage);
	assert_null(damage);
	assert_int_equal(read.size, 11);
	assert_memory_equal(read.at, "interrupted", 11);
	pesa_unpack_close(unpack);
	free(read.at);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void what_cannot_be_read_is_an_error(void **state)
{
	struct pesa_unpack *unpack = NULL;
	struct pesa_error *error = pesa_unpack_open("/nonexistent/file", &unpack);

	(void)state;
	assert_int_equal(error->code, PESA_ERROR_SYSTEM);
	assert_non_null(strstr(error->message, "/nonexistent/file"));
	pesa_error_free(error);
	error = pesa_unpack_open("/tmp", &unpack);
	assert_int_equal(error->code, PESA_ERROR_SYSTEM);
	assert_non_null(strstr(error->message, "/tmp: cannot be read"));
	pesa_error_free(error);
	assert_null(unpack);
	pesa_unpack_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_packed_is_read_back),
		cmocka_unit_test(packed_files_behind_each_other_are_one),
		cmocka_unit_test(what_is_cut_off_is_read_up_to_there),
		cmocka_unit_test(a_flipped_bit_is_noticed),
		cmocka_unit_test(what_needs_too_much_memory_is_refused),
		cmocka_unit_test(standard_input_comes_in_pieces),
		cmocka_unit_test(reading_goes_on_behind_a_signal),
		cmocka_unit_test(what_cannot_be_read_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
