// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa-top, the program behind `pesa top`: functions, threads and processes, live. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "decoder/base/number.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/standard_output.h"
#include "tools/files/temporary_directory.h"
#include "daemon/record/source.h"
#include "tools/record/event_options.h"
#include "tools/top/model.h"
#include "tools/top/screen.h"
#include "tools/top/source.h"
#include "tools/top/view.h"

#define COMMAND		"top"
#define DEFAULT_SOCKET	"/run/pesa/pesad.socket"
#define DEFAULT_DELAY	2 /* seconds */
#define DELAY_MIN	1 /* the daemon ends no intervals more often */
#define EVENT_DELAY_MIN 0.1
#define DELAY_MAX	300
#define NS_PER_SECOND	1000000000
#define BATCH_ROWS	40 /* in text, without --rows */

enum {
	KEY_URL = 0x2000,
	KEY_TOKEN_FILE,
	KEY_AUTHORITY,
	KEY_ONCE,
	KEY_JSON,
	KEY_SORT,
	KEY_VIEW,
	KEY_FIND,
	KEY_TOTAL,
	KEY_SYMFS,
	KEY_COLOR,
	KEY_ROWS,
};

struct options {
	struct top_daemon_options daemon;
	struct top_event_options event;
	bool chooses; /* samples by itself, from the best source */
	struct event_options names;
	struct pesa_sampling_source best;
	char joined[2 * 128];
	struct top_view view;
	struct top_filter filter;
	pid_t process, thread; /* 0: all; `event` points to them */
	double delay;
	unsigned long refreshes, rows; /* 0: no limit */
	bool batch, json;
	enum ui_when colour;
	const char *root;
};

static const struct argp_option descriptions[] = {
	{"socket", 'S', "PATH", 0,
	 "Read from the daemon at this unix socket (default: " DEFAULT_SOCKET ")", 1},
	{"url", KEY_URL, "URL", 0, "Read from the daemon at URL", 1},
	{"token-file", KEY_TOKEN_FILE, "FILE", 0, "FILE contains the daemon's access token", 1},
	{"authority", KEY_AUTHORITY, "FILE", 0,
	 "Verify the daemon's certificate with the CA certificates in FILE (PEM)", 1},
	{"event", 'e', "EVENT", 0, "Sample EVENT, without a daemon", 2},
	{"freq", 'F', "HERTZ", 0, "With --event: samples per second and CPU", 2},
	{"count", 'c', "PERIOD", 0, "With --event: events from one sample to the next", 2},
	{"pid", 'p', "PID", 0, "Only this process", 3},
	{"tid", 't', "TID", 0, "Only this thread", 3},
	{"delay", 'd', "SECONDS", 0, "Length of an interval (default: 2)", 3},
	{"iterations", 'n', "COUNT", 0, "End after COUNT intervals", 3},
	{"sort", KEY_SORT, "KEY", 0,
	 "cycles (default), retiring, stalled, flushed, drained or name", 3},
	{"view", KEY_VIEW, "functions|threads|processes", 0,
	 "functions (default), threads or processes", 3},
	{"find", KEY_FIND, "TEXT", 0, "Only rows with TEXT in name, binary or number", 3},
	{"since-start", KEY_TOTAL, NULL, 0, "Show sums, not the last interval", 3},
	{"symfs", KEY_SYMFS, "DIRECTORY", 0, "Look for binaries below DIRECTORY", 3},
	{"batch", 'b', NULL, 0, "Print each interval instead of drawing on the terminal", 4},
	{"once", KEY_ONCE, NULL, 0, "Print one interval and end", 4},
	{"rows", KEY_ROWS, "COUNT", 0, "Print COUNT rows (default: 40; 0: all)", 4},
	{"json", KEY_JSON, NULL, 0,
	 "Print JSON, all rows (schemas: pesa's Documentation/json.md); implies --batch", 4},
	{"color", KEY_COLOR, "auto|always|never", 0,
	 "Colour: auto (default: on a terminal, unless NO_COLOR is set), always, never", 4},
	{0},
};

