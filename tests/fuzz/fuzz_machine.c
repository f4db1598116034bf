/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: what a machine says of itself: /proc/cpuinfo, configuration, log, device tree, faults
 * of firmware.  The first byte chooses.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/machine/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_cpu(const char *text)
{
	struct machine_cpu cpu;

	machine_parse_cpu(text, &cpu);
	if (cpu.kinds > 2 || (cpu.kinds && !*cpu.id))
		abort();
	machine_isa_has(cpu.isa, "sscofpmf");
	machine_isa_has(text, "v");
	machine_isa_has(text, text);
}

static void read_log(char *text)
{
	struct machine_log log = {0};
	char *line;

	while ((line = strsep(&text, "\n")))
		machine_parse_log_line(line, &log);
	if (log.firmware_counters > 4096 || log.sbi_major > 127)
		abort();
}

static void take_fault(void *context, const struct machine_fault *fault)
{
	(void)context;
	if (!fault->effect || !fault->commit || strchr(fault->effect, '\n'))
		abort();
}

static void read_faults(char *text)
{
	const struct machine_cpu cpu = {.isa = "rv64i_sscofpmf", .id = "0x5b7-0x0-0x0"};
	const struct machine_log log = {.implementation = true,
					.implementation_id = MACHINE_SBI_OPENSBI,
					.implementation_version = 0x10003};

	machine_faults_each(text, &log, &cpu, take_fault, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (*data % 5) {
	case 0:
		read_cpu(text);
		break;
	case 1:
		machine_parse_option(text, "RISCV_PMU_SBI");
		break;
	case 2:
		read_log(text);
		break;
	case 3:
		machine_strings_have(text, size - 1, "riscv,pmu");
		break;
	default:
		read_faults(text);
		break;
	}
	free(text);
	return 0;
}
