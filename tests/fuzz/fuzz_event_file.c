/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: event files, maps of processors, names and lists of events.  The first byte chooses.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/events/file.h"
#include "daemon/events/metric.h"
#include "daemon/events/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_file(const char *text, size_t size)
{
	struct pesa_event_file file;

	if (pesa_event_file_parse("f", text, size, &file))
		abort();
	for (size_t i = 0; i < file.count; i++) {
		const struct pesa_event_definition *definition = &file.definitions[i];

		/* What is kept says what it is, or of which standard event it is. */
		if ((!definition->name || !definition->terms) && !definition->standard)
			abort();
		if (definition->scale < 0)
			abort();
	}
	for (size_t i = 0; i < file.metric_count; i++)
		if (!file.metrics[i].name || !file.metrics[i].expression)
			abort();
	if (!file.bad != !file.problem || (file.problem && strchr(file.problem, '\n')))
		abort();
	pesa_event_file_free(&file);
}

static void read_metric(const char *text)
{
	double counts[PESA_METRIC_EVENTS_MAX];
	struct pesa_metric *metric;
	struct pesa_error *error = pesa_metric_parse(text, &metric);

	if (error) {
		pesa_error_free(error);
		return;
	}
	if (pesa_metric_event_count(metric) > PESA_METRIC_EVENTS_MAX)
		abort();
	for (size_t i = 0; i < PESA_METRIC_EVENTS_MAX; i++)
		counts[i] = (double)i;
	pesa_metric_value(metric, counts);
	pesa_metric_free(metric);
}

static void read_map(const char *text, size_t size)
{
	struct pesa_event_map map;

	if (pesa_event_map_parse("m", text, size, &map))
		abort();
	pesa_event_map_find(&map, "0x489-0x8000000000000007-0x4210427");
	if (!map.bad != !map.problem)
		abort();
	pesa_event_map_free(&map);
}

static void read_list(const char *text)
{
	struct pesa_event_list list = {0};
	struct pesa_error *error = pesa_event_list_add(&list, text);
	struct pesa_event_name event;

	if (!error && !list.count)
		abort();
	for (size_t i = 1; i < list.count; i++)
		if (list.items[i].group < list.items[i - 1].group)
			abort();
	if (!error && list.count < 4)
		pesa_error_free(
			pesa_event_parse("/nonexistent", list.items[list.count - 1].name, &event));
	pesa_error_free(error);
	pesa_event_list_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		abort();
	/* Not terminated, as what is mapped: the parser must stop at the size. */
	memcpy(text, data + 1, size - 1);
	switch (data[0] % 5) {
	case 0:
	case 1:
		read_file(text, size - 1);
		break;
	case 4:
		text[size - 1] = '\0';
		read_metric(text);
		break;
	case 2:
		read_map(text, size - 1);
		break;
	default:
		text[size - 1] = '\0';
		read_list(text);
		break;
	}
	free(text);
	return 0;
}
