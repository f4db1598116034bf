// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "decoder/perfdata/writer.h"
#include "pesa/version.h"

typedef bool build_function(const struct pesa_perfdata_writer *writer,
			    struct perfdata_buffer *buffer);

static bool build_hostname(const struct pesa_perfdata_writer *writer,
			   struct perfdata_buffer *buffer)
{
	struct utsname names;

	if (writer->other_machine ? !writer->hostname : uname(&names))
		return false;
	perfdata_buffer_string(buffer, writer->other_machine ? writer->hostname : names.nodename);
	return true;
}

static bool build_osrelease(const struct pesa_perfdata_writer *writer,
			    struct perfdata_buffer *buffer)
{
	struct utsname names;

	if (writer->other_machine ? !writer->os_release : uname(&names))
		return false;
	perfdata_buffer_string(buffer, writer->other_machine ? writer->os_release : names.release);
	return true;
}

static bool build_version(const struct pesa_perfdata_writer *writer, struct perfdata_buffer *buffer)
{
	(void)writer;
	perfdata_buffer_string(buffer, "pesa " PESA_VERSION);
	return true;
}

static bool build_arch(const struct pesa_perfdata_writer *writer, struct perfdata_buffer *buffer)
{
	if (!writer->arch)
		return false;
	perfdata_buffer_string(buffer, writer->arch);
	return true;
}

static bool build_nrcpus(const struct pesa_perfdata_writer *writer, struct perfdata_buffer *buffer)
{
	perfdata_buffer_u32(buffer, writer->cpus); /* available */
	perfdata_buffer_u32(buffer, writer->cpus); /* online */
	return true;
}

static bool build_cpudesc(const struct pesa_perfdata_writer *writer, struct perfdata_buffer *buffer)
{
	if (!writer->cpu_description)
		return false;
	perfdata_buffer_string(buffer, writer->cpu_description);
	return true;
}

static bool build_cpuid(const struct pesa_perfdata_writer *writer, struct perfdata_buffer *buffer)
{
	const char *model = writer->has_capabilities ? writer->capabilities.model : "";

	if (!writer->cpu_id && !*model)
		return false;
	perfdata_buffer_string(buffer, writer->cpu_id ? writer->cpu_id : model);
	return true;
}

static bool build_total_mem(const struct pesa_perfdata_writer *writer,
			    struct perfdata_buffer *buffer)
{
	struct sysinfo information;

	if (writer->other_machine || sysinfo(&information))
		return false;
	perfdata_buffer_u64(buffer, (uint64_t)information.totalram * information.mem_unit / 1024);
	return true;
}

static bool build_cmdline(const struct pesa_perfdata_writer *writer, struct perfdata_buffer *buffer)
{
	if (!writer->command_words)
		return false;
	perfdata_buffer_u32(buffer, writer->command_words);
	for (unsigned int i = 0; i < writer->command_words; i++)
		perfdata_buffer_string(buffer, writer->command[i]);
	return true;
}

static bool build_event_desc(const struct pesa_perfdata_writer *writer,
			     struct perfdata_buffer *buffer)
{
	perfdata_buffer_u32(buffer, writer->attribute_count);
	perfdata_buffer_u32(buffer, PERF_ATTR_SIZE_VER7);
	for (unsigned int i = 0; i < writer->attribute_count; i++) {
		const struct perfdata_writer_attribute *attribute = &writer->attributes[i];

		perfdata_buffer_append(buffer, &attribute->attr, PERF_ATTR_SIZE_VER7);
		perfdata_buffer_u32(buffer, attribute->id_count);
		perfdata_buffer_string(buffer, attribute->name);
		perfdata_buffer_append(buffer, attribute->ids,
				       attribute->id_count * sizeof(*attribute->ids));
	}
	return true;
}

/* One socket of single-threaded cores, as on the virtual core and on today's RISC-V boards. */
static bool build_cpu_topology(const struct pesa_perfdata_writer *writer,
			       struct perfdata_buffer *buffer)
{
	char text[32];

