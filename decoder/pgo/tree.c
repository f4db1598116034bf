/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/pseudo_probe.h"
#include "decoder/pgo/tree.h"
#include "decoder/profile/edges.h"

/* Most nested inlined calls; no compiler nests them deeper. */
#define FRAMES_MAX 64

bool pgo_is_wanted(const struct pesa_profile *profile, uint32_t wanted, uint32_t dso)
{
	const struct pesa_dso *what = pesa_profile_dso(profile, dso);

	if (wanted == PESA_PGO_ANY_DSO)
		return what->kind == PESA_DSO_FILE;
	return wanted == dso || !strcmp(pesa_profile_dso(profile, wanted)->path, what->path);
}

/* ---- Discriminators -------------------------------------------------------------------------- */

/*
 * LLVM packs up to three numbers into a discriminator (llvm/IR/DebugInfoMetadata.h): the base one,
 * the number of copies, and that of the copy.  Each is a 1 bit for zero; or a 0 bit and 5 bits, the
 * number itself if bit 6 is clear, else its low 5 bits before bit 6 and 7 more behind it.
 */
static uint32_t first_number(uint32_t packed)
{
	if (packed & 1)
		return 0;
	packed >>= 1;
	return packed & 0x20 ? (packed >> 1 & 0xfe0) | (packed & 0x1f) : packed & 0x1f;
}

static uint32_t next_numbers(uint32_t packed)
{
	if (packed & 1)
		return packed >> 1;
	return packed >> (packed & 0x40 ? 14 : 7);
}

static uint32_t copies(uint32_t discriminator)
{
	uint32_t count = first_number(next_numbers(discriminator));

	return count ? count : 1;
}

/* ---- Building -------------------------------------------------------------------------------- */

/* A line while it is collected: the most of each copy of its function is added up. */
struct collected_line {
	struct pgo_line line;
	uint64_t copy; /* where the function begins that `most` is of */
	double most;
};

struct building {
	const struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	const struct pesa_control_flow *flow;
	bool gcc;
	struct pgo_tree *tree;
	struct pesa_pgo_summary *summary;
	double period;	     /* executions that one sample stands for; 0: that is no matter */
	double *from_inside; /* by block: executions of edges from its own function */
	uint64_t copy;	     /* begin of the present function */
	struct pseudo_probes *probed; /* by dso; NULL: none has probes, or they are not wanted */
};

static struct pgo_place place_of(const struct building *building,
				 const struct pesa_source_frame *frame)
{
	return (struct pgo_place){
		.offset = (frame->line - frame->begins) & 0xffff,
		.discriminator =
			building->gcc ? frame->discriminator : first_number(frame->discriminator),
	};
}

static struct pesa_error *function_of(struct building *building, uint32_t parent, const char *name,
				      struct pgo_place place, uint32_t *function)
{
	struct pgo_function key = {.parent = parent, .place = place};

	key.name = distinct_text_get(&building->tree->texts, name ? name : "?");
	if (key.name == DISTINCT_NONE)
		return pesa_error_no_memory();
	*function = distinct_records_get(&building->tree->functions, &key);
	return *function == DISTINCT_NONE ? pesa_error_no_memory() : NULL;
}

/*
 * Whether a function is a part of the one around it: GCC divides functions, and where it then
 * inlines a part into the rest, the debug information has the function inlined into itself, on the
 * line on which it is declared.
 */
static bool is_part(const struct pesa_source_frame *inner, const struct pesa_source_frame *outer)
{
	return inner->function && outer->function && !strcmp(inner->function, outer->function) &&
	       inner->begins == outer->begins && outer->line == outer->begins;
}

/* The function of an inlined chain: frames[0] is the innermost one. */
static struct pesa_error *function_of_chain(struct building *building,
					    const struct pesa_source_frame *frames, size_t count,
					    uint32_t *function)
{
	struct pesa_error *error = function_of(building, PGO_NONE, frames[count - 1].function,
					       (struct pgo_place){0}, function);

	for (size_t i = count - 1; i > 0 && !error; i--) {
		struct pgo_place place = place_of(building, &frames[i]);

		if (is_part(&frames[i - 1], &frames[i]))
			continue;
		if (building->gcc)
			place.discriminator = 0; /* GCC tells calls of a line apart by name only */
		error = function_of(building, *function, frames[i - 1].function, place, function);
	}
	return error;
}

