// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa top on a terminal.  See screen.h.
 *
 * Reading an interval can take seconds when the symbols of a large program are read for the first
 * time.  A thread does it, and owns the model meanwhile: keys are processed, but the rows are not
 * redrawn.
 */
#include "tools/top/screen.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tools/screen/list.h"
#include "tools/screen/paint.h"

#define HEADER_LINES 4 /* summary, stack of all samples, empty line, column heading */
#define STATUS_LINES 1
#define MESSAGE_MAX  200

struct display {
	struct top_model *model;
	struct top_view *view;
	struct top_filter *filter;
	struct top_source *source;
	struct ui_terminal *terminal;
	bool paused, helping, typing, quit;
	bool waiting; /* no interval has come yet */
	unsigned int shown;
	char typed[sizeof(((struct top_view *)0)->find)];
	char message[MESSAGE_MAX]; /* the last error; "": none */
	struct top_row **rows;	   /* in the order shown */
	size_t count;
	struct pesa_error *source_error; /* why the source ended; NULL: it did not */
	/* the thread that reads an interval */
	bool reading;	    /* the thread owns the model */
	bool reset_pending; /* reset the model when the thread is done */
	int done;	    /* eventfd: the thread is done */
	pthread_t thread;
	struct top_interval interval;
	struct top_filter reading_filter;
	struct pesa_error *failure;
};

static const char *const help[] = {
	"",
	"  q           quit                         h, ?        this help",
	"  p, space    pause, continue              a           last interval, or since the start",
	"  s, S        next, previous sort key      z           reset sums and rows",
	"  v           next view: functions, threads, processes",
	"  up, down, page up, page down, home, end  select a row",
	"  enter       show only the functions of the selected thread or process; again: of all",
	"  /           show only rows with a text in name, binary or number; empty: all",
	"",
	"  A bar shows where the cycles of a row went: retiring, stalled, flushed, drained.",
	"  Share and cycles are of the last interval (a: since the start).",
	"",
	"  any key     back",
};

/* ---- Painting ------------------------------------------------------------------------------ */

static size_t room(void)
{
	return LINES > HEADER_LINES + STATUS_LINES ? (size_t)(LINES - HEADER_LINES - STATUS_LINES)
						   : 1;
}

/* Show an error in the status line, and free it. */
static void show_error(struct display *display, struct pesa_error *error)
{
	snprintf(display->message, sizeof(display->message), "%s", error->message);
	pesa_error_free(error);
}

static void paint_status(struct display *display)
{
	const struct top_view *view = display->view;
	struct ui_text line = {0};

	if (display->typing) {
		ui_text_add(&line, "show only rows with: %s_", display->typed);
	} else if (*display->message) {
		ui_text_add(&line, "%s%s%s", ui_style(display->terminal, UI_HOT), display->message,
			    ui_style(display->terminal, UI_PLAIN));
	} else {
		ui_text_add(&line, "%s%s%s, by %s, %zu rows", display->paused ? "PAUSED, " : "",
			    display->reading ? "reading, " : "", top_kind_name(view->kind),
			    top_sort_name(view->sort), display->count);
		if (*view->find)
			ui_text_add(&line, " with '%s'", view->find);
		if (display->filter->tid >= 0)
			ui_text_add(&line, ", of thread %lld", (long long)display->filter->tid);
		else if (display->filter->pid >= 0)
			ui_text_add(&line, ", of process %lld", (long long)display->filter->pid);
		ui_text_add(&line, "  (h: help, q: quit)");
	}
	screen_paint_line(LINES - 1, ui_text_get(&line), false);
	ui_text_free(&line);
}

static void paint_rows(struct display *display)
{
	struct ui_text line = {0};

	for (size_t i = 0; i < room(); i++) {
		size_t index = display->view->list.first + i;

		ui_text_clear(&line);
		if (index < display->count)
			top_view_row(display->model, display->view, display->rows[index],
				     display->terminal, &line);
		screen_paint_line((int)(HEADER_LINES + i), ui_text_get(&line),
				  index < display->count && index == display->view->list.selected);
	}
	ui_text_free(&line);
}

static void paint_header(struct display *display)
{
	static void (*const lines[])(const struct top_model *, const struct top_view *,
				     const struct ui_terminal *, struct ui_text *) = {
		top_view_summary, top_view_whole, NULL, top_view_heading};
	struct ui_text line = {0};

	for (int i = 0; i < HEADER_LINES; i++) {
		ui_text_clear(&line);
		if (lines[i])
			lines[i](display->model, display->view, display->terminal, &line);
		if (!i && display->waiting)
			ui_text_add(&line, "  (%s: waiting for the first interval)",
				    display->source->name);
		screen_paint_line(i, ui_text_get(&line), false);
	}
	ui_text_free(&line);
}

static void paint_help(void)
{
	size_t lines = sizeof(help) / sizeof(*help);

	for (int row = 0; row < LINES; row++)
		screen_paint_line(row, (size_t)row < lines ? help[row] : "", false);
}

/* Get the rows of the view again.  If out of memory, no rows are shown. */
static void update_rows(struct display *display)
{
	struct pesa_error *error;

	free(display->rows);
	display->rows = NULL;
	display->count = 0;
	error = top_view_rows(display->model, display->view, &display->rows, &display->count);
	if (error)
		show_error(display, error);
}

