/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "decoder/advise/inside.h"

#define LEAST_DEFAULT 0.005 /* of all cycles */
#define GAINS	      40    /* loads and branches that are tried on the model */

const char *pesa_advice_kind_name(enum pesa_advice_kind kind)
{
	static const char *const names[PESA_ADVICE_KINDS] = {
		[PESA_ADVICE_PREFETCH] = "prefetch", [PESA_ADVICE_INLINE] = "inline",
		[PESA_ADVICE_LAYOUT] = "layout",     [PESA_ADVICE_PREDICT] = "predict",
		[PESA_ADVICE_UNROLL] = "unroll",     [PESA_ADVICE_SPILL] = "spill",
	};

	return names[kind];
}

const char *pesa_advice_address_name(enum pesa_advice_address address)
{
	static const char *const names[PESA_ADVICE_ADDRESSES] = {
		[PESA_ADVICE_STRIDE] = "stride",     [PESA_ADVICE_REGULAR] = "regular",
		[PESA_ADVICE_CHASED] = "chased",     [PESA_ADVICE_INDEXED] = "indexed",
		[PESA_ADVICE_COMPUTED] = "computed", [PESA_ADVICE_NO_LOOP] = "no loop",
		[PESA_ADVICE_UNKNOWN] = "unknown",
	};

	return names[address];
}

void pesa_advice_options_default(struct pesa_advice_options *options)
{
	*options = (struct pesa_advice_options){
		.kinds = (1u << PESA_ADVICE_KINDS) - 1, .least = LEAST_DEFAULT, .confidence = 0.95};
}

static int more_first(const void *left, const void *right)
{
	const struct pesa_advice_remark *a = left, *b = right;

	if (a->saved.value != b->saved.value)
		return a->saved.value > b->saved.value ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->place.address < b->place.address ? -1 : a->place.address > b->place.address;
}

static struct pesa_error *find_all(struct pesa_advice *advice, const struct pesa_control_flow *flow)
{
	static struct pesa_error *(*const finders[])(struct pesa_advice *) = {
		advise_loads, advise_calls, advise_branches, advise_unroll, advise_spills};
	struct pesa_error *error =
		advise_code_create(advice->profile, advice->symbols, flow, &advice->code);

	if (!error && advice->why)
		error = pesa_why_estimate_gains(advice->why,
						1u << PESA_WHY_HIT | 1u << PESA_WHY_PREDICT, GAINS);
	for (size_t i = 0; i < sizeof(finders) / sizeof(*finders) && !error; i++)
		error = finders[i](advice);
	if (!error && advice->count)
		qsort(advice->remark, advice->count, sizeof(*advice->remark), more_first);
	return error;
}

struct pesa_error *pesa_advice_create(const struct pesa_profile *profile,
				      struct pesa_symbols *symbols,
				      const struct pesa_control_flow *flow, struct pesa_why *why,
				      const struct pesa_advice_options *options,
				      struct pesa_advice **result)
{
	struct pesa_advice *advice;
	struct pesa_error *error;

	if (pesa_control_flow_is_plain(flow))
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"its samples have only a PC: what instructions waited for, "
			"and where branches went, they do not tell");
	advice = calloc(1, sizeof(*advice));
	if (!advice)
		return pesa_error_no_memory();
	advice->profile = profile;
	advice->symbols = symbols;
	advice->why = why;
	advice->options = *options;
	advice->least = options->least * (double)pesa_profile_totals(profile)->weight / PESA_CYCLE;
	error = find_all(advice, flow);
	if (error) {
		pesa_advice_free(advice);
		return error;
	}
	*result = advice;
	return NULL;
}

void pesa_advice_free(struct pesa_advice *advice)
{
	if (!advice)
		return;
	advise_code_free(&advice->code);
	free(advice->remark);
	free(advice);
}

size_t pesa_advice_count(const struct pesa_advice *advice)
{
	return advice->count;
}

const struct pesa_advice_remark *pesa_advice_remark(const struct pesa_advice *advice, size_t index)
{
	return &advice->remark[index];
}
