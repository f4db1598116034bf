/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands.  Each lives in tools/NAME.c and gets its own argv (argv[0] is its name); it returns
 * the exit status: 0 done, 1 failed (one line on stderr), 2 usage.
 */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

/* One line for each, sorted as `pesa --help` shows them. */
#define PESA_COMMANDS                                                                             \
	COMMAND(advise, "say what a compiler could do otherwise, with the cycles at stake")       \
	COMMAND(annotate, "show source and instructions of a function with their cycle stacks")   \
	COMMAND(archive,                                                                          \
		"pack a recording with the binaries that it needs, to decode it elsewhere")       \
	COMMAND(calibrate, "learn on known loops how far behind samples of this machine land")    \
	COMMAND(compare, "set measured cycles against what a processor model predicts")           \
	COMMAND(diff, "show what changed from one recording to another")                          \
	COMMAND(doctor, "say what this machine has for sampling, and what mends what is missing") \
	COMMAND(error, "compare a sampled profile with the exact one")                            \
	COMMAND(explain, "say in words where a function's time goes, why, and what to try")       \
	COMMAND(export, "write a recording for pprof, speedscope and other tools")                \
	COMMAND(import,                                                                           \
		"profile an RTL or gem5 run: a pipeline trace as samples and exact profile")      \
	COMMAND(list, "show core descriptions and events to record with")                         \
	COMMAND(mca, "predict the cycles of a block of assembly on a processor")                  \
	COMMAND(merge, "make one recording of many: of ranks, hosts, intervals")                  \
	COMMAND(record, "sample a program, processes or CPUs, or a program on the virtual core")  \
	COMMAND(report, "show where the cycles went, by function, line or instruction")           \
	COMMAND(script, "print every sample, decoded, one a line")                                \
	COMMAND(stat, "count events, through the kernel or on the virtual core")                  \
	COMMAND(store, "store recordings in a database of many machines")                         \
	COMMAND(top, "show functions and their cycle stacks live, from the daemon or an event")   \
	COMMAND(topdown, "show what the core's slots were used and lost for")

#define COMMAND(name, summary) int pesa_command_##name(int argc, char **argv);
PESA_COMMANDS
#undef COMMAND

#endif
