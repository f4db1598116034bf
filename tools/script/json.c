/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa script: JSON, an object a line. */
#include <stdio.h>
#include <string.h>

#include "tools/script/script.h"
#include "tools/ui/cycle_stack.h"
#include "tools/ui/json.h"

static void add_place_json(json_object *object, const struct script_place *place)
{
	json_object_object_add(object, "symbol",
			       ui_json_string(place->symbol ? place->symbol->name : NULL));
	json_object_object_add(object, "symbol_offset",
			       place->symbol ? ui_json_count(place->address - place->symbol->start)
					     : NULL);
	json_object_object_add(object, "dso", ui_json_string(place->dso ? place->dso->path : NULL));
	json_object_object_add(object, "dso_address",
			       place->dso ? ui_json_count(place->address) : NULL);
}

static json_object *causes_json(const struct script *script, uint16_t mask)
{
	json_object *causes = json_object_new_array();

	for (unsigned int bit = 0; bit < PESA_CAUSE_COUNT; bit++) {
		char text[CAUSE_TEXT_MAX];

		if (mask & 1u << bit)
			json_object_array_add(
				causes, ui_json_string(cycle_cause_name(capabilities_of(script),
									(uint16_t)(1u << bit), text,
									sizeof(text))));
	}
	return causes;
}

static json_object *targets_json(const struct script_sample *shown)
{
	json_object *targets = json_object_new_array();

	for (unsigned int i = 0; i < 2 && i < shown->details.transfers; i++) {
		bool valid = shown->record.flags & (PESA_RECORD_HAS_BT1 << i);
		json_object *one = json_object_new_object();

		json_object_object_add(one, "offset",
				       ui_json_count(shown->details.transfer_offset[i]));
		json_object_object_add(one, "address",
				       valid ? ui_json_count(shown->record.bt[i]) : NULL);
		if (valid)
			add_place_json(one, &shown->target[i]);
		json_object_array_add(targets, one);
	}
	return targets;
}

static void add_record_json(struct script *script, const struct script_sample *shown,
			    json_object *object)
{
	const struct pesa_record *record = &shown->record;
	bool data = record->flags & PESA_RECORD_HAS_DATA;

	json_object_object_add(object, "xlen", ui_json_count(record->xlen));
	if (shown->has_details) {
		json_object_object_add(object, "state",
				       ui_json_string(pesa_state_name(shown->details.state)));
		json_object_object_add(object, "instret", ui_json_count(shown->details.instret));
		json_object_object_add(object, "cts", ui_json_count(shown->details.transfers));
		json_object_object_add(object, "targets", targets_json(shown));
		json_object_object_add(object, "cause_offset",
				       ui_json_count(shown->details.cause_offset));
		json_object_object_add(object, "causes", causes_json(script, shown->details.cause));
		json_object_object_add(object, "details", ui_json_count(record->details));
	} else if (record->flags & PESA_RECORD_HAS_CAUSES) {
		json_object_object_add(
			object, "causes",
			causes_json(script, pesa_details_unpack(record->details).cause));
	}
	if (!shown->has_details)
		json_object_object_add(object, "exact_pc",
				       json_object_new_boolean(shown->exact_pc));
	json_object_object_add(object, "counter",
			       data ? ui_json_count(record->data & PESA_DATA_CNTRID_MASK) : NULL);
	json_object_object_add(object, "opaque", data ? ui_json_count(record->data >> 5) : NULL);
	json_object_object_add(object, "scrubbed",
			       json_object_new_boolean(record->flags & PESA_RECORD_SCRUBBED));
	json_object_object_add(
		object, "lost",
		ui_json_count(record->flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK));
}

