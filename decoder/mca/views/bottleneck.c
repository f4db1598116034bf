/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bottleneck analysis: cycles with increased backend pressure, by cause, and the critical sequence.
 *
 * The dependencies observed to delay an instruction are edges of a graph over three copies of the
 * block (so that loop-carried dependencies are acyclic).  The weight of an edge is its cost in
 * cycles.  The critical sequence is the path with the largest cost.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/views/views.h"

enum dependency { DEPENDENCY_NONE, DEPENDENCY_REGISTER, DEPENDENCY_MEMORY, DEPENDENCY_RESOURCE };

struct edge {
	enum dependency kind;
	uint64_t what;		  /* register, or mask of the resource */
	uint64_t cost, cost_then; /* then: when a period began */
	unsigned int from, to, frequency, frequency_then;
};

struct node {
	unsigned int predecessors, visited, depth;
	uint64_t cost;
	struct edge critical;
	struct edge *edges;
	unsigned int edge_count, edge_size;
};

/* Stall cycles of an in-flight instruction, by cause. */
struct held {
	unsigned int instruction;
	bool live;
	unsigned int resource_cycles, register_cycles, memory_cycles;
};

struct user {
	unsigned int instruction, cycles;
	bool used;
};

/* Cycles, of which there was pressure, by cause. */
struct pressure_counts {
	unsigned int all, held, by_resources, by_data, by_registers, by_memory;
};

struct bottleneck {
	struct node *nodes;
	struct held *held; /* by number modulo a power of two */
	unsigned int held_size;
	struct user *users; /* last user of each unit of each resource */
	unsigned int *first_user;
	unsigned int *distribution, *distribution_then; /* by resource: cycles of pressure */
	struct pressure_counts cycles, cycles_then;
	unsigned int left_out; /* instructions, of which no events are sent */
	bool by_resources, by_registers, by_memory, stalled;
};

/* ---- Stall cycles ---------------------------------------------------------------------------- */

static struct held *held_slot(const struct bottleneck *bottleneck, unsigned int instruction)
{
	return &bottleneck->held[instruction & (bottleneck->held_size - 1)];
}

static bool is_held(const struct bottleneck *bottleneck, unsigned int instruction)
{
	const struct held *held = held_slot(bottleneck, instruction);

	return held->live && held->instruction == instruction;
}

/* The record of an in-flight instruction, which is added if it is new.  NULL: out of memory. */
static struct held *hold(struct bottleneck *bottleneck, unsigned int instruction)
{
	struct held *held;

	while (!is_held(bottleneck, instruction) && held_slot(bottleneck, instruction)->live) {
		unsigned int size = 2 * bottleneck->held_size;
		struct held *larger = calloc(size, sizeof(*larger));

		if (!larger)
			return NULL;
		for (unsigned int i = 0; i < bottleneck->held_size; i++)
			if (bottleneck->held[i].live)
				larger[bottleneck->held[i].instruction & (size - 1)] =
					bottleneck->held[i];
		free(bottleneck->held);
		bottleneck->held = larger;
		bottleneck->held_size = size;
	}
	held = held_slot(bottleneck, instruction);
	if (!is_held(bottleneck, instruction))
		*held = (struct held){.instruction = instruction, .live = true};
	return held;
}

static void add_pressure(struct mca_view *view, uint64_t mask)
{
	const struct pesa_mca_model *model = view->context->model;
	struct bottleneck *bottleneck = view->state;

	for (; mask; mask &= mask - 1) {
		uint64_t own = mask & -mask;
		unsigned int resource = pesa_mca_model_resource_of(model, __builtin_ctzll(own));
		uint64_t members = pesa_mca_model_resource_mask(model, resource);

		if (members == own) {
			bottleneck->distribution[resource]++;
			continue;
		}
		for (members ^= own; members; members &= members - 1)
			bottleneck->distribution[pesa_mca_model_resource_of(
				model, __builtin_ctzll(members))]++;
	}
}

static struct pesa_error *on_pressure(struct mca_view *view, const struct pesa_mca_event *event)
{
	struct bottleneck *bottleneck = view->state;
	struct held *held;

