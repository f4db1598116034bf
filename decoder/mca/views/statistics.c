/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hardware statistics: dispatch, scheduler, retire, register file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/views/views.h"

/* Number of cycles in which an event happened N times. */
struct histogram {
	unsigned int *cycles;
	unsigned int size;
	unsigned int now; /* in this cycle */
	unsigned int total;
	/* When a period began. */
	unsigned int *then;
	unsigned int then_size, then_total;
};

static struct pesa_error *histogram_cycle(struct histogram *histogram)
{
	if (histogram->now >= histogram->size) {
		unsigned int size = 2 * histogram->now + 16;
		unsigned int *larger = realloc(histogram->cycles, size * sizeof(*larger));

		if (!larger)
			return pesa_error_no_memory();
		memset(larger + histogram->size, 0, (size - histogram->size) * sizeof(*larger));
		histogram->cycles = larger;
		histogram->size = size;
	}
	histogram->cycles[histogram->now]++;
	histogram->now = 0;
	histogram->total++;
	return NULL;
}

static struct pesa_error *histogram_mark(struct histogram *histogram)
{
	unsigned int *then = realloc(histogram->then, (histogram->size + 1) * sizeof(*then));

	if (!then)
		return pesa_error_no_memory();
	if (histogram->size)
		memcpy(then, histogram->cycles, histogram->size * sizeof(*then));
	histogram->then = then;
	histogram->then_size = histogram->size;
	histogram->then_total = histogram->total;
	return NULL;
}

/* What was counted since then is counted so many times more. */
static void histogram_repeat(struct histogram *histogram, uint64_t times)
{
	for (unsigned int i = 0; i < histogram->size; i++)
		histogram->cycles[i] +=
			times * (histogram->cycles[i] -
				 (i < histogram->then_size ? histogram->then[i] : 0));
	histogram->total += times * (histogram->total - histogram->then_total);
}

static void free_histogram(struct mca_view *view)
{
	struct histogram *histogram = view->state; /* the first member of every state */

	if (histogram) {
		free(histogram->cycles);
		free(histogram->then);
	}
	free(histogram);
}

static double percentage(double part, double total)
{
	return part / total * 100.0;
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

struct dispatch {
	struct histogram dispatched;
	unsigned int stalls[PESA_MCA_STALL_KINDS], stalls_then[PESA_MCA_STALL_KINDS];
};

static void repeat_stalls(struct dispatch *dispatch, uint64_t times)
{
	for (unsigned int i = 0; i < PESA_MCA_STALL_KINDS; i++)
		dispatch->stalls[i] += times * (dispatch->stalls[i] - dispatch->stalls_then[i]);
}

static struct pesa_error *dispatch_event(void *data, const struct pesa_mca_event *event)
{
	struct dispatch *dispatch = ((struct mca_view *)data)->state;

	switch (event->kind) {
	case PESA_MCA_STALLED:
		dispatch->stalls[event->stall]++;
		return NULL;
	case PESA_MCA_DISPATCHED:
		dispatch->dispatched.now += event->micro_ops;
		return NULL;
	case PESA_MCA_PERIOD_BEGIN:
		memcpy(dispatch->stalls_then, dispatch->stalls, sizeof(dispatch->stalls));
		return histogram_mark(&dispatch->dispatched);
	case PESA_MCA_REPEATED:
		repeat_stalls(dispatch, event->times);
		histogram_repeat(&dispatch->dispatched, event->times);
		return NULL;
	default:
		return histogram_cycle(&dispatch->dispatched);
	}
}

static void dispatch_print(struct mca_view *view, struct mca_text *text)
{
	static const struct {
		const char *label;
		int stall; /* -1: never happens on RISC-V */
	} lines[] = {
		{"RAT     - Register unavailable:                      ", PESA_MCA_STALL_REGISTERS},
		{"RCU     - Retire tokens unavailable:                 ", PESA_MCA_STALL_RETIRE},
		{"SCHEDQ  - Scheduler full:                            ", PESA_MCA_STALL_SCHEDULER},
		{"LQ      - Load queue full:                           ",
		 PESA_MCA_STALL_LOAD_QUEUE},
		{"SQ      - Store queue full:                          ",
		 PESA_MCA_STALL_STORE_QUEUE},
		{"GROUP   - Static restrictions on the dispatch group: ", PESA_MCA_STALL_GROUP},
		{"USH     - Uncategorised Structural Hazard:           ", -1},
	};
	const struct dispatch *dispatch = view->state;
	const struct histogram *histogram = &dispatch->dispatched;

	mca_put_text(text, "\n\nDynamic Dispatch Stall Cycles:\n");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		unsigned int stalls = lines[i].stall < 0 ? 0 : dispatch->stalls[lines[i].stall];

		mca_print(text, "%s%u", lines[i].label, stalls);
		if (stalls)
			mca_print(text, "  (%.1f%%)",
				  mca_round(percentage(stalls, histogram->total), 1));
		mca_put_text(text, "\n");
	}
	mca_print(text, "\n\nDispatch Logic - number of cycles where we saw N micro opcodes "
			"dispatched:\n[# dispatched], [# cycles]\n");
	for (unsigned int i = 0; i < histogram->size; i++)
		if (histogram->cycles[i])
			mca_print(text, " %u,              %u  (%.1f%%)\n", i, histogram->cycles[i],
				  mca_round(percentage(histogram->cycles[i], histogram->total), 1));
}

