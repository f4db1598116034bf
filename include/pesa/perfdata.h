/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
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
 *
 * Threads: different readers and writers may be used by different threads at the same time, one of them by
 * one thread at a time.  What a reader returns belongs to it; attributes, capabilities and facts live as
 * long as it does, events until the next one is read.  A reader may have threads of its own, which call
 * nothing of the caller's.
 */
#ifndef PESA_PERFDATA_H
#define PESA_PERFDATA_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/capabilities.h"
#include "pesa/error.h"
#include "pesa/event.h"
#include "pesa/record.h"

PESA_DECLARATIONS_BEGIN

/* ---- Reader -------------------------------------------------------------------------------- */

/** A reader. */
struct pesa_perfdata;

/** An event that was recorded. */
struct pesa_attribute {
	struct perf_event_attr attr; /**< as the kernel knows it */
	const char *name;    /**< from the event description, else made from type and config */
	const uint64_t *ids; /**< by which samples name it */
	uint32_t id_count;   /**< how many */
};

/** Whether it is an event of the PMU pesa: its samples come from the registers of Sspesa.
 * @any_thread @nothing_owned */
bool pesa_attribute_is_own(const struct pesa_attribute *attribute);
/** Whether the PC of its samples is the register's, exact, also where the recorder did not mark it.
 * @any_thread @nothing_owned */
bool pesa_attribute_has_exact_pc(const struct pesa_attribute *attribute);
/** Whether its hardware names the instruction of a sample, by its place in the pipeline (the next one
 * to retire, the last one that has, the one that is dispatched), so that no interrupt moves it.  Only
 * the virtual core's events say so: of others the mark of a sample is believed, not precise_ip, which
 * a PMU may accept and disregard.
 * @any_thread @nothing_owned */
bool pesa_attribute_is_tagged(const struct pesa_attribute *attribute);

/** What is missing in what was read so far. */
struct pesa_perfdata_losses {
	uint64_t lost;		  /**< samples the kernel or the hardware reported as lost */
	uint64_t throttled;	  /**< PERF_RECORD_THROTTLE records */
	uint64_t damaged_records; /**< records that could not be read and were passed over */
	uint64_t damaged_bytes;	  /**< bytes that could not be read, a cut-off end included */
	char *damage;		  /**< what the first damage was, and at which offset; NULL: none */
};

/** Open a file, or standard input for "-".  The reader is owned by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_perfdata_open(const char *path, struct pesa_perfdata **reader);
/** Close and free a reader, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_perfdata_close(struct pesa_perfdata *reader);

/**
 * The next event in time order.  Returns 1 with *event filled (pointers valid until the next call),
 * 0 at the end.  Damage is not an error: reading goes on where that is possible, see the losses.
 * @one_thread @object_owns */
int pesa_perfdata_next(struct pesa_perfdata *reader, struct pesa_event *event);

/**
 * A sample that ends with a raw payload and has only fields of fixed size before it: most of a
 * recording of ours.  `period` is 0 where neither the sample nor its attribute has one; `raw` is
 * unaligned.
 */
struct pesa_raw_sample {
	uint32_t attribute; /**< index of the attribute */
	uint32_t pid;	    /**< process */
	uint32_t tid;	    /**< thread */
	uint32_t cpu;	    /**< CPU; UINT32_MAX: not recorded */
	uint32_t raw_size;  /**< bytes, perf's padding included */
	const uint8_t *raw; /**< valid during the call */
	uint64_t time;	    /**< ns; 0: not recorded */
	uint64_t period;    /**< number of events that it represents */
};

/** Takes a sample (true), or leaves it (false). */
typedef bool (*pesa_raw_sample_function)(void *context, const struct pesa_raw_sample *sample);

/** Have pesa_perfdata_next() offer each raw sample to `take` first, in its place in time order: one that
 * it takes is done with, any other is returned as an event.
 * @one_thread @nothing_owned */
void pesa_perfdata_offer_raw(struct pesa_perfdata *reader, pesa_raw_sample_function take,
			     void *context);

/** How many events were recorded; of a pipe: as far as it was read.
 * @one_thread @nothing_owned */
unsigned int pesa_perfdata_attribute_count(const struct pesa_perfdata *reader);
/** A recorded event; NULL: the index is too large.
 * @one_thread @object_owns */
const struct pesa_attribute *pesa_perfdata_attribute(const struct pesa_perfdata *reader,
						     unsigned int index);
/** What is missing so far; as long as the reader.
 * @one_thread @object_owns */
const struct pesa_perfdata_losses *pesa_perfdata_losses(const struct pesa_perfdata *reader);

/** The architecture, "riscv64", "x86_64".  From the feature sections, as all that follows: valid after
 * opening (file) or as far as read (pipe).  NULL: absent.
 * @one_thread @object_owns */
const char *pesa_perfdata_arch(const struct pesa_perfdata *reader);
/** The machine that recorded.
 * @one_thread @object_owns */
