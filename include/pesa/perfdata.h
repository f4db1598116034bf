/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data: the only container.
 *
 * The format is perf's (tools/perf/Documentation/perf.data-file-format.txt and
 * include/uapi/linux/perf_event.h in the kernel source): a header, attributes, a stream of records,
 * feature sections; or, in pipe mode, a stream of records only.  The reader takes what stock perf
 * writes (files, pipes, zstd-compressed records, other machines' architectures of either byte order)
 * and hands out events in time order, as perf does with FINISHED_ROUND.  The writer makes files that
 * stock perf reads without a warning.
 *
 * A damaged file is read up to the damage; what was lost is counted in struct pesa_perfdata_losses,
 * never dropped silently.
 */
#ifndef PESA_PERFDATA_H
#define PESA_PERFDATA_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/capabilities.h"
#include "pesa/error.h"
#include "pesa/record.h"

/* ---- Events, as both reader and writer see them -------------------------------------------- */

struct pesa_branch_entry {	/* PERF_SAMPLE_BRANCH_STACK, newest first */
	uint64_t from, to, flags;
};

struct pesa_sample {
	uint64_t ip, time, address, id, stream_id, period, weight;
	uint32_t pid, tid, cpu;
	uint32_t attribute;		/* index of the attribute it belongs to */
	bool exact_ip;			/* PERF_RECORD_MISC_EXACT_IP */
	const uint8_t *raw;		/* PERF_SAMPLE_RAW payload, unaligned; NULL: none */
	uint32_t raw_size;		/* bytes, perf's padding included */
	const uint8_t *branches;	/* struct pesa_branch_entry[], unaligned; NULL: none */
	uint64_t branch_count;
	const uint8_t *callchain;	/* uint64_t[], unaligned; NULL: none */
	uint64_t callchain_count;
	/* PERF_SAMPLE_REGS_USER of 64 bit and PERF_SAMPLE_STACK_USER, of this byte order: the program's
	 * registers and a copy of its stack from the stack pointer on.  Read only, not written. */
	const uint8_t *registers;	/* uint64_t[], one for each bit of the mask, unaligned; NULL: none */
	uint64_t register_mask;
	const uint8_t *stack;		/* NULL: none */
	uint64_t stack_size;		/* bytes */
};

#define PESA_BUILD_ID_MAX 20

struct pesa_mmap {
	uint32_t pid, tid;		/* pid -1: the kernel */
	uint64_t address, length, offset; /* bytes; offset is the file's */
	uint32_t protection, flags;
	bool data;			/* PERF_RECORD_MISC_MMAP_DATA: not executable */
	uint8_t build_id_size;		/* 0: unknown */
	uint8_t build_id[PESA_BUILD_ID_MAX];
	const char *path;		/* terminated; valid until the next event is read */
};

struct pesa_event {
	uint32_t type;			/* PERF_RECORD_* */
	uint16_t misc;			/* PERF_RECORD_MISC_* */
	uint64_t time;			/* ns; 0 where the record has none */
	uint64_t offset;		/* of the record in the file, for messages */
	const uint8_t *record;		/* the whole record with its header, in the file's byte order */
	union {
		struct pesa_sample sample;			/* PERF_RECORD_SAMPLE */
		struct pesa_mmap mmap;				/* PERF_RECORD_MMAP, _MMAP2 */
		struct {
			uint32_t pid, tid;
			bool exec;				/* PERF_RECORD_MISC_COMM_EXEC */
			const char *name;
		} comm;						/* PERF_RECORD_COMM */
		struct {
			uint32_t pid, parent_pid, tid, parent_tid;
		} task;						/* PERF_RECORD_FORK, _EXIT */
		struct {
			uint64_t count;
		} lost;						/* PERF_RECORD_LOST, _LOST_SAMPLES */
		struct {
			uint32_t pid;				/* of the process whose memory it is */
			uint64_t address;
			const uint8_t *bytes;			/* that are there from now on */
			uint32_t size;
		} text;						/* PERF_RECORD_TEXT_POKE of user mode */
		struct {
			const uint8_t *bytes;			/* whole record with its header */
			uint32_t size;
		} other;					/* everything else, TEXT_POKE of the kernel too */
	};
};

/* ---- Reader -------------------------------------------------------------------------------- */

struct pesa_perfdata;

struct pesa_attribute {
	struct perf_event_attr attr;
	const char *name;		/* from the event description, else made from type and config */
	const uint64_t *ids;
	uint32_t id_count;
};

/* Whether it is an event of the PMU pesa: its samples come from the registers of Sspesa. */
bool pesa_attribute_is_own(const struct pesa_attribute *attribute);
/* Whether the PC of its samples is the register's, exact, also where the recorder did not mark it. */
bool pesa_attribute_has_exact_pc(const struct pesa_attribute *attribute);

struct pesa_perfdata_losses {
	uint64_t lost;			/* samples the kernel or the hardware reported as lost */
	uint64_t throttled;		/* PERF_RECORD_THROTTLE records */
	uint64_t damaged_records;	/* records that could not be read and were passed over */
	uint64_t damaged_bytes;		/* bytes that could not be read, a cut-off end included */
	char *damage;			/* what the first damage was, and at which offset; NULL: none */
};

/* Open a file, or standard input for "-".  The reader is owned by the caller. */
struct pesa_error *pesa_perfdata_open(const char *path, struct pesa_perfdata **reader);
void pesa_perfdata_close(struct pesa_perfdata *reader);

/*
 * The next event in time order.  Returns 1 with *event filled (pointers valid until the next call),
 * 0 at the end.  Damage is not an error: reading goes on where that is possible, see the losses.
 */
int pesa_perfdata_next(struct pesa_perfdata *reader, struct pesa_event *event);

/*
 * Samples that end with a raw payload and have only fields of fixed size before it are most of a
 * recording of ours.  pesa_perfdata_next() offers each of them to `take` first, in its place in
 * time order; when that returns true the sample is done with, otherwise it is returned as an event.
 * `period` is 0 where neither the sample nor its attribute has one; `raw` is unaligned.
 */
struct pesa_raw_sample {
	uint32_t attribute, pid, tid;
	uint32_t raw_size;	/* bytes, perf's padding included */
	const uint8_t *raw;	/* valid during the call */
	uint64_t period;
};

typedef bool (*pesa_raw_sample_function)(void *context, const struct pesa_raw_sample *sample);

void pesa_perfdata_offer_raw(struct pesa_perfdata *reader, pesa_raw_sample_function take,
			     void *context);

unsigned int pesa_perfdata_attribute_count(const struct pesa_perfdata *reader);
const struct pesa_attribute *pesa_perfdata_attribute(const struct pesa_perfdata *reader,
						     unsigned int index);
const struct pesa_perfdata_losses *pesa_perfdata_losses(const struct pesa_perfdata *reader);

/* From the feature sections; valid after opening (file) or as far as read (pipe).  NULL: absent. */
const char *pesa_perfdata_arch(const struct pesa_perfdata *reader);	/* "riscv64", "x86_64" */
const char *pesa_perfdata_hostname(const struct pesa_perfdata *reader);
/* The processor by which event files are found: mvendorid-marchid-mimpid on RISC-V. */
const char *pesa_perfdata_cpu_id(const struct pesa_perfdata *reader);
const char *pesa_perfdata_cmdline(const struct pesa_perfdata *reader);	/* words joined by spaces */
/* Capabilities of the PMU that took the samples; NULL when the file names none. */
const struct pesa_capabilities *pesa_perfdata_capabilities(const struct pesa_perfdata *reader);
/*
 * What was counted over the whole recording, event by event; beside the capabilities, where stock
 * perf keeps them too (as those of a PMU "pesa_counts").  Names live as long as the reader.
 */
struct pesa_count {
	const char *event; /* "TOPDOWN.SLOTS" */
	uint64_t value;
};
const struct pesa_count *pesa_perfdata_counts(const struct pesa_perfdata *reader, size_t *count);
/* Of the machine that recorded; NULL, 0: the file does not tell. */
const char *pesa_perfdata_os_release(const struct pesa_perfdata *reader);
const char *pesa_perfdata_cpu_description(const struct pesa_perfdata *reader);
unsigned int pesa_perfdata_cpus(const struct pesa_perfdata *reader);
/* Whether the file is of the other byte order than this machine. */
bool pesa_perfdata_swapped(const struct pesa_perfdata *reader);

/*
 * A merged file (merge.h) says of each recording in it where it came from and how it was changed, as
 * names and values; beside the capabilities too, as those of a PMU "pesa_recording" for each.  Valid
 * as long as the reader.
 */
struct pesa_fact {
	const char *name, *value;
};
struct pesa_recording {
	const struct pesa_fact *fact;
	size_t facts;
};
const struct pesa_recording *pesa_perfdata_recordings(const struct pesa_perfdata *reader,
						      size_t *count);
/* The value of a name; NULL: there is none. */
const char *pesa_recording_fact(const struct pesa_recording *recording, const char *name);

/* Build id from the feature section for this path, for maps that lack one; false if absent.  Of a
 * merged file all that is known stands in the maps: one path may be different files. */
bool pesa_perfdata_build_id(const struct pesa_perfdata *reader, const char *path,
			    uint8_t build_id[PESA_BUILD_ID_MAX], uint8_t *size);

/* How far reading is: bytes read and bytes in all (0: unknown, a pipe). */
void pesa_perfdata_progress(const struct pesa_perfdata *reader, uint64_t *done, uint64_t *total);

/* ---- Writer -------------------------------------------------------------------------------- */

struct pesa_perfdata_writer;

struct pesa_perfdata_writer_attribute {
	struct perf_event_attr attr;	/* as opened; sample_type decides what samples carry */
	const char *name;		/* e.g. "pesa/cycles/" */
	const uint64_t *ids;		/* as the kernel gave them (PERF_EVENT_IOC_ID); NULL: one is made */
	uint32_t id_count;
};

#define PESA_PERFDATA_COMPRESSION 3	/* a level that serves: see Documentation/perf-data.md */
#define PESA_PERFDATA_COMPRESSION_MAX 22	/* zstd's */

/* The machine that recorded, where it is not this one. */
struct pesa_perfdata_machine {
	const char *hostname, *os_release;	/* NULL: none is named */
};

struct pesa_perfdata_writer_options {
	const struct pesa_perfdata_writer_attribute *attributes;
	unsigned int attribute_count;
	int compression;		/* zstd level 1..PESA_PERFDATA_COMPRESSION_MAX, 0: none */
	const char *pmu;		/* name of the PMU that the capabilities are of; NULL: "pesa" */
	const char *arch;		/* "riscv64" */
	const char *cpu_description;	/* free text, NULL: none */
	const char *cpu_id;		/* mvendorid-marchid-mimpid; NULL: the capabilities' model */
	char *const *command;		/* argv of the recording command, NULL-terminated */
	const struct pesa_capabilities *capabilities;	/* NULL: none */
	unsigned int cpus;		/* for NRCPUS and the topology */
	const struct pesa_perfdata_machine *machine;	/* NULL: this one */
	const struct pesa_recording *recordings;	/* of a merged file */
	size_t recording_count;
	/* The same calls give the same bytes: rounds do not flush, however much time has passed. */
	bool reproducible;
	bool keep_previous;		/* a file of that name becomes FILE.old first */
};

/* Create `path`; "-" is standard output.  That, and what cannot be positioned (a named pipe,
 * /dev/fd/N of a pipe), gets the pipe format.  Nothing of `options` is kept by reference. */
struct pesa_error *pesa_perfdata_writer_create(const char *path,
					       const struct pesa_perfdata_writer_options *options,
					       struct pesa_perfdata_writer **writer);
/* Whether what is written to `path` goes where standard output does: "-", or /dev/stdout and its
 * like, if that is a pipe or a file. */
bool pesa_perfdata_is_standard_output(const char *path);

/*
 * Append one event.  Sample ids are filled in from `attribute` (its first id).  Samples carry what the
 * attribute's sample_type says; side-band records the fields of sample_id_all (pid, tid, time, cpu,
 * id) of the first attribute.  No record can be larger than 65535 bytes: what does not fit is an
 * error, and nothing of it is written.
 */
struct pesa_error *pesa_perfdata_write_sample(struct pesa_perfdata_writer *writer,
					      const struct pesa_sample *sample, uint16_t misc);
struct pesa_error *pesa_perfdata_write_mmap(struct pesa_perfdata_writer *writer,
					    const struct pesa_mmap *mmap, uint64_t time);
struct pesa_error *pesa_perfdata_write_comm(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t tid, const char *name, bool exec, uint64_t time);
struct pesa_error *pesa_perfdata_write_fork(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t parent_pid, uint32_t tid, uint32_t parent_tid,
					    uint64_t time);
struct pesa_error *pesa_perfdata_write_exit(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t parent_pid, uint32_t tid, uint32_t parent_tid,
					    uint64_t time);
/* Bytes of code that a process made are at `address` from now on: at most PESA_PERFDATA_TEXT_MAX. */
#define PESA_PERFDATA_TEXT_MAX 32768
struct pesa_error *pesa_perfdata_write_text(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t tid, uint64_t address, const void *bytes,
					    size_t size, uint64_t time);
struct pesa_error *pesa_perfdata_write_lost(struct pesa_perfdata_writer *writer, unsigned int attribute,
					    uint64_t count, uint64_t time);
/* Append a record as the kernel made it (header included), e.g. from a ring buffer. */
struct pesa_error *pesa_perfdata_write_raw(struct pesa_perfdata_writer *writer, const void *record,
					   size_t size);
/*
 * An exact record (record.h) of one static instruction, as samples of sample->attribute: several of
 * them when the entries do not fit into one.  `executions` stands in the first only, so that
 * everything that the records of one instruction say adds up.  ip is `pc`, the period the cycles of
 * the record's buckets, so that stock perf shows them too; `sample` gives the rest.
 */
struct pesa_error *pesa_perfdata_write_exact(struct pesa_perfdata_writer *writer,
					     const struct pesa_sample *sample, uint16_t misc,
					     uint8_t xlen, uint64_t pc, uint64_t executions,
					     const struct pesa_exact_bucket *buckets,
					     size_t bucket_count,
					     const struct pesa_exact_transfer *transfers,
					     size_t transfer_count);
/*
 * FINISHED_ROUND: whatever is written after the next round is not older than what was written before
 * this one.  Readers sort and hand out at rounds, so call it whenever all rings have been drained:
 * memory for reading grows with the largest round.  Also flushes when the last flush was over a
 * second ago.
 */
struct pesa_error *pesa_perfdata_write_round(struct pesa_perfdata_writer *writer);
/* Hand everything to the operating system: what a killed recorder leaves is readable up to here. */
struct pesa_error *pesa_perfdata_writer_flush(struct pesa_perfdata_writer *writer);

/* Something that was counted over the whole recording.  Not in a pipe: its sections are in front. */
struct pesa_error *pesa_perfdata_write_count(struct pesa_perfdata_writer *writer, const char *event,
					     uint64_t value);

/* Finish: feature sections, header, close.  Frees the writer, also when it fails. */
struct pesa_error *pesa_perfdata_writer_finish(struct pesa_perfdata_writer *writer);
/* Give up: close and free; the file stays readable up to what was flushed. */
void pesa_perfdata_writer_abandon(struct pesa_perfdata_writer *writer);

#endif