static struct json_object *dispatch_json(struct mca_view *view)
{
	const struct dispatch *dispatch = view->state;
	struct json_object *object = json_object_new_object();

	mca_json_integer(object, "GROUP", dispatch->stalls[PESA_MCA_STALL_GROUP]);
	mca_json_integer(object, "LQ", dispatch->stalls[PESA_MCA_STALL_LOAD_QUEUE]);
	mca_json_integer(object, "RAT", dispatch->stalls[PESA_MCA_STALL_REGISTERS]);
	mca_json_integer(object, "RCU", dispatch->stalls[PESA_MCA_STALL_RETIRE]);
	mca_json_integer(object, "SCHEDQ", dispatch->stalls[PESA_MCA_STALL_SCHEDULER]);
	mca_json_integer(object, "SQ", dispatch->stalls[PESA_MCA_STALL_STORE_QUEUE]);
	mca_json_integer(object, "USH", 0);
	return object;
}

struct pesa_error *mca_view_dispatch(struct mca_view *view, const struct mca_view_context *context)
{
	*view = (struct mca_view){
		.context = context,
		.listener = {dispatch_event, view,
			     1u << PESA_MCA_STALLED | 1u << PESA_MCA_DISPATCHED |
				     1u << PESA_MCA_CYCLE_END | MCA_VIEW_REPEATS},
		.name = "DispatchStatistics",
		.print = dispatch_print,
		.json = dispatch_json,
		.free = free_histogram,
		.state = calloc(1, sizeof(struct dispatch)),
	};
	return view->state ? NULL : pesa_error_no_memory();
}

/* ---- Scheduler ------------------------------------------------------------------------------- */

struct scheduler {
	struct histogram issued;
	uint64_t seen; /* bit mask of buffers with entries so far */
	struct {
		unsigned int used, most;
		uint64_t sum, then;
	} buffer[64];
};

static struct pesa_error *scheduler_event(void *data, const struct pesa_mca_event *event)
{
	struct scheduler *scheduler = ((struct mca_view *)data)->state;
	uint64_t rest;

