/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The version of the library: see include/pesa/version.h.in. */
#include "pesa/version.h"

const char *pesa_version(void)
{
	return PESA_VERSION;
}
