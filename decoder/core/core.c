// SPDX-License-Identifier: GPL-2.0-or-later
/* Core descriptions: the table of keys and the parser.  See core.h. */
#include "decoder/core/core.h"
#include "decoder/base/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/mca.h"

enum key_kind {
	KEY_TEXT,     /* minimum: unused, maximum: size of the array */
	KEY_NUMBER,   /* uint32_t */
	KEY_OPTIONAL, /* likewise; may be absent */
	KEY_POWER,    /* uint32_t, 0 if the minimum allows it, otherwise a power of two */
	KEY_LONG,     /* uint64_t */
	KEY_ORDER,    /* "in-order" or "out-of-order" */
	KEY_YES,      /* "yes" or "no" */
	KEY_MODEL,    /* name of a built-in processor model */
	KEY_EVENT,    /* a name of PESA_CORE_EVENTS or "none"; minimum: the CAUSE bit */
};

struct key {
	const char *name;
	uint8_t kind;
	uint64_t minimum, maximum;
	size_t offset;
	const char *meaning;
};

#define AT(member) offsetof(struct pesa_core, member)
#define CACHE_KEYS(name, text, least)                                                           \
	{text ".size", KEY_NUMBER, least, 1u << 30, AT(name.size), "bytes"},                    \
		{text ".ways", KEY_NUMBER, 1, 64, AT(name.ways), "associativity"},              \
		{text ".latency",                                                               \
		 KEY_NUMBER,                                                                    \
		 1,                                                                             \
		 1000,                                                                          \
		 AT(name.latency),                                                              \
		 "cycles from access to data"},                                                 \
	{                                                                                       \
		text ".mshrs", KEY_NUMBER, 1, 256, AT(name.mshrs), "misses under way at a time" \
	}
#define INCLUSIVE_KEY(name, text)                                            \
	{                                                                    \
		text ".inclusive", KEY_YES, 0, 0, AT(name.inclusive),        \
			"what leaves this level leaves the levels before it" \
	}