static struct pesa_error *add_line(struct building *building, uint32_t function,
				   struct pgo_place place, double executions)
{
	struct pgo_line key = {.function = function, .place = place};
	uint32_t number = distinct_records_get(&building->tree->lines, &key);
	struct collected_line *line;

	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	line = distinct_records_at(&building->tree->lines, number);
	if (line->copy != building->copy) {
		line->line.executions += line->most;
		line->most = 0;
		line->copy = building->copy;
	}
	if (executions > line->most)
		line->most = executions;
	return NULL;
}

static struct pesa_error *add_call(struct building *building, uint32_t function,
				   struct pgo_place place, uint32_t dso, uint64_t address,
				   double executions)
{
	struct pgo_call key = {.function = function, .place = place};
	struct pesa_source_frame frames[FRAMES_MAX];
	const struct pesa_symbol *symbol = NULL;
	struct pesa_error *error;
	const char *name = NULL;
	size_t count = 0, length;
	char plain[1024];
	uint32_t number;

	/* Probes have the names of symbols. */
	error = building->tree->probed ? NULL
				       : pesa_symbols_source_frames(building->symbols, dso, address,
								    frames, FRAMES_MAX, &count);
	if (!error && count)
		name = frames[count - 1].function;
	if (!error && !name) {
		error = pesa_symbols_find(building->symbols, dso, address, &symbol);
		name = !error && symbol ? symbol->linkage_name : NULL;
	}
	if (error || !name || !(executions >= 0.5))
		return error; /* a count of 0 */
	/* What an entry of the linkage table calls is the function. */
	length = strlen(name);
	if (length > 4 && length < sizeof(plain) && !strcmp(name + length - 4, "@plt")) {
		memcpy(plain, name, length - 4);
		plain[length - 4] = 0;
		name = plain;
	}
	key.name = distinct_text_get(&building->tree->texts, name);
	if (key.name == DISTINCT_NONE)
		return pesa_error_no_memory();
	number = distinct_records_get(&building->tree->calls, &key);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	((struct pgo_call *)distinct_records_at(&building->tree->calls, number))->executions +=
		executions;
	return NULL;
}

/* What the last instruction of a block calls, at its line. */
static struct pesa_error *add_calls(struct building *building, uint32_t number, uint32_t function,
				    struct pgo_place place)
{
	const struct pesa_control_flow_block *block =
		pesa_control_flow_block_at(building->flow, number);
	const struct pesa_instruction *measured =
		pesa_profile_find(building->profile, block->dso, block->last);
	struct pesa_error *error = NULL;
	double sum = profile_edges_count(measured);

	if (block->callee)
		return add_call(building, function, place, block->dso, block->callee,
				block->executions);
	if (!block->calls || !measured)
		return NULL;
	for (unsigned int i = 0; i < measured->edges && !error; i++)
		error = add_call(building, function, place, measured->edge[i].target_dso,
				 measured->edge[i].target,
				 block->executions * (double)measured->edge[i].count / sum);
	return error;
}

static void add_executed(const struct building *building, uint32_t function, double executions)
{
	((struct pgo_function *)distinct_records_at(&building->tree->functions, function))
		->instructions += executions;
}

static struct pesa_error *add_instruction(struct building *building, uint32_t number, uint32_t i,
					  bool *mapped)
{
	const struct pesa_control_flow_block *block =
		pesa_control_flow_block_at(building->flow, number);
	uint64_t address = pesa_control_flow_address(building->flow, number, i);
	struct pesa_source_frame frames[FRAMES_MAX];
	struct pesa_error *error;
	uint32_t function;
	size_t count;
	double times;

	error = pesa_symbols_source_frames(building->symbols, block->dso, address, frames,
					   FRAMES_MAX, &count);
	*mapped = !error && count;
	if (!*mapped)
		return error;
	error = function_of_chain(building, frames, count, &function);
	if (error)
		return error;
	add_executed(building, function, block->executions);
	times = building->gcc ? 1 : copies(frames[0].discriminator);
	error = add_line(building, function, place_of(building, &frames[0]),
			 block->executions * times);
	if (!error && i == block->instructions - 1)
		error = add_calls(building, number, function, place_of(building, &frames[0]));
	if (!error && block->start == building->copy && !i) {
		const struct pgo_place none = {0};
		double entered = block->executions - building->from_inside[number];

		error = function_of(building, PGO_NONE, frames[count - 1].function, none,
				    &function);
		if (!error && entered > 0)
			((struct pgo_function *)distinct_records_at(&building->tree->functions,
								    function))
				->entered += entered;
	}
	return error;
}

