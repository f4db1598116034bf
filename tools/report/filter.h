/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which samples a report shows: those of a time, of CPUs, of control groups.
 *
 * Times are those of the recording's clock, as `pesa script` prints them, or parts of the time from the
 * first sample to the last.  Control groups are named by their path below the root, or by the unit of
 * systemd that they are of; what is below them belongs to them.
 */
#ifndef TOOLS_REPORT_FILTER_H
#define TOOLS_REPORT_FILTER_H

#include "decoder/base/distinct.h"
#include "pesa/profile.h"

#define FILTER_RANGES_MAX 64

struct filter_wanted {
	const char *time;   /* "1.5,2", "1.5,", ",2", "10%-20%,40%-50%", "10%/2"; NULL: all */
	const char *cpus;   /* "0-3,8"; NULL: all */
	const char *cgroup; /* a path; NULL: all */
	const char *unit;   /* "ssh" or "ssh.service"; NULL: all */
};

struct filter_range {
	uint64_t first, last; /* both included */
};

struct sample_filter {
	struct pesa_profile_filter filter; /* for pesa_profile_options */
	const struct filter_wanted *wanted;
	struct filter_range time[FILTER_RANGES_MAX], cpu[FILTER_RANGES_MAX];
	unsigned int times, cpus;
	struct distinct_records cgroups; /* by id: whether it is wanted */
	/* Samples were seen that lack what the filter asks for. */
	bool lacks_time, lacks_cpu, lacks_cgroup;
	bool failed; /* out of memory */
};

/* Whether anything is filtered. */
bool filter_is_wanted(const struct filter_wanted *wanted);

/*
 * Make a filter.  `path`: the recording, which is read for percentages; "-" has to be read twice, and
 * cannot be.  After an error there is nothing to free.
 */
struct pesa_error *filter_make(const struct filter_wanted *wanted, const char *path,
			       struct sample_filter *filter);
void filter_free(struct sample_filter *filter);

/* After loading: an error if samples were left out because the recording does not say what the filter
 * asks for. */
struct pesa_error *filter_check(const struct sample_filter *filter, const char *path);

#endif
