// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of perf's subcommands that pesa's lack: see perf.h. */
#include "tools/perf/perf.h"

#include <string.h>

/* Answers that several options have. */
#define BRANCHES_ANSWER \
	"the branches of sampled cycles are part of every sample: 'pesa annotate' shows which were taken, 'pesa script' their targets"
#define CHAINS_ANSWER                                                                               \
	"chains are recorded with 'pesa record -g'; 'pesa report --children', --callee and --html " \
	"show them"
#define CSV_ANSWER \
	"'pesa export --format csv' writes a table for other programs, --json all figures"
#define DATA_ANSWER   "'pesa annotate' shows the loads and stores that missed, by address of the code"
#define EVENTS_ANSWER "'pesa script --show-events' prints every record of the file"
#define ITRACE_ANSWER "instruction traces are decoded by perf; 'pesa import' reads pipeline traces"
#define KERNEL_ANSWER                                                                                \
	"the kernel's symbols are read from /proc/kallsyms of the kernel that runs; 'pesa archive' " \
	"takes them along, --symfs DIRECTORY reads DIRECTORY/proc/kallsyms"
#define PROCESS_ANSWER "--pid and --tid choose processes and threads"
#define SLICES_ANSWER  "'pesa topdown --by time' shows slices of a recording"
#define SWITCH_ANSWER  "--event chooses an event of the file; " SLICES_ANSWER
#define USER_ANSWER    "the modifiers u and k of an event choose the mode: -e cycles:u"

/* Of subcommands that read a recording and show functions. */
#define READING                                                                                    \
	{"force", NULL, PERF_FLAG, 'f'}, {"verbose", NULL, PERF_FLAG, 'v'},                        \
		{"quiet", NULL, PERF_FLAG, 'q'}, {"stdio2", NULL, PERF_FLAG, 0},                   \
		{"tui", NULL, PERF_FLAG, 0},                                                       \
		{"gtk", "--html FILE of report, topdown and compare writes a page", PERF_FLAG, 0}, \
		{"demangle", NULL, PERF_FLAG, 0}, {"demangle-kernel", NULL, PERF_FLAG, 0},         \
		{"vmlinux", KERNEL_ANSWER, PERF_ARGUMENT, 'k'},                                    \
		{"kallsyms", KERNEL_ANSWER, PERF_ARGUMENT, 0}, {"modules", NULL, PERF_FLAG, 'm'},  \
		{"ignore-vmlinux", NULL, PERF_FLAG, 0},                                            \
		{"dump-raw-trace", EVENTS_ANSWER, PERF_FLAG, 'D'},                                 \
		{"itrace", ITRACE_ANSWER, PERF_OPTIONAL, 0},                                       \
		{"objdump", NULL, PERF_ARGUMENT, 0}, /* the disassembler is pesa's */              \
		{"addr2line", NULL, PERF_ARGUMENT, 0}, {"group", NULL, PERF_FLAG, 0},              \
	{                                                                                          \
		"cpu", SLICES_CPU, PERF_ARGUMENT, 'C'                                              \
	}
#define SLICES_CPU "'pesa topdown --by cpu' shows every CPU, 'pesa record -C' records some"

#define END                              \
	{                                \
		NULL, NULL, PERF_FLAG, 0 \
	}