/* clang-format off */
static const struct key keys[] = {
	{ "name", KEY_TEXT, 0, sizeof(((struct pesa_core *)0)->name), AT(name), "what --core calls it" },
	{ "summary", KEY_TEXT, 0, sizeof(((struct pesa_core *)0)->summary), AT(summary), "one line about it" },
	{ "model", KEY_MODEL, 0, sizeof(((struct pesa_core *)0)->model), AT(model), "processor model, as for -mcpu: a name, or FILE.model[:NAME]" },
	{ "frequency", KEY_LONG, 1000000, 100000000000, AT(frequency), "nominal cycles a second" },
	{ "order", KEY_ORDER, 0, 0, AT(out_of_order), "how instructions issue" },

	{ "fetch.width", KEY_NUMBER, 1, 32, AT(fetch_width), "instructions a cycle" },
	{ "fetch.bytes", KEY_POWER, 4, 256, AT(fetch_bytes), "aligned block that one cycle fetches from" },
	{ "fetch.buffer", KEY_NUMBER, 1, 256, AT(fetch_buffer), "instructions between fetch and dispatch" },
	{ "fetch.depth", KEY_NUMBER, 1, 30, AT(fetch_depth), "cycles from fetch to dispatch" },
	{ "fetch.redirect", KEY_NUMBER, 1, 60, AT(redirect), "cycles from a mispredict's resolution to the new fetch" },
	{ "fetch.decode_redirect", KEY_NUMBER, 0, 30, AT(decode_redirect), "cycles lost when decode, not the BTB, finds a target" },
	{ "fetch.taken_bubble", KEY_NUMBER, 0, 10, AT(taken_bubble), "cycles lost after a predicted taken transfer" },

	{ "predictor.bimodal", KEY_POWER, 64, 1 << 20, AT(bimodal_entries), "two-bit counters indexed by PC" },
	{ "predictor.tables", KEY_NUMBER, 0, 12, AT(tage_tables), "tagged tables with growing history (TAGE)" },
	{ "predictor.entries", KEY_POWER, 64, 1 << 16, AT(tage_entries), "entries of each tagged table" },
	{ "predictor.tag_bits", KEY_NUMBER, 4, 15, AT(tage_tag_bits), "tag of a table entry" },
	{ "predictor.history_min", KEY_NUMBER, 1, 64, AT(history_min), "branches in the shortest history" },
	{ "predictor.history_max", KEY_NUMBER, 1, 640, AT(history_max), "branches in the longest history" },
	{ "btb.entries", KEY_POWER, 8, 1 << 20, AT(btb_entries), "branch target buffer" },
	{ "btb.ways", KEY_NUMBER, 1, 16, AT(btb_ways), "associativity" },
	{ "ras.entries", KEY_NUMBER, 1, 256, AT(ras_entries), "return address stack" },
	{ "indirect.entries", KEY_POWER, 8, 1 << 16, AT(indirect_entries), "indirect targets by path history" },

	{ "dispatch.width", KEY_NUMBER, 1, 15, AT(dispatch_width), "micro-ops a cycle" },
	{ "retire.width", KEY_NUMBER, 1, 15, AT(retire_width), "instructions a cycle" },
	{ "retire.transfers", KEY_NUMBER, 1, 15, AT(retire_transfers), "taken control transfers that retire in one cycle" },
	{ "rob.entries", KEY_NUMBER, 2, 4096, AT(rob_entries), "instructions between dispatch and retirement" },
	{ "queue.integer", KEY_OPTIONAL, 1, 1024, AT(queue_entries[PESA_CORE_QUEUE_INTEGER]), "issue queue entries" },
	{ "queue.memory", KEY_OPTIONAL, 1, 1024, AT(queue_entries[PESA_CORE_QUEUE_MEMORY]), "issue queue entries" },
	{ "queue.float", KEY_OPTIONAL, 1, 1024, AT(queue_entries[PESA_CORE_QUEUE_FLOAT]), "issue queue entries, vector too" },
	{ "queue.load", KEY_NUMBER, 1, 1024, AT(load_queue), "loads between dispatch and retirement" },
	{ "queue.store", KEY_NUMBER, 1, 1024, AT(store_queue), "stores between dispatch and the cache" },
	{ "store.ports", KEY_NUMBER, 1, 8, AT(store_ports), "stores that go to the cache in a cycle" },
	{ "registers.integer", KEY_NUMBER, 33, 4096, AT(integer_registers), "physical registers" },
	{ "registers.float", KEY_NUMBER, 33, 4096, AT(float_registers), "physical registers, vector too" },

	{ "line", KEY_POWER, 16, 1024, AT(line), "bytes of a cache line, all levels" },
	CACHE_KEYS(icache, "icache", 1024),
	{ "icache.prefetch", KEY_NUMBER, 0, 16, AT(icache_prefetch), "lines fetched after a missing one" },
	CACHE_KEYS(dcache, "dcache", 1024),
	{ "dcache.streams", KEY_NUMBER, 0, 64, AT(dcache_streams), "strides followed at a time, 0: nothing is prefetched" },
	{ "dcache.prefetch", KEY_NUMBER, 0, 16, AT(dcache_prefetch), "lines fetched ahead of a stride" },
	CACHE_KEYS(l2, "l2", 0),
	INCLUSIVE_KEY(l2, "l2"),
	CACHE_KEYS(llc, "llc", 0),
	INCLUSIVE_KEY(llc, "llc"),
	{ "memory.latency", KEY_NUMBER, 1, 10000, AT(memory_latency), "cycles from the last cache to data" },
	{ "memory.interval", KEY_NUMBER, 1, 1000, AT(memory_interval), "cycles between two lines" },
	{ "page", KEY_POWER, 4096, 1 << 21, AT(page), "bytes" },
	{ "itlb.entries", KEY_NUMBER, 1, 4096, AT(itlb_entries), "fully associative" },
	{ "dtlb.entries", KEY_NUMBER, 1, 4096, AT(dtlb_entries), "fully associative" },
	{ "l2tlb.entries", KEY_NUMBER, 1, 65536, AT(l2tlb_entries), "for instructions and data" },
	{ "l2tlb.ways", KEY_NUMBER, 1, 64, AT(l2tlb_ways), "associativity" },
	{ "l2tlb.latency", KEY_NUMBER, 1, 1000, AT(l2tlb_latency), "cycles that a hit costs" },
	{ "walk.levels", KEY_NUMBER, 0, 5, AT(walk_levels), "page-table levels read through the caches (Sv39: 3, Sv48: 4), 0: a fixed time" },
	{ "walk.latency", KEY_NUMBER, 0, 10000, AT(walk_latency), "cycles of a page walk, on top of what it reads" },
	{ "walk.cache", KEY_NUMBER, 0, 1024, AT(walk_cache), "page-table entries above the last level that are kept" },
	{ "walk.walkers", KEY_NUMBER, 1, 16, AT(walk_walkers), "page walks under way at a time" },
	{ "forward.latency", KEY_NUMBER, 1, 100, AT(forward_latency), "cycles from a store's data to the load's" },

#define CLASS(id, text) \
	{ "latency." text, KEY_OPTIONAL, 1, 1000, AT(latency[PESA_CORE_CLASS_##id]), "cycles from issue to result" }, \
	{ "interval." text, KEY_OPTIONAL, 1, 1000, AT(interval[PESA_CORE_CLASS_##id]), "cycles that its units are busy" },
	PESA_CORE_CLASSES(CLASS)
#undef CLASS

	{ "sample.counter_bits", KEY_NUMBER, 9, PESA_CC_BITS, AT(counter_bits), "implemented bits of SAMPLEINITVALUE" },
	{ "sample.minimum", KEY_NUMBER, PESA_CC_MINIMUM_PERIOD, 1 << 20, AT(minimum_period), "shortest period in cycles" },
	{ "sample.ct_targets", KEY_NUMBER, 0, 2, AT(ct_targets), "control transfer targets in a record" },
	{ "sample.ctr_depth", KEY_NUMBER, 0, 256, AT(ctr_depth), "control transfer records, 0: none" },
	{ "cause.5", KEY_EVENT, 5, 0, AT(event_bit), "what the CAUSE bit stands for" },
	{ "cause.6", KEY_EVENT, 6, 0, AT(event_bit), "what the CAUSE bit stands for" },
	{ "cause.7", KEY_EVENT, 7, 0, AT(event_bit), "what the CAUSE bit stands for" },
	{ "cause.8", KEY_EVENT, 8, 0, AT(event_bit), "what the CAUSE bit stands for" },
	{ "cause.9", KEY_EVENT, 9, 0, AT(event_bit), "what the CAUSE bit stands for" },
};
/* clang-format on */

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static const char *const event_names[] = {
#define EVENT(id, text) text,
	PESA_CORE_EVENTS(EVENT)
#undef EVENT
};

/* Describe the allowed values of a key. */
static void describe_limits(const struct key *key, char *buffer, size_t size)
{
	size_t used = 0;

	switch (key->kind) {
	case KEY_TEXT:
		snprintf(buffer, size, "text of up to %u characters",
			 (unsigned int)key->maximum - 1);
		return;
	case KEY_ORDER:
		snprintf(buffer, size, "in-order, out-of-order");
		return;
	case KEY_YES:
		snprintf(buffer, size, "yes, no");
		return;
	case KEY_MODEL:
		snprintf(buffer, size,
			 "a processor that 'pesa mca -mcpu=help' lists, or FILE.model[:PROCESSOR]");
		return;
	case KEY_EVENT:
		used = (size_t)snprintf(buffer, size, "none");
		for (size_t i = 0; i < PESA_CORE_EVENT_COUNT && used < size; i++)
			used += (size_t)snprintf(buffer + used, size - used, ", %s",
						 event_names[i]);
		return;
	case KEY_POWER:
		snprintf(buffer, size, "a power of two, %llu to %llu",
			 (unsigned long long)key->minimum, (unsigned long long)key->maximum);
		return;
	default:
		snprintf(buffer, size, "%llu to %llu", (unsigned long long)key->minimum,
			 (unsigned long long)key->maximum);
	}
}

void pesa_core_each_key(void (*emit)(void *context, const char *key, const char *limits,
				     const char *meaning),
			void *context)
{
	char limits[256];

	for (size_t i = 0; i < KEY_COUNT; i++) {
		describe_limits(&keys[i], limits, sizeof(limits));
		emit(context, keys[i].name, limits, keys[i].meaning);
	}
}

static int find_name(const char *const *names, size_t count, const char *value)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], value))
			return (int)i;
	return -1;
}

/* A decimal number with an optional suffix K, M or G (powers of 1024). */
static bool read_number(const char *value, uint64_t *number)
{
	unsigned int shift = 0;
	uint64_t parsed;

	if (!number_take(&value, 10, &parsed))
		return false;
	if (*value == 'K' || *value == 'M' || *value == 'G') {
		shift = *value == 'K' ? 10 : *value == 'M' ? 20 : 30;
		value++;
	}
	if (*value || parsed > UINT64_MAX >> shift)
		return false;
	*number = parsed << shift;
	return true;
}

static bool is_model(const char *name)
{
	const char *known;

	for (unsigned int i = 0; (known = pesa_mca_builtin_processor(i)); i++)
		if (!strcmp(known, name))
			return true;
	return false;
}

/* Set one key.  Returns false if the value is not allowed. */
static bool set_value(const struct key *key, const char *value, struct pesa_core *core)
{
	char *place = (char *)core + key->offset;
	uint64_t number;
	int found;

	switch (key->kind) {
	case KEY_TEXT:
		if (strlen(value) >= key->maximum || (key->offset == AT(name) && !*value))
			return false;
		strcpy(place, value);
		return true;
	case KEY_ORDER:
		*(uint32_t *)place = !strcmp(value, "out-of-order");
		return !strcmp(value, "out-of-order") || !strcmp(value, "in-order");
	case KEY_YES:
		*(uint32_t *)place = !strcmp(value, "yes");
		return !strcmp(value, "yes") || !strcmp(value, "no");
	case KEY_MODEL:
		if (strlen(value) >= key->maximum ||
		    !(pesa_mca_model_path_length(value) || is_model(value)))
			return false;
		strcpy(place, value);
		return true;
	case KEY_EVENT:
		if (!strcmp(value, "none"))
			return true;
		found = find_name(event_names, PESA_CORE_EVENT_COUNT, value);
		if (found < 0 || core->event_bit[found] >= 0)
			return false;
		core->event_bit[found] = (int32_t)key->minimum;
		core->cause_mask |= (uint16_t)(1u << key->minimum);
		return true;
	default:
		if (!read_number(value, &number) || number < key->minimum || number > key->maximum)
			return false;
		if (key->kind == KEY_POWER && (number & (number - 1)))
			return false;
		if (key->kind == KEY_LONG)
			*(uint64_t *)place = number;
		else
			*(uint32_t *)place = (uint32_t)number;
		return true;
	}
}

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* State of parsing: line that set each key, 0: none. */
struct reader {
	const char *name; /* file name */
	unsigned int line[KEY_COUNT];
	struct pesa_core core;
};

static struct pesa_error *read_line(struct reader *reader, unsigned int number, char *line)
{
	char limits[256];
	char *comment = strchr(line, '#'), *equals, *word, *value;

	if (comment)
		*comment = '\0';
	line = trim(line);
	if (!*line)
		return NULL;
	equals = strchr(line, '=');
	if (!equals)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s:%u: '%s' is not of the form 'key = value'",
					 reader->name, number, line);
	*equals = '\0';
	word = trim(line);
	value = trim(equals + 1);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strcmp(keys[i].name, word))
			continue;
		if (reader->line[i])
			return pesa_error_create(PESA_ERROR_FORMAT,
						 "%s:%u: '%s' is set twice, first in line %u",
						 reader->name, number, word, reader->line[i]);
		reader->line[i] = number;
		if (set_value(&keys[i], value, &reader->core))
			return NULL;
		describe_limits(&keys[i], limits, sizeof(limits));
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s:%u: '%s' is no value for %s; allowed: %s%s",
					 reader->name, number, value, word, limits,
					 keys[i].kind == KEY_EVENT ? ", each once" : "");
	}
	return pesa_error_create(PESA_ERROR_FORMAT,
				 "%s:%u: unknown key '%s'; 'pesa list --keys' lists the keys",
				 reader->name, number, word);
}

