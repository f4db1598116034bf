// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/machine/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/events/file.h"
#include "decoder/base/number.h"

/* ---- /proc/cpuinfo ------------------------------------------------------------------------- */

/* The value of a line "KEY\t: VALUE"; NULL: another key. */
static const char *value_of(const char *line, const char *key, size_t *length)
{
	size_t size = strlen(key);

	if (strncmp(line, key, size))
		return NULL;
	line += size + strspn(line + size, " \t");
	if (*line != ':')
		return NULL;
	line += 1 + strspn(line + 1, " \t");
	*length = strcspn(line, "\r\n");
	return line;
}

/* Keep the first value of a key. */
static void keep(const char *line, const char *key, char *field, size_t room)
{
	size_t length;
	const char *value = *field ? NULL : value_of(line, key, &length);

	if (value && length < room)
		snprintf(field, room, "%.*s", (int)length, value);
}

/* Keep the parts of an id of a hart. */
struct hart_id {
	char vendor[24], architecture[24], implementation[24];
};

static void end_hart(struct machine_cpu *cpu, struct hart_id *hart)
{
	char id[PESA_CPU_ID_MAX];

	if (*hart->vendor && *hart->architecture && *hart->implementation) {
		snprintf(id, sizeof(id), "%s-%s-%s", hart->vendor, hart->architecture,
			 hart->implementation);
		if (!*cpu->id)
			memcpy(cpu->id, id, sizeof(cpu->id));
		/* Only whether there is more than one kind matters. */
		if (!cpu->kinds || (cpu->kinds == 1 && strcmp(cpu->id, id)))
			cpu->kinds++;
	}
	*hart = (struct hart_id){.vendor = ""};
}

void machine_parse_cpu(const char *text, struct machine_cpu *cpu)
{
	struct hart_id hart = {.vendor = ""};
	size_t length;

	*cpu = (struct machine_cpu){.harts = 0};
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (value_of(line, "processor", &length)) {
			end_hart(cpu, &hart);
			cpu->harts += cpu->harts < 65536;
		}
		keep(line, "isa", cpu->isa, sizeof(cpu->isa));
		keep(line, "uarch", cpu->uarch, sizeof(cpu->uarch));
		keep(line, "model name", cpu->name, sizeof(cpu->name));
		keep(line, "mvendorid", hart.vendor, sizeof(hart.vendor));
		keep(line, "marchid", hart.architecture, sizeof(hart.architecture));
		keep(line, "mimpid", hart.implementation, sizeof(hart.implementation));
	}
	end_hart(cpu, &hart);
}

/* The length of a name without a version: "v1p0" is v, "zve64d" stays. */
static size_t unversioned(const char *name, size_t length)
{
	size_t minor = length, major;

	while (minor && isdigit((unsigned char)name[minor - 1]))
		minor--;
	if (minor == length || !minor || tolower((unsigned char)name[minor - 1]) != 'p')
		return length;
	major = minor - 1;
	while (major && isdigit((unsigned char)name[major - 1]))
		major--;
	return major == minor - 1 ? length : major;
}

bool machine_isa_has(const char *isa, const char *extension)
{
	size_t wanted = strlen(extension), first = strcspn(isa, "_");

	if (!wanted)
		return false;
	/* Single letters are behind "rv64". */
	if (wanted == 1)
		return first > 4 && memchr(isa + 4, tolower((unsigned char)*extension), first - 4);
	for (const char *at = isa + first; *at; at += strcspn(at, "_")) {
		size_t length = strcspn(++at, "_");

		if (unversioned(at, length) == wanted && !strncasecmp(at, extension, wanted))
			return true;
	}
	return false;
}

/* ---- The kernel's configuration ------------------------------------------------------------- */

enum machine_option machine_parse_option(const char *text, const char *name)
{
	static const char prefix[] = "CONFIG_";
	size_t length = strlen(name);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *value = line + sizeof(prefix) - 1;

		if (strncmp(line, prefix, sizeof(prefix) - 1) || strncmp(value, name, length) ||
		    value[length] != '=')
			continue;
		value += length;
		return value[1] == 'y'	 ? MACHINE_OPTION_YES
		       : value[1] == 'm' ? MACHINE_OPTION_MODULE
					 : MACHINE_OPTION_NO;
	}
	return MACHINE_OPTION_NO;
}

/* ---- The kernel's log ----------------------------------------------------------------------- */

/* Read a number of `base` behind `mark`, up to what is no digit. */
static bool number_behind(const char *line, const char *mark, int base, uint64_t most,
			  uint64_t *number)
{
	const char *at = strstr(line, mark);
	char digits[20];
	size_t length;

	if (!at)
		return false;
	at += strlen(mark);
	length = strspn(at, base == 16 ? "0123456789abcdefABCDEF" : "0123456789");
	if (!length || length >= sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)length, at);
	return number_read(digits, base, 0, most, number);
}

