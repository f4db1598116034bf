/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of `pesa mca`: which there are, what they were given, and what does not go together.
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
	bool hexadecimal; /* immediate values */
	unsigned int assembly_variant;
	bool all_views_given, all_stats_given;
	const char *symbol, *range, *hex; /* of a program, in place of assembly */
	const char *trace, *profile;
	unsigned int path_length;
	struct mca_stimuli_options stimuli;
	struct pesa_mca_model *changed; /* by --what-if; NULL: it is not asked for */
	char *attributes;		/* what features point into */
};

/*
 * Read the command line into *settings.  0: it is complete and consistent; 1 and 2: an exit status,
 * the reason printed; -1: what it asked for has been printed.  The settings keep pointers into
 * argv.
 */
int mca_settings_parse(struct mca_settings *settings, int argc, char **argv);
void mca_settings_free(struct mca_settings *settings);

#endif
