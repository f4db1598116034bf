// SPDX-License-Identifier: GPL-2.0-or-later
/* How each profile store wants a profile.  See profile_store.h. */
#include "daemon/pesad/push/profile_store.h"

#include <ctype.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/write.h"

#define NS_PER_SECOND UINT64_C(1000000000)

typedef struct pesa_error *body_function(const struct pesa_store_target *target,
					 const struct pesa_spool_entry *entry, const void *profile,
					 size_t size, struct pesa_store_request *request);

static body_function pyroscope_body, connect_body, parca_body;

static const struct store {
	const char *name, *path, *content_type, *extra_header, *tenant_header;
	body_function *body;
} stores[PESA_STORE_KINDS] = {
	[PESA_STORE_PYROSCOPE] = {"pyroscope", "/ingest", "multipart/form-data", NULL,
				  "X-Scope-OrgID", pyroscope_body},
	[PESA_STORE_PYROSCOPE_PUSH] = {"pyroscope-push", "/push.v1.PusherService/Push",
				       "application/proto", "Connect-Protocol-Version: 1",
				       "X-Scope-OrgID", connect_body},
	[PESA_STORE_ALLOY] = {"alloy", "/push.v1.PusherService/Push", "application/proto",
			      "Connect-Protocol-Version: 1", "X-Scope-OrgID", connect_body},
	[PESA_STORE_PARCA] = {"parca", "/api/profiles/writeraw", "application/json", NULL, NULL,
			      parca_body},
	[PESA_STORE_CLICKHOUSE] = {"clickhouse", "", "", NULL, NULL, NULL},
};

bool pesa_store_kind_parse(const char *name, enum pesa_store_kind *kind)
{
	for (unsigned int i = 0; i < PESA_STORE_KINDS; i++)
		if (!strcmp(name, stores[i].name)) {
			*kind = (enum pesa_store_kind)i;
			return true;
		}
	return false;
}

/* ---- Checks -------------------------------------------------------------------------------- */

/* Prometheus's syntax of label names, which both stores use; `__` is reserved. */
static bool label_name_holds(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (const char *sign = name; *sign; sign++)
		if (!isalnum((unsigned char)*sign) && *sign != '_')
			return false;
	return strncmp(name, "__", 2) != 0;
}

static bool printable(const char *text, const char *refused)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text) || strchr(refused, *text))
			return false;
	return true;
}

static struct pesa_error *check_url(const char *text)
{
	CURLU *url = curl_url();
	struct pesa_error *error = NULL;
	char *scheme = NULL, *part = NULL;
	CURLUcode code;

	if (!url)
		return pesa_error_no_memory();
	code = curl_url_set(url, CURLUPART_URL, text, 0);
	if (code)
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "'%s' is no URL (%s); one like https://HOST:4040 is",
					  text, curl_url_strerror(code));
	else if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) ||
		 (strcmp(scheme, "http") && strcmp(scheme, "https")))
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "'%s': must begin with http:// or https://", text);
	else if (!curl_url_get(url, CURLUPART_USER, &part, 0) ||
		 !curl_url_get(url, CURLUPART_PASSWORD, &part, 0))
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "a URL with a user or password in it: these belong into "
					  "a file that only the daemon can read");
	else if (!curl_url_get(url, CURLUPART_QUERY, &part, 0) ||
		 !curl_url_get(url, CURLUPART_FRAGMENT, &part, 0))
		error = pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"'%s': give the base URL, without what stands behind ? or #", text);
	curl_free(scheme);
	curl_free(part);
	curl_url_cleanup(url);
	return error;
}

struct pesa_error *pesa_store_check(const struct pesa_store_target *target)
{
	struct pesa_error *error = check_url(target->url);

