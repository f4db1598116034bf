/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read of a machine's files, and what follows: boards with the failures that are reported of
 * them (Documentation/boards.md).
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/machine/findings.h"
#include "tests/file_tree.h"

#define SBI(version)                                \
	"6,1,0,-;SBI specification v1.0 detected\n" \
	"6,2,0,-;SBI implementation ID=0x1 Version=0x" version "\n"
#define COUNTERS                                                  \
	"6,3,0,-;riscv-pmu-sbi: SBI PMU extension is available\n" \
	"6,4,0,-;riscv-pmu-sbi: 16 firmware and 18 hardware counters\n"
#define NO_SAMPLING                                                                 \
	"6,5,0,-;riscv-pmu-sbi: Perf sampling/filtering is not supported as sscof " \
	"extension is not available\n"
#define CPU(isa, uarch, vendor, architecture, implementation)                                   \
	"processor\t: 0\nhart\t\t: 1\nisa\t\t: " isa "\nmmu\t\t: sv39\nuarch\t\t: " uarch       \
	"\nmvendorid\t: " vendor "\nmarchid\t\t: " architecture "\nmimpid\t\t: " implementation \
	"\n\n"

#define FILES_MAX 14

struct board {
	const char *name;
	struct file_tree_file files[FILES_MAX];
	struct {
		const char *subject;
		enum machine_state state;
		const char *value, *effect, *mend;
	} expected[5];
};

#define PMU                                                    \
	{                                                      \
		"sys/bus/event_source/devices/cpu/type", "4\n" \
	}
#define INTERRUPT                                                               \
	{                                                                       \
		"proc/interrupts", " 12:  5  RISC-V INTC  13 Edge  riscv-pmu\n" \
	}
#define TREE                                                               \
	{                                                                  \
		"sys/firmware/devicetree/base/pmu/compatible", "riscv,pmu" \
	}
#define PARANOID                                             \
	{                                                    \
		"proc/sys/kernel/perf_event_paranoid", "2\n" \
	}