	snprintf(text, sizeof(text), writer->cpus > 1 ? "0-%u" : "0", writer->cpus - 1);
	perfdata_buffer_u32(buffer, 1);
	perfdata_buffer_string(buffer, text);
	perfdata_buffer_u32(buffer, writer->cpus);
	for (unsigned int cpu = 0; cpu < writer->cpus; cpu++) {
		snprintf(text, sizeof(text), "%u", cpu);
		perfdata_buffer_string(buffer, text);
	}
	for (unsigned int cpu = 0; cpu < writer->cpus; cpu++) {
		perfdata_buffer_u32(buffer, cpu); /* core */
		perfdata_buffer_u32(buffer, 0);	  /* socket */
	}
	snprintf(text, sizeof(text), writer->cpus > 1 ? "0-%u" : "0", writer->cpus - 1);
	perfdata_buffer_u32(buffer, 1);
	perfdata_buffer_string(buffer, text);
	for (unsigned int cpu = 0; cpu < writer->cpus; cpu++)
		perfdata_buffer_u32(buffer, 0); /* die */
	return true;
}

/* PMU names by dynamic attribute type: the part of the attribute's name before the slash. */
static bool build_pmu_mappings(const struct pesa_perfdata_writer *writer,
			       struct perfdata_buffer *buffer)
{
	struct perfdata_buffer list = {0};
	uint32_t count = 0;

	for (unsigned int i = 0; i < writer->attribute_count; i++) {
		const struct perfdata_writer_attribute *attribute = &writer->attributes[i];
		const char *slash = strchr(attribute->name, '/');
		bool seen = !slash || slash == attribute->name;
		char name[PESA_CAPABILITY_NAME_MAX];

		for (unsigned int j = 0; j < i; j++)
			seen |= writer->attributes[j].attr.type == attribute->attr.type;
		if (seen)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(slash - attribute->name),
			 attribute->name);
		perfdata_buffer_u32(&list, attribute->attr.type);
		perfdata_buffer_string(&list, name);
		count++;
	}
	if (count) {
		perfdata_buffer_u32(buffer, count);
		perfdata_buffer_append(buffer, list.bytes, list.size);
		buffer->failed |= list.failed;
	}
	perfdata_buffer_free(&list);
	return count;
}

static bool build_sample_time(const struct pesa_perfdata_writer *writer,
			      struct perfdata_buffer *buffer)
{
	if (writer->first_sample > writer->last_sample)
		return false;
	perfdata_buffer_u64(buffer, writer->first_sample);
	perfdata_buffer_u64(buffer, writer->last_sample);
	return true;
}

static bool build_compressed(const struct pesa_perfdata_writer *writer,
			     struct perfdata_buffer *buffer)
{
	const struct perfdata_sink *sink = &writer->sink;

	if (!sink->compressor)
		return false;
	perfdata_buffer_u32(buffer, 1); /* version */
	perfdata_buffer_u32(buffer, PERFDATA_COMPRESSION_ZSTD);
	perfdata_buffer_u32(buffer, writer->compression);
	perfdata_buffer_u32(buffer, sink->compressed_bytes
					    ? (sink->plain_bytes + sink->compressed_bytes / 2) /
						      sink->compressed_bytes
					    : 1);
	perfdata_buffer_u32(buffer, PERFDATA_CHUNK_MAX);
	return true;
}

struct capability_list {
	struct perfdata_buffer buffer;
	uint32_t count;
};

static void add_capability(void *context, const char *name, const char *value)
{
	struct capability_list *list = context;

	perfdata_buffer_string(&list->buffer, name);
	perfdata_buffer_string(&list->buffer, value);
	list->count++;
}

static bool build_pmu_caps(const struct pesa_perfdata_writer *writer,
			   struct perfdata_buffer *buffer)
{
	uint32_t pmus =
		writer->has_capabilities + (writer->count_count > 0) + writer->recording_count;
	struct capability_list list = {0};

	if (!pmus)
		return false;
	perfdata_buffer_u32(buffer, pmus);
	if (writer->has_capabilities) {
		pesa_capabilities_each(&writer->capabilities, add_capability, &list);
		perfdata_buffer_u32(buffer, list.count);
		perfdata_buffer_append(buffer, list.buffer.bytes, list.buffer.size);
		buffer->failed |= list.buffer.failed;
		perfdata_buffer_string(buffer, writer->pmu);
		perfdata_buffer_free(&list.buffer);
	}
	if (writer->count_count) {
		perfdata_buffer_u32(buffer, writer->count_count);
		perfdata_buffer_append(buffer, writer->counts.bytes, writer->counts.size);
		perfdata_buffer_string(buffer, PERFDATA_COUNTS_PMU);
	}
	perfdata_buffer_append(buffer, writer->recordings.bytes, writer->recordings.size);
	return true;
}