/* The line that sets a key. */
static unsigned int line_of(const struct reader *reader, const char *key)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (!strcmp(keys[i].name, key))
			return reader->line[i];
	return 0;
}

/* Check a structure of `size` in sets of `ways` x `unit`: the number of sets must be a power of
 * two. */
static struct pesa_error *check_sets(const struct reader *reader, const char *key, uint32_t size,
				     const char *ways_key, uint32_t ways, uint32_t unit)
{
	uint64_t set = (uint64_t)ways * unit;
	char line[32] = "";

	if (!size || (size % set == 0 && !(size / set & (size / set - 1))))
		return NULL;
	if (unit > 1)
		snprintf(line, sizeof(line), " x line (%u)", unit);
	return pesa_error_create(
		PESA_ERROR_FORMAT,
		"%s:%u: %s = %u is not %s (%u)%s x a power of two; allowed: %llu, %llu, %llu, ...",
		reader->name, line_of(reader, key), key, size, ways_key, ways, line,
		(unsigned long long)set, (unsigned long long)set * 2, (unsigned long long)set * 4);
}

/* Keys that must not be smaller than others. */
struct order_rule {
	const char *key, *least;
	size_t at, least_at;
	bool zero; /* `key` may be 0, which means none */
};

#define RULE(key, member, least, least_member)              \
	{                                                   \
		key, least, AT(member), AT(least_member), 0 \
	}
