/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain samples made useful: cycles of instructions estimated from samples whose PC skids
 * (pesa/deskid.h), with the processor model that the recording or the user names, else a generic one.
 */
#ifndef TOOLS_PLAIN_PLAIN_H
#define TOOLS_PLAIN_PLAIN_H

#include <limits.h>

#include "pesa/calibration.h"
#include "tools/ui/profile_input.h"
#include "tools/ui/text.h"

/* What the user said; all zero: nothing. */
struct plain_options {
	const char
		*cpu; /* as for -mcpu; NULL: what the recording names, else a generic processor */
	const char *calibration; /* file; NULL: the one of this machine, if it has one */
	bool calibrating;	 /* the recording is of microloops: no calibration is taken */
};

/* For the help of --calibration. */
#define PLAIN_CALIBRATION_HELP                                                                  \
	"Of samples whose PC skids: where interrupts are taken, from a file of pesa calibrate " \
	"(default: the one that was made on this machine, if it is of the recorded processor, " \
	"event and kernel; else learned from the samples)"

struct plain_estimate {
	struct pesa_mca_model *model;
	const char *processor;
	bool generic;
	struct pesa_deskid *deskid; /* NULL: nothing was estimated */
	bool calibrated;
	struct pesa_calibration calibration; /* if calibrated, from this file: */
	char calibration_path[PATH_MAX];
};

/* Whether all samples have only a PC, where an interrupt was taken: it may skid. */
bool plain_is_skidding(const struct profile_input *input);
/*
 * Estimate, and give the profile of `input` the estimated cycles.  Does nothing where the PC does not
 * skid.  To be closed in any case, before the input.
 */
struct pesa_error *plain_estimate_open(struct plain_estimate *plain, struct profile_input *input,
				       const struct plain_options *wanted);
void plain_estimate_close(struct plain_estimate *plain);
/* Lines below the header: that cycles are estimates, by which model, and what was learned of the
 * interrupts.  Nothing if nothing was estimated. */
void plain_estimate_print(const struct plain_estimate *plain, const struct ui_terminal *terminal);
/* Add where interrupts are taken: "97% where the front end is". */
void plain_ways_text(const struct pesa_deskid *deskid, struct ui_text *line);
/* The same, an object for each kind. */
json_object *plain_ways_json(const struct pesa_deskid *deskid);
/* The member "estimate"; null if nothing was estimated. */
void plain_estimate_json(const struct plain_estimate *plain, struct ui_json *json);

#endif
