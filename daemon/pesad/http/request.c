// SPDX-License-Identifier: GPL-2.0-or-later
/* Who may ask for what.  See request.h. */
#include "daemon/pesad/http/request.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "decoder/base/secret.h"

bool pesad_header_of_proxy(const char *name)
{
	static const char *const names[] = {"Forwarded",	 "Via",
					    "X-Forwarded-For",	 "X-Forwarded-Host",
					    "X-Forwarded-Proto", "X-Real-IP"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcasecmp(name, names[i]))
			return true;
	return false;
}

/* ---- Whether it may ask -------------------------------------------------------------------- */

static bool has_token(const char *authorization, const char *token)
{
	static const char scheme[] = "Bearer";

	if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)))
		return false;
	authorization += strlen(scheme);
	if (*authorization != ' ')
		return false;
	authorization += strspn(authorization, " ");
	return *token && pesa_secret_equal(token, authorization);
}

/* Read a decimal number up to 255.  Returns the text after it; NULL: not such a number. */
static const char *skip_byte(const char *text)
{
	unsigned int value = 0, digits = 0;

	for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
		value = value * 10 + (unsigned int)(*text - '0');
	return digits && digits < 4 && value < 256 ? text : NULL;
}

/* 127.0.0.0/8 */
static const char *skip_loopback(const char *text)
{
	if (strncmp(text, "127.", 4))
		return NULL;
	text += 4;
	for (int i = 0; text && i < 3; i++) {
		text = skip_byte(text);
		if (text && i < 2)
			text = *text == '.' ? text + 1 : NULL;
	}
	return text;
}

/* Whether a Host header names this host, with or without a port. */
static bool names_loopback(const char *host)
{
	static const char *const names[] = {"localhost", "[::1]"};
	const char *rest = skip_loopback(host);

	for (size_t i = 0; !rest && i < sizeof(names) / sizeof(*names); i++)
		if (!strncasecmp(host, names[i], strlen(names[i])))
			rest = host + strlen(names[i]);
	if (!rest)
		return false;
	if (*rest == ':')
		rest += 1 + strspn(rest + 1, "0123456789");
	return !*rest;
}

static void refuse(struct pesad_judgement *judgement, unsigned int status, const char *text)
{
	*judgement = (struct pesad_judgement){.status = status, .text = text};
}

static bool may_ask(const struct pesad_request *request, const struct pesad_access *access,
		    struct pesad_judgement *judgement)
{
	if (access->reach == PESAD_REACH_SOCKET) {
		if (!access->reads_store)
			refuse(judgement, 403,
			       "only root and those who may read the directory of the store "
			       "(store.directory of the configuration)\n");
		return access->reads_store;
	}
	if (access->wants_certificate && !access->has_certificate) {
		refuse(judgement, 403, "this needs a client certificate of http.authority\n");
		return false;
	}
	if (access->wants_token) {
		if (access->token && has_token(request->authorization, access->token))
			return true;
		refuse(judgement, 401, "this needs the token: Authorization: Bearer TOKEN\n");
		return false;
	}
	if (access->wants_certificate)
		return true;
	if (!access->open) {
		refuse(judgement, 403, "this port is not open\n");
		return false;
	}
	if (access->reach != PESAD_REACH_LOOPBACK)
		return true;
	if (request->forwarded) {
		refuse(judgement, 403, "not through a proxy without a token\n");
		return false;
	}
	if (request->host && !names_loopback(request->host)) {
		refuse(judgement, 403,
		       "without a token only by the name or address of this host\n");
		return false;
	}
	return true;
}

/* ---- What it asks for ---------------------------------------------------------------------- */

static const struct resource {
	const char *path;
	enum pesad_resource resource;
	bool only_get; /* HEAD would cost as much */
} resources[] = {
	{"/", PESAD_RESOURCE_INDEX, false},
	{"/healthz", PESAD_RESOURCE_HEALTH, false},
	{"/metrics", PESAD_RESOURCE_METRICS, false},
	{"/debug/pprof", PESAD_RESOURCE_PPROF_INDEX, false},
	{"/debug/pprof/", PESAD_RESOURCE_PPROF_INDEX, false},
	{"/debug/pprof/profile", PESAD_RESOURCE_PROFILE, true},
	{"/debug/pesa/interval", PESAD_RESOURCE_INTERVAL, true},
	{"/page", PESAD_RESOURCE_PAGE, true},
};

/* A decimal number from `least` to `most`; NULL gives `otherwise`. */
static bool take_number(const char *text, uint64_t least, uint64_t most, uint64_t otherwise,
			uint64_t *value)
{
	uint64_t sum = 0;

	*value = otherwise;
	if (!text)
		return true;
	if (!*text || strlen(text) > 18)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		sum = sum * 10 + (uint64_t)(*text - '0');
	}
	*value = sum;
	return sum >= least && sum <= most;
}

/* A text without control characters; NULL gives "". */
static bool take_text(const char *text, char *value, size_t size)
{
	size_t length = text ? strlen(text) : 0;

	*value = '\0';
	if (!text)
		return true;
	if (!length || length >= size)
		return false;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	memcpy(value, text, length + 1);
	return true;
}

static bool take_range(const struct pesad_request *request, struct pesad_range *range)
{
	const struct {
		const char *text;
		char *value;
		size_t size;
	} arguments[] = {
		{request->since, range->since, sizeof(range->since)},
		{request->until, range->until, sizeof(range->until)},
		{request->unit, range->unit, sizeof(range->unit)},
		{request->cgroup, range->cgroup, sizeof(range->cgroup)},
		{request->host_name, range->host, sizeof(range->host)},
	};

	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		if (!take_text(arguments[i].text, arguments[i].value, arguments[i].size))
			return false;
	return true;
}

void pesad_request_judge(const struct pesad_request *request, const struct pesad_access *access,
			 struct pesad_judgement *judgement)
{
	const struct resource *resource = NULL;
	bool get = !strcmp(request->method, "GET"), head = !strcmp(request->method, "HEAD");
	uint64_t otherwise = access->seconds_most < PESAD_PROFILE_SECONDS ? access->seconds_most
									  : PESAD_PROFILE_SECONDS;

	*judgement = (struct pesad_judgement){.status = 200};
	if (!may_ask(request, access, judgement))
		return;
	for (size_t i = 0; !resource && i < sizeof(resources) / sizeof(*resources); i++)
		if (!strcmp(request->path, resources[i].path))
			resource = &resources[i];
	if (!resource) {
		refuse(judgement, 404, "there is no such page; / lists what there is\n");
	} else if (!get && (!head || resource->only_get)) {
		refuse(judgement, 405, "only GET\n");
	} else if (!take_number(request->seconds, 1, access->seconds_most, otherwise,
				&judgement->seconds)) {
		refuse(judgement, 400,
		       "seconds: a whole number from 1 to http.profile-most of the configuration\n");
	} else if (!take_number(request->after, 0, UINT32_MAX, 0, &judgement->after)) {
		refuse(judgement, 400, "after: the serial number of an interval\n");
	} else if (resource->resource == PESAD_RESOURCE_PAGE &&
		   !take_range(request, &judgement->range)) {
		refuse(judgement, 400,
		       "since, until, unit, cgroup, host: texts that are neither empty nor long, "
		       "without control characters\n");
	} else {
		judgement->resource = resource->resource;
	}
}