static struct pesa_error *add_block(struct building *building, uint32_t number, bool *mapped)
{
	const struct pesa_control_flow_block *block =
		pesa_control_flow_block_at(building->flow, number);
	const struct pesa_symbol *symbol;
	struct pesa_error *error =
		pesa_symbols_find(building->symbols, block->dso, block->start, &symbol);

	bool any = false;

	building->copy = !error && symbol ? symbol->start : block->start;
	for (uint32_t i = 0; i < block->instructions && !error; i++) {
		bool one;

		error = add_instruction(building, number, i, &one);
		any |= one;
	}
	/* One line of a block says how often the others were executed. */
	building->summary->executions += block->executions * block->instructions;
	if (!any)
		building->summary->no_line += block->executions * block->instructions;
	*mapped |= any;
	return error;
}

/* ---- Probes ---------------------------------------------------------------------------------- */

/* The function of a body; *known is false if it, or one around it, has no description. */
static struct pesa_error *function_of_body(struct building *building,
					   const struct pseudo_probes *probes, uint32_t number,
					   uint32_t *function, bool *known)
{
	uint32_t chain[FRAMES_MAX + 1], depth = 0;
	struct pesa_error *error = NULL;

	*known = true;
	*function = PGO_NONE;
	for (; number != PSEUDO_PROBE_NONE && depth <= FRAMES_MAX;
	     number = probes->body[number].parent) {
		chain[depth++] = number;
		*known &= probes->body[number].function != PSEUDO_PROBE_NONE;
	}
	while (*known && depth-- && !error) {
		const struct pseudo_probe_body *body = &probes->body[chain[depth]];
		const struct pseudo_probe_function *what = &probes->function[body->function];

		error = function_of(building, *function, what->name,
				    (struct pgo_place){.offset = body->call}, function);
		if (!error)
			((struct pgo_function *)distinct_records_at(&building->tree->functions,
								    *function))
				->checksum = what->checksum;
	}
	return error;
}

/* `instructions`: how many of the block are the probe's share. */
static struct pesa_error *add_probe(struct building *building, uint32_t block,
				    const struct pseudo_probes *probes,
				    const struct pseudo_probe *probe, double instructions,
				    bool calls)
{
	const double executions = pesa_control_flow_block_at(building->flow, block)->executions;
	struct pgo_line key = {.place = {.offset = probe->number}};
	struct pesa_error *error;
	uint32_t number;
	bool known;

	error = function_of_body(building, probes, probe->body, &key.function, &known);
	if (error || !known)
		return error;
	add_executed(building, key.function, executions * instructions);
	number = distinct_records_get(&building->tree->lines, &key);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	((struct pgo_line *)distinct_records_at(&building->tree->lines, number))->executions +=
		executions;
	return calls ? add_calls(building, block, key.function, key.place) : NULL;
}

/* How often the function of a block is entered there. */
static struct pesa_error *add_entered(struct building *building, uint32_t number,
				      const struct pseudo_probes *probes, uint32_t body)
{
	double entered = pesa_control_flow_block_at(building->flow, number)->executions -
			 building->from_inside[number];
	struct pesa_error *error;
	uint32_t function;
	bool known;

	while (probes->body[body].parent != PSEUDO_PROBE_NONE)
		body = probes->body[body].parent;
	error = function_of_body(building, probes, body, &function, &known);
	if (!error && known && entered > 0)
		((struct pgo_function *)distinct_records_at(&building->tree->functions, function))
			->entered += entered;
	return error;
}

/* Whether a function has probes at all: some of its blocks may have none. */
static bool has_probes(const struct pseudo_probes *probes, const struct pesa_symbol *symbol)
{
	size_t first = symbol ? pseudo_probes_from(probes, symbol->start) : probes->count;

	return first < probes->count && probes->probe[first].address < symbol->start + symbol->size;
}

