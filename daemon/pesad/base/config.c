// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/base/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/events/pmu.h"
#include "decoder/base/number.h"
#include "decoder/base/read_file.h"

#define COMM_MAX 15 /* bytes of a thread's name */

/* ---- Values -------------------------------------------------------------------------------- */

struct suffix {
	const char *text;
	uint64_t factor;
};

static const struct suffix size_suffixes[] = {{"", 1},	       {"B", 1},
					      {"K", 1u << 10}, {"M", 1u << 20},
					      {"G", 1u << 30}, {"T", UINT64_C(1) << 40},
					      {NULL, 0}};
static const struct suffix time_suffixes[] = {{"ms", 1000000},
					      {"s", 1000000000},
					      {"m", UINT64_C(60000000000)},
					      {"h", UINT64_C(3600000000000)},
					      {"d", UINT64_C(86400000000000)},
					      {NULL, 0}};
static const struct suffix no_suffixes[] = {{"", 1}, {NULL, 0}};

/* A whole number with a suffix.  Zero needs none. */
static bool read_scaled(const char *text, const struct suffix *suffixes, uint64_t *value)
{
	uint64_t number;

	if (!number_take(&text, 10, &number))
		return false;
	if (!number && !*text) {
		*value = 0;
		return true;
	}
	for (; suffixes->text; suffixes++) {
		if (strcmp(text, suffixes->text))
			continue;
		return !__builtin_mul_overflow(number, suffixes->factor, value);
	}
	return false;
}

/* A number as the file would have it, in the largest unit that leaves it whole. */
static void print_scaled(uint64_t value, const struct suffix *suffixes, char *text, size_t room)
{
	const struct suffix *best = &suffixes[0];

	for (; suffixes->text; suffixes++)
		if (value && value % suffixes->factor == 0 && suffixes->factor >= best->factor)
			best = suffixes;
	snprintf(text, room, "%" PRIu64 "%s", value / best->factor, value ? best->text : "");
}

static const struct suffix *suffixes_of(const struct pesad_key *key)
{
	if (key->value == PESAD_SIZE)
		return size_suffixes;
	return key->value == PESAD_TIME ? time_suffixes : no_suffixes;
}

static struct pesa_error *set_number(const struct pesad_key *key, const char *text, uint64_t *value)
{
	static const char *const what[] = {[PESAD_NUMBER] = "a number",
					   [PESAD_NUMBERS] = "a number",
					   [PESAD_SIZE] = "a size (B, K, M, G, T)",
					   [PESAD_TIME] = "a time (ms, s, m, h, d)"};
	char least[32], most[32];
	uint64_t number;

	if (read_scaled(text, suffixes_of(key), &number) && number >= key->least &&
	    number <= key->most) {
		*value = number;
		return NULL;
	}
	print_scaled(key->least, suffixes_of(key), least, sizeof(least));
	print_scaled(key->most, suffixes_of(key), most, sizeof(most));
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "'%s' is no value for %s; allowed: %s from %s to %s", text,
				 key->name, what[key->value], least, most);
}

static struct pesa_error *set_choice(const struct pesad_key *key, const char *text, uint64_t *value)
{
	char allowed[256] = "";
	size_t used = 0;

	for (uint64_t i = 0; key->choices[i]; i++) {
		if (!strcmp(text, key->choices[i])) {
			*value = i;
			return NULL;
		}
		used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s",
					 i ? ", " : "", key->choices[i]);
	}
	return pesa_error_create(PESA_ERROR_ARGUMENT, "'%s' is no value for %s; allowed: %s", text,
				 key->name, allowed);
}

static void free_list(struct pesad_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->words[i]);
	free(list->words);
	*list = (struct pesad_list){0};
}

static struct pesa_error *add_word(struct pesad_list *list, const char *word, size_t length)
{
	char **grown = realloc(list->words, (list->count + 1) * sizeof(*grown));

	if (!grown)
		return pesa_error_no_memory();
	list->words = grown;
	grown[list->count] = strndup(word, length);
	if (!grown[list->count])
		return pesa_error_no_memory();
	list->count++;
	return NULL;
}

static struct pesa_error *set_list(const struct pesad_key *key, const char *text,
				   struct pesad_list *list)
{
	struct pesa_error *error = NULL;

