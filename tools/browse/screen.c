// SPDX-License-Identifier: GPL-2.0-or-later
/* The screen of pesa report: paints the view on top, and takes the keys. */
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/browse/browse.h"
#include "tools/screen/paint.h"

#define HEADER_LINES 3 /* title, summary, heads of the columns */
#define STATUS_LINES 1
#define ESCAPE	     27

struct screen {
	struct browse browse;
	struct ui_terminal *terminal;
	struct browse_view *view; /* on top */
	bool helping, typing, quit;
	char typed[SCREEN_TEXT_MAX];
	unsigned int width; /* for which the view is fitted; 0: not yet */
};

/* No line is longer than the narrowest terminals. */
static const char *const help[] = {
	"",
	"  up, down, page up, page down, home, end   select a row",
	"  Enter  functions: the code, at its hottest line",
	"         callers: open or close",
	"         code: follow the jump or call",
	"  a      the code of the selected function",
	"  c      the callers of the function",
	"  w      why: cycles of the instruction by state and cause,",
	"         what it waited for, and what to try",
	"  Tab    code: the next hottest instruction",
	"         back: Shift-Tab; H: the hottest",
	"  /      functions: only those with a text",
	"         elsewhere: go to a text",
	"  n, N   the next, the previous row with the text",
	"  Esc    back (also: backspace, left)",
	"  q      quit",
	"",
	"  A bar shows where cycles went: retiring, stalled,",
	"  flushed, drained. pesa report --stdio prints text.",
	"  any key  back",
};

static const struct browse_kind *const kinds[] = {
	[BROWSE_FUNCTIONS] = &browse_functions,
	[BROWSE_CALLERS] = &browse_callers,
	[BROWSE_CODE] = &browse_code,
	[BROWSE_WHY] = &browse_why,
};

/* ---- Views --------------------------------------------------------------------------------- */

static void close_view(struct screen *screen)
{
	struct browse_view *view = screen->view;

	screen->view = view->below;
	view->kind->close(view);
	free(view);
	screen->width = 0;
}

static struct pesa_error *open_view(struct screen *screen, const struct browse_target *target)
{
	struct browse_view *view = calloc(1, sizeof(*view));
	struct pesa_error *error;

	if (!view)
		return pesa_error_no_memory();
	view->kind = kinds[target->what];
	view->below = screen->view;
	screen->view = view;
	screen->width = 0;
	error = view->kind->open(&screen->browse, view, target);
	if (error)
		close_view(screen);
	return error;
}

/* ---- Painting ------------------------------------------------------------------------------ */

static size_t room(void)
{
	return LINES > HEADER_LINES + STATUS_LINES ? (size_t)(LINES - HEADER_LINES - STATUS_LINES)
						   : 1;
}

static size_t row_count(const struct screen *screen)
{
	return screen->view->kind->count(&screen->browse, screen->view);
}

/* Show an error in the status line, and free it. */
static void show_error(struct screen *screen, struct pesa_error *error)
{
	if (error)
		snprintf(screen->browse.message, sizeof(screen->browse.message), "%s",
			 error->message);
	pesa_error_free(error);
}

static void paint_status(struct screen *screen)
{
	const struct browse_view *view = screen->view;
	struct ui_text line = {0};

	if (screen->typing) {
		ui_text_add(&line, "%s: %s_",
			    view->kind->filters ? "show only rows with" : "search", screen->typed);
	} else if (*screen->browse.message) {
		ui_text_add(&line, "%s%s%s", ui_style(screen->terminal, UI_HOT),
			    screen->browse.message, ui_style(screen->terminal, UI_PLAIN));
	} else {
		size_t count = row_count(screen);

		ui_text_add(&line, "%zu of %zu", count ? view->list.selected + 1 : 0, count);
		if (*view->find)
			ui_text_add(&line, " with '%s'", view->find);
		ui_text_add(&line, "  (%s)", view->kind->keys);
	}
	screen_paint_line(LINES - 1, ui_text_get(&line), false);
	ui_text_free(&line);
}

static void paint_header(struct screen *screen)
{
	const struct browse_kind *kind = screen->view->kind;
	void (*const lines[HEADER_LINES])(const struct browse *, const struct browse_view *,
					  struct ui_text *) = {kind->title, kind->summary,
							       kind->heading};
	struct ui_text line = {0};

	for (int i = 0; i < HEADER_LINES; i++) {
		ui_text_clear(&line);
		lines[i](&screen->browse, screen->view, &line);
		screen_paint_line(i, ui_text_get(&line), false);
	}
	ui_text_free(&line);
}

static void paint_rows(struct screen *screen)
{
	const struct browse_view *view = screen->view;
	size_t count = row_count(screen);
	struct ui_text line = {0};

	for (size_t i = 0; i < room(); i++) {
		size_t index = view->list.first + i;

		ui_text_clear(&line);
		if (index < count)
			show_error(screen, view->kind->row(&screen->browse, view, index, &line));
		screen_paint_line((int)(HEADER_LINES + i), ui_text_get(&line),
				  index < count && index == view->list.selected);
	}
	ui_text_free(&line);
}

static void paint_help(void)
{
	size_t lines = sizeof(help) / sizeof(*help);

	for (int row = 0; row < LINES; row++)
		screen_paint_line(row, (size_t)row < lines ? help[row] : "", false);
}