/* The probes of a block.  The last one on a call is that of the call at its end. */
static struct pesa_error *add_probed_block(struct building *building, uint32_t number, bool *mapped)
{
	const struct pesa_control_flow_block *block =
		pesa_control_flow_block_at(building->flow, number);
	const struct pseudo_probes *probes = &building->probed[block->dso];
	size_t first = pseudo_probes_from(probes, block->start), end = first, call = SIZE_MAX;
	const struct pesa_symbol *symbol;
	struct pesa_error *error =
		pesa_symbols_find(building->symbols, block->dso, block->start, &symbol);

	for (; end < probes->count && probes->probe[end].address < block->end; end++)
		if (probes->probe[end].call && block->calls)
			call = end;
	for (size_t i = first; i < end && !error; i++)
		error = add_probe(building, number, probes, &probes->probe[i],
				  block->instructions / (double)(end - first), i == call);
	if (!error && first < end && symbol && symbol->start == block->start)
		error = add_entered(building, number, probes, probes->probe[first].body);
	building->summary->executions += block->executions * block->instructions;
	if (!error && !has_probes(probes, symbol))
		building->summary->no_line += block->executions * block->instructions;
	*mapped |= first < end;
	return error;
}

/* Where locate() looks. */
struct binary {
	struct pesa_symbols *symbols;
	uint32_t dso;
};

static struct pesa_error *locate(void *context, const char *name, uint64_t *address, bool *found)
{
	const struct binary *binary = context;
	const struct pesa_symbol *symbol;
	struct pesa_error *error;
	size_t count = 0;

	error = pesa_symbols_by_name(binary->symbols, binary->dso, name, &symbol, 1, &count);
	*found = !error && count;
	if (*found)
		*address = symbol->start;
	return error;
}

/* Open the probes of the binaries that are wanted. */
static struct pesa_error *open_probes(struct building *building, uint32_t dso)
{
	unsigned int count = pesa_profile_dso_count(building->profile);
	struct pesa_error *error = NULL;

	building->probed = calloc((size_t)count + 1, sizeof(*building->probed));
	if (!building->probed)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < count && !error; i++) {
		const struct pesa_dso *what = pesa_profile_dso(building->profile, i);
		struct binary binary = {.symbols = building->symbols, .dso = i};

		if (!what->file || !pgo_is_wanted(building->profile, dso, i))
			continue;
		error = pseudo_probes_open(what->file, locate, &binary, &building->probed[i]);
		/* A file that cannot be read any more is one without probes. */
		if (error && error->code != PESA_ERROR_NO_MEMORY) {
			pesa_error_free(error);
			error = NULL;
		}
		building->tree->probed |= building->probed[i].count > 0;
		building->summary->lost_probes += building->probed[i].lost;
		building->summary->damaged_probes += building->probed[i].damaged;
	}
	return error;
}

/* ---- All blocks ------------------------------------------------------------------------------ */

/* Executions that come to the first block of a function from within it. */
static struct pesa_error *find_from_inside(struct building *building)
{
	uint32_t blocks = pesa_control_flow_block_count(building->flow);

	building->from_inside = calloc((size_t)blocks + 1, sizeof(*building->from_inside));
	if (!building->from_inside)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < blocks; i++) {
		const struct pesa_control_flow_block *block =
			pesa_control_flow_block_at(building->flow, i);
		const struct pesa_symbol *symbol;
		struct pesa_error *error =
			pesa_symbols_find(building->symbols, block->dso, block->start, &symbol);

		if (error)
			return error;
		for (uint32_t j = 0; j < block->edges; j++) {
			const struct pesa_control_flow_edge *edge =
				pesa_control_flow_edge_at(building->flow, block->first_edge + j);
			const struct pesa_control_flow_block *to =
				pesa_control_flow_block_at(building->flow, edge->to);

			if (symbol && to->dso == block->dso && to->start == symbol->start)
				building->from_inside[edge->to] += edge->executions;
		}
	}
	return NULL;
}

/* Add all blocks of a binary, which are one after another. */
static struct pesa_error *add_binary(struct building *building, uint32_t begin, uint32_t end)
{
	double before = building->summary->no_line;
	struct pesa_error *error = NULL;
	bool mapped = false;

	for (uint32_t i = begin; i < end && !error; i++)
		error = (building->tree->probed ? add_probed_block : add_block)(building, i,
										&mapped);
	if (!error && !mapped) {
		building->summary->no_debug += building->summary->no_line - before;
		building->summary->no_line = before;
	}
	return error;
}

static struct pesa_error *add_all(struct building *building, uint32_t dso)
{
	uint32_t blocks = pesa_control_flow_block_count(building->flow), end;
	struct pesa_error *error = find_from_inside(building);

