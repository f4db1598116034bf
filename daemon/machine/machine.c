// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/machine/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "decoder/base/number.h"
#include "decoder/base/regular_file.h"

#define FREQUENCY	"/sys/devices/system/cpu/cpu0/cpufreq/"
#define SMALL		65536u	    /* bytes of files that have a value or a few lines */
#define CPUINFO_MOST	(8u << 20)  /* of thousands of harts */
#define CONFIG_MOST	(8u << 20)  /* configurations have 0.3 MB */
#define MODULES_MOST	(32u << 20) /* lists of modules have 1 MB */
#define LOG_RECORDS	200000u	    /* of the kernel's log */
#define TREE_NODES	4096u	    /* that are looked at in a device tree */
#define CAP_PERFMON_BIT 38	    /* CAP_PERFMON, which older headers lack */

const char *const machine_option_names[MACHINE_OPTIONS] = {
#define OPTION(name) #name,
	MACHINE_OPTION_LIST(OPTION)
#undef OPTION
};

/* ---- Files --------------------------------------------------------------------------------- */

static bool path_below(const char *root, const char *path, char result[PATH_MAX])
{
	return (size_t)snprintf(result, PATH_MAX, "%s%s", root, path) < PATH_MAX;
}

/* Read until the end or `most` bytes; what does not answer at once (a pipe) is empty. */
static char *read_all(int descriptor, size_t most, size_t *size)
{
	size_t room = 4096, used = 0;
	char *text = malloc(room + 1);
	ssize_t got;

	while (text && used < most) {
		if (used == room) {
			char *grown = realloc(text, 2 * room + 1);

			if (!grown)
				break;
			text = grown;
			room *= 2;
		}
		got = read(descriptor, text + used, (room < most ? room : most) - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (text)
		text[used] = '\0';
	*size = used;
	return text;
}

char *machine_file(const char *root, const char *path, size_t most, size_t *size)
{
	char whole[PATH_MAX], *text;
	int descriptor;

	*size = 0;
	if (!path_below(root, path, whole))
		return NULL;
	descriptor = pesa_regular_file_open(whole, 0);
	if (descriptor < 0)
		return NULL;
	text = read_all(descriptor, most, size);
	close(descriptor);
	return text;
}

/* The first line of a file. */
static void read_line(const char *root, const char *path, char *line, size_t room)
{
	size_t size;
	char *text = machine_file(root, path, SMALL, &size);

	if (text)
		snprintf(line, room, "%.*s", (int)strcspn(text, "\r\n"), text);
	free(text);
}

static struct machine_number read_number(const char *root, const char *path)
{
	struct machine_number number = {.known = false};
	char line[32] = "";
	uint64_t value;

	read_line(root, path, line, sizeof(line));
	if (number_read(line + (*line == '-'), 10, 0, INT64_MAX, &value))
		number = (struct machine_number){
			.known = true, .value = *line == '-' ? -(int64_t)value : (int64_t)value};
	return number;
}

static bool exists(const char *root, const char *path)
{
	char whole[PATH_MAX];

	return path_below(root, path, whole) && !access(whole, F_OK);
}

/* ---- Kernel -------------------------------------------------------------------------------- */

/* What a gzip file holds, at most CONFIG_MOST bytes.  NULL: it holds nothing that can be read. */
static char *uncompressed(const char *bytes, size_t size)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};
	size_t room = CONFIG_MOST;
	char *text;
	int status;

	if (inflateInit2(&stream, 15 + 16) != Z_OK)
		return NULL;
	text = malloc(room + 1);
	if (text) {
		stream.next_out = (Bytef *)text;
		stream.avail_out = (uInt)room;
		status = inflate(&stream, Z_FINISH);
		text[room - stream.avail_out] = '\0';
		if (status != Z_STREAM_END && stream.avail_out == room) {
			free(text);
			text = NULL;
		}
	}
	inflateEnd(&stream);
	return text;
}

