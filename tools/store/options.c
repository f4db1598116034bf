// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/store/options.h"

#include <time.h>

#define NS_PER_SECOND INT64_C(1000000000)

/* Not those of the subcommands that have these options. */
enum { KEY_SINCE = 0x2000, KEY_UNTIL, KEY_HOST };

static const struct argp_option options[] = {
	{"since", KEY_SINCE, "TIME", 0,
	 "Of pesad's store (-i DIRECTORY): intervals from TIME on: 2026-11-21 19:43, 19:43, -2h",
	 0},
	{"until", KEY_UNTIL, "TIME", 0, "Intervals that began before TIME", 0},
	{"host", KEY_HOST, "NAME", 0, "Intervals recorded on the host NAME", 0},
	{0},
};

static int64_t parse_time(const char *argument, const char *option, struct argp_state *state)
{
	struct timespec now;
	int64_t time;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!wall_time_read(argument, (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec, &time))
		profile_bad_value(state, option, argument,
				  "a date, a time of day, both, or a time before now such as -2h");
	return time;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct store_wanted *wanted = state->input;

	switch (key) {
	case KEY_SINCE:
		wanted->time.since = parse_time(argument, "--since", state);
		wanted->time.has_since = true;
		return 0;
	case KEY_UNTIL:
		wanted->time.until = parse_time(argument, "--until", state);
		wanted->time.has_until = true;
		return 0;
	case KEY_HOST:
		wanted->host = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp store_argp = {.options = options, .parser = parse};
const struct argp_child store_input_children[] = {
	{&profile_input_argp, 0, NULL, 0}, {&store_argp, 0, NULL, 0}, {0}};

struct pesa_error *store_choose(struct profile_input_options *input,
				const struct store_wanted *wanted)
{
	if (!input->file && store_is_store(input->path))
		return store_open(input->path, wanted, &input->file);
	if (!wanted->time.has_since && !wanted->time.has_until && !wanted->host)
		return NULL;
	return pesa_error_create(
		PESA_ERROR_ARGUMENT,
		"--since, --until and --host choose from a store of pesad; %s is none: name one "
		"with -i DIRECTORY",
		input->path);
}