	for (uint32_t begin = 0; begin < blocks && !error; begin = end) {
		uint32_t here = pesa_control_flow_block_at(building->flow, begin)->dso;

		for (end = begin;
		     end < blocks && pesa_control_flow_block_at(building->flow, end)->dso == here;)
			end++;
		if (pgo_is_wanted(building->profile, dso, here))
			error = add_binary(building, begin, end);
	}
	return error;
}

/* ---- Sums and order -------------------------------------------------------------------------- */

/* Functions were added after their parents. */
static void add_up_executed(const struct building *building)
{
	const struct pgo_tree *tree = building->tree;

	for (uint32_t i = tree->functions.index.count; i-- > 0;) {
		const struct pgo_function *function = pgo_function_at(tree, i);

		if (function->parent != PGO_NONE)
			add_executed(building, function->parent, function->instructions);
	}
}

/* Give the lines of a function that was hardly sampled half a sample at least. */
static void add_half(const struct building *building, struct pgo_function *function,
		     struct pgo_line *line)
{
	const double half = building->period / 2;

	if (function->parent != PGO_NONE || function->instructions >= building->period ||
	    line->executions >= half)
		return;
	line->executions = half;
	function->entered = half;
}

static void add_up(const struct building *building)
{
	struct pgo_tree *tree = building->tree;

	add_up_executed(building);
	for (uint32_t i = 0; i < tree->lines.index.count; i++) {
		struct collected_line *line = distinct_records_at(&tree->lines, i);
		struct pgo_function *function =
			distinct_records_at(&tree->functions, line->line.function);

		line->line.executions += line->most;
		line->most = 0;
		add_half(building, function, &line->line);
		function->total += line->line.executions;
	}
	for (uint32_t i = tree->functions.index.count; i-- > 0;) {
		const struct pgo_function *function = pgo_function_at(tree, i);

		if (function->parent != PGO_NONE)
			((struct pgo_function *)distinct_records_at(&tree->functions,
								    function->parent))
				->total += function->total;
	}
}

static int compare(uint64_t left, uint64_t right)
{
	return left < right ? -1 : left > right;
}

static int by_place(const struct pgo_place *left, const struct pgo_place *right)
{
	int order = compare(left->offset, right->offset);

	return order ? order : compare(left->discriminator, right->discriminator);
}

/* Roots are the last ones, and most executions first among them. */
static int by_parent(const void *left, const void *right, void *context)
{
	const struct pgo_tree *tree = context;
	const struct pgo_function *a = pgo_function_at(tree, *(const uint32_t *)left);
	const struct pgo_function *b = pgo_function_at(tree, *(const uint32_t *)right);
	int order = compare(a->parent, b->parent);

	if (!order && a->parent == PGO_NONE && a->total != b->total)
		return a->total > b->total ? -1 : 1;
	order = order ? order : by_place(&a->place, &b->place);
	return order ? order
		     : strcmp(distinct_text_at(&tree->texts, a->name),
			      distinct_text_at(&tree->texts, b->name));
}

static int by_line(const void *left, const void *right, void *context)
{
	const struct pgo_tree *tree = context;
	const struct pgo_line *a = pgo_line_at(tree, *(const uint32_t *)left);
	const struct pgo_line *b = pgo_line_at(tree, *(const uint32_t *)right);
	int order = compare(a->function, b->function);

	return order ? order : by_place(&a->place, &b->place);
}

static int by_call(const void *left, const void *right, void *context)
{
	const struct pgo_tree *tree = context;
	const struct pgo_call *a = pgo_call_at(tree, *(const uint32_t *)left);
	const struct pgo_call *b = pgo_call_at(tree, *(const uint32_t *)right);
	int order = compare(a->function, b->function);

	order = order ? order : by_place(&a->place, &b->place);
	if (!order && a->executions != b->executions)
		return a->executions > b->executions ? -1 : 1;
	return order ? order
		     : strcmp(distinct_text_at(&tree->texts, a->name),
			      distinct_text_at(&tree->texts, b->name));
}

static uint32_t *in_order(struct pgo_tree *tree, uint32_t count,
			  int (*order)(const void *, const void *, void *))
{
	uint32_t *number = malloc(((size_t)count + 1) * sizeof(*number));

	for (uint32_t i = 0; number && i < count; i++)
		number[i] = i;
	if (number)
		qsort_r(number, count, sizeof(*number), order, tree);
	return number;
}