	if (error)
		return error;
	if (!*target->application || !printable(target->application, "{}\",="))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "'%s' is no name of an application: at least one "
					 "character, none of { } \" , =",
					 target->application);
	if (target->tenant && (!*target->tenant || !printable(target->tenant, "")))
		return pesa_error_create(PESA_ERROR_ARGUMENT, "the tenant's name is empty or has a "
							      "control character");
	for (size_t i = 0; i < target->label_count; i++) {
		const struct pesa_label *label = &target->labels[i];

		if (!label_name_holds(label->name))
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "'%s' is no name of a label: letters, digits and "
						 "_, not beginning with a digit or __",
						 label->name);
		/* /ingest encodes labels as {a=b,...}. */
		if (!*label->value || !printable(label->value, "{},\""))
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "label %s: its value must have at least one "
						 "character, none of { } , \"",
						 label->name);
	}
	return NULL;
}

/* ---- Bodies -------------------------------------------------------------------------------- */

/* APP{label=value,...} */
static char *pyroscope_name(const struct pesa_store_target *target)
{
	char *name = NULL;
	size_t length;
	FILE *out = open_memstream(&name, &length);

	if (!out)
		return NULL;
	fputs(target->application, out);
	for (size_t i = 0; i < target->label_count; i++)
		fprintf(out, "%c%s=%s", i ? ',' : '{', target->labels[i].name,
			target->labels[i].value);
	if (target->label_count)
		fputc('}', out);
	if (fclose(out)) {
		free(name);
		return NULL;
	}
	return name;
}

/* Metadata of each sample type: {NAME: {"units", "display-name", "aggregation"}}.  A display name
 * with "cpu" in it makes it a profile of the processor. */
static json_object *sample_types(void)
{
	json_object *types = json_object_new_object();

	for (unsigned int i = 0; i < 2 + EXPORT_STATES; i++) {
		const char *name = !i ? "cycles" : i == 1 ? "executions" : export_state_name(i - 2);
		json_object *type = json_object_new_object();
		char shown[64];

		snprintf(shown, sizeof(shown), "cpu_%s", name);
		json_object_object_add(type, "units", json_object_new_string("samples"));
		json_object_object_add(type, "display-name", json_object_new_string(shown));
		json_object_object_add(type, "aggregation", json_object_new_string("sum"));
		json_object_object_add(types, name, type);
	}
	return types;
}

/* multipart/form-data (RFC 7578), which tells the server that it is pprof (with "format=pprof" it
 * would take the whole form for the profile), with the parts "profile" and "sample_type_config". */
static struct pesa_error *pyroscope_form(const struct pesa_spool_entry *entry, const void *profile,
					 size_t size, struct pesa_store_request *request)
{
	json_object *types = sample_types();
	FILE *out = open_memstream(&request->body, &request->body_size);
	bool written;

	if (!out) {
		json_object_put(types);
		return pesa_error_no_memory();
	}
	snprintf(request->content_type, sizeof(request->content_type),
		 "multipart/form-data; boundary=pesa-%s", entry->id);
	fprintf(out,
		"--pesa-%s\r\nContent-Disposition: form-data; name=\"profile\"; "
		"filename=\"profile.pprof\"\r\nContent-Type: application/octet-stream\r\n\r\n",
		entry->id);
	fwrite(profile, 1, size, out);
	fprintf(out,
		"\r\n--pesa-%s\r\nContent-Disposition: form-data; name=\"sample_type_config\"; "
		"filename=\"sample_type_config.json\"\r\nContent-Type: application/json\r\n\r\n"
		"%s\r\n--pesa-%s--\r\n",
		entry->id, json_object_to_json_string_ext(types, JSON_C_TO_STRING_PLAIN),
		entry->id);
	written = !ferror(out);
	written &= !fclose(out);
	json_object_put(types);
	return written ? NULL : pesa_error_no_memory();
}

