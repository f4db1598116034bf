/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of external stimuli and of changes of the model, see stimuli.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mca/stimuli.h"
#include "tools/ui/safe_output.h"

static int bad_value(const char *name, const char *value, const char *expected)
{
	safe_output_message("pesa mca: -%s=%s: expected %s", name, value, expected);
	return 2;
}

static int parse_count(const char *name, const char *value, unsigned long minimum,
		       unsigned int *number)
{
	unsigned long result;
	char expected[80], *end;

	errno = 0;
	result = strtoul(value, &end, 10);
	if (errno || *end || end == value || *value == '-' || result < minimum ||
	    result > PESA_MCA_LATENCY_MAX) {
		snprintf(expected, sizeof(expected), "a number from %lu to %d", minimum,
			 PESA_MCA_LATENCY_MAX);
		return bad_value(name, value, expected);
	}
	*number = result;
	return 0;
}

/* Parse a share, "0.05" or "5%"; *end is set after it. */
static bool parse_share(const char *text, char **end, double *share)
{
	*share = strtod(text, end);
	if (*end == text)
		return false;
	if (**end == '%') {
		*share /= 100;
		++*end;
	}
	return *share >= 0 && *share <= 1;
}

static int parse_rate(struct mca_stimuli_options *options, const char *name, const char *value)
{
	char *end;

	if (!parse_share(value, &end, &options->stimuli.mispredict_rate) || *end)
		return bad_value(name, value, "a share from 0 to 1, or a percentage such as 5%");
	options->has_rate = true;
	return 0;
}

/* Parse "CYCLES" or "CYCLES:SHARE,...". */
static int parse_latencies(struct mca_stimuli_options *options, const char *name, const char *value)
{
	static const char expected[] =
		"CYCLES, or CYCLES:SHARE,CYCLES:SHARE,... with cycles from 1 to 32767 and shares "
		"that add up to 1";
	struct pesa_mca_stimuli *stimuli = &options->stimuli;
	const char *rest = value;
	double sum = 0;

	stimuli->load_latencies = 0;
	stimuli->load_latency = options->latency;
	do {
		struct pesa_mca_load_latency *latency = &options->latency[stimuli->load_latencies];
		char *end;
		unsigned long cycles = strtoul(rest, &end, 10);

		if (stimuli->load_latencies == MCA_LATENCIES_MAX)
			return bad_value(name, value, "fewer latencies");
		if (end == rest || *rest < '0' || *rest > '9' || !cycles ||
		    cycles > PESA_MCA_LATENCY_MAX)
			return bad_value(name, value, expected);
		latency->cycles = cycles;
		latency->share = 1;
		if (*end == ':' && !parse_share(end + 1, &end, &latency->share))
			return bad_value(name, value, expected);
		if (*end && *end != ',')
			return bad_value(name, value, expected);
		sum += latency->share;
		stimuli->load_latencies++;
		rest = *end ? end + 1 : NULL;
	} while (rest);
	if (sum < 0.999999 || sum > 1.000001)
		return bad_value(name, value, expected);
	return 0;
}

static int add_change(const char *list[MCA_CHANGES_MAX], unsigned int *count, const char *name,
		      const char *value)
{
	if (*count == MCA_CHANGES_MAX)
		return bad_value(name, value, "fewer changes");
	list[(*count)++] = value;
	return 0;
}

int mca_stimuli_option(struct mca_stimuli_options *options, const char *name, const char *value)
{
	struct pesa_mca_stimuli *stimuli = &options->stimuli;

	if (!strcmp(name, "set"))
		return add_change(options->set, &options->sets, name, value);
	if (!strcmp(name, "what-if"))
		return add_change(options->what_if, &options->what_ifs, name, value);
	options->any = true;
	if (!strcmp(name, "mispredict-rate"))
		return parse_rate(options, name, value);
	if (!strcmp(name, "load-latency"))
		return parse_latencies(options, name, value);
	if (!strcmp(name, "fetch-width"))
		return parse_count(name, value, 1, &stimuli->fetch_width);
	if (!strcmp(name, "taken-branches"))
		return parse_count(name, value, 1, &stimuli->taken_branches);
	if (!strcmp(name, "fetch-buffer"))
		return parse_count(name, value, 1, &stimuli->fetch_buffer);
	options->has_penalty = true; /* mispredict-penalty */
	return parse_count(name, value, 0, &stimuli->mispredict_penalty);
}

struct pesa_error *mca_stimuli_change(const struct mca_stimuli_options *options,
				      struct pesa_mca_model *model, bool what_if)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < options->sets && !error; i++)
		error = pesa_mca_model_change(model, options->set[i], NULL);
	for (unsigned int i = 0; what_if && i < options->what_ifs && !error; i++)
		error = pesa_mca_model_change(model, options->what_if[i], NULL);
	return error;
}

struct pesa_error *mca_stimuli_resolve(struct mca_stimuli_options *options,
				       const struct pesa_mca_model *model,
				       const struct pesa_mca_stimuli **stimuli)
{
	*stimuli = options->any ? &options->stimuli : NULL;
	if (options->has_penalty && !options->has_rate)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "--mispredict-penalty has no effect without "
					 "--mispredict-rate");
	if (options->has_rate && !options->has_penalty) {
		options->stimuli.mispredict_penalty = pesa_mca_model_mispredict_penalty(model);
		if (!options->stimuli.mispredict_penalty)
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "the model %s has no mispredict penalty; give it "
						 "with --mispredict-penalty",
						 pesa_mca_model_name(model));
	}
	return NULL;
}