/* ---- Options ------------------------------------------------------------------------------- */

static double parse_number(const char *text, double least, double most, const char *option,
			   struct argp_state *state)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= least && value <= most))
		profile_usage_error(state, "%s is a number from %g to %.0f, not '%s'", option,
				    least, most, text);
	return value;
}

static uint64_t parse_whole(const char *text, uint64_t least, uint64_t most, const char *option,
			    struct argp_state *state)
{
	uint64_t value = least;

	if (!number_read(text, 10, least, most, &value))
		profile_usage_error(state, "%s is a whole number from %llu to %llu, not '%s'",
				    option, (unsigned long long)least, (unsigned long long)most,
				    text);
	return value;
}

static void finish_options(struct options *options, struct argp_state *state)
{
	bool own = options->event.event;

	if (!own && !options->daemon.socket && !options->daemon.url && access(DEFAULT_SOCKET, F_OK))
		own = options->chooses = true;
	if (own && (options->daemon.socket || options->daemon.url))
		profile_usage_error(state, "either --event or a daemon");
	if (options->daemon.socket && options->daemon.url)
		profile_usage_error(state, "either --socket or --url");
	if ((options->event.frequency || options->event.period) && !own)
		profile_usage_error(state,
				    "--freq and --count need --event; a daemon has its own period");
	if (options->event.frequency && options->event.period)
		profile_usage_error(state, "either --freq or --count");
	if (options->process && options->thread)
		profile_usage_error(state, "either --pid or --tid");
	if (options->delay < (own ? EVENT_DELAY_MIN : DELAY_MIN))
		profile_usage_error(state, "--delay: at least %g s",
				    own ? EVENT_DELAY_MIN : DELAY_MIN);
	if (!own && !options->daemon.socket && !options->daemon.url)
		options->daemon.socket = DEFAULT_SOCKET;
	options->daemon.delay = options->event.delay =
		(uint64_t)llround(options->delay * NS_PER_SECOND);
	if (own) {
		options->event.processes = &options->process;
		options->event.process_count = options->process != 0;
		options->event.threads = &options->thread;
		options->event.thread_count = options->thread != 0;
	} else {
		options->filter.pid = options->process ? options->process : -1;
		options->filter.tid = options->thread ? options->thread : -1;
	}
}

