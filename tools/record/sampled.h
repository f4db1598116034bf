/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampled runs on the virtual core (--sampled), as pesa record and pesa stat show them. */
#ifndef TOOLS_RECORD_SAMPLED_H
#define TOOLS_RECORD_SAMPLED_H

#include <json-c/json.h>
#include <stdio.h>

#include "decoder/core/window_sums.h"

/* Default cycles between samples. */
#define SAMPLED_PERIOD 1000000u
/* With a shorter period most of the program would be in or before a window. */
#define SAMPLED_PERIOD_LEAST 20000u

/* "CPI 0.5974 +- 0.0012 (95 %), 4137 windows", without the end of the line. */
void sampled_print(FILE *out, const struct window_sums *sums);
/* Add the members windows, cpi, cpi_interval. */
void sampled_add_json(json_object *object, const struct window_sums *sums);

#endif
