/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instruction sets of the binaries of a profile. */
#ifndef DECODER_PROFILE_ISAS_H
#define DECODER_PROFILE_ISAS_H

#include "pesa/profile.h"
#include "pesa/riscv.h"

struct profile_isas {
	struct pesa_isa **isa; /* by dso; NULL: it has no RISC-V code */
	uint32_t count;
};

/* A binary with an unknown extension gets every extension that does not conflict with another. */
struct pesa_error *profile_isas_create(const struct pesa_profile *profile,
				       struct profile_isas *isas);
void profile_isas_free(struct profile_isas *isas);

/* Decode the instruction of a dso at an ELF virtual address.  False: there is none. */
bool profile_isas_decode(const struct profile_isas *isas, const struct pesa_profile *profile,
			 uint32_t dso, uint64_t address, struct pesa_insn *insn);

#endif
