/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The digest of a model's numbers: two models with equal digests for the
 * instructions of a block, and the same options, predict the same for it.
 */
#ifndef DECODER_MCA_MODEL_NUMBERS_H
#define DECODER_MCA_MODEL_NUMBERS_H

#include "decoder/base/digest.h"
#include "decoder/mca/model/model.h"

/* Add what all instructions share: widths, buffers, resources. */
void mca_numbers_of_model(const struct pesa_mca_model *model, struct pesa_digest *digest);
/* Add the costs of an instruction; of one with variants, those of all of them. */
void mca_numbers_of_instruction(const struct pesa_mca_model *model,
				const struct pesa_insn *instruction, enum pesa_mca_lmul lmul,
				unsigned int sew, struct pesa_digest *digest);
/* Add the numbers of its classes, which a model with the same costs may have in another order. */
void mca_numbers_of_class(const struct pesa_mca_model *model, const struct pesa_insn *instruction,
			  enum pesa_mca_lmul lmul, unsigned int sew, struct pesa_digest *digest);

#endif
