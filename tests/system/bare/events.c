// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counter counts another event than cycles, without an operating system: in S-mode a loop runs
 * in which one instruction loads.  The interrupt's handler keeps what the registers tell.
 */
#include "samples.h"

#define LOADS	9 /* INST.LOAD.RET, see tools/vcore/board/event.c */
#define SAMPLES 300
#define PERIOD	256

struct sample samples[SAMPLES];
unsigned long sample_count;

extern char loop_load[];

/* The handler loads too, before it lets the next sample come. */
__asm__("	.text\n"
	"	.align 6\n"
	"on_interrupt:\n"
	"	la	t3, sample_count\n"
	"	ld	t4, 0(t3)\n" KEEP_SAMPLE "	sret\n");

/* void loop(unsigned long samples) */
__asm__("	.text\n"
	"	.globl	loop\n"
	"	.align 6\n"
	"loop:\n"
	"	la	t0, sample_count\n"
	"1:	addi	a2, a2, 1\n"
	"	sd	a2, -8(sp)\n"
	"loop_load:\n"
	"	ld	a1, 0(t0)\n"
	"	mul	a3, a2, a2\n"
	"	bltu	a1, a0, 1b\n"
	"	ret\n");

static void choose(unsigned long event)
{
	csr_write(PESA_CSR_SHPMSEVENT, event);
	bare_return(csr_read(PESA_CSR_SHPMSEVENT));
}

static void choose_while_running(unsigned long event)
{
	/* So long that it does not overflow. */
	start(1ul << 30);
	csr_write(PESA_CSR_SHPMSEVENT, event);
	bare_return(csr_read(PESA_CSR_SHPMSDETAILSCC));
}

static void take_samples(unsigned long until)
{
	csr_write(PESA_CSR_SHPMSEVENT, LOADS);
	bare_return(sample_loop(PERIOD, until));
}

static void check_choice(const char *what, unsigned long event, unsigned long expected)
{
	struct bare_outcome outcome = bare_run_in(MODE_S, choose, event);

	check(outcome.cause == CAUSE_ECALL_S && outcome.value == expected, what, outcome.value,
	      expected);
}

static void check_samples(void)
{
	unsigned long of_load = 0, empty = 0, named = 0, discarded = 0;

	for (const struct sample *sample = samples; sample < samples + SAMPLES; sample++) {
		of_load += sample->pc == (unsigned long)loop_load;
		empty += !sample->details && !sample->bt1;
		named += (sample->data >> PESA_DATA_EVENT_SHIFT & PESA_DATA_EVENT_MASK) == LOADS;
		discarded += sample->data >> PESA_DATA_DISCARDED_SHIFT;
	}
	check(of_load == SAMPLES, "each sample is of the instruction that loads", of_load, SAMPLES);
	check(empty == SAMPLES, "none has details", empty, SAMPLES);
	check(named == SAMPLES, "each tells what was counted", named, SAMPLES);
	check(!discarded, "none was discarded", discarded, 0);
}

unsigned long bare_main(void)
{
	struct bare_outcome outcome;

	outcome = bare_run_in(MODE_S, choose_while_running, PESA_SELECT_CYCLES);
	check(outcome.cause == CAUSE_ECALL_S && !outcome.value, "choosing stops the counter",
	      outcome.value, 0);
	check_choice("an event is taken up", LOADS, LOADS);
	check_choice("a number without an event is not", PESA_SELECT_MOST, LOADS);
	check_choice("nor 1, which is none", 1, LOADS);
	check_choice("nor one with higher bits", 1ul << 32 | LOADS, LOADS);
	check_choice("cycles are", PESA_SELECT_CYCLES, PESA_SELECT_CYCLES);
	outcome = bare_run_in(MODE_S, take_samples, SAMPLES);
	check(outcome.cause == CAUSE_ECALL_S && sample_count == SAMPLES, "the interrupt comes",
	      sample_count, SAMPLES);
	check_samples();
	bare_print("1..%u", number);
	return failed != 0;
}
