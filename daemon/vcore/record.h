/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording on the virtual core: run a program, write what it did to perf.data files.
 *
 * The program runs in the emulator with the virtual core as its plugin; the recorder takes samples
 * and side-band events from shared memory (channel.h) and is the only one that writes.  The
 * samples file and the golden file are both perf.data files; the golden one has exact records for
 * samples.
 */
#ifndef DAEMON_VCORE_RECORD_H
#define DAEMON_VCORE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/core/core.h"
#include "decoder/core/events.h"
#include "decoder/core/samplers.h"
#include "pesa/error.h"

struct pesa_vcore_options {
	const struct pesa_core *core;
	const char *changes;  /* of its processor model, a line each; NULL: none */
	const char *emulator; /* path of qemu-riscv64 */
	const char *plugin;   /* path of the virtual core */
	const char *sysroot;  /* where dynamic programs find their interpreter, NULL: as is */
	const char *cpu;      /* the emulator's -cpu, NULL: its default */
	uint64_t period;      /* cycles, 0: no samples */
	uint64_t jitter;      /* cycles: intervals are uniform in period +- jitter */
	uint64_t seed;
	uint32_t samplers; /* 1 << enum vcore_sampler */
	const char
		*output; /* perf.data of the samples, "-": a pipe on standard output, NULL: none */
	const char *golden;		  /* perf.data of the golden reference, NULL: none */
	const char *trace;		  /* Kanata log of the pipeline, absolute; NULL: none */
	uint64_t trace_first, trace_last; /* instructions of each hart, from 1 on */
	int compression;		  /* zstd level, 0: none */
	char *const *command;		  /* of the recorder, for the files */
	char *const *program;		  /* argv of the guest; [0] is the path to run */
};

struct pesa_vcore_hart {
	uint32_t pid, tid;
	uint64_t cycles, instructions, samples, lost, unfinished;
	struct vcore_counters counters;
};

struct pesa_vcore_summary {
	int status; /* of the program, as from waitpid() */
	uint64_t cycles, instructions;
	uint64_t samples, lost; /* of all samplers */
	uint64_t unfinished;	/* samples whose instruction never came, or did not retire */
	uint64_t golden_weight; /* in units of 1/PESA_CYCLE cycle */
	uint64_t golden_executions,
		golden_instructions; /* golden: retirements, static instructions */
	uint64_t golden_lost;	     /* cycles that found no room in the golden reference */
	uint64_t undecoded;	     /* static instructions that the decoder does not know */
	uint64_t unmodelled;	     /* those that the processor model does not have */
	uint64_t forced_turns;	     /* times that the wait for a thread was given up */
	uint64_t unwatched;	     /* threads without a core */
	uint64_t cut_traces;	     /* pipeline traces that could not be written to their end */
	uint64_t refused;	     /* processes that could not be followed */
	uint64_t damaged;	     /* regions whose messages made no sense */
	uint32_t processes;
	struct pesa_vcore_hart *hart; /* in the order in which they ended */
	uint32_t harts;
};

/*
 * Run and record.  Returns an error when nothing could be run or a file could not be written; what
 * the program itself did is summary->status.  SIGINT and SIGQUIT that arrive meanwhile are left to
 * the program, which the terminal sends them too; SIGTERM and SIGHUP are passed on to it.  Its end
 * ends the recording.
 */
struct pesa_error *pesa_vcore_record(const struct pesa_vcore_options *options,
				     struct pesa_vcore_summary *summary);
void pesa_vcore_summary_free(struct pesa_vcore_summary *summary);

#endif