static void read_config(struct machine *machine)
{
	const char *const places[] = {"/proc/config.gz", "/boot/config-%s",
				      "/lib/modules/%s/config", "/lib/modules/%s/build/.config"};
	char *text = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !text; i++) {
		size_t size;
		char *bytes;

		if (i && !*machine->release)
			break;
		if (i)
			snprintf(machine->config, sizeof(machine->config), "%.*s%s%s",
				 (int)(strchr(places[i], '%') - places[i]), places[i],
				 machine->release, strchr(places[i], '%') + 2);
		else
			snprintf(machine->config, sizeof(machine->config), "%s", places[i]);
		bytes = machine_file(machine->root, machine->config, CONFIG_MOST, &size);
		if (bytes && !i) {
			text = uncompressed(bytes, size);
			free(bytes);
		} else {
			text = bytes;
		}
	}
	if (!text) {
		*machine->config = '\0';
		return;
	}
	for (unsigned int i = 0; i < MACHINE_OPTIONS; i++)
		machine->options[i] = machine_parse_option(text, machine_option_names[i]);
	free(text);
}

static void take_log_line(struct machine *machine, const char *line)
{
	/* Of /dev/kmsg: "PRIORITY,NUMBER,TIME,FLAGS;TEXT". */
	const char *text = strchr(line, ';');

	text = text ? text + 1 : line;
	machine_parse_log_line(text, &machine->log);
	if (machine->log_line_count == MACHINE_LOG_MAX ||
	    !(strstr(text, "riscv-pmu") || strstr(text, "SBI ") || strstr(text, "Legacy PMU") ||
	      strstr(text, "pesa: ")))
		return;
	machine->log_lines[machine->log_line_count] = strndup(text, 256);
	machine->log_line_count += machine->log_lines[machine->log_line_count] != NULL;
}

static void read_log(struct machine *machine)
{
	char whole[PATH_MAX], record[8193];
	struct stat status;
	int descriptor;
	ssize_t got;

	if (!path_below(machine->root, "/dev/kmsg", whole))
		return;
	descriptor = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (descriptor < 0)
		return;
	machine->log_read = true;
	if (!fstat(descriptor, &status) && S_ISREG(status.st_mode)) {
		size_t size;
		char *text = read_all(descriptor, CONFIG_MOST, &size), *rest = text, *line;

		while ((line = strsep(&rest, "\n")))
			take_log_line(machine, line);
		free(text);
	} else if (S_ISCHR(status.st_mode)) {
		/* A read is a record; EPIPE: records were overwritten meanwhile. */
		for (unsigned int i = 0; i < LOG_RECORDS; i++) {
			got = read(descriptor, record, sizeof(record) - 1);
			if (got < 0 && (errno == EPIPE || errno == EINTR))
				continue;
			if (got <= 0)
				break;
			record[got] = '\0';
			record[strcspn(record, "\n")] = '\0';
			take_log_line(machine, record);
		}
	}
	close(descriptor);
}

static void read_interrupts(struct machine *machine)
{
	size_t size;
	char *text = machine_file(machine->root, "/proc/interrupts", CPUINFO_MOST, &size);

	machine->interrupt = text && strstr(text, "riscv-pmu");
	free(text);
}

static void read_module(struct machine *machine)
{
	char path[160];
	size_t size;
	char *text;

	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", machine->release);
	text = machine_file(machine->root, path, MODULES_MOST, &size);
	machine->module = text && strstr(text, "/pesa.ko");
	free(text);
}

static void read_privileges(struct machine *machine)
{
	static const char key[] = "\nCapEff:";
	size_t size;
	char *text = machine_file(machine->root, "/proc/self/status", SMALL, &size);
	const char *at = text ? strstr(text, key) : NULL;
	char digits[20] = "";
	uint64_t mask = 0;

	if (at) {
		at += sizeof(key) - 1;
		at += strspn(at, " \t");
		snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(at, "\n"), at);
		number_read(digits, 16, 0, UINT64_MAX, &mask);
	}
	machine->privileged = mask >> CAP_PERFMON_BIT & 1 || mask >> CAP_SYS_ADMIN & 1;
	free(text);
}

/* ---- Device tree --------------------------------------------------------------------------- */

static void look_at_node(struct machine *machine, const char *node)
{
	char path[PATH_MAX];
	size_t size;
	char *text;

	if ((size_t)snprintf(path, sizeof(path), "%s/compatible", node) >= sizeof(path))
		return;
	text = machine_file(machine->root, path, SMALL, &size);
	if (!text)
		return;
	machine->tree_pmu |= machine_strings_have(text, size, "riscv,pmu");
	machine->tree_details |= machine_strings_have(text, size, "riscv,shpmsdetails");
	free(text);
}

