/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside a recording through the kernel: its state, shared by opening (open.c), files
 * (output.c), CPUs that come (new_cpus.c), what samples cost (cost.c) and
 * the loop (record.c).
 *
 * The files name the numbers (ids) of events in their headers.  An event that is opened later, for
 * a CPU that came, carries on the number of one that the header has: its records are changed.
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
	uint64_t lost_told; /* lost samples that earlier files tell */
	uint64_t lost_gone; /* of descriptors that are closed */
	uint64_t counted;   /* by the kernel, as last read: the periods of all samples */
	uint64_t counted_gone;
};

/* An event that is open for a task on a CPU. */
struct hardware_descriptor {
	int descriptor;
	unsigned int event, cpu;
	pid_t task;
	uint64_t id;   /* the kernel's */
	uint64_t told; /* the one that the file knows it by */
	uint64_t lost; /* samples, as last read */
	uint64_t counted;
	bool gone; /* its CPU went offline, and it with it */
};

struct hardware_ring {
	struct pesa_ring ring;
	struct pesa_autorun autorun; /* beside it, or none */
	int owner;		     /* the descriptor that it belongs to, not ours to close */
	unsigned int cpu;
};

/* Samples that were taken by whoever, discarded, crowded (cost.c), and ours of those taken. */
struct hardware_cost {
	uint64_t taken, discarded, crowded, ours;
};

struct hardware_id {
	uint64_t id, told;
	unsigned int event;
};

struct hardware {
	const struct pesa_hardware_options *options;
	struct pesa_hardware_summary *summary;
	struct hardware_event events[PESA_HARDWARE_EVENTS_MAX + 1]; /* with the tracking one */
	unsigned int event_count;
	struct pesa_tasks tasks; /* that events are opened for; none: CPUs */
	struct hardware_descriptor *descriptors;
	size_t descriptor_count, descriptor_room;
	struct hardware_ring *rings;
	size_t ring_count;
	struct hardware_id *ids; /* sorted */
	size_t id_count;
	bool renumbered; /* some event is told by another's number */
	int hotplug;	 /* messages of CPUs that come; -1: they cannot be had */
	struct pesa_workload workload;
	bool autorun;		   /* the first event's samples come through memory */
	struct hardware_cost cost; /* as last looked at */
	/* files */
	struct pesa_perfdata_writer *writer;
	/* The file after that, while its side band is being written: what the kernel tells goes
	 * into both.  NULL: there is none, perhaps because writing it failed. */
	struct pesa_perfdata_writer *next;
	struct pesa_error *next_error; /* why it failed, for who began it to take */
	/* Whether a sample of the task is wanted; NULL: all are. */
	bool (*wants)(void *context, uint32_t pid, uint32_t tid);
	void *wants_context;
	uint64_t unwanted;   /* samples */
	bool renames;	     /* files get the time behind their name */
	unsigned int serial; /* of files in one hundredth of a second */
	uint64_t opened;     /* ns, when the file was */
	pid_t *made;	     /* processes that the recorded ones made */
	size_t made_count, made_room;
	uint64_t lost_records;		     /* samples that LOST records told of */
	uint8_t *record;		     /* room for one that is changed */
	struct pesa_build_id_reader *reader; /* of build ids */
};

/* open.c */
struct pesa_error *hardware_open(struct hardware *hardware);
void hardware_close(struct hardware *hardware);
/* Open the events of a CPU that came online, not enabled.  Those that it had are dead. */
struct pesa_error *hardware_open_late(struct hardware *hardware, unsigned int cpu);
/* What is known of an id; NULL: nothing. */
const struct hardware_id *hardware_find_id(const struct hardware *hardware, uint64_t id);
/* Close what is gone, unless it holds a ring.  Moves the descriptors. */
void hardware_close_gone(struct hardware *hardware);
/* Read from the kernel how many samples of every event were lost, and tell the file. */
struct pesa_error *hardware_tell_lost(struct hardware *hardware, uint64_t *lost);

/* Say in the summary why CPUs that come are not recorded (open.c). */
void hardware_not_followed(struct hardware *hardware, const char *what, const char *why);

/* new_cpus.c */
/* Follow those that came: open their events and let them sample. */
void hardware_hotplug_follow(struct hardware *hardware);

/* cost.c */
/* Look at the driver's statistics, before the events are enabled. */
void hardware_cost_begin(struct hardware *hardware);
/* Since then, or since it was asked last: 0, or, where the samples were crowded, the shortest period
 * that leaves most of the time to what is recorded.  After hardware_tell_lost(). */
uint64_t hardware_cost_shortest(struct hardware *hardware);

/* output.c */
/* Begin a file with the events that are open; what was in it can be kept as FILE.old. */
struct pesa_error *hardware_writer_create(const struct hardware *hardware, const char *path,
					  bool keep_previous, struct pesa_perfdata_writer **writer);
struct pesa_error *hardware_output_open(struct hardware *hardware);
struct pesa_error *hardware_output_finish(struct hardware *hardware);
/* Take the records of a ring. */
struct pesa_error *hardware_take(struct hardware *hardware, struct hardware_ring *ring, bool *any);
/* What was there when the recording began, or when the file did: the kernel, where an event sees
 * it, and the tasks. */
struct pesa_error *hardware_sideband_kernel(struct hardware *hardware);
struct pesa_error *hardware_sideband_tasks(struct hardware *hardware);

#endif
