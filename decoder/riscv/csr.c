/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of control and status registers. */
#include "decoder/riscv/print.h"

const char *riscv_csr_name(const struct pesa_isa *isa, unsigned int number)
{
	unsigned int low = 0, high = riscv_csr_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (riscv_csrs[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	/* As in LLVM, the first name whose condition holds is used. */
	for (; low < riscv_csr_count && riscv_csrs[low].number == number; low++)
		if (isa->conditions[riscv_csrs[low].condition])
			return riscv_csrs[low].name;
	return NULL;
}
