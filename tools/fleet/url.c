// SPDX-License-Identifier: GPL-2.0-or-later
/* The URL of a database.  See url.h. */
#include "tools/fleet/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/wall_time.h"
#include "decoder/fleet/schema.h"
#include "tools/files/fleet_open.h"

#define WITH_TLS      "clickhouses://"
#define NS_PER_SECOND INT64_C(1000000000)
#define PORT	      "8123"
#define TLS_PORT      "8443"

void fleet_url_free(struct fleet_url *url)
{
	free(url->text);
	free(url->with_port);
	*url = (struct fleet_url){0};
}

static struct pesa_error *wrong(const char *what)
{
	return pesa_error_create(
		PESA_ERROR_ARGUMENT,
		"%s; a database is clickhouse://HOST[:PORT]/DATABASE[?service=NAME&since=2h&...]",
		what);
}

static int digit(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	if (character >= 'a' && character <= 'f')
		return character - 'a' + 10;
	return character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

/* Replace the escapes of a value, in place. */
static struct pesa_error *unescape(char *value)
{
	char *to = value;

	for (const char *from = value; *from; from++) {
		int high, low;

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		high = digit(from[1]);
		low = high < 0 ? -1 : digit(from[2]);
		if (low < 0 || !(high << 4 | low))
			return wrong("'%' begins no escape in the URL");
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = '\0';
	return NULL;
}

static struct pesa_error *set(struct fleet_url *url, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **value;
	} names[] = {
		{"password-file", &url->password_file},
		{"ca", &url->authority},
		{"cert", &url->certificate},
		{"key", &url->key},
		{"service", &url->service},
		{"host", &url->host},
		{"cpu", &url->cpu},
		{"since", &url->since},
		{"until", &url->until},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i].name)) {
			*names[i].value = value;
			return NULL;
		}
	if (!strcmp(name, "password") || !strcmp(name, "user"))
		return wrong("a URL is seen by everybody: put USER:PASSWORD into a file and name "
			     "it with password-file=");
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "'%s' is no name of a URL of a database; allowed: service, host, "
				 "cpu, since, until, password-file, ca, cert, key",
				 name);
}

static struct pesa_error *set_all(struct fleet_url *url, char *query)
{
	char *rest = query, *pair;
	struct pesa_error *error = NULL;

	while (!error && (pair = strsep(&rest, "&"))) {
		char *equals = strchr(pair, '=');

		if (!*pair)
			continue;
		if (!equals || !equals[1])
			return wrong("a name has no value in the URL");
		*equals = '\0';
		error = unescape(equals + 1);
		if (!error)
			error = set(url, pair, equals + 1);
	}
	return error;
}

/* "2h" is what "-2h" is. */
static struct pesa_error *read_time(const char *text, const char *name, int64_t now, uint32_t *time)
{
	char with_sign[64];
	int64_t found;

	*time = 0;
	if (!text)
		return NULL;
	snprintf(with_sign, sizeof(with_sign), "-%s", text);
	if (!wall_time_read(text, now, &found) && !wall_time_read(with_sign, now, &found))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "'%s' is no value for %s=; allowed: a date, a time of "
					 "day, both, or a time before now such as 2h",
					 text, name);
	found /= NS_PER_SECOND;
	*time = found < 1 ? 1 : found > UINT32_MAX ? UINT32_MAX : (uint32_t)found;
	return NULL;
}

static bool is_server(const char *server)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%";

	return *server && server[strspn(server, allowed)] == '\0';
}

static bool has_port(const char *server)
{
	const char *bracket = strrchr(server, ']');

	return strchr(bracket ? bracket : server, ':');
}

static struct pesa_error *take_apart(struct fleet_url *url, int64_t now)
{
	char *server = strstr(url->text, "://") + 3, *query = strchr(server, '?'), *database;
	struct pesa_error *error = NULL;

	if (query)
		*query++ = '\0';
	database = strchr(server, '/');
	if (!database)
		return wrong("the URL names no database");
	*database++ = '\0';
	if (strchr(server, '@'))
		return set(url, "user", "");
	if (!is_server(server))
		return wrong("the URL names no server");
	if (!sql_is_name(database))
		return wrong("the name of a database has letters, digits and _ only");
	url->database = database;
	url->server = server;
	if (query)
		error = set_all(url, query);
	if (!error)
		error = read_time(url->since, "since", now, &url->since_time);
	return error ? error : read_time(url->until, "until", now, &url->until_time);
}

struct pesa_error *fleet_url_parse(const char *text, int64_t now, struct fleet_url *url)
{
	struct pesa_error *error;
	char *whole;

	*url = (struct fleet_url){.tls = !strncmp(text, WITH_TLS, strlen(WITH_TLS))};
	if (!fleet_is_url(text))
		return wrong("not the URL of a database");
	url->text = strdup(text);
	if (!url->text)
		return pesa_error_no_memory();
	error = take_apart(url, now);
	if (error || has_port(url->server))
		return error;
	if (asprintf(&whole, "%s:%s", url->server, url->tls ? TLS_PORT : PORT) < 0)
		return pesa_error_no_memory();
	url->with_port = whole;
	url->server = whole;
	return NULL;
}
