// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/machine/findings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define THEAD_OLD "0x5b7-0x0-0x0" /* C906, C910, C920 before they had numbers */
#define ANDES	  "0x31e-"

const char *machine_state_name(enum machine_state state)
{
	static const char *const names[MACHINE_STATES] = {
		[MACHINE_GOOD] = "good",
		[MACHINE_NOTE] = "note",
		[MACHINE_LACK] = "lack",
		[MACHINE_UNKNOWN] = "unknown",
	};

	return names[state];
}

struct judge {
	const struct machine *machine;
	const struct machine_knowledge *knowledge;
	struct machine_findings *findings;
};

/* ---- Findings ------------------------------------------------------------------------------ */

static struct machine_finding *add(struct judge *judge, const char *subject,
				   enum machine_state state, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* There is always one, the last one for what is too many. */
static struct machine_finding *add(struct judge *judge, const char *subject,
				   enum machine_state state, const char *format, ...)
{
	struct machine_findings *findings = judge->findings;
	struct machine_finding *finding;
	va_list values;

	findings->count += findings->count < MACHINE_FINDINGS_MAX;
	finding = &findings->finding[findings->count - 1];
	*finding = (struct machine_finding){.subject = subject, .state = state};
	va_start(values, format);
	vsnprintf(finding->value, sizeof(finding->value), format, values);
	va_end(values);
	return finding;
}

static void say(char *field, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(char *field, size_t room, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(field, room, format, values);
	va_end(values);
}

#define EFFECT(finding, ...) say((finding)->effect, sizeof((finding)->effect), __VA_ARGS__)
#define MEND(finding, ...)   say((finding)->mend, sizeof((finding)->mend), __VA_ARGS__)

static bool is_thead(const struct machine *machine)
{
	return !strcmp(machine->cpu.id, THEAD_OLD);
}

static bool is_andes(const struct machine *machine)
{
	return !strncmp(machine->cpu.id, ANDES, strlen(ANDES));
}

/* ---- Processor and firmware ---------------------------------------------------------------- */

static void judge_processor(struct judge *judge)
{
	const struct machine_cpu *cpu = &judge->machine->cpu;
	const char *name = *cpu->name ? cpu->name : *cpu->uarch ? cpu->uarch : "unnamed";
	struct machine_finding *found;

	found = add(judge, "processor", MACHINE_GOOD, "%s, %s%s%s, %u harts%s", name,
		    judge->machine->architecture, *cpu->id ? ", " : "", cpu->id, cpu->harts,
		    cpu->kinds > 1 ? " of several kinds" : "");
	if (*judge->machine->board)
		add(judge, "board", MACHINE_GOOD, "%s", judge->machine->board);
	if (!*cpu->id || judge->knowledge->event_files)
		return;
	found->state = MACHINE_NOTE;
	EFFECT(found, "no event files for it: its own events only by number (-e rNNN)");
	MEND(found, "pesa stat --event-directory DIR (Documentation/events.md has the form)");
}

static void judge_isa(struct judge *judge)
{
	const struct machine *machine = judge->machine;
	struct machine_finding *found;

	if (!machine->riscv)
		return;
	found = add(judge, "ISA", MACHINE_GOOD, "%s", machine->cpu.isa);
	if (!*machine->cpu.isa) {
		found->state = MACHINE_UNKNOWN;
	} else if (!machine_isa_has(machine->cpu.isa, "sscofpmf")) {
		found->state = MACHINE_NOTE;
		EFFECT(found,
		       is_thead(machine) || is_andes(machine)
			       ? "no Sscofpmf; the processor has an overflow interrupt of its own"
			       : "no Sscofpmf: counters raise no interrupt and leave no mode "
				 "out; only a clock can sample");
	}
}

static void take_fault(void *context, const struct machine_fault *fault)
{
	struct judge *judge = context;
	struct machine_finding *found =
		add(judge, "firmware fault", MACHINE_LACK, "%s", fault->effect);

	EFFECT(found, "mended by OpenSBI's commit %s", fault->commit);
	if (fault->mended)
		MEND(found, "install firmware with OpenSBI %u.%u or newer", fault->mended >> 16,
		     fault->mended & 0xffff);
}

static void judge_firmware(struct judge *judge)
{
	const struct machine_log *log = &judge->machine->log;
	struct machine_finding *found;

	if (!judge->machine->riscv)
		return;
	if (!log->sbi && !log->implementation) {
		found = add(judge, "firmware", MACHINE_UNKNOWN, "%s",
			    judge->machine->log_read
				    ? "the kernel's log has lost what it said at the start"
				    : "the kernel's log cannot be read");
		MEND(found, judge->machine->log_read
				    ? "dmesg | grep SBI, after the next start"
				    : "run as root, or sysctl kernel.dmesg_restrict=0");
		return;
	}
	if (log->implementation_id == MACHINE_SBI_OPENSBI && log->implementation)
		add(judge, "firmware", MACHINE_GOOD, "OpenSBI %u.%u, SBI %u.%u",
		    log->implementation_version >> 16, log->implementation_version & 0xffff,
		    log->sbi_major, log->sbi_minor);
	else
		add(judge, "firmware", MACHINE_GOOD, "implementation %u, version 0x%x, SBI %u.%u",
		    log->implementation_id, log->implementation_version, log->sbi_major,
		    log->sbi_minor);
	if (judge->knowledge->faults)
		machine_faults_each(judge->knowledge->faults, log, &judge->machine->cpu, take_fault,
				    judge);
}

/* ---- Counters ------------------------------------------------------------------------------- */

static void judge_counters(struct judge *judge)
{
	const struct machine *machine = judge->machine;
	const struct machine_log *log = &machine->log;
	struct machine_finding *found;
	char counters[64] = "";

	if (log->counters)
		snprintf(counters, sizeof(counters),
			 ", %u counters of the hardware, %u of the firmware",
			 log->hardware_counters, log->firmware_counters);
	if (machine->pmu_cpu) {
		found = add(judge, "counters", MACHINE_GOOD, "%s%s",
			    log->legacy ? "the kernel's legacy driver" : "PMU 'cpu' in sysfs",
			    counters);
		if (log->legacy) {
			found->state = MACHINE_LACK;
			EFFECT(found,
			       "cycles and instructions are counted, nothing else, and nothing "
			       "is sampled");
			MEND(found,
			     "firmware with the SBI PMU extension (OpenSBI 1.0 or newer), and "
			     "CONFIG_RISCV_PMU_SBI=y");
		}
		return;
	}
	found = add(judge, "counters", machine->riscv ? MACHINE_LACK : MACHINE_NOTE,
		    "no PMU 'cpu' in sysfs");
	EFFECT(found, "no event of the hardware is counted or sampled");
	if (!machine->riscv)
		return;
	if (machine->options[MACHINE_RISCV_PMU_SBI] == MACHINE_OPTION_NO)
		MEND(found, "CONFIG_RISCV_PMU=y and CONFIG_RISCV_PMU_SBI=y in the kernel");
	else
		MEND(found,
		     "firmware with the SBI PMU extension: OpenSBI 1.0 or newer, with a node "
		     "compatible = \"riscv,pmu\" in its device tree (OpenSBI's docs/pmu_support.md)");
}

static void judge_interrupt(struct judge *judge)
{
	const struct machine *machine = judge->machine;
	struct machine_finding *found;

	if (!machine->riscv || !machine->pmu_cpu || machine->log.legacy)
		return;
	if (machine->interrupt) {
		add(judge, "overflow interrupt", MACHINE_GOOD, "set up by the kernel");
		return;
	}
	found = add(judge, "overflow interrupt", MACHINE_NOTE, "none%s",
		    machine->log.no_sampling ? ", says the kernel's driver" : "");
	EFFECT(found, "cycles are counted and not sampled; no mode can be left out");
	if (is_thead(machine) && machine->options[MACHINE_ERRATA_THEAD_PMU] == MACHINE_OPTION_NO)
		MEND(found, "CONFIG_ERRATA_THEAD=y and CONFIG_ERRATA_THEAD_PMU=y in the kernel");
	else if (is_andes(machine) &&
		 machine->options[MACHINE_ANDES_CUSTOM_PMU] == MACHINE_OPTION_NO)
		MEND(found, "CONFIG_ANDES_CUSTOM_PMU=y in the kernel");
	else if (machine_isa_has(machine->cpu.isa, "sscofpmf"))
		MEND(found, "CONFIG_RISCV_PMU_SBI=y in a kernel of 5.18 or newer");
	if (*found->mend)
		found->state = MACHINE_LACK;
}

static void judge_driver(struct judge *judge)
{
	const struct machine *machine = judge->machine;
	struct machine_finding *found;

	if (!machine->riscv)
		return;
	if (machine->pmu_pesa) {
		add(judge, "driver pesa", MACHINE_GOOD, "loaded: shpmsdetails are sampled");
		return;
	}
	found = add(judge, "driver pesa", MACHINE_NOTE,
		    machine->tree_details ? "not loaded, and the harts have shpmsdetails"
		    : machine->module	  ? "not loaded"
					  : "none");
	EFFECT(found, "no cycle stacks, no exact PCs");
	if (machine->tree_details || machine->module) {
		found->state = machine->tree_details ? MACHINE_LACK : MACHINE_NOTE;
		MEND(found, "%s",
		     machine->module ? "modprobe pesa"
				     : "install the driver (Documentation/driver.md), then "
				       "modprobe pesa");
	}
}

static void judge_tree(struct judge *judge)
{
	const struct machine *machine = judge->machine;
	struct machine_finding *found;

	if (!machine->riscv)
		return;
	if (!machine->tree) {
		add(judge, "device tree", MACHINE_NOTE, "none: the machine is described by ACPI");
		return;
	}
	found = add(judge, "device tree", machine->tree_pmu ? MACHINE_GOOD : MACHINE_NOTE,
		    "%s node riscv,pmu%s", machine->tree_pmu ? "a" : "no",
		    machine->tree_details ? ", a node riscv,shpmsdetails" : "");
	if (!machine->tree_pmu)
		EFFECT(found,
		       "firmware that is not told which counter counts what offers cycles and "
		       "instructions at most");
}

/* ---- Kernel -------------------------------------------------------------------------------- */

static void judge_options(struct judge *judge)
{
	static const struct {
		unsigned int option;
		bool riscv;
		const char *effect;
	} wanted[] = {
		{MACHINE_PERF_EVENTS, false,
		 "nothing can be recorded or counted through the kernel"},
		{MACHINE_RISCV_PMU, true, "no event of the hardware is counted"},
		{MACHINE_RISCV_PMU_SBI, true,
		 "no event of the hardware but cycles and instructions"},
		{MACHINE_KALLSYMS, false, "functions of the kernel have no names"},
		{MACHINE_HIGH_RES_TIMERS, false, "a clock samples at the rate of the tick only"},
		{MACHINE_MODULES, true, "the driver pesa cannot be loaded"},
		{MACHINE_BPF_SYSCALL, false,
		 "pesad reads every sample instead of counting in the kernel"},
		{MACHINE_BPF_EVENTS, false,
		 "pesad reads every sample instead of counting in the kernel"},
		{MACHINE_DEBUG_INFO_BTF, false,
		 "pesad reads every sample instead of counting in the kernel"},
	};
	const struct machine *machine = judge->machine;
	struct machine_finding *found;

	found = add(judge, "kernel", MACHINE_GOOD, "%s%s%s", machine->release,
		    *machine->config ? ", configuration in " : ", no configuration to look at",
		    machine->config);
	if (!*machine->config) {
		found->state = MACHINE_UNKNOWN;
		return;
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (machine->options[wanted[i].option] != MACHINE_OPTION_NO ||
		    (wanted[i].riscv && !machine->riscv))
			continue;
		found = add(judge, "kernel option",
			    wanted[i].option < MACHINE_BPF_SYSCALL ? MACHINE_LACK : MACHINE_NOTE,
			    "CONFIG_%s is not set", machine_option_names[wanted[i].option]);
		EFFECT(found, "%s", wanted[i].effect);
		MEND(found, "CONFIG_%s=y in the kernel", machine_option_names[wanted[i].option]);
	}
}

static void judge_privileges(struct judge *judge)
{
	const struct machine *machine = judge->machine;
	int64_t level = machine->paranoid.value;
	struct machine_finding *found;

	if (!machine->paranoid.known) {
		found = add(judge, "perf_event_paranoid", MACHINE_LACK, "there is none");
		EFFECT(found, "this kernel has no perf events, or they are hidden");
		MEND(found, "CONFIG_PERF_EVENTS=y in the kernel");
		return;
	}
	found = add(judge, "perf_event_paranoid", MACHINE_GOOD, "%" PRId64 "%s", level,
		    machine->privileged ? ", and the caller is privileged" : "");
	if (machine->privileged || level <= 0)
		return;
	found->state = MACHINE_LACK;
	EFFECT(found, level > 2 ? "nobody but root records or counts anything"
		      : level == 2
			      ? "user mode of one's own processes; neither the kernel nor whole "
				"CPUs"
			      : "one's own processes; no whole CPUs");
	MEND(found, "sysctl kernel.perf_event_paranoid=%d, or setcap cap_perfmon+ep on pesa",
	     level > 1 ? 1 : 0);
}

static void judge_names(struct judge *judge)
{
	const struct machine *machine = judge->machine;
	struct machine_finding *found;

	if (machine->kptr_restrict.known && machine->kptr_restrict.value > 0 &&
	    !machine->privileged) {
		found = add(judge, "kptr_restrict", MACHINE_NOTE, "%" PRId64,
			    machine->kptr_restrict.value);
		EFFECT(found, "functions of the kernel have no names");
		MEND(found, "run as root, or sysctl kernel.kptr_restrict=0");
	}
	found = add(judge, "debug information", MACHINE_GOOD, "%s%s",
		    machine->debug_files ? "files below /usr/lib/debug"
					 : "no files below /usr/lib/debug",
		    judge->knowledge->debuginfod ? ", DEBUGINFOD_URLS is set" : "");
	if (machine->debug_files || judge->knowledge->debuginfod)
		return;
	found->state = MACHINE_NOTE;
	EFFECT(found, "lines and inlined calls of the distribution's libraries are missing");
	MEND(found,
	     "export DEBUGINFOD_URLS=https://debuginfod.%s, or install their -dbgsym packages",
	     !strcmp(machine->distribution, "debian")	? "debian.net"
	     : !strcmp(machine->distribution, "ubuntu") ? "ubuntu.com"
	     : !strcmp(machine->distribution, "fedora") ? "fedoraproject.org"
							: "elfutils.org");
}

static void judge_frequency(struct judge *judge)
{
	const struct machine *machine = judge->machine;
	struct machine_finding *found;

	if (!*machine->governor) {
		add(judge, "frequency", MACHINE_GOOD,
		    "does not change, or the kernel does not tell");
		return;
	}
	found = add(judge, "frequency", MACHINE_GOOD, "governor %s, %" PRId64 " to %" PRId64 " MHz",
		    machine->governor, machine->frequency_least.value / 1000,
		    machine->frequency_most.value / 1000);
	if (!strcmp(machine->governor, "performance") ||
	    machine->frequency_least.value == machine->frequency_most.value)
		return;
	found->state = MACHINE_NOTE;
	EFFECT(found, "cycles and time are not in proportion, and runs differ");
	MEND(found, "echo performance | tee "
		    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
}

/* ---- Results ------------------------------------------------------------------------------- */

static void judge_source(struct judge *judge)
{
	const struct pesa_sampling_source *source = judge->knowledge->source;
	struct machine_finding *found;
	char name[256];

	if (!source) {
		add(judge, "source of samples", MACHINE_UNKNOWN,
		    "not tried: these are files of another machine");
		return;
	}
	pesa_source_joined_name(source, name, sizeof(name));
	found = add(judge, "source of samples",
		    source->level == PESA_SOURCE_DETAILS ? MACHINE_GOOD : MACHINE_NOTE,
		    "%s (%s): %s", name, pesa_source_level_name(source->level),
		    pesa_source_level_meaning(source->level));
	if (*source->why)
		EFFECT(found, "no better one: %s", source->why);
}

static void judge_emulator(struct judge *judge)
{
	const char *why = judge->knowledge->emulator;
	struct machine_finding *found;

	if (!why) {
		add(judge, "virtual core", MACHINE_GOOD, "can be used: --core ooo-4");
		return;
	}
	found = add(judge, "virtual core", MACHINE_NOTE, "cannot be used");
	EFFECT(found, "no cycle stacks of RISC-V programs without hardware");
	MEND(found, "%s", why);
}

void machine_judge(const struct machine *machine, const struct machine_knowledge *knowledge,
		   struct machine_findings *findings)
{
	struct judge judge = {.machine = machine, .knowledge = knowledge, .findings = findings};

	findings->count = 0;
	judge_processor(&judge);
	judge_isa(&judge);
	judge_firmware(&judge);
	judge_tree(&judge);
	judge_counters(&judge);
	judge_interrupt(&judge);
	judge_driver(&judge);
	judge_source(&judge);
	judge_options(&judge);
	judge_privileges(&judge);
	judge_frequency(&judge);
	judge_names(&judge);
	judge_emulator(&judge);
}

/* ---- Subcommands ---------------------------------------------------------------------------- */

/* What recordings of this machine allow: with details, of cycles, of the processor's own events, of a
 * clock. */
enum { WITH_DETAILS, WITH_CYCLES, WITH_LEADER, WITH_CLOCK, KINDS };

static const struct {
	const char *command;
	const char *able[KINDS], *text[KINDS];
} abilities_of[] = {
	{"record, top, pesad",
	 {"yes", "yes", "yes", "in part"},
	 {"cycle stacks of instructions", "cycles by function and line",
	  "cycles by function and line (in pesad.conf: event = cpu/TERMS/, from 'pesa list')",
	  "time by function and line"}},
	{"report, annotate",
	 {"yes", "in part", "in part", "in part"},
	 {"where cycles went, in which state and why", "where cycles went, some instructions late",
	  "where cycles went, some instructions late", "where time went, at interrupts"}},
	{"calibrate",
	 {"no", "yes", "yes", "no"},
	 {"PCs are exact: there is nothing to calibrate",
	  "run it once: cycles of late PCs are moved back better",
	  "run it once: cycles of late PCs are moved back better",
	  "a clock's samples cannot be calibrated"}},
	{"diff, export, script, archive, merge",
	 {"yes", "yes", "yes", "yes"},
	 {"all that recordings have", "all that recordings have", "all that recordings have",
	  "all that recordings have"}},
	{"explain, topdown, advise, annotate --why, compare",
	 {"yes", "no", "no", "no"},
	 {"from cycle stacks", "need cycle stacks: --core ooo-4 has them",
	  "need cycle stacks: --core ooo-4 has them", "need cycle stacks: --core ooo-4 has them"}},
};

static void add_ability(struct machine_ability *abilities, size_t *count, const char *command,
			const char *able, const char *text)
{
	abilities[(*count)++] =
		(struct machine_ability){.command = command, .able = able, .text = text};
}

size_t machine_abilities(const struct machine_knowledge *knowledge,
			 struct machine_ability abilities[MACHINE_ABILITIES_MAX])
{
	const struct pesa_sampling_source *source = knowledge->source;
	unsigned int kind = WITH_CYCLES;
	size_t count = 0;

	if (source && source->level == PESA_SOURCE_DETAILS)
		kind = WITH_DETAILS;
	else if (source && source->level == PESA_SOURCE_LEADER)
		kind = WITH_LEADER;
	else if (source && source->level == PESA_SOURCE_CLOCK)
		kind = WITH_CLOCK;
	for (size_t i = 0; source && i < sizeof(abilities_of) / sizeof(abilities_of[0]); i++)
		add_ability(abilities, &count, abilities_of[i].command, abilities_of[i].able[kind],
			    abilities_of[i].text[kind]);
	if (source)
		add_ability(abilities, &count, "stat", knowledge->counts ? "yes" : "in part",
			    !knowledge->counts ? "events of the kernel; no cycles, no instructions"
			    : knowledge->event_files
				    ? "cycles, and this processor's events by name"
				    : "cycles, and the processor's events by number");
	add_ability(abilities, &count, "record, stat, error, calibrate with --core",
		    knowledge->emulator ? "no" : "yes",
		    knowledge->emulator ? "no emulator" : "RISC-V programs on the virtual core");
	add_ability(abilities, &count, "mca, import, list", "yes",
		    "predictions, pipeline traces, names: on any machine");
	return count;
}