static error_t parse_limits(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'F':
		options->event.frequency = parse_whole(argument, 1, 1000000, "--freq", state);
		break;
	case 'c':
		options->event.period = parse_whole(argument, 1, INT64_MAX, "--count", state);
		break;
	case 'p':
		options->process = (pid_t)parse_whole(argument, 1, INT32_MAX, "--pid", state);
		break;
	case 't':
		options->thread = (pid_t)parse_whole(argument, 1, INT32_MAX, "--tid", state);
		break;
	case 'd':
		options->delay =
			parse_number(argument, EVENT_DELAY_MIN, DELAY_MAX, "--delay", state);
		break;
	case 'n':
		options->refreshes = parse_whole(argument, 1, UINT32_MAX, "--iterations", state);
		break;
	case KEY_ROWS:
		options->rows = parse_whole(argument, 0, UINT32_MAX, "--rows", state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t parse_view(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_SORT:
		if (!top_sort_parse(argument, &options->view.sort))
			profile_usage_error(
				state,
				"--sort is cycles, retiring, stalled, flushed, drained or name, not '%s'",
				argument);
		break;
	case KEY_VIEW:
		if (!top_kind_parse(argument, &options->view.kind))
			profile_usage_error(state,
					    "--view is functions, threads or processes, not '%s'",
					    argument);
		break;
	case KEY_FIND:
		if (strlen(argument) >= sizeof(options->view.find))
			profile_usage_error(state, "--find takes up to %zu bytes",
					    sizeof(options->view.find) - 1);
		strcpy(options->view.find, argument);
		break;
	case KEY_TOTAL:
		options->view.total = true;
		break;
	case KEY_COLOR:
		if (!ui_when_parse(argument, &options->colour))
			profile_usage_error(state, "--color is auto, always or never, not '%s'",
					    argument);
		break;
	default:
		return parse_limits(key, argument, state);
	}
	return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*options = (struct options){.filter = {-1, -1},
					    .delay = DEFAULT_DELAY,
					    .rows = BATCH_ROWS,
					    .colour = UI_AUTO};
		break;
	case 'S':
		options->daemon.socket = argument;
		break;
	case KEY_URL:
		options->daemon.url = argument;
		break;
	case KEY_TOKEN_FILE:
		options->daemon.token_file = argument;
		break;
	case KEY_AUTHORITY:
		options->daemon.authority = argument;
		break;
	case 'e':
		options->event.event = argument;
		break;
	case KEY_SYMFS:
		options->root = argument;
		break;
	case KEY_ONCE:
		options->refreshes = 1;
		options->batch = true;
		break;
	case KEY_JSON:
		options->json = options->batch = true;
		break;
	case 'b':
		options->batch = true;
		break;
	case ARGP_KEY_ARG:
		profile_usage_error(state, "unexpected argument '%s'", argument);
		break;
	case ARGP_KEY_END:
		finish_options(options, state);
		break;
	default:
		return parse_view(key, argument, state);
	}
	return 0;
}

static const struct argp argp = {
	.options = descriptions,
	.parser = parse,
	.doc = "Show functions, threads and processes with their cycle stacks as they run, from a "
	       "running pesad, from an event of its own, or where there is neither from the best "
	       "source that works here.\vExamples:\n"
	       "  pesa top\n"
	       "  pesa top -e pesa/cycles/ -p 1234\n"
	       "  pesa top --once --json --view processes\n"
	       "\n"
	       "Press h on its screen for the list of keys.  See also pesa-top(1).",
};

/* ---- Batch mode ---------------------------------------------------------------------------- */

static struct pesa_error *print_text(const struct top_model *model, const struct options *options,
				     const struct ui_terminal *terminal)
{
	static void (*const header[])(const struct top_model *, const struct top_view *,
				      const struct ui_terminal *, struct ui_text *) = {
		top_view_summary, top_view_whole, top_view_heading};
	const struct top_view *view = &options->view;
	struct ui_text line = {0};
	struct pesa_error *error;
	struct top_row **rows;
	size_t count, shown;

	error = top_view_rows(model, view, &rows, &count);
	if (error)
		return error;
	shown = options->rows && options->rows < count ? options->rows : count;
	for (size_t i = 0; i < sizeof(header) / sizeof(*header); i++) {
		header[i](model, view, terminal, &line);
		ui_print_line(terminal, ui_text_get(&line));
		ui_text_clear(&line);
	}
	for (size_t i = 0; i < shown; i++) {
		top_view_row(model, view, rows[i], terminal, &line);
		ui_print_line(terminal, ui_text_get(&line));
		ui_text_clear(&line);
	}
	if (shown < count)
		fprintf(terminal->out, "and %zu more rows (--rows 0)\n", count - shown);
	fputc('\n', terminal->out);
	free(rows);
	ui_text_free(&line);
	return NULL;
}

static struct pesa_error *print_json(const struct top_model *model, const struct options *options,
				     FILE *out)
{
	struct pesa_error *error;
	struct ui_json json;

	ui_json_begin(&json, out, COMMAND);
	error = top_view_json(model, &options->view, &json);
	ui_json_end(&json);
	return error;
}

/* Returns the exit status. */
static int run_batch(struct top_model *model, const struct options *options,
		     struct top_source *source, struct ui_terminal *terminal, int signals)
{
	struct pollfd polled[] = {{.fd = source->descriptor, .events = POLLIN},
				  {.fd = signals, .events = POLLIN}};
	unsigned long done = 0;

