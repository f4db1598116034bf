/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calibrations of this machine, one for each processor and event, in the directory
 * pesa/calibrations of the user's data ($XDG_DATA_HOME, else ~/.local/share).
 */
#ifndef TOOLS_PLAIN_CALIBRATIONS_H
#define TOOLS_PLAIN_CALIBRATIONS_H

#include <limits.h>
#include <stdbool.h>

#include "pesa/calibration.h"
#include "pesa/profile.h"

/* What a calibration of a recording is for: processor, event, host and kernel. */
void calibration_describe(const struct pesa_profile *profile, struct pesa_calibration *calibration);
/* Where the calibration of a processor and event is kept.  False: nobody's, or the path is too long. */
bool calibration_path(const struct pesa_calibration *calibration, char path[PATH_MAX]);
/* Make the directories of that path. */
struct pesa_error *calibration_make_directories(const char *path);
/*
 * The calibration that was made on this machine for what a recording is of: the same processor, event,
 * host and kernel.  *found: whether there is one.
 */
struct pesa_error *calibration_find(const struct pesa_profile *profile,
				    struct pesa_calibration *calibration, char path[PATH_MAX],
				    bool *found);

#endif
