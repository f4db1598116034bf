/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings in a database of many machines, and back.
 *
 * A recording has few distinct samples.  collect.c counts them: in place of run-time addresses, which
 * differ from process to process, a row has binaries and offsets in them, so that samples of all
 * machines that run the same build are equal.  blocks.c makes of that what the database ClickHouse
 * takes: one block of its format Native (native.h) for each table of the schema (schema.h).
 * restore.c does the reverse: rows that the database added up become a file with counted records
 * (pesa/record.h), which has one address space for all of them, and which every command reads as any
 * other recording.
 *
 * A recording counts once, however often it is sent and whatever of that failed.  Each attempt to send
 * it has a random number, which stands in each of its rows, and the last thing that is sent is a row of
 * the table `recordings` with the digest of the recording and that number.  Who reads takes, of each
 * digest, the rows of the smallest number that stands there: rows of attempts that were not
 * completed, and those of repeated ones, are never counted.
 *
 * Nothing here knows of networks: the daemon and the program `pesa store` send.
 */
#ifndef DECODER_FLEET_FLEET_H
#define DECODER_FLEET_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/base/distinct.h"
#include "decoder/perfdata/buffer.h"
#include "pesa/error.h"
#include "pesa/event.h"
#include "pesa/record.h"

/* Offsets in this "binary" are addresses that were in no mapping, and the marks in call chains. */
#define FLEET_NO_BINARY 0

/* What is longer is cut off. */
#define FLEET_TEXT_MAX 4095

/* A number of the database is the hash of what it stands for, and never 0. */
struct fleet_binary {
	uint64_t number;
	uint64_t base; /* kernel: the run-time address where it was; else 0 */
	uint32_t path; /* number of a text */
	uint8_t kind;  /* enum pesa_dso_kind */
	uint8_t build_id_size;
	uint8_t build_id[PESA_BUILD_ID_MAX];
};

struct fleet_event {
	uint64_t number;
	uint64_t config, period; /* period: a frequency if `is_frequency` */
	uint32_t type;
	uint32_t name; /* number of a text */
	bool is_frequency;
	uint8_t precise;
};

/* A place: a binary by its number in the database, and the offset in its file. */
struct fleet_place {
	uint64_t binary, offset;
};

/* What equal samples have in common; no padding. */
struct fleet_key {
	uint64_t event;
	uint64_t details;
	struct fleet_place pc, target[2];
	uint64_t branches, chain; /* numbers of chains; 0: none */
	uint32_t time;		  /* s since 1970, when the bucket began */
	uint32_t process, thread; /* names: numbers of texts */
	uint16_t flags;		  /* PESA_RECORD_*, the low half */
	uint8_t xlen;
	uint8_t kind; /* enum pesa_counted_kind, and FLEET_EXACT_PC */
};
#define FLEET_EXACT_PC 0x80

struct fleet_row {
	struct fleet_key key;
	uint64_t samples, periods, lost;
	double periods_squared;
};

/* A list of places; branches are pairs of them. */
struct fleet_chain {
	uint64_t number;
	uint32_t place; /* number in `places`: an array of struct fleet_place */
};

struct fleet_count {
	uint32_t name; /* number of a text */
	uint64_t value;
};

/* A recording, counted. */
struct fleet_recording {
	char digest[33];  /* of the file, hexadecimal */
	uint64_t attempt; /* the random number of an attempt to send it; 0: none yet */
	uint64_t core;	  /* the hash of what has to be equal for cycles to be comparable */
	/* Texts by number; "" where the file does not tell. */
	uint32_t host, os_release, cmdline, arch, cpu, cpu_id;
	uint32_t capabilities; /* "NAME=VALUE", one a line; "": none are known */
	uint32_t cpus;
	uint32_t begin, end; /* s since 1970 */
	uint64_t samples, lost;
	uint64_t damaged_records, damaged_bytes, left_out;
	struct fleet_count *count;
	size_t counts;

	struct distinct_bytes texts, places;
	struct distinct_records rows;	  /* struct fleet_row */
	struct distinct_records binaries; /* struct fleet_binary, by number */
	struct distinct_records chains;	  /* struct fleet_chain, by number */
	struct distinct_records events;	  /* struct fleet_event, by number */
};

struct fleet_collect_options {
	const char *symbol_root; /* as of struct pesa_profile_options, for copies of stacks */
	uint32_t bucket;	 /* s; rows of a longer recording are divided */
	uint32_t begin;		 /* s since 1970; 0: as the name or the age of the file tells */
};

#define FLEET_BUCKET 600

/* ---- collect.c ------------------------------------------------------------------------------- */

/* Read a recording.  It is freed with fleet_recording_free(), also after an error. */
struct pesa_error *fleet_collect(const char *path, const struct fleet_collect_options *options,
				 struct fleet_recording *recording);
void fleet_recording_free(struct fleet_recording *recording);

static inline const char *fleet_text(const struct fleet_recording *recording, uint32_t number)
{
	return distinct_text_at(&recording->texts, number);
}

/* ---- blocks.c -------------------------------------------------------------------------------- */

/* In the order in which they are sent: what rows refer to, rows, and what makes them count. */
enum fleet_table {
	FLEET_BINARIES,
	FLEET_CHAINS,
	FLEET_EVENTS,
	FLEET_HOSTS,
	FLEET_SAMPLES,
	FLEET_RECORDINGS,
	FLEET_TABLES,
};

struct fleet_blocks {
	struct fleet_block {
		uint32_t rows; /* 0: there is nothing to send */
		struct perfdata_buffer bytes;
		size_t attempt; /* offset of the numbers of the attempt, one a row; 0: none */
	} table[FLEET_TABLES];
};

/* What the database has of the tables whose rows say what a number stands for: one row of each number is
 * enough. */
#define FLEET_NUMBERED (FLEET_EVENTS + 1)
struct fleet_sent {
	struct distinct_records numbers[FLEET_NUMBERED]; /* uint64_t, by table */
};
void fleet_sent_begin(struct fleet_sent *sent);
void fleet_sent_free(struct fleet_sent *sent);

/* Make the blocks of recordings of a service.  Numbers in `sent` get no row, others are added to it: it
 * has to be forgotten when their rows do not arrive.  NULL: each gets a row.  The blocks are freed with
 * fleet_blocks_free(), also after an error. */
struct pesa_error *fleet_blocks_make(const struct fleet_recording *recordings, size_t count,
				     const char *service, struct fleet_sent *sent,
				     struct fleet_blocks *blocks);
void fleet_blocks_free(struct fleet_blocks *blocks);
/* Put the number of an attempt into the rows; `bytes` are those of the block. */
void fleet_block_set_attempt(const struct fleet_block *block, uint8_t *bytes, uint64_t attempt);
/* "samples (service, host, ...)", for INSERT INTO. */
const char *fleet_table_columns(enum fleet_table table);
const char *fleet_table_name(enum fleet_table table);

#endif
