/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of `pesa mca`: parses them, and rejects combinations that are not possible.
 */
#ifndef TOOLS_MCA_SETTINGS_H
#define TOOLS_MCA_SETTINGS_H

#include "pesa/mca.h"
#include "tools/mca/stimuli.h"

#define MCA_FEATURES_MAX 64

enum mca_tables { MCA_TABLES_NONE, MCA_TABLES_NORMAL, MCA_TABLES_FULL };

struct mca_settings {
	const char *path, *output, *cpu, *triple;
	const char *features[MCA_FEATURES_MAX];
	unsigned int feature_count;
	struct pesa_mca_run_options run;
	unsigned int call_latency;
	unsigned int timeline_iterations, timeline_cycles;
	enum mca_tables tables;
	bool summary, information, encodings, barriers, pressure, timeline, bottleneck;
	bool dispatch_stats, scheduler_stats, retire_stats, register_stats;
	bool skip_lack_sched, skip_parse_failure;
	bool no_alias, disable_instruments, disable_behaviour, json, cycle_stack;
	bool colours;	  /* standard output shows them */
	bool hexadecimal; /* print immediate values in hexadecimal */
	unsigned int assembly_variant;
	bool all_views_given, all_stats_given;
	const char *symbol, *range, *hex; /* machine code to analyse; all NULL: assembly */
	const char *trace, *profile;
	unsigned int path_length;
	struct mca_stimuli_options stimuli;
	struct pesa_mca_model *changed; /* the model with --what-if applied; NULL: no --what-if */
	char *attributes;		/* allocated copy of -mattr; `features` points into it */
};

/*
 * Parse the command line into *settings, which keep pointers into argv.  Returns 0 if there is
 * something to analyse; -1 if only help or a list was asked for, which has been printed; or the
 * exit status 1 or 2 after a message.
 */
int mca_settings_parse(struct mca_settings *settings, int argc, char **argv);
void mca_settings_free(struct mca_settings *settings);

#endif