const char *pesa_perfdata_hostname(const struct pesa_perfdata *reader);
/** The processor by which event files are found: mvendorid-marchid-mimpid on RISC-V.
 * @one_thread @object_owns */
const char *pesa_perfdata_cpu_id(const struct pesa_perfdata *reader);
/** The command that recorded: words joined by spaces.
 * @one_thread @object_owns */
const char *pesa_perfdata_cmdline(const struct pesa_perfdata *reader);
/** Capabilities of the PMU that took the samples; NULL when the file names none.
 * @one_thread @object_owns */
const struct pesa_capabilities *pesa_perfdata_capabilities(const struct pesa_perfdata *reader);
/**
 * The count of one event over the whole recording.  The file has them in perf's feature section
 * PMU_CAPS, as capabilities of a PMU "pesa_counts", where stock perf keeps them.  Names live as
 * long as the reader.
 */
struct pesa_count {
	const char *event; /**< "TOPDOWN.SLOTS" */
	uint64_t value;	   /**< how often it happened */
};
/** All that was counted; *count is how many.
 * @one_thread @object_owns */
const struct pesa_count *pesa_perfdata_counts(const struct pesa_perfdata *reader, size_t *count);
/** The kernel release of the machine that recorded; NULL: not recorded in the file.
 * @one_thread @takes_object */
const char *pesa_perfdata_os_release(const struct pesa_perfdata *reader);
/** The processor of that machine, as text; NULL: not recorded in the file.
 * @one_thread @object_owns */
const char *pesa_perfdata_cpu_description(const struct pesa_perfdata *reader);
/** How many CPUs that machine has; 0: not recorded in the file.
 * @one_thread @nothing_owned */
unsigned int pesa_perfdata_cpus(const struct pesa_perfdata *reader);
/** Whether the file is of the other byte order than this machine.
 * @one_thread @nothing_owned */
bool pesa_perfdata_swapped(const struct pesa_perfdata *reader);

/** A fact about a recording in a merged file. */
struct pesa_fact {
	const char *name;  /**< of the fact, "host" */
	const char *value; /**< as text */
};
/** A recording in a merged file. */
struct pesa_recording {
	const struct pesa_fact *fact; /**< its facts */
	size_t facts;		      /**< how many */
};
/**
 * The recordings in a merged file (merge.h), with facts about the origin of each and how it was
 * changed;
 * *count is how many there are.  The file has them in PMU_CAPS, as capabilities of a PMU
 * "pesa_recording" for each.
 * @one_thread @object_owns */
const struct pesa_recording *pesa_perfdata_recordings(const struct pesa_perfdata *reader,
						      size_t *count);
/** The value of a name; NULL: there is none.
 * @readers @object_owns */
const char *pesa_recording_fact(const struct pesa_recording *recording, const char *name);

/** Build id from the feature section for this path, for maps that lack one; false if absent.  In a
 * merged file only the maps have build ids: one path may be different files.
 * @one_thread @nothing_owned */
bool pesa_perfdata_build_id(const struct pesa_perfdata *reader, const char *path,
			    uint8_t build_id[PESA_BUILD_ID_MAX], uint8_t *size);

/** Facts of the file for code that sees only its events; valid as long as the reader.
 * @one_thread @object_owns */
struct pesa_origin pesa_perfdata_origin(const struct pesa_perfdata *reader);

/** How far reading is: bytes read and bytes in all (0: unknown, a pipe).
 * @one_thread @nothing_owned */
void pesa_perfdata_progress(const struct pesa_perfdata *reader, uint64_t *done, uint64_t *total);

/* ---- Writer -------------------------------------------------------------------------------- */

/** A writer. */
struct pesa_perfdata_writer;

/** An event that is recorded. */
struct pesa_perfdata_writer_attribute {
	struct perf_event_attr attr; /**< as opened; sample_type decides what samples carry */
	const char *name;	     /**< e.g. "pesa/cycles/" */
	const uint64_t *ids; /**< as the kernel gave them (PERF_EVENT_IOC_ID); NULL: one is made */
	uint32_t id_count;   /**< how many */
};

#define PESA_PERFDATA_COMPRESSION     3	 /**< a level that serves: see Documentation/perf-data.md */
#define PESA_PERFDATA_COMPRESSION_MAX 22 /**< zstd's */

/** The machine that recorded, where it is not this one. */
struct pesa_perfdata_machine {
	const char *hostname;	/**< NULL: none is named */
	const char *os_release; /**< likewise */
};

/** What a file is made with. */
struct pesa_perfdata_writer_options {
	const struct pesa_perfdata_writer_attribute *attributes; /**< the events */
	unsigned int attribute_count;				 /**< how many, at least one */
	int compression;  /**< zstd level 1..PESA_PERFDATA_COMPRESSION_MAX, 0: none */
	const char *pmu;  /**< name of the PMU that the capabilities are of; NULL: "pesa" */
	const char *arch; /**< "riscv64" */
	const char *cpu_description; /**< free text, NULL: none */
	const char *cpu_id;	     /**< mvendorid-marchid-mimpid; NULL: the capabilities' model */
	char *const *command;	     /**< argv of the recording command, NULL-terminated */
	const struct pesa_capabilities *capabilities; /**< NULL: none */
	unsigned int cpus;			      /**< for NRCPUS and the topology */
	const struct pesa_perfdata_machine *machine;  /**< NULL: this one */
	const struct pesa_recording *recordings;      /**< of a merged file */
	size_t recording_count;			      /**< how many */
	/** The same calls give the same bytes: rounds do not flush, however much time has passed. */
	bool reproducible;
	bool keep_previous; /**< a file of that name becomes FILE.old first */
};

