// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples as software sees them, without an operating system: in S-mode a loop whose costs are known
 * runs while the counter does.  The interrupt's handler keeps what the registers tell.
 */
#include "samples.h"

#define SAMPLES	     2000
#define PERIOD	     1009
#define RETIRE_WIDTH 4
#define CTR_DEPTH    16

struct sample samples[SAMPLES];
unsigned long sample_count;

extern char loop_start[], loop_divide[], loop_divide_end[], loop_end[], on_interrupt_end[];

/*
 * When the handler has kept a sample it waits a little, each time longer up to 31 rounds: otherwise
 * the period would always end in the same cycle of the loop.
 */
__asm__("	.text\n"
	"	.align 6\n"
	"on_interrupt:\n"
	"	la	t3, sample_count\n"
	"	ld	t4, 0(t3)\n"
	"	andi	t6, t4, 31\n" KEEP_SAMPLE "1:	addi	t6, t6, -1\n"
	"	bgez	t6, 1b\n"
	"	sret\n"
	"on_interrupt_end:\n");

/* void loop(unsigned long samples): a chain of divisions, each with three additions in its shadow. */
__asm__("	.text\n"
	"	.globl	loop\n"
	"	.align 6\n"
	"loop:\n"
	"	la	t0, sample_count\n"
	"	li	t1, 7\n"
	"	li	a5, 0x7fffffff\n"
	"	mv	t2, a5\n"
	"loop_start:\n"
	"	addi	a2, a2, 1\n"
	"	addi	a3, a3, 1\n"
	"	addi	a4, a4, 1\n"
	"loop_divide:\n"
	"	div	t2, t2, t1\n"
	"loop_divide_end:\n"
	"	or	t2, t2, a5\n"
	"	ld	a1, 0(t0)\n"
	"	bltu	a1, a0, loop_start\n"
	"loop_end:\n"
	"	ret\n");

static void take_samples(unsigned long until)
{
	bare_return(sample_loop(PERIOD, until));
}

static void spin(unsigned long iterations)
{
	while (iterations--)
		__asm__ volatile("" : : : "memory");
}

/* With the interrupt closed: returns whether the register kept its value while pending. */
static void leave_pending(unsigned long unused)
{
	unsigned long pc, data;

	(void)unused;
	csr_clear(SIP, INTERRUPT);
	start(PESA_CC_MINIMUM_PERIOD);
	while (!(csr_read(SIP) & INTERRUPT))
		;
	pc = csr_read(PESA_CSR_SHPMSPC);
	data = csr_read(PESA_CSR_SHPMSDATA);
	spin(20000);
	bare_return(pc == csr_read(PESA_CSR_SHPMSPC) && data == csr_read(PESA_CSR_SHPMSDATA));
}

/* Clear the pending bit; returns what the next sample tells about those discarded. */
static void discarded_before(unsigned long unused)
{
	unsigned long data;

	(void)unused;
	csr_clear(SIP, INTERRUPT);
	while (!(csr_read(SIP) & INTERRUPT))
		;
	data = csr_read(PESA_CSR_SHPMSDATA);
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	csr_clear(SIP, INTERRUPT);
	bare_return(data >> PESA_DATA_DISCARDED_SHIFT);
}

static void wait_stopped(unsigned long unused)
{
	(void)unused;
	spin(20000);
	bare_return(csr_read(SIP) & INTERRUPT);
}

/* Take a sample with these control transfer records; returns whether it froze them. */
static void frozen_by_sample(unsigned long control)
{
	unsigned long status;

	csr_write(PESA_CSR_SCTRCTL, control | PESA_CTR_CONTROL_U | PESA_CTR_CONTROL_S);
	csr_write(PESA_CSR_SCTRSTATUS, 0);
	start(PESA_CC_MINIMUM_PERIOD);
	while (!(csr_read(SIP) & INTERRUPT))
		;
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	status = csr_read(PESA_CSR_SCTRSTATUS);
	csr_write(PESA_CSR_SCTRCTL, 0);
	csr_clear(SIP, INTERRUPT);
	bare_return(status & PESA_CTR_STATUS_FROZEN);
}

/*
 * While samples freeze a call stack, which is of U-mode alone: returns in how many of the rounds
 * sctrstatus.WRPTR was not what had just been written, and above 32 bits how many samples there were.
 */
static void keeps_pointer(unsigned long rounds)
{
	unsigned long wrong = 0, taken = 0;

	csr_write(PESA_CSR_SCTRCTL,
		  PESA_CTR_CONTROL_LCOFIFRZ | PESA_CTR_CONTROL_RASEMU | PESA_CTR_CONTROL_U);
	csr_clear(SIP, INTERRUPT);
	start(PESA_CC_MINIMUM_PERIOD);
	for (unsigned long i = 0; i < rounds; i++) {
		unsigned long pointer = i & (CTR_DEPTH - 1);

		csr_write(PESA_CSR_SCTRSTATUS, pointer);
		wrong += (csr_read(PESA_CSR_SCTRSTATUS) & PESA_CTR_STATUS_WRPTR_MASK) != pointer;
		if (csr_read(SIP) & INTERRUPT) {
			taken++;
			csr_clear(SIP, INTERRUPT);
		}
	}
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	csr_write(PESA_CSR_SCTRCTL, 0);
	taken += (csr_read(SIP) & INTERRUPT) != 0;
	csr_clear(SIP, INTERRUPT);
	bare_return(taken << 32 | wrong);
}

