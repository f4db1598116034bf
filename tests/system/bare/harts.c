// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two harts and what they share: the first one counts very many cycles and brings lines of memory at
 * the end of them; the second one, which has counted hardly any, reads the same lines.  They are in
 * the cache that both have: it waits for none.
 */
#include "bare.h"
#include "pesa/csr.h"

#define PERIOD	   1024
#define ITERATIONS 1000000
#define LINES	   256
#define LINE	   64

static volatile uint8_t lines[LINES * LINE] __attribute__((aligned(LINE)));
static volatile bool ended;

static void start(void)
{
	csr_write(PESA_CSR_SHPMSDETAILSCC, (PESA_CC_SAMPLEINITVALUE_MASK + 1ul) - PERIOD);
}

static void read_lines(void)
{
	for (unsigned int i = 0; i < sizeof(lines); i += LINE)
		(void)lines[i];
}

static void work_long(unsigned long iterations)
{
	start();
	while (iterations--)
		__asm__ volatile("" : : : "memory");
	read_lines();
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	bare_return(0);
}

static void work_little(unsigned long unused)
{
	(void)unused;
	start();
	read_lines();
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	bare_return(0);
}

static void second(void)
{
	bare_run_in(MODE_S, work_little, 0);
	ended = true;
}

unsigned long bare_main(void)
{
	bare_run_in(MODE_S, work_long, ITERATIONS);
	bare_other = second;
	while (!ended)
		;
	bare_print("ok 1 - both harts have counted\n1..1");
	return 0;
}