struct pesa_error *perfdata_recordings_build(const struct pesa_recording *recordings, size_t count,
					     struct perfdata_buffer *buffer)
{
	for (size_t i = 0; i < count; i++) {
		perfdata_buffer_u32(buffer, recordings[i].facts);
		for (size_t j = 0; j < recordings[i].facts; j++) {
			perfdata_buffer_string(buffer, recordings[i].fact[j].name);
			perfdata_buffer_string(buffer, recordings[i].fact[j].value);
		}
		perfdata_buffer_string(buffer, PERFDATA_RECORDING_PMU);
	}
	return buffer->failed ? pesa_error_no_memory() : NULL;
}

struct pesa_error *pesa_perfdata_write_count(struct pesa_perfdata_writer *writer, const char *event,
					     uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	perfdata_buffer_string(&writer->counts, event);
	perfdata_buffer_string(&writer->counts, text);
	writer->count_count++;
	return writer->counts.failed ? pesa_error_no_memory() : NULL;
}

void perfdata_build_id_record(const struct perfdata_build_id *build_id,
			      struct perfdata_buffer *buffer)
{
	size_t length = strlen(build_id->path) + 1, padded = (length + 7) & ~(size_t)7;
	struct perfdata_record header = {
		.misc = build_id->cpu_mode | PERFDATA_BUILD_ID_HAS_SIZE,
		.size = sizeof(header) + sizeof(uint32_t) + PERFDATA_BUILD_ID_BYTES + padded,
	};
	uint8_t field[PERFDATA_BUILD_ID_BYTES] = {0};

	memcpy(field, build_id->bytes, build_id->size);
	field[PESA_BUILD_ID_MAX] = build_id->size;
	perfdata_buffer_append(buffer, &header, sizeof(header));
	perfdata_buffer_u32(buffer, build_id->pid);
	perfdata_buffer_append(buffer, field, sizeof(field));
	perfdata_buffer_append(buffer, build_id->path, length);
	perfdata_buffer_zeros(buffer, padded - length);
}

static bool build_build_ids(const struct pesa_perfdata_writer *writer,
			    struct perfdata_buffer *buffer)
{
	const struct perfdata_build_id *build_id;

	for (build_id = writer->build_ids; build_id; build_id = build_id->hh.next)
		perfdata_build_id_record(build_id, buffer);
	return writer->build_ids;
}

static build_function *const builders[] = {
	[PERFDATA_FEATURE_BUILD_ID] = build_build_ids,
	[PERFDATA_FEATURE_HOSTNAME] = build_hostname,
	[PERFDATA_FEATURE_OSRELEASE] = build_osrelease,
	[PERFDATA_FEATURE_VERSION] = build_version,
	[PERFDATA_FEATURE_ARCH] = build_arch,
	[PERFDATA_FEATURE_NRCPUS] = build_nrcpus,
	[PERFDATA_FEATURE_CPUDESC] = build_cpudesc,
	[PERFDATA_FEATURE_CPUID] = build_cpuid,
	[PERFDATA_FEATURE_TOTAL_MEM] = build_total_mem,
	[PERFDATA_FEATURE_CMDLINE] = build_cmdline,
	[PERFDATA_FEATURE_EVENT_DESC] = build_event_desc,
	[PERFDATA_FEATURE_CPU_TOPOLOGY] = build_cpu_topology,
	[PERFDATA_FEATURE_PMU_MAPPINGS] = build_pmu_mappings,
	[PERFDATA_FEATURE_SAMPLE_TIME] = build_sample_time,
	[PERFDATA_FEATURE_COMPRESSED] = build_compressed,
	[PERFDATA_FEATURE_PMU_CAPS] = build_pmu_caps,
};

bool perfdata_feature_build(const struct pesa_perfdata_writer *writer,
			    enum perfdata_feature feature, struct perfdata_buffer *buffer)
{
	if (feature >= sizeof(builders) / sizeof(builders[0]) || !builders[feature])
		return false;
	return builders[feature](writer, buffer);
}
