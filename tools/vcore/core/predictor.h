/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Branch prediction: conditional branches (TAGE), direct targets (BTB), returns and indirect
 * targets.
 */
#ifndef TOOLS_VCORE_CORE_PREDICTOR_H
#define TOOLS_VCORE_CORE_PREDICTOR_H

#include "tools/vcore/core/insn.h"

struct predictor;

enum prediction {
	PREDICTION_RIGHT,
	PREDICTION_LATE, /* correct, but the target was known at decode only */
	PREDICTION_WRONG,
};

struct predictor *predictor_create(const struct pesa_core *core);
void predictor_free(struct predictor *predictor);
/* Predict a control-flow instruction, then update the predictor with the outcome. */
enum prediction predictor_step(struct predictor *predictor, const struct insn *insn, bool taken,
			       uint64_t target);

#endif