static void read_version(const char *line, struct machine_log *log)
{
	uint64_t major, minor, id, version;

	if (number_behind(line, "SBI specification v", 10, 127, &major) &&
	    number_behind(strstr(line, "SBI specification v"), ".", 10, 0xffffff, &minor)) {
		log->sbi = true;
		log->sbi_major = (unsigned int)major;
		log->sbi_minor = (unsigned int)minor;
	}
	if (number_behind(line, "SBI implementation ID=0x", 16, UINT32_MAX, &id) &&
	    number_behind(line, " Version=0x", 16, UINT32_MAX, &version)) {
		log->implementation = true;
		log->implementation_id = (uint32_t)id;
		log->implementation_version = (uint32_t)version;
	}
}

void machine_parse_log_line(const char *line, struct machine_log *log)
{
	uint64_t firmware, hardware;

	read_version(line, log);
	if (strstr(line, "Legacy PMU implementation is available"))
		log->legacy = true;
	if (!strstr(line, "riscv-pmu-sbi: "))
		return;
	log->pmu |= strstr(line, "SBI PMU extension is available") != NULL;
	log->no_sampling |= strstr(line, "sampling/filtering is not supported") != NULL;
	if (number_behind(line, "riscv-pmu-sbi: ", 10, 4096, &firmware) &&
	    number_behind(line, " firmware and ", 10, 4096, &hardware)) {
		log->counters = true;
		log->firmware_counters = (unsigned int)firmware;
		log->hardware_counters = (unsigned int)hardware;
	}
}

/* ---- Device tree ---------------------------------------------------------------------------- */

bool machine_strings_have(const char *bytes, size_t size, const char *wanted)
{
	size_t length = strlen(wanted) + 1;

	while (size) {
		size_t one = strnlen(bytes, size);

		/* The last string may lack its NUL. */
		if (one == length - 1 && !memcmp(bytes, wanted, one))
			return true;
		one += one < size;
		bytes += one;
		size -= one;
	}
	return false;
}

/* ---- Faults of firmware --------------------------------------------------------------------- */

enum {
	COLUMN_IMPLEMENTATION,
	COLUMN_SINCE,
	COLUMN_BEFORE,
	COLUMN_ID,
	COLUMN_HAS,
	COLUMN_LACKS,
	COLUMN_EFFECT,
	COLUMN_COMMIT,
	COLUMNS
};

/* "1.4" as the SBI has it for OpenSBI; "-" is `otherwise`. */
static bool read_release(const char *text, uint32_t otherwise, uint32_t *version)
{
	const char *dot = strchr(text, '.');
	uint64_t major, minor;
	char digits[8];

	*version = otherwise;
	if (!strcmp(text, "-"))
		return true;
	if (!dot || (size_t)(dot - text) >= sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)(dot - text), text);
	if (!number_read(digits, 10, 0, 0xffff, &major) ||
	    !number_read(dot + 1, 10, 0, 0xffff, &minor))
		return false;
	*version = (uint32_t)(major << 16 | minor);
	return true;
}

/* Whether the processor's id matches a pattern, by the rules of the map of event files. */
static bool id_matches(const char *pattern, const char *id)
{
	struct pesa_event_map_row row = {
		.pattern = (char *)pattern, .directory = (char *)"", .type = (char *)"core"};
	const struct pesa_event_map map = {.rows = &row, .count = 1};

	return pesa_event_map_find(&map, id) != NULL;
}

static bool split(char *line, char *columns[COLUMNS])
{
	size_t count = 0;

	line[strcspn(line, "\r")] = '\0';
	while (count < COLUMNS && line)
		columns[count++] = strsep(&line, "|");
	return count == COLUMNS && !line;
}

size_t machine_faults_each(char *text, const struct machine_log *log, const struct machine_cpu *cpu,
			   machine_fault_function function, void *context)
{
	size_t bad = 0;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *columns[COLUMNS];
		uint32_t since, before;
		uint64_t implementation;

		if (!*line || *line == '#')
			continue;
		if (!split(line, columns) ||
		    !number_read(columns[COLUMN_IMPLEMENTATION], 10, 0, UINT32_MAX,
				 &implementation) ||
		    !read_release(columns[COLUMN_SINCE], 0, &since) ||
		    !read_release(columns[COLUMN_BEFORE], UINT32_MAX, &before)) {
			bad++;
			continue;
		}
		if (!log->implementation || log->implementation_id != implementation ||
		    log->implementation_version < since || log->implementation_version >= before ||
		    !id_matches(columns[COLUMN_ID], cpu->id) ||
		    (strcmp(columns[COLUMN_HAS], "-") &&
		     !machine_isa_has(cpu->isa, columns[COLUMN_HAS])) ||
		    machine_isa_has(cpu->isa, columns[COLUMN_LACKS]))
			continue;
		function(context,
			 &(struct machine_fault){.effect = columns[COLUMN_EFFECT],
						 .commit = columns[COLUMN_COMMIT],
						 .mended = before == UINT32_MAX ? 0 : before});
	}
	return bad;
}