static struct pesa_error *finish(struct building *building)
{
	struct pgo_tree *tree = building->tree;

	add_up(building);
	tree->function = in_order(tree, tree->functions.index.count, by_parent);
	tree->line = in_order(tree, tree->lines.index.count, by_line);
	tree->call = in_order(tree, tree->calls.index.count, by_call);
	return tree->function && tree->line && tree->call ? NULL : pesa_error_no_memory();
}

struct pesa_error *pgo_tree_create(const struct pesa_profile *profile, struct pesa_symbols *symbols,
				   const struct pesa_control_flow *flow, uint32_t dso, bool gcc,
				   struct pgo_tree *tree, struct pesa_pgo_summary *summary)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(profile);
	struct building building = {
		.profile = profile,
		.period = gcc || totals->exact ? 0 : totals->period,
		.symbols = symbols,
		.flow = flow,
		.gcc = gcc,
		.tree = tree,
		.summary = summary,
	};
	struct pesa_error *error;

	*tree = (struct pgo_tree){0};
	distinct_records_begin(&tree->functions, sizeof(struct pgo_function),
			       offsetof(struct pgo_function, entered));
	distinct_records_begin(&tree->lines, sizeof(struct collected_line),
			       offsetof(struct pgo_line, place) + sizeof(struct pgo_place));
	distinct_records_begin(&tree->calls, sizeof(struct pgo_call),
			       offsetof(struct pgo_call, executions));
	error = gcc ? NULL : open_probes(&building, dso);
	if (!error)
		error = add_all(&building, dso);
	summary->probed = tree->probed;
	free(building.from_inside);
	for (uint32_t i = 0; building.probed && i < pesa_profile_dso_count(profile); i++)
		pseudo_probes_free(&building.probed[i]);
	free(building.probed);
	if (!error)
		error = finish(&building);
	if (error)
		pgo_tree_free(tree);
	return error;
}

void pgo_tree_free(struct pgo_tree *tree)
{
	distinct_bytes_free(&tree->texts);
	distinct_records_free(&tree->functions);
	distinct_records_free(&tree->lines);
	distinct_records_free(&tree->calls);
	free(tree->function);
	free(tree->line);
	free(tree->call);
	*tree = (struct pgo_tree){0};
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

/* The first position whose item is not before what is searched for. */
static uint32_t first_position(const struct pgo_tree *tree, const uint32_t *number, uint32_t count,
			       int (*order)(const struct pgo_tree *, uint32_t, const void *),
			       const void *key, bool behind)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int here = order(tree, number[middle], key);

		if (here < 0 || (behind && !here))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct pgo_range range_of(const struct pgo_tree *tree, const uint32_t *number,
				 uint32_t count,
				 int (*order)(const struct pgo_tree *, uint32_t, const void *),
				 const void *key)
{
	return (struct pgo_range){
		.begin = first_position(tree, number, count, order, key, false),
		.end = first_position(tree, number, count, order, key, true),
	};
}

static int parent_against(const struct pgo_tree *tree, uint32_t number, const void *key)
{
	return compare(pgo_function_at(tree, number)->parent, *(const uint32_t *)key);
}

static int line_against(const struct pgo_tree *tree, uint32_t number, const void *key)
{
	return compare(pgo_line_at(tree, number)->function, *(const uint32_t *)key);
}

static int call_against(const struct pgo_tree *tree, uint32_t number, const void *key)
{
	const struct pgo_call *call = pgo_call_at(tree, number), *wanted = key;
	int order = compare(call->function, wanted->function);

	return order ? order : by_place(&call->place, &wanted->place);
}

struct pgo_range pgo_children(const struct pgo_tree *tree, uint32_t function)
{
	return range_of(tree, tree->function, tree->functions.index.count, parent_against,
			&function);
}

struct pgo_range pgo_lines(const struct pgo_tree *tree, uint32_t function)
{
	return range_of(tree, tree->line, tree->lines.index.count, line_against, &function);
}

struct pgo_range pgo_calls(const struct pgo_tree *tree, uint32_t function,
			   const struct pgo_place *place)
{
	const struct pgo_call key = {.function = function, .place = *place};

	return range_of(tree, tree->call, tree->calls.index.count, call_against, &key);
}