#define RULE_OR_NONE(key, member, least, least_member)      \
	{                                                   \
		key, least, AT(member), AT(least_member), 1 \
	}

static const struct order_rule order_rules[] = {
	RULE("predictor.history_max", history_max, "predictor.history_min", history_min),
	RULE("line", line, "fetch.bytes", fetch_bytes),
	RULE("fetch.buffer", fetch_buffer, "fetch.width", fetch_width),
	RULE("fetch.buffer", fetch_buffer, "dispatch.width", dispatch_width),
	RULE("rob.entries", rob_entries, "dispatch.width", dispatch_width),
	RULE("rob.entries", rob_entries, "retire.width", retire_width),
	RULE("retire.width", retire_width, "retire.transfers", retire_transfers),
	RULE_OR_NONE("l2.size", l2.size, "dcache.size", dcache.size),
	RULE_OR_NONE("l2.size", l2.size, "icache.size", icache.size),
	RULE_OR_NONE("llc.size", llc.size, "l2.size", l2.size),
	RULE_OR_NONE("llc.size", llc.size, "dcache.size", dcache.size),
	RULE_OR_NONE("llc.size", llc.size, "icache.size", icache.size),
};

static struct pesa_error *check_order(const struct reader *reader, const struct order_rule *rule)
{
	const char *core = (const char *)&reader->core;
	uint32_t value = *(const uint32_t *)(core + rule->at);
	uint32_t least = *(const uint32_t *)(core + rule->least_at);