static const struct perf_option report[] = {
	READING,
	{"asm-raw", NULL, PERF_FLAG, 0},
	{"branch-history", BRANCHES_ANSWER, PERF_FLAG, 0},
	{"branch-stack", BRANCHES_ANSWER, PERF_FLAG, 'b'},
	{"column-widths", "COLUMNS=N in the environment sets the width of all", PERF_ARGUMENT, 'w'},
	{"comms", "--sort comm shows commands; " PROCESS_ANSWER, PERF_ARGUMENT, 'c'},
	{"disable-order", NULL, PERF_FLAG, 0},
	{"disassembler-style", "instructions are shown as llvm-objdump does", PERF_ARGUMENT, 'M'},
	{"exclude-other", CHAINS_ANSWER, PERF_FLAG, 'x'},
	{"field-separator", CSV_ANSWER, PERF_ARGUMENT, 't'},
	{"full-source-path", "--json has the paths of source files in full", PERF_FLAG, 0},
	{"group-sort-idx", "--event chooses the event to show", PERF_ARGUMENT, 0},
	{"header", NULL, PERF_FLAG, 0}, /* the head is always printed */
	{"header-only", EVENTS_ANSWER, PERF_FLAG, 0},
	{"hide-unresolved", NULL, PERF_FLAG, 'U'},
	{"hierarchy", "--sort dso, and then --sort symbol or line, shows one level at a time",
	 PERF_FLAG, 0},
	{"ignore-callees", CHAINS_ANSWER, PERF_ARGUMENT, 0},
	{"inline", NULL, PERF_FLAG, 0},
	{"max-stack", CHAINS_ANSWER, PERF_ARGUMENT, 0},
	{"mem-mode", DATA_ANSWER, PERF_FLAG, 0},
	{"mmaps", EVENTS_ANSWER, PERF_FLAG, 0},
	{"ns", NULL, PERF_FLAG, 0},
	{"parent", "--callee FUNCTION shows who called it", PERF_ARGUMENT, 0},
	{"percent-type", "a share is that of all cycles", PERF_ARGUMENT, 0},
	{"percentage", NULL, PERF_ARGUMENT, 0},
	{"prefix", "--symfs DIRECTORY holds the source files, too", PERF_ARGUMENT, 0},
	{"prefix-strip", "--symfs DIRECTORY holds the source files, too", PERF_ARGUMENT, 0},
	{"pretty", NULL, PERF_ARGUMENT, 0},
	{"raw-trace", EVENTS_ANSWER, PERF_FLAG, 0},
	{"samples", "'pesa script' prints the samples", PERF_ARGUMENT, 0},
	{"show-cpu-utilization", "--sort cpu shows every CPU", PERF_FLAG, 0},
	{"show-info", EVENTS_ANSWER, PERF_FLAG, 'I'},
	{"show-nr-samples",
	 "Cycles divided by the period are the samples; the head has their number", PERF_FLAG, 'n'},
	{"show-on-off-events", SWITCH_ANSWER, PERF_FLAG, 0},
	{"show-ref-call-graph", CHAINS_ANSWER, PERF_FLAG, 0},
	{"show-total-period", NULL, PERF_FLAG, 0}, /* the column Cycles */
	{"skip-empty", NULL, PERF_FLAG, 0},
	{"socket-filter", "-C CPUS chooses CPUs", PERF_ARGUMENT, 0},
	{"source", NULL, PERF_FLAG, 0},
	{"stats", EVENTS_ANSWER, PERF_FLAG, 0},
	{"stdio-color", "--color always, never or auto", PERF_ARGUMENT, 0},
	{"stitch-lbr", CHAINS_ANSWER, PERF_FLAG, 0},
	{"switch-off", SWITCH_ANSWER, PERF_ARGUMENT, 0},
	{"switch-on", SWITCH_ANSWER, PERF_ARGUMENT, 0},
	{"symbol-filter", "'pesa annotate PART' shows the functions with PART in their names",
	 PERF_ARGUMENT, 0},
	{"tasks", EVENTS_ANSWER, PERF_FLAG, 0},
	{"threads", "--by thread shows every thread", PERF_FLAG, 'T'},
	{"time-quantum", "--slices COUNT divides the time of the recording", PERF_ARGUMENT, 0},
	{"total-cycles", "'pesa report --sort insn' shows the instructions of every block",
	 PERF_FLAG, 0},
	END,
};

