/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Events of a recording: samples, maps, names, forks, exits; and facts about the recording.
 *
 * The reader of perf.data (perfdata.h) returns events, and its writer takes them.  What follows a
 * recording (space.h, profile.h) takes them from any source.
 *
 * Threads: plain values; what a pointer in them points to belongs to who handed them out.
 */
#ifndef PESA_EVENT_H
#define PESA_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"

PESA_DECLARATIONS_BEGIN

/** An entry of PERF_SAMPLE_BRANCH_STACK, newest first. */
struct pesa_branch_entry {
	uint64_t from;	/**< address of the transfer */
	uint64_t to;	/**< where it went */
	uint64_t flags; /**< as in struct perf_branch_entry */
};

/** The flag of a transfer that was mispredicted, where the hardware tells. */
#define PESA_BRANCH_MISPREDICTED 1u
/** The field `cycles` of the flags: cycles since the entry before; 0: none, or not known. */
#define PESA_BRANCH_CYCLES_SHIFT 4
/** The largest count of that field, which stands for all that are larger. */
#define PESA_BRANCH_CYCLES_MOST 0xffff
/** That field of the flags. */
#define PESA_BRANCH_CYCLES(flags) \
	((uint32_t)((flags) >> PESA_BRANCH_CYCLES_SHIFT & PESA_BRANCH_CYCLES_MOST))

/** PERF_RECORD_SAMPLE: the fields of the attribute's sample_type; the others are 0. */
struct pesa_sample {
	uint64_t ip;	    /**< PERF_SAMPLE_IP: PC */
	uint64_t time;	    /**< PERF_SAMPLE_TIME: ns */
	uint64_t address;   /**< PERF_SAMPLE_ADDR */
	uint64_t id;	    /**< PERF_SAMPLE_ID: of the event */
	uint64_t stream_id; /**< PERF_SAMPLE_STREAM_ID */
	uint64_t period;    /**< PERF_SAMPLE_PERIOD: events that it stands for */
	uint64_t weight;    /**< PERF_SAMPLE_WEIGHT */
	uint32_t pid;	    /**< process that it was taken in */
	uint32_t tid;	    /**< thread */
	uint32_t cpu;	    /**< CPU; UINT32_MAX: not recorded */
	uint32_t attribute; /**< index of the attribute it belongs to */
	uint64_t cgroup;    /**< PERF_SAMPLE_CGROUP: id of its control group; 0: not recorded */
	bool exact_ip;	    /**< PERF_RECORD_MISC_EXACT_IP */
	const uint8_t *raw; /**< PERF_SAMPLE_RAW payload, unaligned; NULL: none */
	uint32_t raw_size;  /**< bytes, perf's padding included */
	const uint8_t *branches; /**< struct pesa_branch_entry[], unaligned; NULL: none */
	uint64_t branch_count;	 /**< how many */
	/** The hardware's place behind that of the newest entry, modulo their number
	 * (PERF_SAMPLE_BRANCH_HW_INDEX + 1); 0: unknown. */
	uint64_t branch_next;
	const uint8_t *callchain; /**< uint64_t[], unaligned; NULL: none */
	uint64_t callchain_count; /**< how many */
	/** PERF_SAMPLE_REGS_USER of 64 bit and PERF_SAMPLE_STACK_USER, of this byte order: the program's
	 * registers and a copy of its stack from the stack pointer on. */
	const uint8_t
		*registers; /**< uint64_t[], one for each bit of the mask, unaligned; NULL: none */
	uint64_t register_mask; /**< which registers, by PERF_REG_* */
	const uint8_t *stack;	/**< NULL: none */
	uint64_t stack_size;	/**< bytes */
};

/** Most bytes of a build id. */
#define PESA_BUILD_ID_MAX 20