	switch (event->kind) {
	case PESA_MCA_ISSUED:
		scheduler->issued.now += event->micro_ops;
		break;
	case PESA_MCA_BUFFERS_RESERVED:
		scheduler->seen |= event->buffers;
		for (rest = event->buffers; rest; rest &= rest - 1)
			scheduler->buffer[__builtin_ctzll(rest)].used++;
		break;
	case PESA_MCA_BUFFERS_RELEASED:
		for (rest = event->buffers; rest; rest &= rest - 1)
			scheduler->buffer[__builtin_ctzll(rest)].used--;
		break;
	case PESA_MCA_PERIOD_BEGIN:
		for (unsigned int i = 0; i < 64; i++)
			scheduler->buffer[i].then = scheduler->buffer[i].sum;
		return histogram_mark(&scheduler->issued);
	case PESA_MCA_REPEATED:
		for (unsigned int i = 0; i < 64; i++)
			scheduler->buffer[i].sum += event->times * (scheduler->buffer[i].sum -
								    scheduler->buffer[i].then);
		histogram_repeat(&scheduler->issued, event->times);
		break;
	default:
		for (rest = scheduler->seen; rest; rest &= rest - 1) {
			unsigned int i = __builtin_ctzll(rest);

			scheduler->buffer[i].sum += scheduler->buffer[i].used;
			if (scheduler->buffer[i].used > scheduler->buffer[i].most)
				scheduler->buffer[i].most = scheduler->buffer[i].used;
		}
		return histogram_cycle(&scheduler->issued);
	}
	return NULL;
}

static void scheduler_print(struct mca_view *view, struct mca_text *text)
{
	const struct pesa_mca_model *model = view->context->model;
	const struct scheduler *scheduler = view->state;
	const struct histogram *histogram = &scheduler->issued;
	unsigned int most = 0;
	bool used = false;

	for (unsigned int i = 0; i < histogram->size; i++)
		if (histogram->cycles[i])
			most = i;
	mca_print(text, "\n\nSchedulers - number of cycles where we saw N micro opcodes issued:\n"
			"[# issued], [# cycles]\n");
	for (unsigned int i = 0; i < histogram->size; i++)
		if (histogram->cycles[i]) {
			if (i == most)
				mca_highlight(text, MCA_BOLD);
			mca_print(text, " %u,          %u  (%.1f%%)\n", i, histogram->cycles[i],
				  percentage(histogram->cycles[i], histogram->total));
			mca_highlight(text, MCA_PLAIN);
		}
	mca_put_text(text, "\nScheduler's queue usage:\n");
	for (unsigned int i = 0; i < 64; i++)
		used |= scheduler->buffer[i].most != 0;
	if (!used) {
		mca_put_text(text, "No scheduler resources used.\n");
		return;
	}
	mca_print(text, "[1] Resource name.\n[2] Average number of used buffer entries.\n"
			"[3] Maximum number of used buffer entries.\n"
			"[4] Total number of buffer entries.\n\n"
			" [1]            [2]        [3]        [4]\n");
	for (unsigned int i = 0; i < pesa_mca_model_resources(model); i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(model, i);
		unsigned int average =
			mca_round((double)scheduler->buffer[i].sum / histogram->total, 1);

		if (resource->buffer <= 0)
			continue;
		mca_print(text, "%s", resource->name);
		mca_pad(text, 17);
		/* Four fifths count as almost full, as in llvm-mca. */
		if (average >= (unsigned int)mca_round(resource->buffer * 4 / 5., 1))
			mca_highlight(text, MCA_YELLOW);
		mca_print(text, "%u", average);
		mca_highlight(text, MCA_PLAIN);
		mca_pad(text, 28);
		if (scheduler->buffer[i].most == (unsigned int)resource->buffer)
			mca_highlight(text, MCA_RED);
		mca_print(text, "%u", scheduler->buffer[i].most);
		mca_highlight(text, MCA_PLAIN);
		mca_pad(text, 39);
		mca_print(text, "%d\n", resource->buffer);
	}
}

struct pesa_error *mca_view_scheduler(struct mca_view *view, const struct mca_view_context *context)
{
	*view = (struct mca_view){
		.context = context,
		.listener = {scheduler_event, view,
			     1u << PESA_MCA_ISSUED | 1u << PESA_MCA_BUFFERS_RESERVED |
				     1u << PESA_MCA_BUFFERS_RELEASED | 1u << PESA_MCA_CYCLE_END |
				     MCA_VIEW_REPEATS},
		.print = scheduler_print,
		.free = free_histogram,
		.state = calloc(1, sizeof(struct scheduler)),
	};
	return view->state ? NULL : pesa_error_no_memory();
}

/* ---- Retire ---------------------------------------------------------------------------------- */

struct retire {
	struct histogram retired;
	unsigned int used, most;
	uint64_t sum, then;
};