/* Whether the newest transfer is another one after a second loop. */
static void goes_on_recording(unsigned long unused)
{
	unsigned long first, second;

	(void)unused;
	csr_write(PESA_CSR_SCTRCTL, PESA_CTR_CONTROL_U | PESA_CTR_CONTROL_S);
	csr_write(PESA_CSR_SCTRSTATUS, 0);
	csr_write(PESA_CSR_SISELECT, PESA_CTR_SELECT_FIRST);
	start(100000);
	spin(100);
	first = csr_read(PESA_CSR_SIREG);
	for (unsigned int i = 0; i < 1000; i++)
		__asm__ volatile("" : : : "memory");
	second = csr_read(PESA_CSR_SIREG);
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	csr_write(PESA_CSR_SCTRCTL, 0);
	bare_return(first & PESA_CTR_SOURCE_V && second & PESA_CTR_SOURCE_V && first != second);
}

static unsigned long field(unsigned long details, unsigned int shift, unsigned long mask)
{
	return details >> shift & mask;
}

#define FIELD(sample, name) \
	field((sample)->details, PESA_DETAILS_##name##_SHIFT, PESA_DETAILS_##name##_MASK)

static bool within(unsigned long pc, const char *start_of, const char *end_of)
{
	return pc >= (unsigned long)start_of && pc < (unsigned long)end_of;
}

static void check_samples(void)
{
	unsigned long in_loop = 0, in_handler = 0, consistent = 0, retired = 0, targets = 0,
		      back = 0;
	unsigned long divide = 0, stalled = 0;

	/* The first one may be of the way to the loop, which meets cold caches. */
	for (const struct sample *sample = samples + 1; sample < samples + SAMPLES; sample++) {
		unsigned long retire = FIELD(sample, INSTRET), state = FIELD(sample, RSTATE);
		unsigned long transfers = FIELD(sample, CTS);

		in_loop += within(sample->pc, loop_start, loop_end);
		in_handler += within(sample->pc, on_interrupt, on_interrupt_end);
		consistent += retire <= RETIRE_WIDTH &&
			      (state == PESA_STATE_RETIRING) == (retire > 0) &&
			      transfers <= retire && FIELD(sample, CTOFFSET1) <= retire;
		retired += retire;
		if (transfers == 1 && within(sample->pc, loop_start, loop_end)) {
			targets++;
			back += sample->bt1 == (unsigned long)loop_start ||
				sample->bt1 == (unsigned long)on_interrupt;
		}
		stalled += state == PESA_STATE_STALLED;
		divide += state == PESA_STATE_STALLED &&
			  within(sample->pc, loop_divide, loop_divide_end);
	}
	check(in_loop + in_handler == SAMPLES - 1, "samples are of the code that ran",
	      in_loop + in_handler, SAMPLES - 1);
	check(in_loop >= SAMPLES * 9 / 10, "nearly all are of the loop", in_loop, SAMPLES - 1);
	check(consistent == SAMPLES - 1, "the fields agree with each other", consistent,
	      SAMPLES - 1);
	check(targets && back == targets, "the target of a transfer is where the loop goes", back,
	      targets);
	check(stalled && divide >= stalled * 9 / 10, "the stalls are the division's", divide,
	      stalled);
	bare_print("# retired %u", retired);
}

unsigned long bare_main(void)
{
	struct bare_outcome outcome;
	unsigned long left;

	outcome = bare_run_in(MODE_S, take_samples, SAMPLES);
	left = outcome.value != 0;
	check(outcome.cause == CAUSE_ECALL_S && sample_count == SAMPLES, "the interrupt comes",
	      sample_count, SAMPLES);
	check_samples();
	check(!left, "none is left pending", left, 0);
	bare_print("# handled %u", sample_count);
	outcome = bare_run_in(MODE_S, leave_pending, 0);
	check(outcome.cause == CAUSE_ECALL_S && outcome.value,
	      "overflows do not overwrite a pending sample", outcome.value, 1);
	outcome = bare_run_in(MODE_S, discarded_before, 0);
	check(outcome.value > 10, "the next sample tells how many were discarded", outcome.value,
	      0);
	bare_print("# discarded %u", outcome.value);
	outcome = bare_run_in(MODE_S, wait_stopped, 0);
	check(!outcome.value, "after 0 was written no interrupt comes", outcome.value, 0);
	outcome = bare_run_in(MODE_S, frozen_by_sample, PESA_CTR_CONTROL_LCOFIFRZ);
	check(outcome.cause == CAUSE_ECALL_S && outcome.value,
	      "with LCOFIFRZ a sample freezes the control transfer records", outcome.value, 1);
	outcome = bare_run_in(MODE_S, frozen_by_sample, 0);
	check(outcome.cause == CAUSE_ECALL_S && !outcome.value, "without it does not",
	      outcome.value, 0);
	outcome = bare_run_in(MODE_S, goes_on_recording, 0);
	check(outcome.cause == CAUSE_ECALL_S && outcome.value,
	      "while they are not frozen they are those of now", outcome.value, 1);
	outcome = bare_run_in(MODE_S, keeps_pointer, 5000);
	bare_print("# taken with a call stack %u", outcome.value >> 32);
	check(outcome.cause == CAUSE_ECALL_S && outcome.value >> 32 > 100 &&
		      !(outcome.value & 0xffffffff),
	      "a pointer that is written while samples freeze a call stack stays",
	      outcome.value & 0xffffffff, 5000);
	bare_print("1..%u", number);
	return failed != 0;
}