static void paint(struct screen *screen)
{
	unsigned int width = COLS > 0 ? (unsigned int)COLS : 80;

	screen->terminal->width = width;
	if (screen->width != width)
		show_error(screen, screen->view->kind->fit(&screen->browse, screen->view));
	screen->width = width;
	if (screen->helping) {
		paint_help();
	} else {
		screen_list_scroll(&screen->view->list, row_count(screen), room());
		paint_header(screen);
		paint_rows(screen);
		paint_status(screen);
	}
	refresh();
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static bool row_matches(struct screen *screen, size_t index)
{
	const struct browse_view *view = screen->view;
	struct ui_text line = {0};
	bool matches;

	show_error(screen, view->kind->row(&screen->browse, view, index, &line));
	if (line.text)
		ui_remove_escapes(line.text);
	matches = browse_contains(ui_text_get(&line), view->find);
	ui_text_free(&line);
	return matches;
}

/* Select the next row with the text that is looked for; `first`: also the selected one. */
static void find_row(struct screen *screen, bool backward, bool first)
{
	struct browse_view *view = screen->view;
	size_t count = row_count(screen);

	if (!*view->find || view->kind->filters)
		return;
	for (size_t i = !first; i < count + !first; i++) {
		size_t step = backward ? count - i % count : i;
		size_t index = (view->list.selected + step) % count;

		if (row_matches(screen, index)) {
			view->list.selected = index;
			return;
		}
	}
	snprintf(screen->browse.message, sizeof(screen->browse.message), "no row with '%s'",
		 view->find);
}

static void type_key(struct screen *screen, int key)
{
	enum screen_typing typing = screen_type_key(screen->typed, key);

	screen->typing = typing == SCREEN_TYPING;
	if (typing != SCREEN_TYPED)
		return;
	strcpy(screen->view->find, screen->typed);
	screen->width = 0;
	if (screen->view->kind->filters)
		screen->view->list = (struct screen_list){0};
	find_row(screen, false, true);
}

/* Go back by one step: end the search, or close the view on top. */
static void go_back(struct screen *screen)
{
	struct browse_view *view = screen->view;

	if (*view->find) {
		*view->find = '\0';
		screen->width = 0;
	} else if (view->below) {
		close_view(screen);
	}
}

static void take_view_key(struct screen *screen, int key)
{
	struct browse_view *view = screen->view;
	struct browse_target target = {.what = BROWSE_NOTHING};
	struct pesa_error *error = NULL;

	if (row_count(screen))
		error = view->kind->key(&screen->browse, view, key, &target);
	if (!error && target.what != BROWSE_NOTHING)
		error = open_view(screen, &target);
	else if (!error)
		screen_list_move(&view->list, key, row_count(screen), room());
	show_error(screen, error);
}

static void take_key(struct screen *screen, int key)
{
	if (key == KEY_RESIZE)
		return; /* the caller paints everything at the new size */
	*screen->browse.message = '\0';
	if (screen->typing) {
		type_key(screen, key);
		return;
	}
	if (screen->helping) {
		screen->helping = false;
		return;
	}
	switch (key) {
	case 'q':
		screen->quit = true;
		break;
	case 'h':
	case '?':
		screen->helping = true;
		break;
	case '/':
		screen->typing = true;
		strcpy(screen->typed, screen->view->find);
		break;
	case 'n':
	case 'N':
		find_row(screen, key == 'N', false);
		break;
	case ESCAPE:
	case KEY_BACKSPACE:
	case KEY_LEFT:
	case 127:
	case '\b':
		go_back(screen);
		break;
	default:
		take_view_key(screen, key);
	}
}

/* ---- The loop ------------------------------------------------------------------------------ */

static void loop(struct screen *screen, int signals)
{
	struct pollfd polled[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				  {.fd = signals, .events = POLLIN}};
	int key;

	while (!screen->quit) {
		paint(screen);
		/* SIGWINCH (new terminal size) interrupts poll(). */
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			break;
		if (polled[1].revents || polled[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
		while (!screen->quit && (key = getch()) != ERR)
			take_key(screen, key);
	}
}

/* The signals that end the program become readable; `before`: the mask to restore. */
static int open_signals(sigset_t *before)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaddset(&blocked, ending[i]);
	sigprocmask(SIG_BLOCK, &blocked, before);
	return signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
}

static struct pesa_error *show(struct screen *screen, int signals)
{
	const struct browse_target functions = {.what = BROWSE_FUNCTIONS};
	struct pesa_error *error = open_view(screen, &functions);

	if (error)
		return error;
	if (!screen_paint_open())
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "this terminal (TERM=%s) cannot be drawn on: text follows",
					 getenv("TERM") ? getenv("TERM") : "");
	screen->terminal->colour &= screen_paint_colours();
	loop(screen, signals);
	screen_paint_close();
	return NULL;
}

struct pesa_error *browse_run(const struct report_view *report, struct ui_terminal *terminal)
{
	struct screen screen = {.browse = {.report = report, .terminal = terminal},
				.terminal = terminal};
	struct pesa_error *error;
	sigset_t before;
	int signals = open_signals(&before);

	if (signals < 0) {
		error = pesa_error_system(errno, "signalfd");
		sigprocmask(SIG_SETMASK, &before, NULL);
		return error;
	}
	screen.browse.sources = source_texts_create(report->input->options->symbol_root);
	error = screen.browse.sources ? NULL : pesa_error_no_memory();
	if (!error)
		error = profile_groups_make_by(report->input, &report->grouping,
					       &screen.browse.groups);
	if (!error)
		error = show(&screen, signals);
	while (screen.view)
		close_view(&screen);
	if (screen.browse.reasons)
		reasons_close(screen.browse.reasons);
	free(screen.browse.reasons);
	profile_groups_free(&screen.browse.groups);
	source_texts_free(screen.browse.sources);
	close(signals);
	/* Text may follow, which signals end as usual; one that ended the screen is done with. */
	if (error)
		sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}