	switch (event->pressure) {
	case PESA_MCA_PRESSURE_RESOURCES:
		bottleneck->by_resources = true;
		add_pressure(view, event->resources);
		for (unsigned int i = 0; i < event->affected_count; i++) {
			/* llvm-mca uses only the lower half. */
			if (!(uint32_t)(event->affected_resources[i] & event->resources))
				continue;
			held = hold(bottleneck, event->affected[i]);
			if (!held)
				return pesa_error_no_memory();
			held->resource_cycles++;
		}
		break;
	case PESA_MCA_PRESSURE_REGISTERS:
		bottleneck->by_registers = true;
		for (unsigned int i = 0; i < event->affected_count; i++) {
			held = hold(bottleneck, event->affected[i]);
			if (!held)
				return pesa_error_no_memory();
			held->register_cycles++;
		}
		break;
	case PESA_MCA_PRESSURE_MEMORY:
		bottleneck->by_memory = true;
		for (unsigned int i = 0; i < event->affected_count; i++) {
			held = hold(bottleneck, event->affected[i]);
			if (!held)
				return pesa_error_no_memory();
			held->memory_cycles++;
		}
		break;
	}
	return NULL;
}

static void end_cycle(struct bottleneck *bottleneck)
{
	bool by_data = bottleneck->by_registers || bottleneck->by_memory;

	bottleneck->cycles.all++;
	if (!bottleneck->by_resources && !by_data)
		return;
	bottleneck->cycles.held++;
	bottleneck->cycles.by_registers += bottleneck->by_registers;
	bottleneck->cycles.by_memory += bottleneck->by_memory;
	bottleneck->cycles.by_data += by_data;
	bottleneck->cycles.by_resources += bottleneck->by_resources;
	bottleneck->by_resources = bottleneck->by_registers = bottleneck->by_memory = false;
}

/* ---- The graph ------------------------------------------------------------------------------- */

static struct pesa_error *add_edge(struct bottleneck *bottleneck, const struct edge *edge)
{
	struct node *node = &bottleneck->nodes[edge->from];

	for (unsigned int i = 0; i < node->edge_count; i++)
		if (node->edges[i].to == edge->to && node->edges[i].kind == edge->kind &&
		    node->edges[i].what == edge->what) {
			node->edges[i].cost += edge->cost;
			node->edges[i].frequency++;
			return NULL;
		}
	if (node->edge_count == node->edge_size) {
		unsigned int size = node->edge_size ? 2 * node->edge_size : 8;
		struct edge *larger = realloc(node->edges, size * sizeof(*larger));

		if (!larger)
			return pesa_error_no_memory();
		node->edges = larger;
		node->edge_size = size;
	}
	node->edges[node->edge_count++] = *edge;
	bottleneck->nodes[edge->to].predecessors++;
	return NULL;
}

/* Add a dependency between two instructions of the block; a loop-carried one is added twice. */
static struct pesa_error *add_dependency(struct mca_view *view, struct edge edge)
{
	struct bottleneck *bottleneck = view->state;
	unsigned int count = view->context->count, from = edge.from, to = edge.to;
	struct pesa_error *error;

	edge.frequency = 1;
	if (from >= to) {
		edge.to = to + count;
		error = add_edge(bottleneck, &edge);
		if (error)
			return error;
		edge.from = from + count;
		edge.to = to + 2 * count;
	} else {
		edge.from = from + count;
		edge.to = to + count;
	}
	return add_edge(bottleneck, &edge);
}

/* Remove edges observed in a tenth of the iterations or less. */
static void prune(struct bottleneck *bottleneck, unsigned int nodes, unsigned int iterations)
{
	for (unsigned int i = 0; i < nodes; i++) {
		struct node *node = &bottleneck->nodes[i];
		unsigned int end = node->edge_count, pruned = 0;

		for (unsigned int j = 0; j < end; j++) {
			struct edge edge = node->edges[j];

			if (edge.frequency == iterations ||
			    (double)edge.frequency / iterations > 0.10)
				continue;
			/* The edge moved to this place is not checked, as in llvm-mca. */
			bottleneck->nodes[edge.to].predecessors--;
			node->edges[j] = node->edges[end - 1];
			node->edges[end - 1] = edge;
			end--;
			pruned++;
		}
		node->edge_count -= pruned;
	}
}

static struct pesa_error *finish_graph(struct mca_view *view)
{
	struct bottleneck *bottleneck = view->state;
	unsigned int nodes = 3 * view->context->count, count = 0;
	unsigned int *queue = calloc(2 * (size_t)nodes, sizeof(*queue)), *next = queue + nodes;

