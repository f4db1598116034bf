// SPDX-License-Identifier: GPL-2.0-or-later
/* What the windows of a sampled run tell: see sampled.h. */
#include "tools/record/sampled.h"

#include <inttypes.h>

#include "tools/ui/json.h"

void sampled_print(FILE *out, const struct window_sums *sums)
{
	double cpi = window_sums_cpi(sums), half = window_sums_interval(sums);

	if (isnan(cpi))
		fprintf(out, "CPI not known");
	else if (isnan(half))
		fprintf(out, "CPI %.4f", cpi);
	else
		fprintf(out, "CPI %.4f +- %.4f (95 %%)", cpi, half);
	fprintf(out, ", %" PRIu64 " windows", sums->windows);
}

void sampled_add_json(json_object *object, const struct window_sums *sums)
{
	json_object_object_add(object, "windows", ui_json_count(sums->windows));
	json_object_object_add(object, "cpi", ui_json_number(window_sums_cpi(sums)));
	json_object_object_add(object, "cpi_interval", ui_json_number(window_sums_interval(sums)));
}