	while (!error && *(text += strspn(text, " \t"))) {
		size_t length = strcspn(text, " \t");
		uint64_t number;

		error = add_word(list, text, length);
		if (!error && key->value == PESAD_NUMBERS)
			error = set_number(key, list->words[list->count - 1], &number);
		text += length;
	}
	return error;
}

static struct pesa_error *set_text(const struct pesad_key *key, const char *text, char **value)
{
	char *copy;

	if (key->value == PESAD_PATH && *text && *text != '/')
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "'%s' is no value for %s; allowed: an absolute path", text,
					 key->name);
	copy = strdup(text);
	if (!copy)
		return pesa_error_no_memory();
	free(*value);
	*value = copy;
	return NULL;
}

static struct pesa_error *set_bool(const struct pesad_key *key, const char *text, bool *value)
{
	static const char *const answers[] = {"no", "yes", NULL};
	const struct pesad_key choice = {.name = key->name, .choices = answers};
	uint64_t answer;
	struct pesa_error *error = set_choice(&choice, text, &answer);

	if (!error)
		*value = answer == 1;
	return error;
}

static struct pesa_error *set_value(struct pesad_config *config, const struct pesad_key *key,
				    const char *text)
{
	void *member = (char *)config + key->offset;

	switch (key->value) {
	case PESAD_TEXT:
	case PESAD_PATH:
		return set_text(key, text, member);
	case PESAD_BOOL:
		return set_bool(key, text, member);
	case PESAD_CHOICE:
		return set_choice(key, text, member);
	case PESAD_WORDS:
	case PESAD_NUMBERS:
		return set_list(key, text, member);
	default:
		return set_number(key, text, member);
	}
}

/* ---- Lines --------------------------------------------------------------------------------- */

/* What is wrong with a configuration. */
struct problems {
	const char *path;
	struct pesa_error *first; /* owned; NULL: none so far */
	size_t count;
	bool no_memory;
	/* Called with each; NULL: only the first is wanted. */
	void (*report)(void *context, const char *message);
	void *context;
};

/* Take an error, NULL: none.  `line` 0: of the whole file. */
static void add_problem(struct problems *problems, unsigned int line, struct pesa_error *error)
{
	if (!error)
		return;
	problems->no_memory |= error->code == PESA_ERROR_NO_MEMORY;
	error = line ? pesa_error_prefix(error, "%s:%u: ", problems->path, line)
		     : pesa_error_prefix(error, "%s: ", problems->path);
	if (problems->report)
		problems->report(problems->context, error->message);
	if (problems->count++)
		pesa_error_free(error);
	else
		problems->first = error;
}

struct parser {
	struct pesad_config *config;
	struct problems *problems;
	char section[32];    /* "": none yet */
	unsigned int *given; /* for each key, the line that has it; 0: none */
	unsigned int line;
};

/* Cut blanks off both ends. */
static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return text;
}

/* A comment begins with # at the start of a line or after a blank. */
static void cut_comment(char *line)
{
	for (char *at = line; *at; at++)
		if (*at == '#' && (at == line || at[-1] == ' ' || at[-1] == '\t')) {
			*at = '\0';
			return;
		}
}

static struct pesa_error *parse_section(struct parser *parser, char *line)
{
	size_t length = strlen(line);
	const char *name;

	if (line[length - 1] != ']')
		return pesa_error_create(PESA_ERROR_FORMAT, "'%s' is no section: ']' is missing",
					 line);
	line[length - 1] = '\0';
	name = trim(line + 1);
	for (size_t i = 0; i < pesad_key_count; i++)
		if (!strcmp(pesad_keys[i].section, name)) {
			snprintf(parser->section, sizeof(parser->section), "%s", name);
			return NULL;
		}
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "there is no section [%s]; pesad.conf(5) lists them", name);
}

static struct pesa_error *parse_line(struct parser *parser, char *line)
{
	char *equals, *name, *value;
	struct pesa_error *error;

	cut_comment(line);
	line = trim(line);
	if (!*line)
		return NULL;
	if (*line == '[')
		return parse_section(parser, line);
	equals = strchr(line, '=');
	if (!equals)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "'%s' is neither 'key = value' nor a [section]", line);
	*equals = '\0';
	name = trim(line);
	value = trim(equals + 1);
	if (!*parser->section)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "'%s' stands in front of the first [section]", name);
	for (size_t i = 0; i < pesad_key_count; i++) {
		if (strcmp(pesad_keys[i].section, parser->section) ||
		    strcmp(pesad_keys[i].name, name))
			continue;
		if (parser->given[i])
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "%s was given in line %u already", name,
						 parser->given[i]);
		parser->given[i] = parser->line;
		error = set_value(parser->config, &pesad_keys[i], value);
		/* The rest is checked as if it had its default. */
		if (error)
			add_problem(
				parser->problems, 0,
				set_value(parser->config, &pesad_keys[i], pesad_keys[i].otherwise));
		return error;
	}
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "there is no key '%s' in [%s]; pesad.conf(5) lists them", name,
				 parser->section);
}