static const struct board boards[] = {
	{"U74 (JH7110): no Sscofpmf",
	 {{"proc/cpuinfo", CPU("rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb", "sifive,u74-mc",
			       "0x489", "0x8000000000000007", "0x4210427")},
	  {"sys/firmware/devicetree/base/model", "StarFive VisionFive 2 v1.3B"},
	  {"dev/kmsg", SBI("10002") COUNTERS NO_SAMPLING},
	  PMU,
	  TREE,
	  PARANOID},
	 {{"board", MACHINE_GOOD, "VisionFive 2", "", ""},
	  {"ISA", MACHINE_NOTE, "rv64imafdc", "only a clock can sample", ""},
	  {"firmware", MACHINE_GOOD, "OpenSBI 1.2, SBI 1.0", "", ""},
	  {"overflow interrupt", MACHINE_NOTE, "none, says the kernel's driver", "not sampled", ""},
	  {"perf_event_paranoid", MACHINE_LACK, "2", "neither the kernel",
	   "sysctl kernel.perf_event_paranoid=1"}}},
	{"C910 (TH1520), firmware 1.3 that is not told of counters",
	 {{"proc/cpuinfo",
	   CPU("rv64imafdc_zicntr_zicsr_zifencei_zihpm", "thead,c910", "0x5b7", "0x0", "0x0")},
	  {"sys/firmware/devicetree/base/model", "Sipeed Lichee Pi 4A"},
	  {"dev/kmsg", SBI("10003")},
	  {"boot/config-6.6.0", "CONFIG_RISCV_PMU=y\nCONFIG_RISCV_PMU_SBI=y\n"},
	  {"proc/sys/kernel/osrelease", "6.6.0\n"}},
	 {{"device tree", MACHINE_NOTE, "no node riscv,pmu", "at most", ""},
	  {"counters", MACHINE_LACK, "no PMU 'cpu'", "no event of the hardware",
	   "compatible = \"riscv,pmu\""},
	  {"firmware fault", MACHINE_LACK, "no platform but Allwinner's", "",
	   "OpenSBI 1.4 or newer"},
	  {"kernel option", MACHINE_LACK, "CONFIG_PERF_EVENTS is not set", "",
	   "CONFIG_PERF_EVENTS=y"}}},
	{"C920 (SG2042), kernel without the interrupt of T-Head's processors",
	 {{"proc/cpuinfo", CPU("rv64imafdc_zihpm", "thead,c920", "0x5b7", "0x0", "0x0")},
	  {"dev/kmsg", SBI("10005") COUNTERS NO_SAMPLING},
	  {"proc/sys/kernel/osrelease", "6.12.9\n"},
	  {"boot/config-6.12.9",
	   "CONFIG_PERF_EVENTS=y\nCONFIG_RISCV_PMU_SBI=y\n# CONFIG_ERRATA_THEAD_PMU is not set\n"},
	  PMU,
	  TREE},
	 {{"ISA", MACHINE_NOTE, "rv64imafdc", "an overflow interrupt of its own", ""},
	  {"overflow interrupt", MACHINE_LACK, "none", "", "CONFIG_ERRATA_THEAD_PMU=y"},
	  {"firmware fault", MACHINE_LACK, "suspended", "1db95da2", "OpenSBI 1.8 or newer"}}},
	{"X60 (K1): all is set up, and the fixed counter of cycles does not interrupt",
	 {{"proc/cpuinfo", CPU("rv64imafdcv_zicntr_zihpm_sscofpmf_sstc", "spacemit,x60", "0x710",
			       "0x8000000058000001", "0x1000000049772200")},
	  {"dev/kmsg", SBI("10003") COUNTERS},
	  PMU,
	  TREE,
	  INTERRUPT},
	 {{"ISA", MACHINE_GOOD, "sscofpmf", "", ""},
	  {"overflow interrupt", MACHINE_GOOD, "set up", "", ""},
	  {"firmware fault", MACHINE_LACK, "suspended", "", "1.8"}}},
	{"P550, firmware without faults",
	 {{"proc/cpuinfo", CPU("rv64imafdch_zicntr_zihpm_sscofpmf", "sifive,p550", "0x489",
			       "0x8000000000000008", "0x6220425")},
	  {"dev/kmsg", SBI("10009") COUNTERS},
	  PMU,
	  TREE,
	  INTERRUPT},
	 {{"firmware", MACHINE_GOOD, "OpenSBI 1.9", "", ""},
	  {"driver pesa", MACHINE_NOTE, "none", "no cycle stacks", ""}}},
	{"old firmware and the legacy driver",
	 {{"proc/cpuinfo",
	   CPU("rv64imafdc", "sifive,u74-mc", "0x489", "0x8000000000000007", "0x20181004")},
	  {"dev/kmsg",
	   SBI("9") "6,3,0,-;riscv-pmu-legacy: Legacy PMU implementation is available\n"},
	  PMU},
	 {{"counters", MACHINE_LACK, "legacy driver", "nothing is sampled", "OpenSBI 1.0"},
	  {"firmware fault", MACHINE_LACK, "no PMU extension", "", "OpenSBI 1.0 or newer"}}},
	{"shpmsdetails, and the driver is there to load",
	 {{"proc/cpuinfo", CPU("rv64imafdc_sscofpmf", "x", "0x1", "0x2", "0x3")},
	  {"sys/firmware/devicetree/base/soc/pmu@1/compatible", "x,y\0riscv,shpmsdetails"},
	  {"proc/sys/kernel/osrelease", "6.12.9\n"},
	  {"lib/modules/6.12.9/modules.dep", "updates/dkms/pesa.ko.xz:\n"},
	  {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand\n"},
	  {"sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", "600000\n"},
	  {"sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "1600000\n"},
	  {"etc/os-release", "NAME=x\nID=debian\n"}},
	 {{"firmware", MACHINE_UNKNOWN, "cannot be read", "", "as root"},
	  {"frequency", MACHINE_NOTE, "ondemand, 600 to 1600 MHz", "runs differ", "performance"},
	  {"driver pesa", MACHINE_NOTE, "not loaded", "no cycle stacks", "modprobe pesa"},
	  {"debug information", MACHINE_NOTE, "no files", "", "debuginfod.debian.net"}}},
};

static char *faults(void)
{
	size_t size;
	char *text = machine_file("", "tools/events/firmware.csv", 1 << 20, &size);

	assert_non_null(text);
	return text;
}

/* There is such a finding. */
static bool is_found(const struct machine_findings *findings, const char *subject,
		     enum machine_state state, const char *value, const char *effect,
		     const char *mend)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct machine_finding *one = &findings->finding[i];

		if (!strcmp(one->subject, subject) && one->state == state &&
		    strstr(one->value, value) && strstr(one->effect, effect) &&
		    strstr(one->mend, mend) && (*mend || !*one->mend))
			return true;
	}
	return false;
}