	if (!queue)
		return pesa_error_no_memory();
	prune(bottleneck, nodes, view->context->iterations);
	for (unsigned int i = 0; i < nodes; i++)
		if (!bottleneck->nodes[i].predecessors && bottleneck->nodes[i].edge_count)
			queue[count++] = i;
	while (count) {
		unsigned int *swap = queue, next_count = 0;

		for (unsigned int i = 0; i < count; i++) {
			const struct node *node = &bottleneck->nodes[queue[i]];

			for (unsigned int j = 0; j < node->edge_count; j++) {
				const struct edge *edge = &node->edges[j];
				struct node *to = &bottleneck->nodes[edge->to];

				if (node->cost + edge->cost > to->cost) {
					to->critical = *edge;
					to->cost = node->cost + edge->cost;
					to->depth = node->depth + 1;
				}
				if (++to->visited == to->predecessors)
					next[next_count++] = edge->to;
			}
		}
		queue = next;
		next = swap;
		count = next_count;
	}
	free(queue < next ? queue : next);
	return NULL;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static struct pesa_error *add_resource_dependencies(struct mca_view *view,
						    const struct pesa_mca_event *event,
						    unsigned int to, unsigned int cycles)
{
	const struct pesa_mca_model *model = view->context->model;
	struct bottleneck *bottleneck = view->state;

	for (uint64_t mask = event->resources; mask; mask &= mask - 1) {
		uint64_t own = mask & -mask;
		unsigned int resource = pesa_mca_model_resource_of(model, __builtin_ctzll(own));
		unsigned int units = pesa_mca_model_resource(model, resource)->units;

		for (unsigned int i = 0; i < units; i++) {
			const struct user *user =
				&bottleneck->users[bottleneck->first_user[resource] + i];
			struct pesa_error *error;

			if (!user->used || !user->cycles || !is_held(bottleneck, user->instruction))
				continue;
			error = add_dependency(
				view, (struct edge){
					      .kind = DEPENDENCY_RESOURCE,
					      .what = own,
					      .cost = user->cycles + cycles,
					      .from = user->instruction % view->context->count,
					      .to = to,
				      });
			if (error)
				return error;
		}
	}
	return NULL;
}

/* Add the dependencies that delayed an instruction. */
static struct pesa_error *
add_dependencies(struct mca_view *view, const struct pesa_mca_event *event, const struct held *held)
{
	const struct mca_view_context *context = view->context;
	unsigned int to = event->instruction % context->count;
	struct pesa_error *error =
		add_resource_dependencies(view, event, to, 2 * held->resource_cycles);

	if (!error && event->critical_register.cycles)
		error = add_dependency(
			view,
			(struct edge){
				.kind = DEPENDENCY_REGISTER,
				.what = event->critical_register.reg,
				.cost = event->critical_register.cycles + 2 * held->register_cycles,
				.from = event->critical_register.instruction % context->count,
				.to = to,
			});
	if (!error && event->critical_memory.cycles)
		error = add_dependency(
			view,
			(struct edge){
				.kind = DEPENDENCY_MEMORY,
				.cost = event->critical_memory.cycles + 2 * held->memory_cycles,
				.from = event->critical_memory.instruction % context->count,
				.to = to,
			});
	return error;
}

static struct pesa_error *on_issued(struct mca_view *view, const struct pesa_mca_event *event)
{
	const struct mca_view_context *context = view->context;
	struct bottleneck *bottleneck = view->state;
	const struct held *held = hold(bottleneck, event->instruction);
	struct pesa_error *error =
		held ? add_dependencies(view, event, held) : pesa_error_no_memory();