	if (value >= least || (rule->zero && !value))
		return NULL;
	return pesa_error_create(PESA_ERROR_FORMAT,
				 "%s:%u: %s = %u is below %s (%u, line %u); allowed: %s%u or more",
				 reader->name, line_of(reader, rule->key), rule->key, value,
				 rule->least, least, line_of(reader, rule->least),
				 rule->zero ? "0, " : "", least);
}

/* Check that the core can have a cause. */
static struct pesa_error *check_cause(const struct reader *reader, enum pesa_core_event event,
				      const char *size_key, uint32_t size)
{
	char key[24];

	if (size || reader->core.event_bit[event] < 0)
		return NULL;
	snprintf(key, sizeof(key), "cause.%d", (int)reader->core.event_bit[event]);
	return pesa_error_create(PESA_ERROR_FORMAT, "%s:%u: %s = %s, but %s = 0 (line %u)",
				 reader->name, line_of(reader, key), key, event_names[event],
				 size_key, line_of(reader, size_key));
}

/* Checks that involve several keys. */
static struct pesa_error *check_whole(const struct reader *reader)
{
	const struct pesa_core *core = &reader->core;
	const struct {
		const char *key, *ways_key;
		uint32_t size, ways, unit;
	} geometry[] = {
		{"icache.size", "icache.ways", core->icache.size, core->icache.ways, core->line},
		{"dcache.size", "dcache.ways", core->dcache.size, core->dcache.ways, core->line},
		{"l2.size", "l2.ways", core->l2.size, core->l2.ways, core->line},
		{"llc.size", "llc.ways", core->llc.size, core->llc.ways, core->line},
		{"btb.entries", "btb.ways", core->btb_entries, core->btb_ways, 1},
		{"l2tlb.entries", "l2tlb.ways", core->l2tlb_entries, core->l2tlb_ways, 1},
	};
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < sizeof(geometry) / sizeof(geometry[0]) && !error; i++)
		error = check_sets(reader, geometry[i].key, geometry[i].size, geometry[i].ways_key,
				   geometry[i].ways, geometry[i].unit);
	for (size_t i = 0; i < sizeof(order_rules) / sizeof(order_rules[0]) && !error; i++)
		error = check_order(reader, &order_rules[i]);
	if (!error)
		error = check_cause(reader, PESA_CORE_EVENT_L2_MISS, "l2.size", core->l2.size);
	if (!error)
		error = check_cause(reader, PESA_CORE_EVENT_LLC_MISS, "llc.size", core->llc.size);
	if (error)
		return error;
	if (!core->dcache_streams != !core->dcache_prefetch)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s:%u: dcache.prefetch = %u, but dcache.streams = %u "
					 "(line %u); allowed: both 0 or neither",
					 reader->name, line_of(reader, "dcache.prefetch"),
					 core->dcache_prefetch, core->dcache_streams,
					 line_of(reader, "dcache.streams"));
	if (!core->walk_levels && !core->walk_latency)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s:%u: walk.latency = 0, but walk.levels = 0 (line %u); "
					 "allowed: 1 to 10000",
					 reader->name, line_of(reader, "walk.latency"),
					 line_of(reader, "walk.levels"));
	if ((uint64_t)core->minimum_period >= 1ull << core->counter_bits)
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"%s:%u: sample.minimum = %u does not fit sample.counter_bits (%u, line "
			"%u); allowed: %u to %llu",
			reader->name, line_of(reader, "sample.minimum"), core->minimum_period,
			core->counter_bits, line_of(reader, "sample.counter_bits"),
			PESA_CC_MINIMUM_PERIOD, (1ull << core->counter_bits) - 1);
	return NULL;
}