static void boards_lack_what_is_reported_of_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(boards) / sizeof(boards[0]); i++) {
		const struct board *board = &boards[i];
		struct machine_knowledge knowledge = {.faults = faults(), .event_files = true};
		struct machine_findings findings;
		struct machine machine;
		struct file_tree *tree;
		size_t count = 0;
		void *files;

		while (count < FILES_MAX && board->files[count].name)
			count++;
		assert_int_equal(file_tree_set_up(&files, board->files, count), 0);
		tree = files;
		machine_read(tree->root, &machine);
		machine_judge(&machine, &knowledge, &findings);
		for (size_t j = 0; j < 5 && board->expected[j].subject; j++)
			if (!is_found(&findings, board->expected[j].subject,
				      board->expected[j].state, board->expected[j].value,
				      board->expected[j].effect, board->expected[j].mend))
				fail_msg("%s: no finding '%s' %s: %s: %s", board->name,
					 board->expected[j].subject,
					 machine_state_name(board->expected[j].state),
					 board->expected[j].value, board->expected[j].mend);
		machine_free(&machine);
		free(knowledge.faults);
		file_tree_tear_down(&files);
	}
}

static void firmware_without_faults_has_none(void **state)
{
	struct machine_knowledge knowledge = {.faults = faults()};
	struct machine machine = {.root = "",
				  .riscv = true,
				  .log = {.sbi = true,
					  .implementation = true,
					  .implementation_id = MACHINE_SBI_OPENSBI,
					  .implementation_version = 0x10009}};
	struct machine_findings findings;

	(void)state;
	machine_judge(&machine, &knowledge, &findings);
	for (size_t i = 0; i < findings.count; i++)
		assert_string_not_equal(findings.finding[i].subject, "firmware fault");
	free(knowledge.faults);
}

static void take(void *context, const struct machine_fault *fault)
{
	(void)fault;
	++*(unsigned int *)context;
}

static void lines_of_faults_that_make_no_sense_are_counted(void **state)
{
	const struct machine_log log = {.implementation = true, .implementation_id = 1};
	const struct machine_cpu cpu = {.isa = "rv64i_sscofpmf"};
	char text[] =
		"# comment\n1|-|1.0|.*|-|-|a|b\n1|-|1.0|.*|sscofpmf|-|a|b\n"
		"1|-|1.0|.*|-|sscofpmf|a|b\n1|-|1.0|.*|smcntrpmf|-|a|b\n1|0.1|1.0|.*|-|-|a|b\n"
		"x|-|1.0|.*|-|-|a|b\n1|-|1|.*|-|-|a|b\n1|-|1.0|.*|-|-|a\n1|-|-|x.*|-|-|a|b";
	unsigned int found = 0;

	(void)state;
	assert_int_equal(machine_faults_each(text, &log, &cpu, take, &found), 3);
	assert_int_equal(found, 2);
}