/* Look at the nodes below `node`, to a depth of `depth`. */
static void walk_tree(struct machine *machine, const char *node, unsigned int depth,
		      unsigned int *left)
{
	const struct dirent *entry;
	char whole[PATH_MAX];
	DIR *listing;

	if (!path_below(machine->root, node, whole))
		return;
	listing = opendir(whole);
	while (listing && *left && (entry = readdir(listing))) {
		char below[PATH_MAX];

		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR ||
		    (size_t)snprintf(below, sizeof(below), "%s/%s", node, entry->d_name) >=
			    sizeof(below))
			continue;
		--*left;
		look_at_node(machine, below);
		if (depth)
			walk_tree(machine, below, depth - 1, left);
	}
	if (listing)
		closedir(listing);
}

static void read_tree(struct machine *machine)
{
	static const char base[] = "/sys/firmware/devicetree/base";
	unsigned int left = TREE_NODES;

	machine->tree = exists(machine->root, base);
	if (!machine->tree)
		return;
	read_line(machine->root, "/sys/firmware/devicetree/base/model", machine->board,
		  sizeof(machine->board));
	walk_tree(machine, base, 1, &left);
}

/* ---- All ----------------------------------------------------------------------------------- */

static void read_distribution(struct machine *machine)
{
	size_t size;
	char *text = machine_file(machine->root, "/etc/os-release", SMALL, &size);
	const char *at = text && !strncmp(text, "ID=", 3) ? text : NULL;

	if (text && !at) {
		at = strstr(text, "\nID=");
		at += at != NULL;
	}
	if (at) {
		at += 3 + strspn(at + 3, "\"");
		snprintf(machine->distribution, sizeof(machine->distribution), "%.*s",
			 (int)strcspn(at, "\"\n"), at);
	}
	free(text);
}

static void read_processor(struct machine *machine)
{
	struct utsname names;
	size_t size;
	char *text = machine_file(machine->root, "/proc/cpuinfo", CPUINFO_MOST, &size);

	if (text)
		machine_parse_cpu(text, &machine->cpu);
	free(text);
	if (*machine->root)
		snprintf(machine->architecture, sizeof(machine->architecture), "%s",
			 !strncmp(machine->cpu.isa, "rv64", 4)	 ? "riscv64"
			 : !strncmp(machine->cpu.isa, "rv32", 4) ? "riscv32"
								 : "unknown");
	else if (!uname(&names))
		snprintf(machine->architecture, sizeof(machine->architecture), "%s", names.machine);
	machine->riscv = !strncmp(machine->architecture, "riscv", 5);
}

void machine_read(const char *root, struct machine *machine)
{
	*machine = (struct machine){.root = root};
	read_processor(machine);
	read_line(root, "/proc/sys/kernel/osrelease", machine->release, sizeof(machine->release));
	read_distribution(machine);
	read_log(machine);
	read_config(machine);
	read_tree(machine);
	machine->pmu_cpu = exists(root, "/sys/bus/event_source/devices/cpu/type");
	machine->pmu_pesa = exists(root, "/sys/bus/event_source/devices/pesa/type");
	read_module(machine);
	read_interrupts(machine);
	read_privileges(machine);
	machine->paranoid = read_number(root, "/proc/sys/kernel/perf_event_paranoid");
	machine->kptr_restrict = read_number(root, "/proc/sys/kernel/kptr_restrict");
	machine->sample_rate = read_number(root, "/proc/sys/kernel/perf_event_max_sample_rate");
	machine->mlock_kb = read_number(root, "/proc/sys/kernel/perf_event_mlock_kb");
	read_line(root, FREQUENCY "scaling_governor", machine->governor, sizeof(machine->governor));
	machine->frequency_least = read_number(root, FREQUENCY "scaling_min_freq");
	machine->frequency_most = read_number(root, FREQUENCY "scaling_max_freq");
	machine->debug_files = exists(root, "/usr/lib/debug/.build-id");
}

void machine_free(struct machine *machine)
{
	for (size_t i = 0; i < machine->log_line_count; i++)
		free(machine->log_lines[i]);
	machine->log_line_count = 0;
}