	if (error)
		return error;
	for (unsigned int i = 0; i < event->occupations; i++) {
		const struct pesa_mca_occupation *use = &event->occupation[i];

		bottleneck->users[bottleneck->first_user[use->resource] + use->unit] =
			(struct user){event->instruction, use->cycles, true};
	}
	return event->instruction + bottleneck->left_out == context->iterations * context->count - 1
		       ? finish_graph(view)
		       : NULL;
}

static void begin_period(struct mca_view *view)
{
	struct bottleneck *bottleneck = view->state;

	bottleneck->cycles_then = bottleneck->cycles;
	memcpy(bottleneck->distribution_then, bottleneck->distribution,
	       pesa_mca_model_resources(view->context->model) * sizeof(*bottleneck->distribution));
	for (unsigned int i = 0; i < 3 * view->context->count; i++)
		for (unsigned int j = 0; j < bottleneck->nodes[i].edge_count; j++) {
			struct edge *edge = &bottleneck->nodes[i].edges[j];

			edge->cost_then = edge->cost;
			edge->frequency_then = edge->frequency;
		}
}

static void repeat_count(unsigned int *count, unsigned int then, uint64_t times)
{
	*count += times * (*count - then);
}

static void repeat_period(struct mca_view *view, const struct pesa_mca_event *event)
{
	struct bottleneck *bottleneck = view->state;
	struct pressure_counts *now = &bottleneck->cycles, *then = &bottleneck->cycles_then;
	uint64_t times = event->times;

	bottleneck->left_out = event->instruction;
	repeat_count(&now->all, then->all, times);
	repeat_count(&now->held, then->held, times);
	repeat_count(&now->by_resources, then->by_resources, times);
	repeat_count(&now->by_data, then->by_data, times);
	repeat_count(&now->by_registers, then->by_registers, times);
	repeat_count(&now->by_memory, then->by_memory, times);
	for (unsigned int i = 0; i < pesa_mca_model_resources(view->context->model); i++)
		repeat_count(&bottleneck->distribution[i], bottleneck->distribution_then[i], times);
	for (unsigned int i = 0; i < 3 * view->context->count; i++)
		for (unsigned int j = 0; j < bottleneck->nodes[i].edge_count; j++) {
			struct edge *edge = &bottleneck->nodes[i].edges[j];

			edge->cost += times * (edge->cost - edge->cost_then);
			repeat_count(&edge->frequency, edge->frequency_then, times);
		}
}

static struct pesa_error *on_event(void *data, const struct pesa_mca_event *event)
{
	struct mca_view *view = data;
	struct bottleneck *bottleneck = view->state;

