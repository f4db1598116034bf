/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What restore.c takes from answers, and restore_write.c puts into a file. */
#ifndef DECODER_FLEET_RESTORED_H
#define DECODER_FLEET_RESTORED_H

#include "decoder/fleet/fleet.h"
#include "decoder/fleet/native.h"
#include "decoder/fleet/restore.h"

#define RESTORED_TEXT_MAX   4095
#define RESTORED_CHAIN_MAX  2048
#define RESTORED_COUNTS_MAX 4096

/* What the records below begin with. */
struct restored_number {
	uint64_t number;
	bool known;
};

struct restored_record {
	uint64_t number;
	bool known;
	struct fleet_key key;
};

struct restored_binary {
	uint64_t number;
	bool known;
	uint8_t kind, build_id_size;
	uint8_t build_id[PESA_BUILD_ID_MAX];
	uint32_t path; /* number of a text */
	uint64_t base; /* kernel: where it was */
	/* Where it is put: offset `lowest` at `start`. */
	bool used;
	uint64_t lowest, highest, start, length;
};

/* The columns of the answer to query_binaries(). */
#define RESTORED_BINARY_COLUMNS 5
extern const enum native_type restored_binary_types[RESTORED_BINARY_COLUMNS];
struct pesa_error *restored_binary_read(const struct native_block *block, size_t row,
					struct distinct_bytes *texts,
					struct restored_binary *binary);

struct restored_chain {
	uint64_t number;
	bool known;
	uint32_t place; /* number of the list */
};

struct restored_event {
	uint64_t number;
	bool known;
	struct fleet_event event;
	unsigned int attribute;
};

struct restored_recordings {
	uint64_t count, hosts, services, samples, lost, left_out, damaged_records, damaged_bytes;
	uint32_t arch, capabilities, host, cpu, cpu_id, cmdline, service; /* texts */
	uint32_t begin, end;
};

struct restore {
	struct restored_recordings recordings;
	struct fleet_count *count;
	size_t counts;
	struct fleet_row *row; /* their keys are those of the records, when all are known */
	uint64_t *record;      /* by row: number of the record */
	size_t rows, room;
	uint64_t *sorted; /* numbers of records, ascending: of one part of the table at a time */
	uint64_t samples;
	struct distinct_bytes texts, places;
	struct distinct_records records, binaries, chains, events;
	size_t asked_records;
	uint32_t asked_binaries, asked_chains, asked_events;
};

#endif