static void extensions_are_found_whole(void **state)
{
	static const char isa[] = "rv64imafdcv_zicntr2p0_Sscofpmf_zve64d_ssaia1p0";

	(void)state;
	assert_true(machine_isa_has(isa, "v"));
	assert_false(machine_isa_has(isa, "h"));
	assert_false(machine_isa_has(isa, "r"));
	assert_true(machine_isa_has(isa, "sscofpmf"));
	assert_true(machine_isa_has(isa, "zicntr"));
	assert_true(machine_isa_has(isa, "zve64d"));
	assert_true(machine_isa_has(isa, "ssaia"));
	assert_false(machine_isa_has(isa, "ssco"));
	assert_false(machine_isa_has(isa, "sscofpmfx"));
	assert_false(machine_isa_has(isa, ""));
	assert_false(machine_isa_has("", "v"));
	assert_false(machine_isa_has("rv64", "v"));
	assert_false(machine_isa_has("_", "v"));
}

static void harts_of_several_kinds_are_seen(void **state)
{
	struct machine_cpu cpu;

	(void)state;
	machine_parse_cpu(CPU("rv64i", "a", "0x1", "0x2", "0x3")
				  CPU("rv64i", "a", "0x1", "0x2", "0x3"),
			  &cpu);
	assert_int_equal(cpu.harts, 2);
	assert_int_equal(cpu.kinds, 1);
	machine_parse_cpu(CPU("rv64i", "a", "0x1", "0x2", "0x3")
				  CPU("rv64ic", "b", "0x1", "0x2", "0x4"),
			  &cpu);
	assert_int_equal(cpu.kinds, 2);
	assert_string_equal(cpu.id, "0x1-0x2-0x3");
	assert_string_equal(cpu.isa, "rv64i");
	machine_parse_cpu("", &cpu);
	assert_int_equal(cpu.harts, 0);
	machine_parse_cpu("isa\nisa:\nisa : rv64\nmvendorid : 0x1", &cpu);
	assert_string_equal(cpu.isa, "rv64");
	assert_string_equal(cpu.id, "");
}

static void options_are_found_by_their_whole_name(void **state)
{
	static const char text[] =
		"CONFIG_AB=y\nCONFIG_A=m\n# CONFIG_C is not set\nCONFIG_D=\"y\"\nCONFIG_E";

	(void)state;
	assert_int_equal(machine_parse_option(text, "AB"), MACHINE_OPTION_YES);
	assert_int_equal(machine_parse_option(text, "A"), MACHINE_OPTION_MODULE);
	assert_int_equal(machine_parse_option(text, "C"), MACHINE_OPTION_NO);
	assert_int_equal(machine_parse_option(text, "D"), MACHINE_OPTION_NO);
	assert_int_equal(machine_parse_option(text, "E"), MACHINE_OPTION_NO);
	assert_int_equal(machine_parse_option("", "A"), MACHINE_OPTION_NO);
}

static void a_compressed_configuration_is_read(void **state)
{
	struct machine machine;
	struct file_tree *tree;
	char command[256];
	void *files;

	(void)state;
	assert_int_equal(file_tree_set_up(&files,
					  (const struct file_tree_file[]){
						  {"proc/config", "CONFIG_PERF_EVENTS=y\n"}},
					  1),
			 0);
	tree = files;
	snprintf(command, sizeof(command), "gzip %s/proc/config", tree->root);
	assert_int_equal(system(command), 0);
	machine_read(tree->root, &machine);
	assert_string_equal(machine.config, "/proc/config.gz");
	assert_int_equal(machine.options[MACHINE_PERF_EVENTS], MACHINE_OPTION_YES);
	assert_int_equal(machine.options[MACHINE_KALLSYMS], MACHINE_OPTION_NO);
	/* What is no gzip file is none. */
	machine_free(&machine);
	file_tree_write(tree, "proc/config.gz", "CONFIG_PERF_EVENTS=y\n");
	machine_read(tree->root, &machine);
	assert_string_equal(machine.config, "");
	machine_free(&machine);
	file_tree_tear_down(&files);
}