static void add_exact_json(struct script *script, const struct script_sample *shown,
			   json_object *object)
{
	const struct pesa_sample *sample = &shown->event->sample;
	json_object *buckets = json_object_new_array();
	struct pesa_exact_record record;

	memcpy(&record, sample->raw, sizeof(record));
	json_object_object_add(object, "executions", ui_json_count(record.executions));
	for (unsigned int i = 0; i < record.buckets; i++) {
		json_object *one = json_object_new_object();
		size_t offset = sizeof(record) + i * sizeof(struct pesa_exact_bucket);
		struct pesa_exact_bucket bucket;

		if (offset + sizeof(bucket) > sample->raw_size) {
			json_object_put(one);
			break;
		}
		memcpy(&bucket, sample->raw + offset, sizeof(bucket));
		json_object_object_add(one, "state", ui_json_string(pesa_state_name(bucket.state)));
		json_object_object_add(one, "causes", causes_json(script, bucket.cause));
		json_object_object_add(one, "cycles", ui_json_number(cycles_of(bucket.weight)));
		json_object_object_add(one, "count", ui_json_count(bucket.count));
		json_object_object_add(one, "group", ui_json_count(bucket.group));
		json_object_array_add(buckets, one);
	}
	json_object_object_add(object, "buckets", buckets);
}

static json_object *branches_json(const struct pesa_sample *sample)
{
	json_object *branches = json_object_new_array();

	for (uint64_t i = 0; i < sample->branch_count; i++) {
		json_object *one = json_object_new_object();
		struct pesa_branch_entry entry;

		memcpy(&entry, sample->branches + i * sizeof(entry), sizeof(entry));
		json_object_object_add(one, "from", ui_json_count(entry.from));
		json_object_object_add(one, "to", ui_json_count(entry.to));
		json_object_object_add(one, "flags", ui_json_count(entry.flags));
		json_object_object_add(one, "cycles",
				       ui_json_count(PESA_BRANCH_CYCLES(entry.flags)));
		json_object_array_add(branches, one);
	}
	return branches;
}

json_object *script_head_json(const struct script *script, const struct pesa_event *event,
			      const char *type, uint32_t pid, uint32_t tid)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "type", ui_json_string(type));
	json_object_object_add(object, "time", ui_json_count(event->time));
	json_object_object_add(object, "comm",
			       ui_json_string(script_thread_name(script->resolver, tid)));
	json_object_object_add(object, "pid", ui_json_count(pid));
	json_object_object_add(object, "tid", ui_json_count(tid));
	return object;
}

static json_object *counted_json(const struct script *script, const char *type,
				 const struct script_sample *shown)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "type", ui_json_string(type));
	json_object_object_add(
		object, "comm",
		ui_json_string(script_thread_name(script->resolver, shown->event->sample.tid)));
	json_object_object_add(object, "samples", ui_json_count(shown->samples));
	return object;
}

void script_print_object(struct script *script, json_object *object)
{
	ui_json_print(script->terminal.out, object,
		      JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	fputc('\n', script->terminal.out);
	json_object_put(object);
}

void script_print_json(struct script *script, const struct script_sample *shown)
{
	const struct pesa_sample *sample = &shown->event->sample;
	const char *type = shown->has_exact ? "exact" : "sample";
	json_object *object = script->counted ? counted_json(script, type, shown)
					      : script_head_json(script, shown->event, type,
								 sample->pid, sample->tid);

	if (!script->counted)
		json_object_object_add(object, "cpu", ui_json_count(sample->cpu));
	json_object_object_add(object, "event", ui_json_string(shown->event_name));
	json_object_object_add(object, "period",
			       ui_json_count(script->counted ? shown->period : sample->period));
	json_object_object_add(object, "address", ui_json_count(shown->pc));
	add_place_json(object, &shown->place);
	if (shown->has_exact)
		add_exact_json(script, shown, object);
	else if (shown->has_record)
		add_record_json(script, shown, object);
	else if (shown->unreadable)
		json_object_object_add(object, "unreadable",
				       ui_json_string(shown->unreadable->message));
	else
		json_object_object_add(object, "exact_pc",
				       json_object_new_boolean(shown->exact_pc));
	if (sample->branch_count && !script->counted)
		json_object_object_add(object, "branches", branches_json(sample));
	script_print_object(script, object);
}