static void parse_lines(struct parser *parser, char *text)
{
	while (text && !parser->problems->no_memory) {
		char *line = strsep(&text, "\n");

		parser->line++;
		add_problem(parser->problems, parser->line, parse_line(parser, line));
	}
}

/* ---- What goes together -------------------------------------------------------------------- */

bool pesad_address_split(const char *text, char *address, size_t room, uint16_t *port,
			 bool *loopback)
{
	const char *colon = strrchr(text, ':'), *start = text, *end = colon;
	struct in6_addr six;
	struct in_addr four;
	uint64_t number;

	if (!colon || !read_scaled(colon + 1, no_suffixes, &number) || number > UINT16_MAX)
		return false;
	if (*text == '[') {
		if (end < text + 2 || end[-1] != ']')
			return false;
		start++;
		end--;
	}
	if ((size_t)(end - start) >= room)
		return false;
	memcpy(address, start, (size_t)(end - start));
	address[end - start] = '\0';
	*port = (uint16_t)number;
	if (*text == '[') {
		if (inet_pton(AF_INET6, address, &six) != 1)
			return false;
		*loopback = IN6_IS_ADDR_LOOPBACK(&six);
		return true;
	}
	if (inet_pton(AF_INET, address, &four) != 1)
		return false;
	*loopback = ntohl(four.s_addr) >> 24 == 127;
	return true;
}

static void check_http(const struct pesad_config *config, struct problems *problems)
{
	char address[64];
	uint16_t port;
	bool loopback, guarded = *config->http.token_file || *config->http.authority;

	if (!*config->http.certificate != !*config->http.key)
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT,
					      "http: certificate and key go together"));
	if (*config->http.authority && !*config->http.certificate)
		add_problem(
			problems, 0,
			pesa_error_create(PESA_ERROR_ARGUMENT,
					  "http: an authority of client certificates needs TLS: "
					  "give a certificate and its key"));
	if (config->http.open && guarded)
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT,
					      "http: open = yes contradicts a token-file or an "
					      "authority: leave one out"));
	if (!*config->http.listen)
		return;
	if (!pesad_address_split(config->http.listen, address, sizeof(address), &port, &loopback))
		add_problem(
			problems, 0,
			pesa_error_create(
				PESA_ERROR_ARGUMENT,
				"http: listen '%s' is no ADDRESS:PORT or [ADDRESS]:PORT, in numbers",
				config->http.listen));
	else if (!guarded && !config->http.open)
		add_problem(
			problems, 0,
			pesa_error_create(PESA_ERROR_ARGUMENT,
					  "http: listen '%s' is open to %s: give a token-file, or "
					  "an authority of client certificates, or say open = yes",
					  config->http.listen,
					  loopback ? "every user of this host" : "other hosts"));
}

static void check_push(const struct pesad_config *config, struct problems *problems)
{
	const char *url = config->push.url;

	if (*url && strncmp(url, "http://", 7) && strncmp(url, "https://", 8))
		add_problem(
			problems, 0,
			pesa_error_create(PESA_ERROR_ARGUMENT,
					  "push: url '%s' begins neither with http:// nor https://",
					  url));
	if (!*config->push.certificate != !*config->push.key)
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT,
					      "push: certificate and key go together"));
	if (*config->push.token_file && *config->push.password_file)
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT,
					      "push: either token-file or password-file"));
	if (*url && !*config->push.spool)
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT,
					      "push: a url needs a spool directory"));
	if (config->push.retry_least > config->push.retry_most)
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT,
					      "push: retry-least is more than retry-most"));
	for (size_t i = 0; i < config->push.labels.count; i++) {
		const char *label = config->push.labels.words[i], *equals = strchr(label, '=');

		if (!equals || equals == label)
			add_problem(problems, 0,
				    pesa_error_create(PESA_ERROR_ARGUMENT,
						      "push: label '%s' is no NAME=VALUE", label));
	}
}