/** Create `path`; "-" is standard output.  That, and what cannot be positioned (a named pipe,
 * /dev/fd/N of a pipe), gets the pipe format.  Nothing of `options` is kept by reference.
 * @any_thread @caller_owns */
struct pesa_error *pesa_perfdata_writer_create(const char *path,
					       const struct pesa_perfdata_writer_options *options,
					       struct pesa_perfdata_writer **writer);
/** Whether what is written to `path` goes where standard output does: "-", or /dev/stdout and its
 * like, if that is a pipe or a file.
 * @any_thread @nothing_owned */
bool pesa_perfdata_is_standard_output(const char *path);

/**
 * Append a sample.  For all of pesa_perfdata_write_*(): sample ids are filled in from `attribute`
 * (its first id).  Samples have the fields of the attribute's sample_type; side-band records the
 * fields of sample_id_all (pid, tid, time, cpu, id) of the first attribute.  No record can be
 * larger than 65535 bytes: what does not fit is an error, and nothing of it is written.  `time` is
 * in ns.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_sample(struct pesa_perfdata_writer *writer,
					      const struct pesa_sample *sample, uint16_t misc);
/** Append a PERF_RECORD_MMAP2.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_mmap(struct pesa_perfdata_writer *writer,
					    const struct pesa_mmap *mmap, uint64_t time);
/** Append a PERF_RECORD_CGROUP.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_cgroup(struct pesa_perfdata_writer *writer,
					      const struct pesa_cgroup *cgroup, uint64_t time);
/** Append a PERF_RECORD_COMM.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_comm(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t tid, const char *name, bool exec,
					    uint64_t time);
/** Append a PERF_RECORD_FORK.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_fork(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t parent_pid, uint32_t tid, uint32_t parent_tid,
					    uint64_t time);
/** Append a PERF_RECORD_EXIT.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_exit(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t parent_pid, uint32_t tid, uint32_t parent_tid,
					    uint64_t time);
/** Most bytes of one pesa_perfdata_write_text(). */
#define PESA_PERFDATA_TEXT_MAX 32768
/** Bytes of code that a process made are at `address` from now on: at most PESA_PERFDATA_TEXT_MAX.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_text(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t tid, uint64_t address, const void *bytes,
					    size_t size, uint64_t time);
/** Append a PERF_RECORD_LOST: so many samples of an attribute are missing.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_lost(struct pesa_perfdata_writer *writer,
					    unsigned int attribute, uint64_t count, uint64_t time);
/** Append a record as the kernel made it (header included), e.g. from a ring buffer.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_raw(struct pesa_perfdata_writer *writer, const void *record,
					   size_t size);
/**
 * An exact record (record.h) of one static instruction, as samples of sample->attribute: several of
 * them when the entries do not fit into one.  Only the first has `executions`, so that
 * the records of one instruction can be added up.  ip is `pc`, the period the cycles of
 * the record's buckets, so that stock perf shows them too; `sample` gives the rest.
 * @one_thread @nothing_owned */
struct pesa_error *
pesa_perfdata_write_exact(struct pesa_perfdata_writer *writer, const struct pesa_sample *sample,
			  uint16_t misc, uint8_t xlen, uint64_t pc, uint64_t executions,
			  const struct pesa_exact_bucket *buckets, size_t bucket_count,
			  const struct pesa_exact_transfer *transfers, size_t transfer_count);
/**
 * FINISHED_ROUND: whatever is written after the next round is not older than what was written before
 * this one.  Readers sort and hand out at rounds, so call it whenever all rings have been drained:
 * memory for reading grows with the largest round.  Also flushes when the last flush was over a
 * second ago.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_round(struct pesa_perfdata_writer *writer);
/** Hand everything to the operating system: what a killed recorder leaves is readable up to here.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_writer_flush(struct pesa_perfdata_writer *writer);

/** Something that was counted over the whole recording.  Not in a pipe: its sections are in front.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_perfdata_write_count(struct pesa_perfdata_writer *writer, const char *event,
					     uint64_t value);

/** Finish: feature sections, header, close.  Frees the writer, also when it fails.
 * @one_thread @takes_object */
struct pesa_error *pesa_perfdata_writer_finish(struct pesa_perfdata_writer *writer);
/** Give up: close and free; the file stays readable up to what was flushed.
 * @one_thread @takes_object */
void pesa_perfdata_writer_abandon(struct pesa_perfdata_writer *writer);

PESA_DECLARATIONS_END

#endif
