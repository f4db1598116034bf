/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording on the virtual core: runs a program and writes perf.data files.
 *
 * The program runs in the emulator with the virtual core as a plugin.  The recorder reads samples
 * and side-band events from shared memory (channel.h) and writes all files.  The samples file and
 * the golden file are both perf.data files; the golden one has exact records instead of samples.
 */
#ifndef DAEMON_VCORE_RECORD_H
#define DAEMON_VCORE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/core/core.h"
#include "decoder/core/ideal.h"
#include "decoder/core/events.h"
#include "decoder/core/samplers.h"
#include "decoder/core/window_sums.h"
#include "pesa/error.h"

/* What was recorded so far, of all harts. */
struct pesa_vcore_progress {
	uint64_t instructions, cycles, samples;
};

struct pesa_vcore_options {
	const struct pesa_core *core;
	const char *changes; /* changes of the processor model, one per line; NULL: none */
	struct pesa_core_ideal_places ideal;
	const char *emulator; /* path of qemu-riscv64 */
	const char *plugin;   /* path of the virtual core */
	const char *sysroot;  /* where dynamic programs find their interpreter; NULL: not set */
	const char *cpu;      /* the emulator's -cpu; NULL: default */
	uint64_t period;      /* cycles, 0: no samples */
	uint64_t jitter;      /* cycles: intervals are uniform in period +- jitter */
	uint64_t seed;
	bool sampled;	   /* simulate windows around the samples only */
	uint32_t samplers; /* 1 << enum vcore_sampler */
	/* Of the sampler lcofi: interrupts are taken that many instructions behind the oldest one, drawn
	 * for each sample; skids false: at the front end. */
	bool skids;
	uint32_t skid_low, skid_high;
	uint32_t call_chains; /* enum vcore_call_chains */
	uint32_t stack_dump;  /* of VCORE_CALL_CHAINS_DWARF: bytes, a multiple of 8 */
	const char *output;   /* perf.data file of the samples; "-": standard output; NULL: none */
	const char *golden;   /* perf.data file of the golden reference; NULL: none */
	const char *trace;    /* Kanata log of the pipeline, absolute; NULL: none */
	uint64_t trace_first, trace_last; /* instructions of each hart, from 1 on */
	int compression;		  /* zstd level, 0: none */
	/* Called a hundred times a second with what was recorded so far; may be NULL. */
	void (*progress)(void *context, const struct pesa_vcore_progress *so_far);
	void *progress_context;
	char *const *command; /* the recorder's argv, stored in the files */
	char *const *program; /* argv of the guest; [0] is the path to run */
};

struct pesa_vcore_hart {
	uint32_t pid, tid;
	uint64_t cycles, instructions, samples, lost, unfinished;
	struct vcore_counters counters;
};

struct pesa_vcore_summary {
	int status; /* wait status of the program */
	uint64_t cycles, instructions;
	uint64_t samples, lost; /* of all samplers */
	uint64_t unfinished;	/* samples whose instruction never came, or did not retire */
	uint64_t golden_weight; /* golden reference: in units of 1/PESA_CYCLE cycle */
	uint64_t golden_executions,
		golden_instructions; /* golden: retirements, static instructions */
	uint64_t golden_lost;	     /* cycles lost because the golden reference was full */
	uint64_t undecoded;	     /* static instructions that the decoder does not know */
	uint64_t unmodelled;	     /* static instructions that the processor model lacks */
	uint64_t forced_turns;	     /* number of given-up waits for a thread */
	uint64_t unwatched;	     /* threads without a core */
	uint64_t cut_traces;	     /* pipeline traces that are incomplete */
	uint64_t refused;	     /* processes that found no free region */
	uint64_t cut_chains;	     /* samples whose call chain is incomplete */
	struct window_sums windows;  /* of a sampled recording */
	uint64_t damaged;	     /* regions with invalid messages */
	uint32_t processes;
	struct pesa_vcore_hart *hart; /* in the order in which they ended */
	uint32_t harts;
};

/*
 * Run and record.  Returns an error if nothing could be run or a file could not be written; the
 * program's own result is summary->status.  SIGINT and SIGQUIT are left to the program, which also
 * gets them from the terminal; SIGTERM and SIGHUP are passed on to it.  The recording ends with the
 * program.
 */
struct pesa_error *pesa_vcore_record(const struct pesa_vcore_options *options,
				     struct pesa_vcore_summary *summary);
void pesa_vcore_summary_free(struct pesa_vcore_summary *summary);

#endif