static void check_together(const struct pesad_config *config, struct problems *problems)
{
	struct pesa_cpu_set cpus;

	check_push(config, problems);
	check_http(config, problems);
	if (!*config->collect.event || !*config->store.directory)
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT, "%s must not be empty",
					      *config->collect.event ? "store: directory"
								     : "collect: event"));
	if (*config->collect.cpus && !pesa_cpu_set_parse(config->collect.cpus, &cpus))
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT,
					      "collect: cpus '%s' is no list of CPUs, as 0-3,8",
					      config->collect.cpus));
	if (config->collect.ring & (config->collect.ring - 1))
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_ARGUMENT,
					      "collect: ring is no power of two of bytes"));
	for (size_t i = 0; i < config->filter.comm.count; i++)
		if (strlen(config->filter.comm.words[i]) > COMM_MAX)
			add_problem(
				problems, 0,
				pesa_error_create(
					PESA_ERROR_ARGUMENT,
					"filter: comm '%s' is longer than the %d bytes of a thread's name",
					config->filter.comm.words[i], COMM_MAX));
}

/* ---- Files --------------------------------------------------------------------------------- */

void pesad_config_free(struct pesad_config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < pesad_key_count; i++) {
		void *member = (char *)config + pesad_keys[i].offset;

		if (pesad_keys[i].value == PESAD_TEXT || pesad_keys[i].value == PESAD_PATH)
			free(*(char **)member);
		else if (pesad_keys[i].value == PESAD_WORDS || pesad_keys[i].value == PESAD_NUMBERS)
			free_list(member);
	}
	free(config);
}

static void parse(char *text, struct parser *parser)
{
	parse_lines(parser, text);
	for (size_t i = 0; i < pesad_key_count && !parser->problems->no_memory; i++)
		if (!parser->given[i])
			add_problem(
				parser->problems, 0,
				set_value(parser->config, &pesad_keys[i], pesad_keys[i].otherwise));
	if (!parser->problems->no_memory)
		check_together(parser->config, parser->problems);
}

/* Find the problems of a text.  *config: the configuration, if there are none. */
static void parse_text(const char *text, size_t size, struct problems *problems,
		       struct pesad_config **config)
{
	struct parser parser = {.config = calloc(1, sizeof(*parser.config)),
				.given = calloc(pesad_key_count, sizeof(*parser.given)),
				.problems = problems};
	char *copy = strndup(text, size);

	if (!parser.config || !parser.given || !copy)
		add_problem(problems, 0, pesa_error_no_memory());
	else if (strlen(copy) != size)
		add_problem(problems, 0,
			    pesa_error_create(PESA_ERROR_FORMAT,
					      "it is no text: there is a zero byte at offset %zu",
					      strlen(copy)));
	else
		parse(copy, &parser);
	free(copy);
	free(parser.given);
	if (problems->count)
		pesad_config_free(parser.config);
	else
		*config = parser.config;
}

struct pesa_error *pesad_config_parse(const char *path, const char *text, size_t size,
				      struct pesad_config **config)
{
	struct problems problems = {.path = path};

	parse_text(text, size, &problems, config);
	return problems.first;
}

/* Read a file; NULL: the default one, which may be absent.  The error says that it cannot be read. */
static struct pesa_error *read_text(const char *path, struct problems *problems,
				    struct pesad_config **config)
{
	struct pesa_error *error;
	char *text;
	size_t size;

	problems->path = path ? path : PESAD_CONFIG_FILE;
	if (!path && access(PESAD_CONFIG_FILE, F_OK) && errno == ENOENT) {
		parse_text("", 0, problems, config);
		return NULL;
	}
	error = pesa_read_file(problems->path, &text, &size);
	if (error)
		return error;
	parse_text(text, size, problems, config);
	free(text);
	return NULL;
}

struct pesa_error *pesad_config_read(const char *path, struct pesad_config **config)
{
	struct problems problems = {0};
	struct pesa_error *error = read_text(path, &problems, config);

	return error ? error : problems.first;
}

struct pesa_error *pesad_config_check(const char *path,
				      void (*report)(void *context, const char *message),
				      void *context, size_t *count)
{
	struct problems problems = {.report = report, .context = context};
	struct pesad_config *config = NULL;
	struct pesa_error *error = read_text(path, &problems, &config);

	pesa_error_free(problems.first);
	pesad_config_free(config);
	*count = problems.count;
	return error;
}
