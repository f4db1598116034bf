// SPDX-License-Identifier: GPL-2.0-or-later
/* Only for the module pesa.ko, in the place of call_stack.c: for kernels newer than Linux 6.14. */
#include "driver.h"

int pesa_call_stacks_prepare(struct pesa_pmu *pesa)
{
	if (pesa->call_stacks)
		dev_warn(pesa->dev,
			 "this kernel's perf cannot keep call stacks with tasks: they are not offered\n");
	pesa->call_stacks = false;
	return 0;
}
