/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a recording through the kernel, shared by open.c (events and rings), output.c (files),
 * new_cpus.c (CPU hotplug), cost.c (the cost of samples) and record.c (the main loop).
 *
 * The header of a file has the ids of the events.  An event that is opened later, for a CPU that
 * came online, uses an id of the header: its records are changed accordingly (`file_id`).
 */
#ifndef DAEMON_RECORD_SESSION_H
#define DAEMON_RECORD_SESSION_H

#include "daemon/record/autorun.h"
#include "daemon/record/build_id_reader.h"
#include "daemon/record/record.h"
#include "daemon/record/ring.h"
#include "daemon/record/target.h"
#include "daemon/record/workload.h"
#include "pesa/perfdata.h"

struct hardware_event {
	struct pesa_event_name name;
	uint64_t *ids;
	uint32_t id_count;
	bool joins;		/* its samples are written as those of the first event */
	unsigned int attribute; /* number of the event in the file */
	uint64_t lost_in_files; /* lost samples that earlier files have */
	uint64_t lost_closed;	/* lost samples of closed descriptors */
	uint64_t counted; /* sum of the periods of all samples, as last read from the kernel */
	uint64_t counted_gone;
};

/* An event that is open for a task or a CPU. */
struct hardware_descriptor {
	int descriptor;
	unsigned int event, cpu;
	pid_t task;
	uint64_t id;	  /* the kernel's id */
	uint64_t file_id; /* the id in the file */
	uint64_t lost;	  /* lost samples, as last read */
	uint64_t counted;
	bool offline; /* the CPU went offline */
};

struct hardware_ring {
	struct pesa_ring ring;
	struct pesa_autorun autorun; /* AutoRun buffer, if any */
	int owner;		     /* the descriptor that belongs to it, not to be closed */
	unsigned int cpu;
};

/*
 * From the driver's statistics: samples of all users, discarded overflows, interrupts back to back
 * (cost.c); and our samples.
 */
struct hardware_cost {
	uint64_t taken, discarded, back_to_back, ours;
};

struct hardware_id {
	uint64_t id, file_id;
	unsigned int event;
};

struct hardware {
	const struct pesa_hardware_options *options;
	struct pesa_hardware_summary *summary;
	/* including the tracking event */
	struct hardware_event events[PESA_HARDWARE_EVENTS_MAX + 1];
	unsigned int event_count;
	struct pesa_tasks tasks; /* tasks with events; empty: CPU-wide */
	struct hardware_descriptor *descriptors;
	size_t descriptor_count, descriptor_room;
	struct hardware_ring *rings;
	size_t ring_count;
	struct hardware_id *ids; /* sorted */
	size_t id_count;
	bool renumbered; /* some event uses the id of another one in the file */
	int hotplug;	 /* CPU hotplug messages; -1: not available */
	struct pesa_workload workload;
	bool autorun;		   /* the first event uses AutoRun */
	struct hardware_cost cost; /* as last read */
	/* files */
	struct pesa_perfdata_writer *writer;
	/*
	 * The next file, while its side band is being written: new side-band records go to both.
	 * NULL: none, or writing it failed.
	 */
	struct pesa_perfdata_writer *next;
	struct pesa_error *next_error; /* why it failed, for the code that began the file */
	/* Return whether a sample of the task is wanted; NULL: all are. */
	bool (*wants)(void *context, uint32_t pid, uint32_t tid);
	void *wants_context;
	uint64_t unwanted;   /* samples that `wants` refused */
	bool renames;	     /* a time stamp is appended to the file names */
	unsigned int serial; /* distinguishes files of the same hundredth of a second */
	uint64_t opened;     /* ns; when the file was opened */
	pid_t *made;	     /* child processes of the recorded ones */
	size_t made_count, made_room;
	uint64_t lost_records;		     /* samples in LOST records */
	uint8_t *record;		     /* room for a record that is changed */
	struct pesa_build_id_reader *reader; /* reads build ids */
};

/* open.c */
struct pesa_error *hardware_open(struct hardware *hardware);
void hardware_close(struct hardware *hardware);
/* Open the events of a CPU that came online, disabled.  Its old events are dead. */
struct pesa_error *hardware_open_late(struct hardware *hardware, unsigned int cpu);
/* Find an event by id; NULL: unknown. */
const struct hardware_id *hardware_find_id(const struct hardware *hardware, uint64_t id);
/* Close the events of offline CPUs, unless they own a ring.  Moves the descriptors. */
void hardware_close_gone(struct hardware *hardware);
/* Read the number of lost samples of every event from the kernel, and write it to the file. */
struct pesa_error *hardware_write_lost(struct hardware *hardware, uint64_t *lost);

/* Note in the summary why new CPUs are not recorded (open.c). */
void hardware_not_followed(struct hardware *hardware, const char *what, const char *why);

/* new_cpus.c */
/* Open and enable the events of CPUs that came online. */
void hardware_hotplug_follow(struct hardware *hardware);

/* cost.c */
/* Read the driver's statistics, before the events are enabled. */
void hardware_cost_begin(struct hardware *hardware);
/*
 * Since the last call: 0, or, if the interrupts were back to back, the shortest period that leaves
 * most of the time to the recorded tasks.  Call it after hardware_write_lost().
 */
uint64_t hardware_cost_shortest(struct hardware *hardware);

/* output.c */
/* Begin a file with the events that are open; an existing file can be kept as FILE.old. */
struct pesa_error *hardware_writer_create(const struct hardware *hardware, const char *path,
					  bool keep_previous, struct pesa_perfdata_writer **writer);
struct pesa_error *hardware_output_open(struct hardware *hardware);
struct pesa_error *hardware_output_finish(struct hardware *hardware);
/* Write the records of a ring. */
struct pesa_error *hardware_take(struct hardware *hardware, struct hardware_ring *ring, bool *any);
/*
 * Write the side band of what existed at the start of the recording or file: the kernel, if an
 * event samples it, and the tasks.
 */
struct pesa_error *hardware_sideband_kernel(struct hardware *hardware);
struct pesa_error *hardware_sideband_tasks(struct hardware *hardware);

#endif