	while (!options->refreshes || done < options->refreshes) {
		struct top_interval interval;
		struct pesa_error *error;

		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			break;
		if (polled[1].revents)
			break;
		if (!source->take(source->state, &interval))
			continue;
		if (interval.error)
			return profile_fail(COMMAND, interval.error);
		error = top_model_load(model, interval.path, &options->filter);
		unlink(interval.path);
		if (!error)
			error = options->json ? print_json(model, options, terminal->out)
					      : print_text(model, options, terminal);
		if (error)
			return profile_fail(COMMAND, error);
		if (fflush(terminal->out)) {
			profile_complain(COMMAND, "the output could not be written in full");
			return 1;
		}
		done++;
	}
	return 0;
}

/* ---- Start --------------------------------------------------------------------------------- */

/* Choose what to sample, because there is no daemon and no event was named. */
static struct pesa_error *choose_source(struct options *options)
{
	struct pesa_sampling_source *best = &options->best;
	struct top_event_options *event = &options->event;
	struct pesa_error *error = event_options_load(&options->names, COMMAND);

	if (error)
		return error;
	pesa_source_choose(&options->names.source, !event->process_count && !event->thread_count,
			   &PESA_SOURCE_KERNEL, best);
	event->event = best->events[0];
	event->second = best->event_count > 1 ? best->events[1] : NULL;
	event->catalogue = options->names.source.catalogue;
	pesa_source_joined_name(best, options->joined, sizeof(options->joined));
	event->joined = options->joined;
	if (options->batch)
		safe_output_message(
			"pesa top: there is no daemon; sampling %s: %s (see 'pesa doctor')",
			options->joined, pesa_source_level_meaning(best->level));
	return NULL;
}

static struct pesa_error *open_source(struct options *options, const char *folder,
				      struct top_source *source)
{
	const char *path = options->daemon.socket;
	struct pesa_error *error = options->chooses ? choose_source(options) : NULL;

	if (error)
		return error;
	if (options->event.event)
		return top_event_open(&options->event, folder, source);
	if (path && access(path, F_OK))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"%s: there is no socket of a daemon; start pesad, or leave --socket out to "
			"sample without one",
			path);
	return top_daemon_open(&options->daemon, folder, source);
}

static int run(struct options *options, const char *folder, int signals)
{
	struct ui_terminal terminal = ui_terminal_open(options->colour);
	struct top_model *model = NULL;
	struct pesa_error *error = top_model_create(options->root, &model);
	struct top_source source = {0};
	int status = 0;

	if (!error)
		error = open_source(options, folder, &source);
	if (!error && options->batch)
		status = run_batch(model, options, &source, &terminal, signals);
	else if (!error)
		error = top_screen_run(model, &options->view, &options->filter, &source, &terminal,
				       signals, (unsigned int)options->refreshes);
	if (source.close)
		source.close(source.state);
	top_model_free(model);
	event_options_free(&options->names);
	return error ? profile_fail(COMMAND, error) : status;
}

int main(int argc, char **argv)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct pesa_error *error;
	struct options options;
	const char *folder;
	sigset_t blocked;
	int status, signals;

	safe_output_start();
	standard_output_watch("pesa " COMMAND);
	status = profile_parse(&argp, COMMAND, argc, argv, &options);
	if (status)
		return status;
	if (!options.batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		profile_complain(COMMAND, "this is not a terminal; use --batch, --once or --json");
		return 2;
	}
	error = temporary_directory_create("pesa-top", &folder);
	if (error)
		return profile_fail(COMMAND, error);
	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaddset(&blocked, ending[i]);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals < 0 ? profile_fail(COMMAND, pesa_error_system(errno, "signalfd"))
			   : run(&options, folder, signals);
}