	switch (event->kind) {
	case PESA_MCA_DISPATCHED:
		return hold(bottleneck, event->instruction) ? NULL : pesa_error_no_memory();
	case PESA_MCA_EXECUTED:
		if (is_held(bottleneck, event->instruction))
			held_slot(bottleneck, event->instruction)->live = false;
		return NULL;
	case PESA_MCA_ISSUED:
		return on_issued(view, event);
	case PESA_MCA_PRESSURE:
		return on_pressure(view, event);
	case PESA_MCA_STALLED:
		bottleneck->stalled = true;
		return NULL;
	case PESA_MCA_PERIOD_BEGIN:
		begin_period(view);
		return NULL;
	case PESA_MCA_REPEATED:
		repeat_period(view, event);
		return NULL;
	default:
		end_cycle(bottleneck);
		return NULL;
	}
}

/* ---- Printing -------------------------------------------------------------------------------- */

/* The critical sequence, first edge first.  Returns its length; the view owns the edges. */
static unsigned int critical_sequence(const struct mca_view *view, const struct edge ***sequence)
{
	const struct bottleneck *bottleneck = view->state;
	unsigned int nodes = 3 * view->context->count, best = 0, length;

	for (unsigned int i = 1; i < nodes; i++)
		if (bottleneck->nodes[i].cost > bottleneck->nodes[best].cost)
			best = i;
	length = bottleneck->nodes[best].depth;
	*sequence = calloc(length + 1, sizeof(**sequence));
	if (!*sequence)
		return 0;
	for (unsigned int i = length; i-- > 0;) {
		(*sequence)[i] = &bottleneck->nodes[best].critical;
		best = (*sequence)[i]->from;
	}
	return length;
}

static void print_line(struct mca_text *text, const struct mca_view_context *context,
		       const char *prefix, unsigned int index, enum mca_highlight highlight)
{
	mca_print(text, "\n%s%u.", prefix, index);
	mca_pad(text, 14);
	if (highlight != MCA_PLAIN)
		mca_highlight(text, highlight);
	mca_print(text, "%s", context->text[index]);
	if (highlight != MCA_PLAIN)
		mca_highlight(text, MCA_PLAIN);
}

static void print_edge(struct mca_text *text, const struct mca_view_context *context,
		       const struct edge *edge)
{
	const char *what;

	mca_pad(text, 58);
	mca_highlight(text, MCA_BOLD);
	switch (edge->kind) {
	case DEPENDENCY_REGISTER:
		what = pesa_mca_register_name(edge->what);
		mca_put_text(text, "## REGISTER dependency:  ");
		mca_highlight(text, MCA_MAGENTA);
		mca_print(text, "%s", what);
		break;
	case DEPENDENCY_MEMORY:
		mca_put_text(text, "## MEMORY dependency.");
		break;
	default:
		what = pesa_mca_model_resource(
			       context->model,
			       pesa_mca_model_resource_of(context->model,
							  63 - __builtin_clzll(edge->what)))
			       ->name;
		mca_put_text(text, "## RESOURCE interference:  ");
		mca_highlight(text, MCA_MAGENTA);
		mca_print(text, "%s", what);
		mca_highlight(text, MCA_PLAIN);
		mca_highlight(text, MCA_BOLD);
		mca_print(text, " [ probability: %u%% ]",
			  edge->frequency * 100 / context->iterations);
	}
	mca_highlight(text, MCA_PLAIN);
}

static void print_sequence(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;
	const struct edge **sequence;
	unsigned int length = critical_sequence(view, &sequence), current = 0, from, to;

	if (!length) {
		free(sequence);
		return;
	}
	mca_put_text(text, "\nCritical sequence based on the simulation:\n\n");
	from = sequence[0]->from % context->count;
	to = sequence[0]->to % context->count;
	mca_pad(text, 14);
	mca_put_text(text, "Instruction");
	mca_pad(text, 58);
	mca_put_text(text, "Dependency Information");
	if (from >= to) {
		print_line(text, context, " +----< ", from, MCA_CYAN);
		mca_put_text(text, "\n |\n |    < loop carried > \n |");
	} else {
		for (; current < from; current++)
			print_line(text, context, "        ", current, MCA_PLAIN);
		print_line(text, context, " +----< ", current++, MCA_CYAN);
	}
	for (unsigned int i = 0; i < length; i++) {
		unsigned int last;

		to = sequence[i]->to % context->count;
		last = current > to ? context->count : to;
		for (; current < last; current++)
			print_line(text, context, " |      ", current, MCA_PLAIN);
		if (current != to)
			mca_put_text(text, "\n |\n |    < loop carried > \n |");
		print_line(text, context, " +----> ", to, MCA_CYAN);
		print_edge(text, context, sequence[i]);
		current++;
	}
	for (; current < context->count; current++)
		print_line(text, context, "        ", current, MCA_PLAIN);
	mca_put_text(text, "\n");
	free(sequence);
}

static void print(struct mca_view *view, struct mca_text *text)
{
	const struct bottleneck *bottleneck = view->state;

	if (!bottleneck->stalled || !bottleneck->cycles.held) {
		mca_put_text(text, "\n\nNo resource or data dependency bottlenecks discovered.\n");
		return;
	}
	mca_print(text, "\n\nCycles with backend pressure increase [ %.2f%% ]",
		  mca_round((double)bottleneck->cycles.held * 100 / bottleneck->cycles.all, 2));
	mca_print(text, "\nThroughput Bottlenecks: \n  Resource Pressure       [ %.2f%% ]",
		  mca_round((double)bottleneck->cycles.by_resources * 100 / bottleneck->cycles.all,
			    2));
	for (unsigned int i = 0; i < pesa_mca_model_resources(view->context->model); i++)
		if (bottleneck->distribution[i])
			mca_print(text, "\n  - %s  [ %.2f%% ]",
				  pesa_mca_model_resource(view->context->model, i)->name,
				  mca_round((double)bottleneck->distribution[i] * 100 /
						    bottleneck->cycles.all,
					    2));
	mca_print(text, "\n  Data Dependencies:      [ %.2f%% ]",
		  mca_round((double)bottleneck->cycles.by_data * 100 / bottleneck->cycles.all, 2));
	mca_print(text, "\n  - Register Dependencies [ %.2f%% ]",
		  mca_round((double)bottleneck->cycles.by_registers * 100 / bottleneck->cycles.all,
			    2));
	mca_print(
		text, "\n  - Memory Dependencies   [ %.2f%% ]\n",
		mca_round((double)bottleneck->cycles.by_memory * 100 / bottleneck->cycles.all, 2));
	print_sequence(view, text);
}

static struct json_object *json(struct mca_view *view)
{
	const struct bottleneck *bottleneck = view->state;
	struct json_object *object = json_object_new_object(), *list = json_object_new_array(),
			   *entry;
	const struct edge **sequence;
	unsigned int length;