static const struct perf_option annotate[] = {
	READING,
	{"stdio", NULL, PERF_FLAG, 0},
	{"asm-raw", "'pesa mca -show-encoding' and 'pesa annotate --json' have the bytes",
	 PERF_FLAG, 0},
	{"data-type", DATA_ANSWER, PERF_OPTIONAL, 0},
	{"disassembler-style", "instructions are shown as llvm-objdump does", PERF_ARGUMENT, 'M'},
	{"full-paths", "--json has the paths of source files in full", PERF_FLAG, 'P'},
	{"insn-stat", "'pesa report --sort insn' shows the hottest instructions", PERF_FLAG, 0},
	{"percent-type", "shares are of all cycles; Cyc/exec is local", PERF_ARGUMENT, 0},
	{"prefix", "--symfs DIRECTORY holds the source files, too", PERF_ARGUMENT, 0},
	{"prefix-strip", "--symfs DIRECTORY holds the source files, too", PERF_ARGUMENT, 0},
	{"print-line", NULL, PERF_FLAG, 'l'},
	{"show-nr-samples", "Cycles divided by the period are the samples", PERF_FLAG, 'n'},
	{"show-total-period", NULL, PERF_FLAG, 0}, /* the column Cycles */
	{"skip-empty", NULL, PERF_FLAG, 0},
	{"skip-missing", NULL, PERF_FLAG, 0},
	{"source", NULL, PERF_FLAG, 0},
	{"stdio-color", "--color always, never or auto", PERF_ARGUMENT, 0},
	{"type-stat", DATA_ANSWER, PERF_FLAG, 0},
	END,
};