static struct pesa_error *pyroscope_body(const struct pesa_store_target *target,
					 const struct pesa_spool_entry *entry, const void *profile,
					 size_t size, struct pesa_store_request *request)
{
	char *name = pyroscope_name(target), *escaped, *url = NULL;

	if (!name)
		return pesa_error_no_memory();
	escaped = curl_easy_escape(NULL, name, 0);
	free(name);
	if (!escaped || asprintf(&url,
				 "%s?name=%s&from=%" PRIu64 "&until=%" PRIu64
				 "&spyName=pesa&units=samples&aggregationType=sum",
				 request->url, escaped, entry->from / NS_PER_SECOND,
				 entry->until / NS_PER_SECOND) < 0) {
		curl_free(escaped);
		return pesa_error_no_memory();
	}
	curl_free(escaped);
	free(request->url);
	request->url = url;
	return pyroscope_form(entry, profile, size, request);
}

/* A growing body of protobuf: only fields whose content has a length. */
struct message {
	char *bytes;
	size_t size, room;
};

static size_t varint(uint64_t value, uint8_t bytes[10])
{
	size_t length = 0;

	do {
		bytes[length] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
		length++;
		value >>= 7;
	} while (value);
	return length;
}

/* Bytes of a field with `size` bytes of content; all our numbers of fields are below 16. */
static size_t field_size(size_t size)
{
	uint8_t bytes[10];

	return 1 + varint(size, bytes) + size;
}

static void put_bytes(struct message *message, const void *bytes, size_t size)
{
	memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

/* The head of field `number` (wire type 2); its content follows. */
static void put_head(struct message *message, unsigned int number, size_t size)
{
	uint8_t head[11] = {(uint8_t)(number << 3 | 2)};

	put_bytes(message, head, 1 + varint(size, head + 1));
}

static void put_field(struct message *message, unsigned int number, const void *bytes, size_t size)
{
	put_head(message, number, size);
	put_bytes(message, bytes, size);
}

static size_t label_size(const struct pesa_label *label)
{
	return field_size(strlen(label->name)) + field_size(strlen(label->value));
}

static void put_label(struct message *message, const struct pesa_label *label)
{
	put_head(message, 1, label_size(label));
	put_field(message, 1, label->name, strlen(label->name));
	put_field(message, 2, label->value, strlen(label->value));
}

/* PushRequest{series: [RawProfileSeries{labels: [LabelPair{name, value}], samples: [RawSample{
 * raw_profile, ID}]}]}: fields 1; 1, 2; 1, 2; 1, 2. */
static struct pesa_error *connect_body(const struct pesa_store_target *target,
				       const struct pesa_spool_entry *entry, const void *profile,
				       size_t size, struct pesa_store_request *request)
{
	const struct pesa_label own[] = {{"__name__", "process_cpu"},
					 {"service_name", target->application}};
	size_t own_count = sizeof(own) / sizeof(*own), sample, series = 0;
	struct message message = {0};

	sample = field_size(size) + field_size(strlen(entry->id));
	for (size_t i = 0; i < own_count; i++)
		series += field_size(label_size(&own[i]));
	for (size_t i = 0; i < target->label_count; i++)
		series += field_size(label_size(&target->labels[i]));
	series += field_size(sample);
	message.room = field_size(series);
	message.bytes = malloc(message.room);
	if (!message.bytes)
		return pesa_error_no_memory();
	put_head(&message, 1, series);
	for (size_t i = 0; i < own_count; i++)
		put_label(&message, &own[i]);
	for (size_t i = 0; i < target->label_count; i++)
		put_label(&message, &target->labels[i]);
	put_head(&message, 2, sample);
	put_field(&message, 1, profile, size);
	put_field(&message, 2, entry->id, strlen(entry->id));
	request->body = message.bytes;
	request->body_size = message.size;
	return NULL;
}

/* RFC 4648, with padding.  Terminated. */
static char *base64(const void *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *bytes = data;
	char *text = malloc((size + 2) / 3 * 4 + 1), *out = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < size; i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16;

		if (i + 1 < size)
			group |= (uint32_t)bytes[i + 1] << 8;
		if (i + 2 < size)
			group |= bytes[i + 2];
		*out++ = digits[group >> 18];
		*out++ = digits[group >> 12 & 63];
		*out++ = i + 1 < size ? digits[group >> 6 & 63] : '=';
		*out++ = i + 2 < size ? digits[group & 63] : '=';
	}
	*out = '\0';
	return text;
}