struct pesa_error *pesa_core_parse(const char *name, const char *text, size_t size,
				   struct pesa_core *core)
{
	struct reader reader = {.name = name};
	struct pesa_error *error = NULL;
	unsigned int number = 0;
	char line[512];

	for (size_t i = 0; i < PESA_CORE_EVENT_COUNT; i++)
		reader.core.event_bit[i] = -1;
	reader.core.cause_mask = (1u << PESA_CAUSE_IMPLEMENTATION_FIRST) - 1;
	while (size && !error) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;

		number++;
		if (length >= sizeof(line) || memchr(text, '\0', length))
			return pesa_error_create(PESA_ERROR_FORMAT, "%s:%u: not a line of text",
						 name, number);
		memcpy(line, text, length);
		line[length] = '\0';
		error = read_line(&reader, number, line);
		text += length + !!end;
		size -= length + !!end;
	}
	for (size_t i = 0; i < KEY_COUNT && !error; i++) {
		if (!reader.line[i] && keys[i].kind != KEY_EVENT && keys[i].kind != KEY_OPTIONAL)
			error = pesa_error_create(PESA_ERROR_FORMAT, "%s: nothing sets '%s' (%s)",
						  name, keys[i].name, keys[i].meaning);
	}
	if (!error)
		error = check_whole(&reader);
	if (!error)
		*core = reader.core;
	return error;
}

