/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time to load the model of each built-in processor: text to tables, without a cache.  The
 * target is 5 ms.
 *
 * For each processor it prints the time of the first load (the process has not used the memory
 * before), and the median and maximum of the other loads.  These are CPU times, so that other
 * programs on the machine have little effect.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pesa/mca.h"

#define LOADS	       31
#define PROCESSORS_MAX 256

struct result {
	const char *name;
	double first, median, most; /* ms */
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static int compare_medians(const void *a, const void *b)
{
	return compare(&((const struct result *)a)->median, &((const struct result *)b)->median);
}

static bool measure(struct result *result)
{
	double times[LOADS];

	for (unsigned int i = 0; i < LOADS; i++) {
		struct pesa_mca_model *model;
		double start = now();
		struct pesa_error *error = pesa_mca_model_builtin(result->name, &model);

		if (error) {
			fprintf(stderr, "%s\n", error->message);
			pesa_error_free(error);
			return false;
		}
		times[i] = now() - start;
		pesa_mca_model_free(model);
	}
	result->first = times[0];
	qsort(times + 1, LOADS - 1, sizeof(times[0]), compare);
	result->median = times[LOADS / 2];
	result->most = times[LOADS - 1];
	return true;
}

int main(void)
{
	struct result results[PROCESSORS_MAX];
	unsigned int count = 0, slow = 0;
	double most = 0, first = 0;

	for (; count < PROCESSORS_MAX; count++) {
		results[count].name = pesa_mca_builtin_processor(count);
		if (!results[count].name)
			break;
		if (!measure(&results[count]))
			return 1;
		slow += results[count].most >= 5 || results[count].first >= 5;
		if (results[count].most > most)
			most = results[count].most;
		if (results[count].first > first)
			first = results[count].first;
	}
	if (!count)
		return 1;
	qsort(results, count, sizeof(results[0]), compare_medians);
	printf("  load a model: median %.2f ms, slowest processor %s %.2f ms (median), most of all "
	       "%.2f ms, "
	       "most of first loads %.2f ms; %u of %u processors ever took 5 ms or more\n",
	       results[count / 2].median, results[count - 1].name, results[count - 1].median, most,
	       first, slow, count);
	return 0;
}
