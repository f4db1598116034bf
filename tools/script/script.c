/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa script: prints every sample of a recording, one per line. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/raw_record.h"
#include "tools/commands.h"
#include "tools/files/fleet_open.h"
#include "tools/ui/cycle_stack.h"
#include "tools/ui/profile_options.h"
#include "tools/script/script.h"
#include "tools/ui/json.h"
#include "tools/ui/large_pages.h"
#include "tools/ui/pager.h"
#include "tools/ui/text.h"

#define RAW_MOST 128 /* bytes of the records whose text is kept */

enum { KEY_SHOW_EVENTS = PROFILE_KEY_FIRST_FREE };

static const struct argp_option options[] = {
	{"show-events", KEY_SHOW_EVENTS, NULL, 0,
	 "Show mappings, names, forks, exits, losses and all other records, too", 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct script_options *result = state->input;

	(void)argument;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->input;
		break;
	case KEY_SHOW_EVENTS:
		result->show_events = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = profile_input_children,
	.doc = "Print every sample of a recording, one a line, with everything that its record "
	       "says.\vExample:\n"
	       "  pesa script -i perf.data | head\n"
	       "  pesa script --json --pid 1234 | jq .state\n"
	       "\n"
	       "The manual page pesa-script(1) explains every field.",
};

static bool is_kernel(uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL;
}

/* ---- Text ---------------------------------------------------------------------------------- */

/* Lines are many: they are put together without formats, which would take most of the time. */
static void add_number(struct ui_text *line, const char *before, uint64_t number)
{
	ui_text_put(line, before);
	ui_text_put_number(line, number, 10, 0, ' ');
}

static void add_hex(struct ui_text *line, const char *before, uint64_t number)
{
	ui_text_put(line, before);
	ui_text_put_number(line, number, 16, 0, ' ');
}

static void add_symbol(struct ui_text *line, const struct script_place *place)
{
	ui_text_put_safe(line, place->symbol->name);
	add_hex(line, "+0x", place->address - place->symbol->start);
}

static void add_place(struct script *script, const struct script_place *place)
{
	struct ui_text *line = &script->line;

	ui_text_put(line, " ");
	if (place->symbol)
		add_symbol(line, place);
	else
		ui_text_put(line, "[unknown]");
	ui_text_put(line, " (");
	ui_text_put_safe(line, place->dso ? place->dso->path : "unmapped");
	ui_text_put(line, ")");
}

static const char *pc_text(const struct script_sample *shown)
{
	return shown->exact_pc ? "exact PC" : "skidding PC";
}

static void add_record(struct script *script, const struct script_sample *shown)
{
	const struct pesa_record *record = &shown->record;
	const struct pesa_details *details = &shown->details;
	struct ui_text *line = &script->line;
	unsigned int lost = record->flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
	char cause[CAUSE_TEXT_MAX];

	if (shown->has_details) {
		ui_text_put(line, " ");
		ui_text_put(line, pesa_state_name(details->state));
		add_number(line, " instret=", details->instret);
		if (details->cause_offset || details->cause) {
			add_number(line, " cause@", details->cause_offset);
			ui_text_put(line, "=");
			ui_text_put_safe(line,
					 cycle_cause_name(capabilities_of(script), details->cause,
							  cause, sizeof(cause)));
		}
		add_number(line, " cts=", details->transfers);
		for (unsigned int i = 0; i < 2; i++) {
			const struct script_place *target = &shown->target[i];

			if (details->transfers <= i)
				break;
			add_number(line, " bt", i + 1);
			add_number(line, "@", details->transfer_offset[i]);
			if (!(record->flags & (PESA_RECORD_HAS_BT1 << i)))
				continue;
			add_hex(line, "=", record->bt[i]);
			if (target->symbol) {
				ui_text_put(line, "<");
				add_symbol(line, target);
				ui_text_put(line, ">");
			}
		}
	} else if (record->flags & PESA_RECORD_HAS_CAUSES) {
		ui_text_add_safe(line, " tagged met=%s",
				 cycle_cause_name(capabilities_of(script),
						  pesa_details_unpack(record->details).cause, cause,
						  sizeof(cause)));
	} else {
		ui_text_add(line, " no details, %s", pc_text(shown));
	}
	if (record->flags & PESA_RECORD_HAS_DATA) {
		add_number(line, " counter=", record->data & PESA_DATA_CNTRID_MASK);
		add_hex(line, " opaque=0x", (uint64_t)record->data >> 5);
	}
	if (record->flags & PESA_RECORD_SCRUBBED)
		ui_text_add(line, " scrubbed");
	if (lost)
		ui_text_add(line, " lost=%u%s", lost, lost == PESA_RECORD_LOST_MASK ? "+" : "");
}

static void add_branches(struct script *script, const struct pesa_sample *sample)
{
	for (uint64_t i = 0; i < sample->branch_count; i++) {
		struct pesa_branch_entry entry;
		uint32_t cycles;

		memcpy(&entry, sample->branches + i * sizeof(entry), sizeof(entry));
		cycles = PESA_BRANCH_CYCLES(entry.flags);
		ui_text_add(&script->line, "%s%" PRIx64 "->%" PRIx64,
			    i ? "," : " branches=", entry.from, entry.to);
		if (cycles)
			ui_text_add(&script->line, "/%" PRIu32, cycles);
	}
}

static void add_exact(struct script *script, const struct script_sample *shown)
{
	const struct pesa_sample *sample = &shown->event->sample;
	struct pesa_exact_record record;

	memcpy(&record, sample->raw, sizeof(record));
	ui_text_add(&script->line, " exact executions=%" PRIu64 " buckets=%u transfers=%u",
		    (uint64_t)record.executions, record.buckets, record.transfers);
	for (unsigned int i = 0; i < record.buckets; i++) {
		struct pesa_exact_bucket bucket;
		size_t offset = sizeof(record) + i * sizeof(bucket);
		char cause[CAUSE_TEXT_MAX];

		if (offset + sizeof(bucket) > sample->raw_size)
			break;
		memcpy(&bucket, sample->raw + offset, sizeof(bucket));
		ui_text_add_safe(&script->line, " %s/%s=%.2f", pesa_state_name(bucket.state),
				 cycle_cause_name(capabilities_of(script), bucket.cause, cause,
						  sizeof(cause)),
				 cycles_of(bucket.weight));
	}
}

static void add_name(struct script *script, uint32_t tid)
{
	const char *name = script_thread_name(script->resolver, tid);

	if (!name)
		name = "?";
	for (size_t length = strlen(name); length < 16; length++)
		ui_text_put(&script->line, " ");
	ui_text_put_safe(&script->line, name);
	ui_text_put(&script->line, " ");
}

static void add_task(struct script *script, const struct pesa_event *event, uint32_t pid,
		     uint32_t tid)
{
	struct ui_text *line = &script->line;
	size_t end;

	add_name(script, tid);
	ui_text_put_number(line, pid, 10, 7, ' ');
	ui_text_put(line, "/");
	end = line->length + 7;
	ui_text_put_number(line, tid, 10, 0, ' ');
	while (line->length < end)
		ui_text_put(line, " ");
	if (event->type == PERF_RECORD_SAMPLE) {
		ui_text_put(line, " [");
		ui_text_put_number(line, event->sample.cpu, 10, 3, '0');
		ui_text_put(line, "]");
	}
	ui_text_put(line, " ");
}

/* The task of a sample, which most often is that of the last one. */
static void add_task_again(struct script *script, const struct pesa_event *event, uint32_t pid,
			   uint32_t tid)
{
	const uint32_t cpu = event->sample.cpu;
	struct ui_text *line = &script->line, *last = &script->head.text;
	const size_t start = line->length;

	if (last->length && script->head.pid == pid && script->head.tid == tid &&
	    script->head.cpu == cpu) {
		ui_text_put_bytes(line, last->text, last->length);
		return;
	}
	add_task(script, event, pid, tid);
	ui_text_clear(last);
	if (line->length > start)
		ui_text_put_bytes(last, line->text + start, line->length - start);
	script->head.pid = pid;
	script->head.tid = tid;
	script->head.cpu = cpu;
}

static void add_head(struct script *script, const struct pesa_event *event, uint32_t pid,
		     uint32_t tid)
{
	struct ui_text *line = &script->line;

	if (event->type == PERF_RECORD_SAMPLE)
		add_task_again(script, event, pid, tid);
	else
		add_task(script, event, pid, tid);
	ui_text_put_number(line, event->time / 1000000000, 10, 6, ' ');
	ui_text_put(line, ".");
	ui_text_put_number(line, event->time % 1000000000, 10, 9, '0');
	ui_text_put(line, ":");
}

static void finish_line(struct script *script)
{
	ui_text_put(&script->line, "\n");
	fwrite(ui_text_get(&script->line), 1, script->line.length, script->terminal.out);
	ui_text_clear(&script->line);
}

/* The sample from the name of its event on, without branches. */
static void add_sample(struct script *script, const struct script_sample *shown)
{
	ui_text_put(&script->line, " ");
	ui_text_put_safe(&script->line, shown->event_name);
	ui_text_put(&script->line, ": ");
	ui_text_put_number(&script->line, shown->pc, 16, 16, ' ');
	add_place(script, &shown->place);
	if (shown->has_exact)
		add_exact(script, shown);
	else if (shown->has_record)
		add_record(script, shown);
	else if (shown->unreadable)
		ui_text_add(&script->line, " unreadable record: %s", shown->unreadable->message);
	else
		ui_text_add(&script->line, " plain sample, %s", pc_text(shown));
}

/* `key`: where its text is kept for equal samples; DISTINCT_NONE: nowhere. */
static void print_text(struct script *script, const struct script_sample *shown, uint32_t key)
{
	const struct pesa_sample *sample = &shown->event->sample;
	size_t start;

	if (script->counted) {
		add_name(script, sample->tid);
		ui_text_put_number(&script->line, shown->samples, 10, 10, ' ');
		ui_text_put(&script->line, " samples:");
	} else {
		add_head(script, shown->event, sample->pid, sample->tid);
	}
	start = script->line.length;
	add_sample(script, shown);
	if (key != DISTINCT_NONE && shown->has_record && script->line.length > start)
		script_lines_add(&script->lines, key, script->line.text + start,
				 script->line.length - start);
	if (!script->counted)
		add_branches(script, sample);
	finish_line(script);
}

/* What the text of a sample with a record is made of, but its thread and time.  No padding: it is
 * hashed. */
struct line_key {
	const char *event_name;
	const struct pesa_capabilities *capabilities;
	uint64_t ip;
	uint32_t pid, raw_size;
	uint32_t kernel, exact_ip;
	uint8_t raw[RAW_MOST];
};

/* Print a sample that is equal to an earlier one.  False: it is not; *key is where to keep it. */
static bool print_again(struct script *script, const struct pesa_event *event,
			const char *event_name, uint32_t *key)
{
	const struct pesa_sample *sample = &event->sample;
	struct line_key made = {
		.event_name = event_name,
		.capabilities = capabilities_of(script),
		.ip = sample->ip,
		.pid = sample->pid,
		.raw_size = sample->raw_size,
		.kernel = is_kernel(event->misc),
		.exact_ip = sample->exact_ip,
	};
	const char *text;
	size_t length;

	*key = DISTINCT_NONE;
	if (!sample->raw || sample->raw_size > RAW_MOST || script->counted ||
	    script->wanted->input.json || !script_resolver_is_steady(script->resolver))
		return false;
	memcpy(made.raw, sample->raw, sample->raw_size);
	*key = script_lines_find(&script->lines, &made,
				 offsetof(struct line_key, raw) + sample->raw_size, &text, &length);
	if (!text)
		return false;
	add_head(script, event, sample->pid, sample->tid);
	ui_text_put_bytes(&script->line, text, length);
	add_branches(script, sample);
	finish_line(script);
	return true;
}

/* ---- Records that are no samples ------------------------------------------------------------- */

static const char *record_name(uint32_t type, char *buffer, size_t size)
{
	static const char *const names[] = {
		[PERF_RECORD_MMAP] = "mmap",
		[PERF_RECORD_LOST] = "lost",
		[PERF_RECORD_COMM] = "comm",
		[PERF_RECORD_EXIT] = "exit",
		[PERF_RECORD_THROTTLE] = "throttle",
		[PERF_RECORD_UNTHROTTLE] = "unthrottle",
		[PERF_RECORD_FORK] = "fork",
		[PERF_RECORD_READ] = "read",
		[PERF_RECORD_MMAP2] = "mmap",
		[PERF_RECORD_AUX] = "aux",
		[PERF_RECORD_ITRACE_START] = "itrace-start",
		[PERF_RECORD_LOST_SAMPLES] = "lost",
		[PERF_RECORD_SWITCH] = "switch",
		[PERF_RECORD_SWITCH_CPU_WIDE] = "switch",
		[PERF_RECORD_NAMESPACES] = "namespaces",
		[PERF_RECORD_KSYMBOL] = "ksymbol",
		[PERF_RECORD_BPF_EVENT] = "bpf-event",
		[PERF_RECORD_CGROUP] = "cgroup",
		[PERF_RECORD_TEXT_POKE] = "text-poke",
	};

	if (type < sizeof(names) / sizeof(*names) && names[type])
		return names[type];
	snprintf(buffer, size, "record-%" PRIu32, type);
	return buffer;
}

/* The pid and tid in a record; 0 if it has none. */
static void owner_of(const struct pesa_event *event, uint32_t *pid, uint32_t *tid)
{
	*pid = 0;
	*tid = 0;
	switch (event->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		*pid = event->mmap.pid;
		*tid = event->mmap.tid;
		break;
	case PERF_RECORD_COMM:
		*pid = event->comm.pid;
		*tid = event->comm.tid;
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		*pid = event->task.pid;
		*tid = event->task.tid;
		break;
	}
}

static void add_event_text(struct ui_text *line, const struct pesa_event *event)
{
	switch (event->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		ui_text_add_safe(line, " %" PRIx64 "-%" PRIx64 " offset=0x%" PRIx64 "%s %s",
				 event->mmap.address, event->mmap.address + event->mmap.length,
				 event->mmap.offset, event->mmap.data ? " data" : "",
				 event->mmap.path);
		break;
	case PERF_RECORD_COMM:
		ui_text_add_safe(line, " %s%s", event->comm.name,
				 event->comm.exec ? " (exec)" : "");
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		ui_text_add(line, " parent %" PRIu32 "/%" PRIu32, event->task.parent_pid,
			    event->task.parent_tid);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		ui_text_add(line, " %" PRIu64 " samples", event->lost.count);
		break;
	}
}

static void add_event_json(json_object *object, const struct pesa_event *event)
{
	char build_id[2 * PESA_BUILD_ID_MAX + 1] = "";

	switch (event->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		for (unsigned int i = 0; i < event->mmap.build_id_size; i++)
			snprintf(build_id + 2 * i, 3, "%02x", event->mmap.build_id[i]);
		json_object_object_add(object, "address", ui_json_count(event->mmap.address));
		json_object_object_add(object, "length", ui_json_count(event->mmap.length));
		json_object_object_add(object, "offset", ui_json_count(event->mmap.offset));
		json_object_object_add(object, "data", json_object_new_boolean(event->mmap.data));
		json_object_object_add(object, "path", ui_json_string(event->mmap.path));
		json_object_object_add(object, "build_id",
				       *build_id ? ui_json_string(build_id) : NULL);
		break;
	case PERF_RECORD_COMM:
		json_object_object_add(object, "name", ui_json_string(event->comm.name));
		json_object_object_add(object, "exec", json_object_new_boolean(event->comm.exec));
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		json_object_object_add(object, "parent_pid", ui_json_count(event->task.parent_pid));
		json_object_object_add(object, "parent_tid", ui_json_count(event->task.parent_tid));
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		json_object_object_add(object, "lost", ui_json_count(event->lost.count));
		break;
	}
}

static void print_event(struct script *script, const struct pesa_event *event)
{
	uint32_t pid, tid;
	char buffer[32];
	const char *name = record_name(event->type, buffer, sizeof(buffer));

	owner_of(event, &pid, &tid);
	if (script->wanted->input.json) {
		json_object *object = script_head_json(script, event, name, pid, tid);

		add_event_json(object, event);
		script_print_object(script, object);
		return;
	}
	add_head(script, event, pid, tid);
	ui_text_add(&script->line, " %s", name);
	add_event_text(&script->line, event);
	finish_line(script);
}

/* ---- Samples ------------------------------------------------------------------------------- */

static bool is_wanted(const struct script *script, const struct pesa_sample *sample,
		      const char *name)
{
	const struct profile_input_options *wanted = &script->wanted->input;

	return (wanted->pid < 0 || (uint32_t)wanted->pid == sample->pid) &&
	       (wanted->tid < 0 || (uint32_t)wanted->tid == sample->tid) &&
	       (!wanted->event || (name && !strcmp(name, wanted->event)));
}

/* Find the place of the PC, and of the recorded targets of transfers. */
static struct pesa_error *resolve_places(struct script *script, struct script_sample *shown)
{
	unsigned int targets = shown->has_details ? shown->details.transfers : 0;
	uint32_t pid = shown->event->sample.pid;
	struct pesa_error *error =
		script_resolve(script->resolver, pid, shown->kernel, shown->pc, &shown->place);

	for (unsigned int i = 0; i < 2 && i < targets && !error; i++)
		if (shown->record.flags & (PESA_RECORD_HAS_BT1 << i))
			error = script_resolve(script->resolver, pid, shown->kernel,
					       shown->record.bt[i], &shown->target[i]);
	return error;
}

/* A database has binaries and offsets: what was made addresses of them for this file means nothing. */
static void use_file_addresses(struct script_sample *shown)
{
	if (shown->place.dso)
		shown->pc = shown->place.address;
	for (unsigned int i = 0; i < 2; i++)
		if (shown->target[i].dso)
			shown->record.bt[i] = shown->target[i].address;
}

static void read_counted(struct script_sample *shown)
{
	const struct pesa_sample *sample = &shown->event->sample;
	struct pesa_counted_sample counted;
	double squared;

	if (!counted_record_read(sample->raw, sample->raw ? sample->raw_size : 0, &counted,
				 &squared, &shown->record))
		counted = (struct pesa_counted_sample){.kind = PESA_COUNTED_UNREADABLE};
	shown->record.flags &= ~(uint32_t)PESA_RECORD_HAS_DATA; /* it is not kept */
	shown->samples = counted.samples;
	shown->period = counted.periods;
	shown->has_record = counted.kind == PESA_COUNTED_RECORD;
	if (counted.kind == PESA_COUNTED_UNREADABLE)
		shown->unreadable = pesa_error_create(
			PESA_ERROR_FORMAT, "the recordings had one that is not kept here");
}

static void read_payload(struct script *script, struct script_sample *shown)
{
	const struct pesa_sample *sample = &shown->event->sample;

	if (script->counted) {
		read_counted(shown);
	} else if (sample->raw && sample->raw_size >= sizeof(struct pesa_exact_record) &&
		   sample->raw[0] == PESA_EXACT_VERSION) {
		shown->has_exact = true;
	} else if (sample->raw) {
		shown->unreadable = pesa_record_read(sample->raw, sample->raw_size, &shown->record);
		shown->has_record = !shown->unreadable;
	}
	script->unreadable += shown->unreadable ? 1 : 0;
}

static struct pesa_error *print_sample(struct script *script, const struct pesa_event *event)
{
	const struct pesa_sample *sample = &event->sample;
	const struct pesa_attribute *attribute =
		pesa_perfdata_attribute(script->reader, sample->attribute);
	struct script_sample shown = {.event = event,
				      .event_name =
					      attribute && attribute->name ? attribute->name : "?",
				      .kernel = is_kernel(event->misc),
				      .pc = sample->ip};
	struct pesa_error *error;
	uint32_t key;

	if (!is_wanted(script, sample, shown.event_name))
		return NULL;
	script->samples++;
	if (print_again(script, event, shown.event_name, &key))
		return NULL;
	read_payload(script, &shown);
	if (shown.has_record) {
		shown.pc = shown.record.pc;
		shown.has_details = shown.record.flags & PESA_RECORD_HAS_DETAILS;
		shown.details = pesa_details_unpack(shown.record.details);
	}
	shown.exact_pc =
		sample->exact_ip || (shown.has_record ? shown.record.flags & PESA_RECORD_HAS_DATA
						      : pesa_attribute_has_exact_pc(attribute));
	error = resolve_places(script, &shown);
	if (script->counted)
		use_file_addresses(&shown);
	if (!error && script->wanted->input.json)
		script_print_json(script, &shown);
	else if (!error)
		print_text(script, &shown, key);
	pesa_error_free(shown.unreadable);
	return error;
}

/* ---- The subcommand ------------------------------------------------------------------------ */

/* Whether addresses or threads may mean something else after an event: all but those that are known not
 * to. */
static bool changes_places(const struct pesa_event *event)
{
	switch (event->type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_READ:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return false;
	default:
		return true;
	}
}

static struct pesa_error *run(struct script *script)
{
	struct pesa_error *error = NULL;
	struct pesa_event event;

	while (!error && !ferror(script->terminal.out) &&
	       pesa_perfdata_next(script->reader, &event) > 0) {
		if (event.type == PERF_RECORD_SAMPLE)
			error = print_sample(script, &event);
		else if (script->wanted->show_events)
			print_event(script, &event);
		if (changes_places(&event)) {
			script_lines_clear(&script->lines);
			ui_text_clear(&script->head.text);
		}
		if (!error)
			error = script_resolver_apply(script->resolver, &event);
	}
	return error;
}

/* Print losses and damage to standard error; standard output has samples only. */
static bool print_losses(const struct script *script)
{
	const struct pesa_perfdata_losses *losses = pesa_perfdata_losses(script->reader);
	const char *path = script->wanted->input.path;

	if (losses->lost || losses->throttled || script->unreadable)
		profile_complain("script",
				 "%s: %" PRIu64 " samples lost, throttled %" PRIu64
				 " times, %" PRIu64 " unreadable raw records",
				 path, losses->lost, losses->throttled, script->unreadable);
	if (losses->damage || losses->damaged_records || losses->damaged_bytes) {
		profile_complain("script",
				 "%s: damaged, the rest was used: %s (%" PRIu64 " records, %" PRIu64
				 " bytes not read)",
				 path, losses->damage ? losses->damage : "unreadable records",
				 losses->damaged_records, losses->damaged_bytes);
		return true;
	}
	return false;
}

static int finish(struct script *script, struct pesa_error *error)
{
	int status = profile_finish("script", &script->terminal, error);

	if (!status) {
		status = print_losses(script);
		if (!script->samples) {
			profile_complain("script", "%s: no samples", script->wanted->input.path);
			status = 1;
		}
	}
	ui_text_free(&script->line);
	ui_text_free(&script->head.text);
	script_lines_clear(&script->lines);
	script_resolver_free(script->resolver);
	pesa_perfdata_close(script->reader);
	return status;
}

int pesa_command_script(int argc, char **argv)
{
	struct script_options wanted = {0};
	struct script script = {.wanted = &wanted};
	struct pesa_error *error;
	int status = profile_parse(&argp, "script", argc, argv, &wanted);

	if (status)
		return status;
	pesa_capabilities_default(&script.standard);
	script.terminal = ui_terminal_open(wanted.input.colour);
	error = profile_check_path(&wanted.input);
	large_pages_for_heap();
	script.counted = fleet_is_url(wanted.input.path);
	if (!error)
		error = pesa_perfdata_open(
			wanted.input.file ? wanted.input.file : wanted.input.path, &script.reader);
	if (!error)
		error = script_resolver_create(script.reader, wanted.input.symbol_root,
					       &script.resolver);
	if (!error) {
		ui_pager_start(&script.terminal, !wanted.input.no_pager && !wanted.input.json);
		error = run(&script);
	}
	return finish(&script, error);
}