static void add_label(json_object *labels, const char *name, const char *value)
{
	json_object *label = json_object_new_object();

	json_object_object_add(label, "name", json_object_new_string(name));
	json_object_object_add(label, "value", json_object_new_string(value));
	json_object_array_add(labels, label);
}

/* {"tenant", "series": [{"labels": {"labels": [...]}, "samples": [{"rawProfile": base64}]}],
 * "normalized": true}: addresses in our profiles are the ELF files' own. */
static struct pesa_error *parca_body(const struct pesa_store_target *target,
				     const struct pesa_spool_entry *entry __attribute__((unused)),
				     const void *profile, size_t size,
				     struct pesa_store_request *request)
{
	json_object *root = json_object_new_object(), *series = json_object_new_array();
	json_object *labels = json_object_new_array(), *set = json_object_new_object();
	json_object *samples = json_object_new_array(), *sample = json_object_new_object();
	json_object *one = json_object_new_object();
	char *encoded = base64(profile, size);
	const char *text = NULL;
	size_t length = 0;

	if (encoded) {
		add_label(labels, "__name__", "process_cpu");
		add_label(labels, "job", target->application);
		for (size_t i = 0; i < target->label_count; i++)
			add_label(labels, target->labels[i].name, target->labels[i].value);
		json_object_object_add(set, "labels", labels);
		json_object_object_add(sample, "rawProfile", json_object_new_string(encoded));
		json_object_array_add(samples, sample);
		json_object_object_add(one, "labels", set);
		json_object_object_add(one, "samples", samples);
		json_object_array_add(series, one);
		if (target->tenant)
			json_object_object_add(root, "tenant",
					       json_object_new_string(target->tenant));
		json_object_object_add(root, "series", series);
		json_object_object_add(root, "normalized", json_object_new_boolean(true));
		text = json_object_to_json_string_length(
			root, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
	}
	request->body = text ? strdup(text) : NULL;
	request->body_size = length;
	json_object_put(root);
	free(encoded);
	return request->body ? NULL : pesa_error_no_memory();
}

/* ---- Requests ------------------------------------------------------------------------------ */

struct pesa_error *pesa_store_request(const struct pesa_store_target *target,
				      const struct pesa_spool_entry *entry, const void *profile,
				      size_t size, struct pesa_store_request *request)
{
	const struct store *store = &stores[target->kind];
	size_t base = strlen(target->url);
	struct pesa_error *error;

	*request = (struct pesa_store_request){.extra_header = store->extra_header};
	snprintf(request->content_type, sizeof(request->content_type), "%s", store->content_type);
	while (base && target->url[base - 1] == '/')
		base--;
	if (asprintf(&request->url, "%.*s%s", (int)base, target->url, store->path) < 0)
		request->url = NULL;
	if (target->tenant && store->tenant_header &&
	    asprintf(&request->tenant_header, "%s: %s", store->tenant_header, target->tenant) < 0)
		request->tenant_header = NULL;
	if (!request->url || (target->tenant && store->tenant_header && !request->tenant_header))
		error = pesa_error_no_memory();
	else
		error = store->body(target, entry, profile, size, request);
	if (error)
		pesa_store_request_free(request);
	return error;
}

void pesa_store_request_free(struct pesa_store_request *request)
{
	free(request->url);
	free(request->tenant_header);
	if (!request->body_is_lent)
		free(request->body);
	*request = (struct pesa_store_request){0};
}
