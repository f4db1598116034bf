// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Push files to a profile store, as the daemon pushes its intervals.
 *
 *   push_profiles URL SPOOL [NAME=VALUE...] < commands
 *
 * The files are taken as they are, but for a database (kind=clickhouse): recordings are counted.
 * NAME: kind, application, tenant, label (NAME:VALUE, up to 8),
 * token, basic, authority, certificate, key, verify (0, 1), timeout, least, most, age
 * (milliseconds), bytes.  Commands, a line each: "offer FILE FROM UNTIL" (seconds since 1970),
 * "counts", which prints a line of JSON, and at the end of input it stops.  The log goes to
 * standard error.
 */
#include <curl/curl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/pesad/push/database.h"
#include "daemon/pesad/push/push.h"

#define NS_PER_MILLISECOND UINT64_C(1000000)
#define LABELS_MAX	   8

static struct pesa_error *copy(void *context __attribute__((unused)), const char *path,
			       uint64_t from __attribute__((unused)),
			       uint64_t until __attribute__((unused)), FILE *out)
{
	FILE *in = fopen(path, "re");
	char buffer[4096];
	size_t got;

	if (!in)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "%s: cannot be opened", path);
	while ((got = fread(buffer, 1, sizeof(buffer), in)) > 0)
		fwrite(buffer, 1, got, out);
	fclose(in);
	return NULL;
}

static struct pesa_error *count(void *context __attribute__((unused)), const char *path,
				uint64_t from, uint64_t until __attribute__((unused)), FILE *out)
{
	return push_parcel_make(path, "pushed", from, out);
}

static void print_log(void *context __attribute__((unused)), int priority, const char *line)
{
	fprintf(stderr, "<%d>%s\n", priority, line);
}

static void print_counts(struct pesa_push *push)
{
	struct pesa_push_counts counts = pesa_push_counts(push);
	const struct {
		const char *name;
		uint64_t value;
	} values[] = {
		{"offered", counts.offered},
		{"pending", counts.pending},
		{"dropped_pending", counts.dropped_pending},
		{"dropped_unconverted", counts.dropped_unconverted},
		{"sent", counts.sent},
		{"sent_bytes", counts.sent_bytes},
		{"refused", counts.refused},
		{"failures", counts.failures},
		{"last_sent", counts.last_sent},
		{"spooled", counts.spool.entries},
		{"spooled_bytes", counts.spool.bytes},
		{"dropped_full", counts.spool.dropped_full},
		{"dropped_old", counts.spool.dropped_old},
		{"dropped_unwritten", counts.spool.dropped_unwritten},
	};
	json_object *root = json_object_new_object();

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		json_object_object_add(root, values[i].name,
				       json_object_new_uint64(values[i].value));
	printf("%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
	fflush(stdout);
	json_object_put(root);
}

static int usage(const char *what)
{
	fprintf(stderr, "push_profiles: %s\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	struct pesa_label labels[LABELS_MAX];
	uint64_t timeout = 2000, least = 20, most = 200, age = 0, bytes = 1 << 20;
	struct pesa_push_options options = {
		.sender = {.target = {.application = "pesa", .labels = labels}, .verify = true},
		.convert = copy,
		.log = print_log,
	};
	struct pesa_sender_options *sender = &options.sender;
	const struct {
		const char *name;
		const char **text;
		uint64_t *number;
	} names[] = {
		{"application", &sender->target.application, NULL},
		{"tenant", &sender->target.tenant, NULL},
		{"token", &sender->token_file, NULL},
		{"basic", &sender->basic_file, NULL},
		{"authority", &sender->authority, NULL},
		{"certificate", &sender->certificate, NULL},
		{"key", &sender->key, NULL},
		{"timeout", NULL, &timeout},
		{"least", NULL, &least},
		{"most", NULL, &most},
		{"age", NULL, &age},
		{"bytes", NULL, &bytes},
	};
	struct pesa_push *push;
	struct pesa_error *error;
	char line[4096], path[4096];
	uint64_t from, until;

	if (argc < 3)
		return usage("URL SPOOL [NAME=VALUE...]");
	sender->target.url = argv[1];
	options.spool = argv[2];
	for (int i = 3; i < argc; i++) {
		char *value = strchr(argv[i], '='), *colon;
		bool known = false;

		if (!value)
			return usage(argv[i]);
		*value++ = '\0';
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++) {
			if (strcmp(argv[i], names[j].name))
				continue;
			known = true;
			if (names[j].text)
				*names[j].text = value;
			else
				*names[j].number = strtoull(value, NULL, 10);
		}
		if (!strcmp(argv[i], "kind")) {
			known = pesa_store_kind_parse(value, &sender->target.kind);
		} else if (!strcmp(argv[i], "verify")) {
			known = true;
			sender->verify = atoi(value);
		} else if (!strcmp(argv[i], "label") && sender->target.label_count < LABELS_MAX) {
			colon = strchr(value, ':');
			known = colon;
			if (colon)
				*colon++ = '\0';
			labels[sender->target.label_count++] = (struct pesa_label){value, colon};
		}
		if (!known)
			return usage(argv[i]);
	}
	sender->timeout = timeout * NS_PER_MILLISECOND;
	options.retry_least = least * NS_PER_MILLISECOND;
	options.retry_most = most * NS_PER_MILLISECOND;
	options.limits = (struct pesa_spool_limits){bytes, age * NS_PER_MILLISECOND};
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (sender->target.kind == PESA_STORE_CLICKHOUSE)
		options.convert = count;
	error = pesa_push_start(&options, &push);
	if (error) {
		fprintf(stderr, "%s\n", error->message);
		pesa_error_free(error);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "offer %4095s %" SCNu64 " %" SCNu64, path, &from, &until) == 3)
			pesa_push_offer(push, path, from * 1000000000, until * 1000000000);
		else if (!strcmp(line, "counts\n"))
			print_counts(push);
	}
	pesa_push_stop(push);
	curl_global_cleanup();
	return 0;
}