static struct pesa_error *retire_event(void *data, const struct pesa_mca_event *event)
{
	struct retire *retire = ((struct mca_view *)data)->state;

	switch (event->kind) {
	case PESA_MCA_DISPATCHED:
		retire->used += event->micro_ops;
		return NULL;
	case PESA_MCA_RETIRED:
		retire->used -= event->micro_ops;
		retire->retired.now++;
		return NULL;
	case PESA_MCA_PERIOD_BEGIN:
		retire->then = retire->sum;
		return histogram_mark(&retire->retired);
	case PESA_MCA_REPEATED:
		retire->sum += event->times * (retire->sum - retire->then);
		histogram_repeat(&retire->retired, event->times);
		return NULL;
	default:
		if (retire->used > retire->most)
			retire->most = retire->used;
		retire->sum += retire->used;
		return histogram_cycle(&retire->retired);
	}
}

static void retire_print(struct mca_view *view, struct mca_text *text)
{
	const struct retire *retire = view->state;
	const struct histogram *histogram = &retire->retired;
	unsigned int entries = pesa_mca_model_reorder_buffer(view->context->model);
	unsigned int average = (double)retire->sum / histogram->total;

	mca_print(text, "\n\nRetire Control Unit - number of cycles where we saw N instructions "
			"retired:\n[# retired], [# cycles]\n");
	for (unsigned int i = 0; i < histogram->size; i++)
		if (histogram->cycles[i])
			mca_print(text, " %u,%s%u  (%.1f%%)\n", i,
				  i < 10 ? "           " : "          ", histogram->cycles[i],
				  percentage(histogram->cycles[i], histogram->total));
	mca_print(text, "\nTotal ROB Entries:                %u\n", entries);
	mca_print(text, "Max Used ROB Entries:             %u  ( %.1f%% )\n", retire->most,
		  mca_round(percentage(retire->most, entries), 1));
	mca_print(text, "Average Used ROB Entries per cy:  %u  ( %.1f%% )\n", average,
		  mca_round(percentage(average, entries), 1));
}

struct pesa_error *mca_view_retire(struct mca_view *view, const struct mca_view_context *context)
{
	*view = (struct mca_view){
		.context = context,
		.listener = {retire_event, view,
			     1u << PESA_MCA_DISPATCHED | 1u << PESA_MCA_RETIRED |
				     1u << PESA_MCA_CYCLE_END | MCA_VIEW_REPEATS},
		.print = retire_print,
		.free = free_histogram,
		.state = calloc(1, sizeof(struct retire)),
	};
	return view->state ? NULL : pesa_error_no_memory();
}

/* ---- Register file --------------------------------------------------------------------------- */

struct registers {
	unsigned int used, most, total, then;
};

static struct pesa_error *registers_event(void *data, const struct pesa_mca_event *event)
{
	struct registers *registers = ((struct mca_view *)data)->state;

	switch (event->kind) {
	case PESA_MCA_RETIRED:
		registers->used -= event->registers;
		break;
	case PESA_MCA_PERIOD_BEGIN:
		registers->then = registers->total;
		break;
	case PESA_MCA_REPEATED:
		registers->total += event->times * (registers->total - registers->then);
		break;
	default:
		registers->used += event->registers;
		registers->total += event->registers;
		if (registers->used > registers->most)
			registers->most = registers->used;
	}
	return NULL;
}

static void registers_print(struct mca_view *view, struct mca_text *text)
{
	const struct registers *registers = view->state;

	mca_print(text, "\n\nRegister File statistics:\nTotal number of mappings created:    %u\n",
		  registers->total);
	mca_print(text, "Max number of mappings used:         %u\n", registers->most);
}

struct pesa_error *mca_view_registers(struct mca_view *view, const struct mca_view_context *context)
{
	*view = (struct mca_view){
		.context = context,
		.listener = {registers_event, view,
			     1u << PESA_MCA_DISPATCHED | 1u << PESA_MCA_RETIRED | MCA_VIEW_REPEATS},
		.print = registers_print,
		.free = mca_view_free_state,
		.state = calloc(1, sizeof(struct registers)),
	};
	return view->state ? NULL : pesa_error_no_memory();
}