/* Every file is what it should not be: a folder, a pipe, endless lines. */
static void files_of_others_are_never_trusted(void **state)
{
	static const char *const folders[] = {"proc/cpuinfo/x", "dev/kmsg/x", "proc/config.gz/x",
					      "etc/os-release/x", "proc/interrupts/x"};
	struct machine_knowledge knowledge = {.event_files = true};
	struct machine_findings findings;
	struct machine machine;
	char command[256], *line = malloc(100001);
	struct file_tree *tree;
	void *files;

	(void)state;
	assert_non_null(line);
	memset(line, '9', 100000);
	line[100000] = '\0';
	assert_int_equal(file_tree_set_up(&files, NULL, 0), 0);
	tree = files;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		file_tree_write(tree, folders[i], "y");
	file_tree_write(tree, "proc/sys/kernel/osrelease", line);
	file_tree_write(tree, "proc/sys/kernel/perf_event_paranoid", line);
	file_tree_write(tree, "sys/firmware/devicetree/base/model", line);
	file_tree_write(tree, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "");
	snprintf(command, sizeof(command), "mkfifo %s/proc/self", tree->root);
	assert_int_equal(system(command), 0);
	machine_read(tree->root, &machine);
	machine_judge(&machine, &knowledge, &findings);
	assert_string_equal(machine.architecture, "unknown");
	assert_false(machine.paranoid.known);
	assert_int_equal(strlen(machine.release), sizeof(machine.release) - 1);
	machine_free(&machine);
	file_tree_tear_down(&files);
	free(line);
}

static void strings_of_the_device_tree_are_whole(void **state)
{
	static const char list[] = "a,b\0riscv,pmu\0c";

	(void)state;
	assert_true(machine_strings_have(list, sizeof(list), "riscv,pmu"));
	assert_true(machine_strings_have(list, sizeof(list), "a,b"));
	assert_true(machine_strings_have(list, sizeof(list) - 1, "c"));
	assert_false(machine_strings_have(list, sizeof(list), "riscv"));
	assert_false(machine_strings_have(list, sizeof(list), "pmu"));
	assert_false(machine_strings_have(list, 0, "a,b"));
}

static void subcommands_do_what_the_source_allows(void **state)
{
	struct pesa_sampling_source source = {.level = PESA_SOURCE_DETAILS};
	struct machine_knowledge knowledge = {.source = &source};
	struct machine_ability abilities[MACHINE_ABILITIES_MAX];

	(void)state;
	for (unsigned int level = 0; level < PESA_SOURCE_LEVELS; level++) {
		size_t count;

		source.level = (enum pesa_source_level)level;
		count = machine_abilities(&knowledge, abilities);
		assert_true(count > 5 && count <= MACHINE_ABILITIES_MAX);
		for (size_t i = 0; i < count; i++)
			if (strstr(abilities[i].command, "explain"))
				assert_string_equal(abilities[i].able,
						    level == PESA_SOURCE_DETAILS ? "yes" : "no");
	}
	/* Of saved files nothing is known that has to be tried. */
	knowledge.source = NULL;
	assert_int_equal(machine_abilities(&knowledge, abilities), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boards_lack_what_is_reported_of_them),
		cmocka_unit_test(firmware_without_faults_has_none),
		cmocka_unit_test(lines_of_faults_that_make_no_sense_are_counted),
		cmocka_unit_test(extensions_are_found_whole),
		cmocka_unit_test(harts_of_several_kinds_are_seen),
		cmocka_unit_test(options_are_found_by_their_whole_name),
		cmocka_unit_test(a_compressed_configuration_is_read),
		cmocka_unit_test(files_of_others_are_never_trusted),
		cmocka_unit_test(strings_of_the_device_tree_are_whole),
		cmocka_unit_test(subcommands_do_what_the_source_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