	if (!bottleneck->stalled || !bottleneck->cycles.held) {
		json_object_put(list);
		mca_json_integer(object, "PressureIncreaseCycles", 0);
		return object;
	}
	mca_json_integer(object, "DataDependencyCycles", bottleneck->cycles.by_data);
	length = critical_sequence(view, &sequence);
	for (unsigned int i = 0; i < length; i++) {
		entry = json_object_new_object();
		mca_json_integer(entry, "FromID", sequence[i]->from);
		if (sequence[i]->kind == DEPENDENCY_REGISTER)
			json_object_object_add(
				entry, "Register",
				json_object_new_string(pesa_mca_register_name(sequence[i]->what)));
		else
			mca_json_integer(entry, "ResourceOrRegID", sequence[i]->what);
		mca_json_integer(entry, "ToID", sequence[i]->to);
		mca_json_integer(entry, "Type", sequence[i]->kind);
		json_object_array_add(list, entry);
	}
	free(sequence);
	json_object_object_add(object, "DependencyEdge", list);
	mca_json_integer(object, "MemoryDependencyCycles", bottleneck->cycles.by_memory);
	mca_json_integer(object, "PressureIncreaseCycles", bottleneck->cycles.held);
	mca_json_integer(object, "RegisterDependencyCycles", bottleneck->cycles.by_registers);
	list = json_object_new_array();
	for (unsigned int i = 0; i < pesa_mca_model_resources(view->context->model); i++)
		if (bottleneck->distribution[i]) {
			entry = json_object_new_object();
			mca_json_integer(entry,
					 pesa_mca_model_resource(view->context->model, i)->name,
					 bottleneck->distribution[i]);
			json_object_array_add(list, entry);
		}
	json_object_object_add(object, "ResourcePressure", list);
	mca_json_integer(object, "ResourcePressureCycles", bottleneck->cycles.by_resources);
	mca_json_integer(object, "TotalCycles", bottleneck->cycles.all);
	return object;
}

static void free_state(struct mca_view *view)
{
	struct bottleneck *bottleneck = view->state;

	if (!bottleneck)
		return;
	for (unsigned int i = 0; bottleneck->nodes && i < 3 * view->context->count; i++)
		free(bottleneck->nodes[i].edges);
	free(bottleneck->nodes);
	free(bottleneck->held);
	free(bottleneck->users);
	free(bottleneck->first_user);
	free(bottleneck->distribution);
	free(bottleneck->distribution_then);
	free(bottleneck);
}

struct pesa_error *mca_view_bottleneck(struct mca_view *view,
				       const struct mca_view_context *context)
{
	unsigned int resources = pesa_mca_model_resources(context->model), units = 0;
	struct bottleneck *bottleneck = calloc(1, sizeof(*bottleneck));

	*view = (struct mca_view){
		.context = context,
		.listener = {on_event, view,
			     1u << PESA_MCA_DISPATCHED | 1u << PESA_MCA_EXECUTED |
				     1u << PESA_MCA_ISSUED | 1u << PESA_MCA_PRESSURE |
				     1u << PESA_MCA_STALLED | 1u << PESA_MCA_CYCLE_END |
				     MCA_VIEW_REPEATS},
		.name = "BottleneckAnalysis",
		.print = print,
		.json = json,
		.free = free_state,
		.state = bottleneck,
	};
	if (!bottleneck)
		return pesa_error_no_memory();
	bottleneck->held_size = 1024;
	bottleneck->held = calloc(bottleneck->held_size, sizeof(*bottleneck->held));
	bottleneck->nodes = calloc(3 * (size_t)context->count, sizeof(*bottleneck->nodes));
	bottleneck->first_user = calloc(resources + 1, sizeof(*bottleneck->first_user));
	bottleneck->distribution = calloc(resources + 1, sizeof(*bottleneck->distribution));
	bottleneck->distribution_then =
		calloc(resources + 1, sizeof(*bottleneck->distribution_then));
	if (!bottleneck->held || !bottleneck->nodes || !bottleneck->first_user ||
	    !bottleneck->distribution || !bottleneck->distribution_then)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < resources; i++) {
		bottleneck->first_user[i] = units;
		units += pesa_mca_model_resource(context->model, i)->units;
	}
	bottleneck->users = calloc(units + 1, sizeof(*bottleneck->users));
	return bottleneck->users ? NULL : pesa_error_no_memory();
}