/** PERF_RECORD_MMAP, _MMAP2: a part of a file is at an address. */
struct pesa_mmap {
	uint32_t pid;			     /**< process; -1: the kernel */
	uint32_t tid;			     /**< thread that made the map */
	uint64_t address;		     /**< at run time */
	uint64_t length;		     /**< bytes */
	uint64_t offset;		     /**< of `address` in the file, bytes */
	uint32_t protection;		     /**< PROT_* of mmap() */
	uint32_t flags;			     /**< MAP_* */
	bool data;			     /**< PERF_RECORD_MISC_MMAP_DATA: not executable */
	uint8_t build_id_size;		     /**< 0: unknown */
	uint8_t build_id[PESA_BUILD_ID_MAX]; /**< of the file */
	const char *path;		     /**< terminated; valid until the next event is read */
};

/** PERF_RECORD_COMM: a task has a name. */
struct pesa_comm {
	uint32_t pid;	  /**< process */
	uint32_t tid;	  /**< thread */
	bool exec;	  /**< PERF_RECORD_MISC_COMM_EXEC: another program took over the process */
	const char *name; /**< terminated; valid until the next event is read */
};

/** PERF_RECORD_FORK, _EXIT. */
struct pesa_task {
	uint32_t pid;	     /**< process */
	uint32_t parent_pid; /**< process of the task that made it */
	uint32_t tid;	     /**< thread */
	uint32_t parent_tid; /**< thread that made it */
};

/** PERF_RECORD_CGROUP: the path of a control group. */
struct pesa_cgroup {
	uint64_t id;	  /**< as in struct pesa_sample */
	const char *path; /**< terminated; valid until the next event is read */
};

/** PERF_RECORD_LOST, _LOST_SAMPLES. */
struct pesa_lost {
	uint64_t count; /**< records, or samples */
};

/** PERF_RECORD_TEXT_POKE of user mode: code that was made, or changed, at run time. */
struct pesa_text_poke {
	uint32_t pid;	      /**< of the process whose memory it is */
	uint64_t address;     /**< at run time */
	const uint8_t *bytes; /**< that are there from now on */
	uint32_t size;	      /**< of them */
};

/** Every other record, TEXT_POKE of the kernel too. */
struct pesa_other_record {
	const uint8_t *bytes; /**< whole record with its header */
	uint32_t size;	      /**< bytes */
};

/** A record of the file, unpacked: `type` says which member of the union is filled. */
struct pesa_event {
	uint32_t type;	       /**< PERF_RECORD_* */
	uint16_t misc;	       /**< PERF_RECORD_MISC_* */
	uint64_t time;	       /**< ns; 0 where the record has none */
	uint64_t offset;       /**< of the record in the file, for messages */
	const uint8_t *record; /**< the whole record with its header, in the file's byte order */
	union {
		struct pesa_sample sample;	/**< PERF_RECORD_SAMPLE */
		struct pesa_mmap mmap;		/**< PERF_RECORD_MMAP, _MMAP2 */
		struct pesa_comm comm;		/**< PERF_RECORD_COMM */
		struct pesa_task task;		/**< PERF_RECORD_FORK, _EXIT */
		struct pesa_cgroup cgroup;	/**< PERF_RECORD_CGROUP */
		struct pesa_lost lost;		/**< PERF_RECORD_LOST, _LOST_SAMPLES */
		struct pesa_text_poke text;	/**< PERF_RECORD_TEXT_POKE of user mode */
		struct pesa_other_record other; /**< everything else */
	};
};

/**
 * Facts about a recording, in addition to its events.  The functions are called when a fact is
 * needed:  the further a pipe was read, the more is known.  Each takes `recording`; text lives as
 * long as it.
 */
struct pesa_origin {
	const void *recording; /**< the first argument of the functions */
	/** The build id of a path, for maps that lack one; false: it is not known. */
	bool (*build_id)(const void *recording, const char *path,
			 uint8_t build_id[PESA_BUILD_ID_MAX], uint8_t *size);
	const char *(*arch)(const void *recording);	  /**< "riscv64"; NULL: not known */
	const char *(*hostname)(const void *recording);	  /**< of the machine; NULL: not known */
	const char *(*os_release)(const void *recording); /**< its kernel's; NULL: not known */
	/** Whether all samples have times of CLOCK_MONOTONIC. */
	bool (*has_monotonic_clock)(const void *recording);
};

PESA_DECLARATIONS_END

#endif
