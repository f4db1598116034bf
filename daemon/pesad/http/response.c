/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Responses, with the headers that each kind has.  See response.h. */
#include "daemon/pesad/http/response.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char index_page[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
	"charset=\"utf-8\"><title>pesad</title></head><body><h1>pesad</h1><ul>\n"
	"<li><a href=\"/debug/pprof/profile?seconds=30\">/debug/pprof/profile?seconds=N</a>: the "
	"next N seconds, for pprof</li>\n"
	"<li><a href=\"/metrics\">/metrics</a>: samples, losses and cost, for Prometheus</li>\n"
	"<li><a href=\"/healthz\">/healthz</a>: whether it runs</li>\n"
	"<li><a href=\"/page?since=-10min\">/page?since=TIME&amp;until=TIME&amp;unit=NAME</a>: what "
	"ran then</li>\n"
	"<li>/debug/pesa/interval?after=SERIAL&amp;seconds=N: perf.data of the next interval, for pesa top</li>\n"
	"</ul></body></html>\n";
static const char pprof_page[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>pesad: "
	"profiles</title></head><body><ul>\n"
	"<li><a href=\"/debug/pprof/profile?seconds=30\">profile</a>: cycles of all "
	"processes</li>\n"
	"</ul></body></html>\n";

static const char html[] = "text/html; charset=utf-8";

/* What a page may do: nothing that needs the network.  Those of pesa report have styles and scripts in
 * themselves, and narrow this down further. */
#define NOTHING "default-src 'none'; frame-ancestors 'none'"
#define OWN_SCRIPT \
	NOTHING "; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned int status,
				     const char *type, const char *policy,
				     struct MHD_Response *response)
{
	const char *const headers[][2] = {
		{MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"Content-Security-Policy", policy},
	};
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	if (type)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Bearer realm=\"pesad\"");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned int status,
				 const char *type, const char *text)
{
	return send_response(
		connection, status, type, NOTHING,
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY));
}

enum MHD_Result pesad_send_plain(struct MHD_Connection *connection, unsigned int status,
				 const char *text)
{
	return send_text(connection, status, "text/plain; charset=utf-8", text);
}

enum MHD_Result pesad_send_index(struct MHD_Connection *connection)
{
	return send_text(connection, MHD_HTTP_OK, html, index_page);
}

enum MHD_Result pesad_send_pprof_index(struct MHD_Connection *connection)
{
	return send_text(connection, MHD_HTTP_OK, html, pprof_page);
}

enum MHD_Result pesad_send_metrics(struct MHD_Connection *connection, struct pesad_metrics *metrics)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return MHD_NO;
	pesad_metrics_of_process(&metrics->worker_cpu[PESAD_WORKER_HTTP],
				 &metrics->worker_memory[PESAD_WORKER_HTTP]);
	pesad_metrics_print(metrics, out);
	if (fclose(out)) {
		free(text);
		return MHD_NO;
	}
	return send_response(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
			     NOTHING,
			     MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE));
}

static void add_number(struct MHD_Response *response, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	MHD_add_response_header(response, name, text);
}

static void describe_interval(struct MHD_Response *response, const struct pesad_piece *interval)
{
	add_number(response, "X-Pesa-Serial", interval->serial);
	add_number(response, "X-Pesa-From", interval->from);
	add_number(response, "X-Pesa-Until", interval->until);
	add_number(response, "X-Pesa-Samples", interval->samples);
}

enum MHD_Result pesad_send_answer(struct MHD_Connection *connection, struct pesad_answer *answer,
				  enum pesad_resource resource)
{
	const char *type = resource == PESAD_RESOURCE_PAGE ? html : "application/octet-stream";
	struct MHD_Response *response;

	if (answer->file >= 0)
		response = MHD_create_response_from_fd(answer->size, answer->file);
	else
		response = MHD_create_response_from_buffer(answer->size, answer->data,
							   MHD_RESPMEM_MUST_FREE);
	if (!response)
		return MHD_NO;
	/* The response owns them now. */
	answer->file = -1;
	answer->data = NULL;
	if (resource == PESAD_RESOURCE_INTERVAL)
		describe_interval(response, &answer->interval);
	else if (resource == PESAD_RESOURCE_PROFILE)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION,
					"attachment; filename=\"profile.pb.gz\"");
	return send_response(connection, answer->status, type,
			     resource == PESAD_RESOURCE_PAGE ? OWN_SCRIPT : NOTHING, response);
}