static const struct perf_option script[] = {
	READING,
	{"stdio", NULL, PERF_FLAG, 0},
	{"Latency", NULL, PERF_FLAG, 'L'},
	{"addr-range", "'pesa annotate 0xADDRESS' shows the code of an address", PERF_ARGUMENT, 0},
	{"all-cpus", "'pesa record -a' records all CPUs", PERF_FLAG, 'a'},
	{"call-ret-trace", ITRACE_ANSWER, PERF_OPTIONAL, 0},
	{"call-trace", ITRACE_ANSWER, PERF_OPTIONAL, 0},
	{"comms", PROCESS_ANSWER, PERF_ARGUMENT, 'c'},
	{"debug-mode", NULL, PERF_FLAG, 'd'},
	{"deltatime", "--json has the time of every sample in nanoseconds", PERF_FLAG, 0},
	{"dlarg", "--json prints an object a sample, for jq and scripts", PERF_ARGUMENT, 0},
	{"dlfilter", "--json prints an object a sample, for jq and scripts", PERF_ARGUMENT, 0},
	{"dsos", "--json prints an object a sample, for jq and scripts", PERF_ARGUMENT, 0},
	{"dump-unsorted-raw-trace", EVENTS_ANSWER, PERF_FLAG, 0},
	{"fields",
	 "a line has everything that a record says; --json prints an object a sample, for "
	 "jq and scripts",
	 PERF_ARGUMENT, 'F'},
	{"full-source-path", "--json has the paths of binaries in full", PERF_FLAG, 0},
	{"gen-script", "--json prints an object a sample, for jq and scripts", PERF_ARGUMENT, 'g'},
	{"graph-function", CHAINS_ANSWER, PERF_ARGUMENT, 0},
	{"guest-code", NULL, PERF_FLAG, 0},
	{"guestkallsyms", KERNEL_ANSWER, PERF_ARGUMENT, 0},
	{"guestmodules", KERNEL_ANSWER, PERF_ARGUMENT, 0},
	{"guestmount", KERNEL_ANSWER, PERF_ARGUMENT, 0},
	{"guestvmlinux", KERNEL_ANSWER, PERF_ARGUMENT, 0},
	{"header", EVENTS_ANSWER, PERF_FLAG, 0},
	{"header-only", EVENTS_ANSWER, PERF_FLAG, 0},
	{"hide-call-graph", NULL, PERF_FLAG, 'G'},
	{"inline", NULL, PERF_FLAG, 0},
	{"insn-trace", ITRACE_ANSWER, PERF_OPTIONAL, 0},
	{"list", "--json prints an object a sample, for jq and scripts", PERF_FLAG, 'l'},
	{"list-dlfilters", "--json prints an object a sample, for jq and scripts", PERF_FLAG, 0},
	{"max-blocks", ITRACE_ANSWER, PERF_ARGUMENT, 0},
	{"max-stack", CHAINS_ANSWER, PERF_ARGUMENT, 0},
	{"merge-callchains", NULL, PERF_FLAG, 0},
	{"ns", NULL, PERF_FLAG, 0},
	{"per-event-dump", "--event chooses an event of the file", PERF_FLAG, 0},
	{"reltime", "--json has the time of every sample in nanoseconds", PERF_FLAG, 0},
	{"script", "--json prints an object a sample, for jq and scripts", PERF_ARGUMENT, 's'},
	{"show-bpf-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-cgroup-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-info", EVENTS_ANSWER, PERF_FLAG, 'I'},
	{"show-kernel-path", NULL, PERF_FLAG, 0},
	{"show-lost-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-mmap-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-namespace-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-on-off-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-round-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-switch-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-task-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"show-text-poke-events", EVENTS_ANSWER, PERF_FLAG, 0},
	{"stitch-lbr", CHAINS_ANSWER, PERF_FLAG, 0},
	{"stop-bt", CHAINS_ANSWER, PERF_ARGUMENT, 0},
	{"switch-off", SWITCH_ANSWER, PERF_ARGUMENT, 0},
	{"switch-on", SWITCH_ANSWER, PERF_ARGUMENT, 0},
	{"symbols", "--json prints an object a sample, for jq and scripts", PERF_ARGUMENT, 'S'},
	{"time", SLICES_ANSWER, PERF_ARGUMENT, 0},
	{"xed", "instructions are shown by 'pesa annotate'", PERF_OPTIONAL, 0},
	END,
};

#define CGROUP_ANSWER \
	"-p records the processes of a control group: -p $(paste -sd, CGROUP/cgroup.procs)"
#define CONTROL_ANSWER "--duration, --snapshot and --switch-output end or divide a recording"
#define DELAY_ANSWER   "start the recording later: 'sleep 2; pesa record -p PID'"
#define NO_AUX_ANSWER  "pesa records samples; AUX areas of other hardware are recorded by perf"

static const struct perf_option record[] = {
	{"affinity", NULL, PERF_ARGUMENT, 0},
	{"aio", NULL, PERF_OPTIONAL, 0},
	{"all-kernel", USER_ANSWER, PERF_FLAG, 0},
	{"all-user", USER_ANSWER, PERF_FLAG, 0},
	{"aux-sample", NO_AUX_ANSWER, PERF_OPTIONAL, 0},
	{"bpf-event", NULL, PERF_FLAG, 0},
	{"branch-any", BRANCHES_ANSWER, PERF_FLAG, 'b'},
	{"branch-filter", BRANCHES_ANSWER, PERF_ARGUMENT, 'j'},
	{"buffering", NULL, PERF_FLAG, 0},
	{"no-buildid", NULL, PERF_FLAG, 'B'},
	{"buildid-all", NULL, PERF_FLAG, 0},
	{"no-buildid-cache", NULL, PERF_FLAG, 'N'},
	{"buildid-mmap", NULL, PERF_FLAG, 0},
	{"cgroup", CGROUP_ANSWER, PERF_ARGUMENT, 'G'},
	{"clang-opt", NULL, PERF_ARGUMENT, 0},
	{"clang-path", NULL, PERF_ARGUMENT, 0},
	{"clockid", "time stamps are of the kernel's perf clock", PERF_ARGUMENT, 'k'},
	{"code-page-size", NULL, PERF_FLAG, 0},
	{"control", CONTROL_ANSWER, PERF_ARGUMENT, 0},
	{"data", DATA_ANSWER, PERF_FLAG, 'd'},
	{"data-page-size", DATA_ANSWER, PERF_FLAG, 0},
	{"debuginfod", "DEBUGINFOD_URLS in the environment names servers for all subcommands",
	 PERF_OPTIONAL, 0},
	{"delay", DELAY_ANSWER, PERF_ARGUMENT, 'D'},
	{"dry-run", "'pesa list -e EVENTS' shows what events mean", PERF_FLAG, 0},
	{"exclude-perf", NULL, PERF_FLAG, 0},
	{"filter", "--pid and --tid choose what to record", PERF_ARGUMENT, 0},
	{"group", "a group is counted by 'pesa stat -e {A,B}'", PERF_FLAG, 0},
	{"intr-regs", "registers are recorded for chains: -g dwarf", PERF_OPTIONAL, 'I'},
	{"kcore", NULL, PERF_FLAG, 0},
	{"kernel-callchains", NULL, PERF_FLAG, 0},
	{"latency", "'pesa topdown --by thread' shows every thread", PERF_FLAG, 0},
	{"max-size", "--switch-output=SIZE divides a recording, --duration ends it", PERF_ARGUMENT,
	 0},
	{"mmap-flush", NULL, PERF_ARGUMENT, 0},
	{"namespaces", NULL, PERF_FLAG, 0},
	{"no-samples", "'pesa stat' counts without samples", PERF_FLAG, 'n'},
	{"num-thread-synthesize", NULL, PERF_ARGUMENT, 0},
	{"off-cpu", "waiting for a CPU is traced by perf", PERF_OPTIONAL, 0},
	{"overwrite", "--snapshot keeps the newest samples only", PERF_FLAG, 0},
	{"per-thread", "'pesa topdown --by thread' shows every thread", PERF_FLAG, 0},
	{"period", NULL, PERF_FLAG, 'P'}, /* the letter: --period is the length of a period */
	{"phys-data", DATA_ANSWER, PERF_FLAG, 0},
	{"proc-map-timeout", NULL, PERF_ARGUMENT, 0},
	{"raw-samples", NULL, PERF_FLAG, 'R'},
	{"realtime", "'chrt -f N pesa record ...' gives the recorder a priority", PERF_ARGUMENT,
	 'r'},
	{"running-time", NULL, PERF_FLAG, 0},
	{"sample-cpu", NULL, PERF_FLAG, 0},
	{"sample-identifier", NULL, PERF_FLAG, 0},
	{"sample-mem-info", DATA_ANSWER, PERF_FLAG, 0},
	{"setup-filter", "--pid and --tid choose what to record", PERF_ARGUMENT, 0},
	{"snapshot", NO_AUX_ANSWER, PERF_OPTIONAL, 'S'}, /* the letter */
	{"stat", "'pesa stat --per-thread' counts", PERF_FLAG, 's'},
	{"strict-freq", NULL, PERF_FLAG, 0},
	{"switch-events", NULL, PERF_FLAG, 0},
	{"switch-max-files", "--switch-output keeps all files", PERF_ARGUMENT, 0},
	{"switch-output-event", CONTROL_ANSWER, PERF_ARGUMENT, 0},
	{"synth", NULL, PERF_ARGUMENT, 0},
	{"tail-synthesize", NULL, PERF_FLAG, 0},
	{"threads", NULL, PERF_OPTIONAL, 0},
	{"timestamp", NULL, PERF_FLAG, 'T'},
	{"timestamp-boundary", NULL, PERF_FLAG, 0},
	{"timestamp-filename", "-o perf-%p.data has the number of the process in the name",
	 PERF_FLAG, 0},
	{"transaction", NULL, PERF_FLAG, 0},
	{"uid", "-p $(pgrep -d, -u USER) records the processes of a user", PERF_ARGUMENT, 'u'},
	{"user-callchains", NULL, PERF_FLAG, 0},
	{"user-regs", "registers are recorded for chains: -g dwarf", PERF_OPTIONAL, 0},
	{"verbose", NULL, PERF_FLAG, 'v'},
	{"vmlinux", NULL, PERF_ARGUMENT, 0},
	{"weight", "every sample has its causes: 'pesa report'", PERF_FLAG, 'W'},
	END,
};

#define GROUPING_ANSWER "counts are summed over CPUs; -C chooses CPUs, --per-thread shows threads"
#define METRICS_ANSWER	"'pesa topdown' shows metrics of the slots, -e names events"

static const struct perf_option stat[] = {
	{"all-kernel", USER_ANSWER, PERF_FLAG, 0},
	{"all-user", USER_ANSWER, PERF_FLAG, 0},
	{"append", "-o writes a new file; 2>> FILE appends", PERF_FLAG, 0},
	{"big-num", NULL, PERF_FLAG, 'B'},
	{"bpf-counters", NULL, PERF_FLAG, 0},
	{"bpf-prog", "-p counts processes", PERF_ARGUMENT, 'b'},
	{"bpf-attr-map", NULL, PERF_ARGUMENT, 0},
	{"cgroup", CGROUP_ANSWER, PERF_ARGUMENT, 'G'},
	{"control", "--duration ends counting", PERF_ARGUMENT, 0},
	{"csv-summary", NULL, PERF_FLAG, 0},
	{"cputype", "an event of one type of core has its PMU in its name: -e PMU/EVENT/",
	 PERF_ARGUMENT, 0},
	{"delay", "'pesa stat -p PID' counts from any moment on", PERF_ARGUMENT, 'D'},
	{"field-separator", "--json prints all figures", PERF_ARGUMENT, 'x'},
	{"filter", "-p and -t choose what to count", PERF_ARGUMENT, 0},
	{"for-each-cgroup", CGROUP_ANSWER, PERF_ARGUMENT, 0},
	{"group", "-e {A,B} counts a group", PERF_FLAG, 'g'},
	{"hybrid-merge", NULL, PERF_FLAG, 0},
	{"interval-clear", NULL, PERF_FLAG, 0},
	{"interval-count", "--duration TIME ends after some intervals", PERF_ARGUMENT, 0},
	{"iostat", "-e names the events of any PMU", PERF_OPTIONAL, 0},
	{"log-fd", "-o /dev/fd/N prints to a file descriptor", PERF_ARGUMENT, 0},
	{"merge", NULL, PERF_FLAG, 0},
	{"metric-no-group", NULL, PERF_FLAG, 0},
	{"metric-no-merge", NULL, PERF_FLAG, 0},
	{"metric-no-threshold", NULL, PERF_FLAG, 0},
	{"metric-only", METRICS_ANSWER, PERF_FLAG, 0},
	{"metrics", METRICS_ANSWER, PERF_ARGUMENT, 'M'},
	{"no-aggr", GROUPING_ANSWER, PERF_FLAG, 'A'},
	{"null", "-e task-clock counts the time alone", PERF_FLAG, 'n'},
	{"per-cache", GROUPING_ANSWER, PERF_OPTIONAL, 0},
	{"per-cluster", GROUPING_ANSWER, PERF_FLAG, 0},
	{"per-core", GROUPING_ANSWER, PERF_FLAG, 0},
	{"per-die", GROUPING_ANSWER, PERF_FLAG, 0},
	{"per-node", GROUPING_ANSWER, PERF_FLAG, 0},
	{"per-socket", GROUPING_ANSWER, PERF_FLAG, 0},
	{"percore-show-thread", GROUPING_ANSWER, PERF_FLAG, 0},
	{"post", "run it after: 'pesa stat -- sh -c \"PROGRAM; COMMAND\"'", PERF_ARGUMENT, 0},
	{"pre", "run it before: 'pesa stat -- sh -c \"COMMAND; PROGRAM\"'", PERF_ARGUMENT, 0},
	{"quiet", "2> /dev/null prints nothing", PERF_FLAG, 0},
	{"scale", NULL, PERF_FLAG, 'c'},
	{"smi-cost", NULL, PERF_FLAG, 0},
	{"summary", NULL, PERF_FLAG, 0},
	{"sync", NULL, PERF_FLAG, 'S'},
	{"table", "-r shows means and standard errors", PERF_FLAG, 0},
	{"td-level", "'pesa topdown --level LEVEL'", PERF_ARGUMENT, 0},
	{"transaction", NULL, PERF_FLAG, 'T'},
	{"verbose", NULL, PERF_FLAG, 'v'},
	END,
};

static const struct perf_option diff[] = {
	READING,
	{"stdio", NULL, PERF_FLAG, 0},
	{"baseline-only", "functions of one recording alone are marked new and gone", PERF_FLAG,
	 'b'},
	{"comms", PROCESS_ANSWER, PERF_ARGUMENT, 0},
	{"compute",
	 "the change in cycles, its interval and significance are always shown; --shares "
	 "compares shares",
	 PERF_ARGUMENT, 'c'},
	{"cycles-hist", "the interval of every change is always shown", PERF_FLAG, 0},
	{"dsos", "--symbol NAME compares one function", PERF_ARGUMENT, 'd'},
	{"field-separator", CSV_ANSWER, PERF_ARGUMENT, 't'},
	{"formula", "pesa-diff(1) explains every column", PERF_FLAG, 'F'},
	{"order", "rows are sorted by significance and size of the change", PERF_ARGUMENT, 'o'},
	{"percentage", NULL, PERF_ARGUMENT, 0},
	{"period", NULL, PERF_FLAG, 0}, /* the columns of cycles */
	{"stream", CHAINS_ANSWER, PERF_FLAG, 0},
	{"time", SLICES_ANSWER, PERF_ARGUMENT, 0},
	END,
};

static const struct perf_option top[] = {
	{"all-cgroups", NULL, PERF_FLAG, 0},
	{"all-cpus", NULL, PERF_FLAG, 'a'},
	{"asm-raw", NULL, PERF_FLAG, 0},
	{"branch-any", BRANCHES_ANSWER, PERF_FLAG, 0},
	{"branch-filter", BRANCHES_ANSWER, PERF_ARGUMENT, 'j'},
	{"branch-history", BRANCHES_ANSWER, PERF_FLAG, 0},
	{"bpf-event", NULL, PERF_FLAG, 0},
	{"call-graph", CHAINS_ANSWER, PERF_OPTIONAL, 'g'},
	{"cgroup", CGROUP_ANSWER, PERF_ARGUMENT, 'G'},
	{"children", CHAINS_ANSWER, PERF_FLAG, 0},
	{"column-widths", NULL, PERF_ARGUMENT, 'w'},
	{"comms", "--find TEXT shows the rows with TEXT", PERF_ARGUMENT, 0},
	{"count-filter", "--rows COUNT shows the largest", PERF_ARGUMENT, 'f'},
	{"cpu", SLICES_CPU, PERF_ARGUMENT, 'C'},
	{"demangle-kernel", NULL, PERF_FLAG, 0},
	{"disassembler-style", "'pesa annotate' shows instructions", PERF_ARGUMENT, 'M'},
	{"dsos", "--find TEXT shows the rows with TEXT", PERF_ARGUMENT, 0},
	{"dump-symtab", NULL, PERF_FLAG, 'D'},
	{"entries", "--rows COUNT", PERF_ARGUMENT, 'E'},
	{"fields", "--sort KEY orders the rows", PERF_ARGUMENT, 0},
	{"force", NULL, PERF_FLAG, 0},
	{"group", NULL, PERF_FLAG, 0},
	{"group-sort-idx", NULL, PERF_ARGUMENT, 0},
	{"hide_kernel_symbols", "--find TEXT shows the rows with TEXT", PERF_FLAG, 'K'},
	{"hide_user_symbols", "--find TEXT shows the rows with TEXT", PERF_FLAG, 'U'},
	{"hierarchy", "--view processes, threads or functions", PERF_FLAG, 0},
	{"ignore-callees", CHAINS_ANSWER, PERF_ARGUMENT, 0},
	{"ignore-vmlinux", NULL, PERF_FLAG, 0},
	{"inherit", NULL, PERF_FLAG, 'i'},
	{"kallsyms", KERNEL_ANSWER, PERF_ARGUMENT, 0},
	{"max-stack", CHAINS_ANSWER, PERF_ARGUMENT, 0},
	{"mmap-pages", NULL, PERF_ARGUMENT, 'm'},
	{"namespaces", NULL, PERF_FLAG, 0},
	{"num-thread-synthesize", NULL, PERF_ARGUMENT, 0},
	{"objdump", NULL, PERF_ARGUMENT, 0},
	{"overwrite", NULL, PERF_FLAG, 0},
	{"percent-limit", "--rows COUNT shows the largest", PERF_ARGUMENT, 0},
	{"percentage", NULL, PERF_ARGUMENT, 0},
	{"prefix", NULL, PERF_ARGUMENT, 0},
	{"prefix-strip", NULL, PERF_ARGUMENT, 0},
	{"proc-map-timeout", NULL, PERF_ARGUMENT, 0},
	{"raw-trace", NULL, PERF_FLAG, 0},
	{"realtime", "'chrt -f N pesa top' gives it a priority", PERF_ARGUMENT, 'r'},
	{"show-nr-samples", NULL, PERF_FLAG, 0},
	{"show-on-off-events", SWITCH_ANSWER, PERF_FLAG, 0},
	{"show-total-period", NULL, PERF_FLAG, 0},
	{"sort", "--sort KEY orders by cycles, a state or the name; --view chooses the rows",
	 PERF_ARGUMENT, 's'}, /* the letter */
	{"source", NULL, PERF_FLAG, 0},
	{"stdio", "--batch prints text", PERF_FLAG, 0},
	{"stitch-lbr", CHAINS_ANSWER, PERF_FLAG, 0},
	{"switch-off", SWITCH_ANSWER, PERF_ARGUMENT, 0},
	{"switch-on", SWITCH_ANSWER, PERF_ARGUMENT, 0},
	{"sym-annotate", "'pesa annotate SYMBOL' shows one function of a recording", PERF_ARGUMENT,
	 0},
	{"symbols", "--find TEXT shows the rows with TEXT", PERF_ARGUMENT, 0},
	{"tui", NULL, PERF_FLAG, 0},
	{"uid", "-p chooses a process", PERF_ARGUMENT, 'u'},
	{"verbose", NULL, PERF_FLAG, 'v'},
	{"vmlinux", KERNEL_ANSWER, PERF_ARGUMENT, 'k'},
	{"zero", NULL, PERF_FLAG, 'z'},
	END,
};

static const struct perf_option list[] = {
	{"cputype", NULL, PERF_ARGUMENT, 0}, {"debug", NULL, PERF_FLAG, 0},
	{"deprecated", NULL, PERF_FLAG, 0},  {"desc", NULL, PERF_FLAG, 'd'},
	{"details", NULL, PERF_FLAG, 0},     {"long-desc", NULL, PERF_FLAG, 'v'},
	{"unit", NULL, PERF_ARGUMENT, 0},    END,
};

const struct perf_option *perf_options(const char *command)
{
	static const struct {
		const char *command;
		const struct perf_option *options;
	} tables[] = {
		{"report", report}, {"annotate", annotate}, {"script", script}, {"record", record},
		{"stat", stat},	    {"diff", diff},	    {"top", top},	{"list", list},
	};
	static const struct perf_option none = END;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!strcmp(tables[i].command, command))
			return tables[i].options;
	return &none;
}
