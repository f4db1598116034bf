/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples that a bare program takes in S-mode: what its interrupt handler keeps of them, and the loop
 * that runs meanwhile.
 */
#ifndef PESA_BARE_SAMPLES_H
#define PESA_BARE_SAMPLES_H

#include "bare.h"
#include "pesa/csr.h"

#define STVEC	    0x105
#define SIE	    0x104
#define SIP	    0x144
#define SSTATUS	    0x100
#define SSTATUS_SIE 2ul
#define INTERRUPT   (1ul << 17)

struct sample {
	unsigned long pc, data, details, bt1;
};

/* Written by the handler.  The program says how many there is room for. */
extern struct sample samples[];
extern unsigned long sample_count;

/* The program's own, in assembly: its handler, and a loop that ends when so many were taken. */
extern char on_interrupt[];
void loop(unsigned long until);

/*
 * Part of the handler: with the address of sample_count in t3 and its value in t4, count the sample
 * and keep the registers, and clear the pending bit last: a sample cannot fall into the handler
 * before that.  Changes t3 to t5.
 */
#define KEEP_SAMPLE         \
	"	addi	t5, t4, 1\n" \
	"	sd	t5, 0(t3)\n"   \
	"	slli	t4, t4, 5\n" \
	"	la	t3, samples\n" \
	"	add	t3, t3, t4\n" \
	"	csrr	t4, 0x5c0\n" \
	"	sd	t4, 0(t3)\n"   \
	"	csrr	t4, 0x5c1\n" \
	"	sd	t4, 8(t3)\n"   \
	"	csrr	t4, 0x5c2\n" \
	"	sd	t4, 16(t3)\n"  \
	"	csrr	t4, 0x5c3\n" \
	"	sd	t4, 24(t3)\n"  \
	"	li	t4, 1 << 17\n" \
	"	csrc	sip, t4\n"

static unsigned long number, failed;

static void check(bool holds, const char *what, unsigned long got, unsigned long of)
{
	failed += !holds;
	bare_print("%s %u - %s (%u of %u)", holds ? "ok" : "not ok", ++number, what, got, of);
}

static void start(unsigned long period)
{
	csr_write(PESA_CSR_SHPMSDETAILSCC, (PESA_CC_SAMPLEINITVALUE_MASK + 1ul) - period);
}

/* Run the loop with the interrupt open; returns whether one is left pending. */
static unsigned long sample_loop(unsigned long period, unsigned long until)
{
	csr_write(STVEC, on_interrupt);
	csr_set(SIE, INTERRUPT);
	start(period);
	csr_set(SSTATUS, SSTATUS_SIE);
	loop(until);
	csr_clear(SSTATUS, SSTATUS_SIE);
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	return csr_read(SIP) & INTERRUPT;
}

#endif
