/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: whether a request may ask, and for what.
 *
 * The first byte says where it comes from, whether there is a token and which parts are absent, the
 * second what else is known of who asks; the parts follow, each up to a byte of 0.  Whatever the
 * request, nobody may be answered without what is needed, and what is answered is within its limits.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/pesad/http/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN	"correct-horse"
#define SECONDS 300u

/* The next part, in memory of its own so that reading behind it is seen. */
static char *part(const uint8_t **data, size_t *size)
{
	size_t length = strnlen((const char *)*data, *size);
	char *text = malloc(length + 1);

	if (!text)
		abort();
	memcpy(text, *data, length);
	text[length] = '\0';
	*data += length;
	*size -= length;
	if (*size) {
		(*data)++;
		(*size)--;
	}
	return text;
}

/* A text that becomes part of a command. */
static void check_text(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	if (length == size)
		abort();
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			abort();
}

static void check(const struct pesad_request *request, const struct pesad_access *access,
		  const struct pesad_judgement *judgement)
{
	if (judgement->status != 200) {
		if (judgement->resource != PESAD_RESOURCE_NONE || !judgement->text ||
		    judgement->status < 400 || judgement->status > 499)
			abort();
		return;
	}
	check_text(judgement->range.since, sizeof(judgement->range.since));
	check_text(judgement->range.until, sizeof(judgement->range.until));
	check_text(judgement->range.unit, sizeof(judgement->range.unit));
	check_text(judgement->range.cgroup, sizeof(judgement->range.cgroup));
	check_text(judgement->range.host, sizeof(judgement->range.host));
	if (judgement->resource == PESAD_RESOURCE_NONE || judgement->seconds < 1 ||
	    judgement->seconds > SECONDS || judgement->after > UINT32_MAX)
		abort();
	if (access->reach == PESAD_REACH_SOCKET) {
		if (!access->reads_store)
			abort();
		return;
	}
	if (access->wants_certificate ? !access->has_certificate
				      : !access->wants_token && !access->open)
		abort();
	if (!access->wants_certificate && !access->wants_token &&
	    access->reach == PESAD_REACH_LOOPBACK && request->forwarded)
		abort();
	if (access->wants_token && (!access->token || !*access->token))
		abort();
	if (access->wants_token && (!request->authorization ||
				    strcmp(request->authorization + strlen(request->authorization) -
						   (strlen(request->authorization) < strlen(TOKEN)
							    ? strlen(request->authorization)
							    : strlen(TOKEN)),
					   TOKEN)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesad_access access = {.seconds_most = SECONDS};
	struct pesad_judgement judgement;
	struct pesad_request request;
	char *parts[11];
	uint8_t how, who;

	if (size < 2)
		return 0;
	how = data[0];
	who = data[1];
	data += 2;
	size -= 2;
	access.reach = (enum pesad_reach)(how % 3);
	access.token = how & 4 ? TOKEN : how & 8 ? "" : NULL;
	access.reads_store = who & 1;
	access.wants_token = who & 2;
	access.wants_certificate = who & 4;
	access.has_certificate = who & 8;
	access.open = who & 16;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		parts[i] = part(&data, &size);
	request = (struct pesad_request){
		.method = parts[0],
		.path = parts[1],
		.host = how & 16 ? NULL : parts[2],
		.authorization = how & 32 ? NULL : parts[3],
		.forwarded = pesad_header_of_proxy(parts[2]) || how & 64,
		.seconds = how & 128 ? NULL : parts[4],
		.after = how & 128 ? NULL : parts[5],
		.since = who & 32 ? NULL : parts[6],
		.until = who & 32 ? NULL : parts[7],
		.unit = who & 64 ? NULL : parts[8],
		.cgroup = who & 64 ? NULL : parts[9],
		.host_name = who & 128 ? NULL : parts[10],
	};
	pesad_request_judge(&request, &access, &judgement);
	check(&request, &access, &judgement);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		free(parts[i]);
	return 0;
}