static void paint(struct display *display)
{
	display->terminal->width = COLS > 0 ? (unsigned int)COLS : 80;
	if (display->helping) {
		paint_help();
	} else if (display->reading) {
		paint_status(display);
	} else {
		update_rows(display);
		screen_list_scroll(&display->view->list, display->count, room());
		paint_header(display);
		paint_rows(display);
		paint_status(display);
	}
	refresh();
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static void next_view(struct display *display)
{
	display->view->kind = (display->view->kind + 1) % TOP_KINDS;
	display->view->list = (struct screen_list){0};
}

static void change_sort(struct display *display, unsigned int step)
{
	display->view->sort = (display->view->sort + step) % TOP_SORTS;
}

static void reset(struct display *display)
{
	display->reset_pending = display->reading;
	if (display->reading)
		return;
	top_model_reset(display->model);
	display->count = 0;
}

/* In a view of tasks, show the functions of the selected task only; in functions, those of all. */
static void select_task(struct display *display)
{
	struct top_view *view = display->view;
	const struct top_row *row;

	if (view->kind == TOP_FUNCTIONS) {
		if (display->filter->pid < 0 && display->filter->tid < 0)
			return;
		display->filter->pid = display->filter->tid = -1;
	} else {
		if (display->reading || view->list.selected >= display->count)
			return;
		row = display->rows[view->list.selected];
		display->filter->pid = row->pid;
		display->filter->tid = view->kind == TOP_THREADS ? (int64_t)row->tid : -1;
		view->kind = TOP_FUNCTIONS;
	}
	view->list = (struct screen_list){0};
	reset(display);
}

static void type_key(struct display *display, int key)
{
	enum screen_typing typing = screen_type_key(display->typed, key);

	if (typing == SCREEN_TYPED) {
		strcpy(display->view->find, display->typed);
		display->view->list = (struct screen_list){0};
	}
	display->typing = typing == SCREEN_TYPING;
}

static void take_key(struct display *display, int key)
{
	if (key == KEY_RESIZE)
		return; /* the caller paints everything at the new size */
	*display->message = '\0';
	if (display->typing) {
		type_key(display, key);
		return;
	}
	if (display->helping) {
		display->helping = false;
		return;
	}
	switch (key) {
	case 'q':
		display->quit = true;
		break;
	case 'h':
	case '?':
		display->helping = true;
		break;
	case 'p':
	case ' ':
		display->paused = !display->paused;
		break;
	case 'a':
		display->view->total = !display->view->total;
		break;
	case 's':
		change_sort(display, 1);
		break;
	case 'S':
		change_sort(display, TOP_SORTS - 1);
		break;
	case 'v':
		next_view(display);
		break;
	case 'z':
		reset(display);
		break;
	case '/':
		display->typing = true;
		strcpy(display->typed, display->view->find);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		select_task(display);
		break;
	default:
		screen_list_move(&display->view->list, key, display->count, room());
	}
}

/* ---- Intervals ----------------------------------------------------------------------------- */

static void *read_interval(void *context)
{
	struct display *display = context;

	display->failure =
		top_model_load(display->model, display->interval.path, &display->reading_filter);
	eventfd_write(display->done, 1);
	return NULL;
}

static void start_reading(struct display *display)
{
	display->reading_filter = *display->filter;
	/* From here on the rows must not be used: the thread may free them. */
	display->reading = true;
	if (pthread_create(&display->thread, NULL, read_interval, display)) {
		display->reading = false;
		unlink(display->interval.path);
		snprintf(display->message, sizeof(display->message), "cannot start a thread");
	}
}

static void finish_reading(struct display *display)
{
	eventfd_t ignored;

	if (eventfd_read(display->done, &ignored))
		return;
	pthread_join(display->thread, NULL);
	display->reading = display->waiting = false;
	display->shown++;
	unlink(display->interval.path);
	*display->message = '\0';
	if (display->failure)
		show_error(display, display->failure);
	display->failure = NULL;
	if (display->reset_pending)
		reset(display);
}

static void take_interval(struct display *display)
{
	struct top_interval *interval = &display->interval;

	while (!display->reading && display->source->take(display->source->state, interval)) {
		if (interval->error && interval->fatal) {
			display->source_error = interval->error;
			display->quit = true;
			return;
		}
		if (interval->error)
			show_error(display, interval->error);
		else if (display->paused)
			unlink(interval->path); /* intervals that arrive while paused are dropped */
		else
			start_reading(display);
	}
}

static void loop(struct display *display, int signals, unsigned int refreshes)
{
	struct pollfd polled[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				  {.fd = display->source->descriptor, .events = POLLIN},
				  {.fd = signals, .events = POLLIN},
				  {.fd = display->done, .events = POLLIN}};
	int key;

	while (!display->quit && (!refreshes || display->shown < refreshes)) {
		paint(display);
		polled[1].fd = display->reading ? -1 : display->source->descriptor;
		/* SIGWINCH (new terminal size) interrupts poll(). */
		if (poll(polled, 4, -1) < 0 && errno != EINTR)
			break;
		if (polled[3].revents)
			finish_reading(display);
		if (polled[2].revents || polled[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
		while (!display->quit && (key = getch()) != ERR)
			take_key(display, key);
		if (!display->quit)
			take_interval(display);
	}
	paint(display);
}

struct pesa_error *top_screen_run(struct top_model *model, struct top_view *view,
				  struct top_filter *filter, struct top_source *source,
				  struct ui_terminal *terminal, int signals, unsigned int refreshes)
{
	struct display display = {.model = model,
				  .view = view,
				  .filter = filter,
				  .source = source,
				  .terminal = terminal,
				  .waiting = true,
				  .done = eventfd(0, EFD_CLOEXEC)};

	if (display.done < 0)
		return pesa_error_system(errno, "eventfd");
	if (!screen_paint_open())
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "this terminal (TERM=%s) cannot be drawn on; use --batch",
					 getenv("TERM") ? getenv("TERM") : "");
	terminal->colour &= screen_paint_colours();
	loop(&display, signals, refreshes);
	screen_paint_close();
	if (display.reading)
		finish_reading(&display);
	close(display.done);
	free(display.rows);
	return display.source_error;
}
