// SPDX-License-Identifier: GPL-2.0-or-later
/* Subcommands of perf that pesa does not have, with what it has in their place. */
#include "tools/perf/perf.h"

#include <string.h>

static const struct {
	const char *name, *answer;
} commands[] = {
	{"bench", "pesa profiles programs; benchmarks of the kernel are perf's"},
	{"buildid-cache",
	 "pesa keeps no cache of binaries: 'pesa archive' packs a recording with its binaries, "
	 "--symfs DIRECTORY names a folder of them"},
	{"buildid-list", "'pesa archive -o FILE' packs the binaries of a recording by build id"},
	{"c2c", "loads and stores that wait are in 'pesa annotate', shared lines are perf's"},
	{"config", "pesa has no configuration file; pesad.conf(5) is the daemon's"},
	{"daemon", "'pesad' samples for as long as the machine runs: pesad(8)"},
	{"data", "'pesa export' writes a recording for other tools, 'pesa merge' joins recordings"},
	{"evlist", "'pesa report' names the event at its head; 'pesa script --show-events' prints "
		   "every record of the file"},
	{"ftrace", "functions that the kernel calls are traced by perf and trace-cmd"},
	{"inject",
	 "jitdumps, build ids and maps are read by every subcommand as they are: 'pesa report'"},
	{"iostat", "'pesa stat -e EVENTS' counts the events of any PMU"},
	{"kallsyms", "'pesa annotate ADDRESS' names the function of an address"},
	{"kmem", "tracepoints are analysed by perf; 'pesa record -e TRACEPOINT' samples them"},
	{"kvm", "'pesa record -a' samples the host"},
	{"kwork", "tracepoints are analysed by perf; 'pesa record -e TRACEPOINT' samples them"},
	{"lock", "'pesa annotate' shows the atomic instructions that wait, 'pesa record -e "
		 "TRACEPOINT' samples tracepoints"},
	{"mem", "'pesa report' shows misses as causes of stalled cycles, 'pesa annotate' the loads "
		"that missed"},
	{"probe", "probes are made by perf; 'pesa record -e probe:NAME' samples them"},
	{"sched", "'pesa topdown --by thread' shows where each thread's cycles went; waiting for a "
		  "CPU is traced by perf"},
	{"test", "'make check' tests pesa"},
	{"timechart", "'pesa topdown --by time' shows slices of a recording"},
	{"trace", "'pesa script' prints every sample; system calls are traced by perf and strace"},
};

const char *perf_command_answer(const char *command)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, command))
			return commands[i].answer;
	return NULL;
}