/* Make the path of a model that is relative to the folder of the description `path` one to open. */
static struct pesa_error *place_model(const char *path, struct pesa_core *core)
{
	const char *slash = strrchr(path, '/');
	char placed[PESA_CORE_MODEL_MAX];
	int length;

	if (!pesa_mca_model_path_length(core->model) || *core->model == '/' || !slash)
		return NULL;
	length =
		snprintf(placed, sizeof(placed), "%.*s/%s", (int)(slash - path), path, core->model);
	if (length < 0 || (size_t)length >= sizeof(placed))
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s: the path of the model has more than %zu characters",
					 path, sizeof(placed) - 1);
	memcpy(core->model, placed, (size_t)length + 1);
	return NULL;
}

struct pesa_error *pesa_core_load(const char *path, struct pesa_core *core)
{
	FILE *stream = fopen(path, "re");
	struct pesa_error *error;
	char *text;
	size_t size;
	const size_t limit = 1 << 20;

	if (!stream)
		return pesa_error_system(errno, "cannot open core description %s", path);
	text = malloc(limit);
	if (!text) {
		fclose(stream);
		return pesa_error_no_memory();
	}
	size = fread(text, 1, limit, stream);
	if (ferror(stream))
		error = pesa_error_system(errno, "cannot read core description %s", path);
	else if (size == limit)
		error = pesa_error_create(PESA_ERROR_FORMAT, "%s: too large for a core description",
					  path);
	else
		error = pesa_core_parse(path, text, size, core);
	if (!error)
		error = place_model(path, core);
	fclose(stream);
	free(text);
	return error;
}

struct pesa_error *pesa_core_set(struct pesa_core *core, const char *setting, bool *known)
{
	const char *equals = strchr(setting, '=');
	size_t length = equals ? (size_t)(equals - setting) : strlen(setting);
	struct reader reader = {.name = "--set", .core = *core};
	struct pesa_error *error;
	char limits[256];

	*known = false;
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strlen(keys[i].name) != length || memcmp(keys[i].name, setting, length))
			continue;
		*known = true;
		describe_limits(&keys[i], limits, sizeof(limits));
		if (!equals || !set_value(&keys[i], equals + 1, &reader.core))
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "'%s' is no value for %s; allowed: %s",
						 equals ? equals + 1 : "", keys[i].name, limits);
		error = check_whole(&reader);
		if (!error)
			*core = reader.core;
		return error;
	}
	return NULL;
}

void pesa_core_capabilities(const struct pesa_core *core, struct pesa_capabilities *capabilities)
{
	struct pesa_capabilities made;

	pesa_capabilities_default(&made);
	made.xlen = 64;
	made.retire_width = core->retire_width;
	made.counter_bits = core->counter_bits;
	made.minimum_period = core->minimum_period;
	made.ct_targets = core->ct_targets;
	made.ctr_depth = core->ctr_depth;
	made.cause_mask = core->cause_mask;
	made.frequency = core->frequency;
	for (size_t i = 0; i < PESA_CORE_EVENT_COUNT; i++) {
		if (core->event_bit[i] >= 0)
			snprintf(made.cause_names[core->event_bit[i]], PESA_CAPABILITY_NAME_MAX,
				 "%s", event_names[i]);
	}
	snprintf(made.core, sizeof(made.core), "%s", core->name);
	if (pesa_mca_model_path_length(core->model))
		memcpy(made.model, core->processor, sizeof(made.model));
	else
		snprintf(made.model, sizeof(made.model), "%.*s", (int)sizeof(made.model) - 1,
			 core->model);
	*capabilities = made;
}

uint64_t pesa_core_predictor_bits(const struct pesa_core *core)
{
	return 2ull * core->bimodal_entries +
	       (uint64_t)core->tage_tables * core->tage_entries *
		       (core->tage_tag_bits + PESA_CORE_TAGE_COUNTER_BITS +
			PESA_CORE_TAGE_USEFUL_BITS);
}
