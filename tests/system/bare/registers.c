// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registers as software finds them: who may use them, which values they take, and when the
 * interrupt comes.  Compiled with COUNTER_BITS, AUTORUN and CTR_DEPTH, what the board was asked to
 * have.
 */
#include "bare.h"
#include "pesa/csr.h"

#define MENVCFG	     0x30a
#define MENVCFG_CDE  (1ul << 60)
#define MIDELEG	     0x303
#define SIE	     0x104
#define SIP	     0x144
#define INTERRUPT    17
#define COUNTER_MASK ((1ul << COUNTER_BITS) - 1)

static unsigned long number, failed;

static void check(bool holds, const char *what, const char *of, unsigned long got)
{
	failed += !holds;
	bare_print("%s %u - %s%s", holds ? "ok" : "not ok", ++number, what, of);
	if (!holds)
		bare_print("# got %x", got);
}

#define ACCESS(name, csr)                             \
	static void read_##name(unsigned long unused) \
	{                                             \
		(void)unused;                         \
		bare_return(csr_read(csr));           \
	}                                             \
	static void write_##name(unsigned long value) \
	{                                             \
		csr_write(csr, value);                \
		bare_return(csr_read(csr));           \
	}

ACCESS(pc, PESA_CSR_SHPMSPC)
ACCESS(data, PESA_CSR_SHPMSDATA)
ACCESS(details, PESA_CSR_SHPMSDETAILSDATA)
ACCESS(bt1, PESA_CSR_SHPMSDETAILSBT1)
ACCESS(bt2, PESA_CSR_SHPMSDETAILSBT2)
ACCESS(cc, PESA_CSR_SHPMSDETAILSCC)
ACCESS(ar_ptr, PESA_CSR_SHPMSARPTR)
ACCESS(ar_limit, PESA_CSR_SHPMSARLIMIT)
ACCESS(ar_threshold, PESA_CSR_SHPMSARTHRESHOLD)
ACCESS(ar_control, PESA_CSR_SHPMSARCONTROL)
ACCESS(ctr_control, PESA_CSR_SCTRCTL)
ACCESS(ctr_status, PESA_CSR_SCTRSTATUS)
ACCESS(ctr_depth, PESA_CSR_SCTRDEPTH)

static void clear_transfers(unsigned long unused)
{
	(void)unused;
	__asm__ volatile(".4byte %0" : : "i"(PESA_CTR_SCTRCLR));
	bare_return(0);
}

static const struct {
	const char *name;
	bare_function read, write;
	bool there;
	unsigned long zero; /* what it holds when 0 was written */
} registers[] = {
	{"shpmspc", read_pc, write_pc, true, 0},
	{"shpmsdata", read_data, write_data, true, 0},
	{"shpmsdetailsdata", read_details, write_details, true, 0},
	{"shpmsdetailsbt1", read_bt1, write_bt1, true, 0},
	{"shpmsdetailsbt2", read_bt2, write_bt2, true, 0},
	{"shpmsdetailscc", read_cc, write_cc, true, 0},
	{"shpmsarptr", read_ar_ptr, write_ar_ptr, AUTORUN, 0},
	{"shpmsarlimit", read_ar_limit, write_ar_limit, AUTORUN, 0},
	{"shpmsarthreshold", read_ar_threshold, write_ar_threshold, AUTORUN, 0},
	{"shpmsarcontrol", read_ar_control, write_ar_control, AUTORUN, 0},
	{"sctrctl", read_ctr_control, write_ctr_control, CTR_DEPTH, 0},
	{"sctrstatus", read_ctr_status, write_ctr_status, CTR_DEPTH, 0},
	{"sctrdepth", read_ctr_depth, write_ctr_depth, CTR_DEPTH, CTR_DEPTH == 32},
};

static void check_access(void)
{
	struct bare_outcome outcome;

	check(csr_read(MENVCFG) & MENVCFG_CDE, "counter delegation is on after reset", "",
	      csr_read(MENVCFG));
	csr_write(MIDELEG, 0);
	check(csr_read(MIDELEG) >> INTERRUPT & 1, "the interrupt is always delegated", "",
	      csr_read(MIDELEG));
	for (unsigned int i = 0; i < sizeof(registers) / sizeof(*registers); i++) {
		const char *name = registers[i].name;

		if (!registers[i].there) {
			outcome = bare_run_in(MODE_S, registers[i].read, 0);
			check(outcome.cause == CAUSE_ILLEGAL, "the hart does not have ", name,
			      outcome.cause);
			continue;
		}
		outcome = bare_run_in(MODE_S, registers[i].write, 0);
		check(outcome.cause == CAUSE_ECALL_S && outcome.value == registers[i].zero,
		      "S-mode reads and writes ", name, outcome.cause);
		outcome = bare_run_in(MODE_U, registers[i].read, 0);
		check(outcome.cause == CAUSE_ILLEGAL, "U-mode may not read ", name, outcome.cause);
		outcome = bare_run_in(MODE_VS, registers[i].read, 0);
		check(outcome.cause == CAUSE_VIRTUAL_INSTRUCTION, "a guest traps that reads ", name,
		      outcome.cause);
		csr_clear(MENVCFG, MENVCFG_CDE);
		outcome = bare_run_in(MODE_S, registers[i].read, 0);
		check(outcome.cause == CAUSE_ILLEGAL, "without delegation S-mode may not read ",
		      name, outcome.cause);
		outcome = bare_run_in(MODE_S, registers[i].write, 0);
		check(outcome.cause == CAUSE_ILLEGAL, "without delegation S-mode may not write ",
		      name, outcome.cause);
		csr_set(MENVCFG, MENVCFG_CDE);
	}
}

static unsigned long written(unsigned long value)
{
	csr_write(PESA_CSR_SHPMSDETAILSCC, value);
	return csr_read(PESA_CSR_SHPMSDETAILSCC);
}

static void check_values(void)
{
	unsigned long held = COUNTER_MASK + 1 - 100000, got;

	check(csr_read(PESA_CSR_SHPMSDETAILSCC) == 0, "the counter is off after reset", "",
	      csr_read(PESA_CSR_SHPMSDETAILSCC));
	got = written(held);
	check(got == held, "the counter starts at what was written", "", got);
	got = written(~0ul);
	check(got == held, "a period of one cycle is refused", "", got);
	got = written(COUNTER_MASK + 1 - (PESA_CC_MINIMUM_PERIOD - 1));
	check(got == held, "a period below the minimum is refused", "", got);
	got = written(COUNTER_MASK + 1 - PESA_CC_MINIMUM_PERIOD);
	check(got == COUNTER_MASK + 1 - PESA_CC_MINIMUM_PERIOD, "the minimum period is taken", "",
	      got);
	got = written(held | PESA_CC_AUTORUN);
	check(got == (AUTORUN ? held | PESA_CC_AUTORUN : held),
	      "AutoRun reads what was written where it is offered, else 0", "", got);
	got = written(held | 1ul << 40);
	check(got == held, "bits beyond the register read 0", "", got);
	got = written(1);
	check(got == 1, "the longest period is taken", "", got);
	got = written(0x2aaaaaaa) | written(0x55555555);
	check(got == COUNTER_MASK, "the counter has the bits that it was given", "", got);
	check(written(0) == 0, "0 stops the counter", "", 1);
	csr_write(PESA_CSR_SHPMSPC, 0x80001234);
	check(bare_run_in(MODE_S, read_pc, 0).value == 0x80001234, "a register keeps its value", "",
	      0);
}

static void select(unsigned long entry)
{
	csr_write(PESA_CSR_SISELECT, PESA_CTR_SELECT_FIRST + entry);
}

#define CONTROL_BPFRZ (1ul << 11)

static void check_transfers(void)
{
	struct bare_outcome outcome = bare_run_in(MODE_S, clear_transfers, 0);
	unsigned long got;

	check(outcome.cause == (CTR_DEPTH ? CAUSE_ECALL_S : CAUSE_ILLEGAL),
	      "sctrclr is there where the records are", "", outcome.cause);
	if (!CTR_DEPTH)
		return;
	csr_write(PESA_CSR_SCTRCTL, ~0ul);
	got = csr_read(PESA_CSR_SCTRCTL);
	/* Freezing at breakpoints is there, too, which nothing here uses. */
	check((got & ~CONTROL_BPFRZ) == PESA_CTR_CONTROL_MASK,
	      "sctrctl has the modes, the types, call stacks and freezing", "", got);
	csr_write(PESA_CSR_SCTRCTL, 0);
	select(CTR_DEPTH - 1);
	csr_write(PESA_CSR_SIREG, 0x80001235);
	csr_write(PESA_CSR_SIREG2, 0x80005678);
	csr_write(PESA_CSR_SIREG3, 5);
	got = csr_read(PESA_CSR_SIREG) == 0x80001235 && csr_read(PESA_CSR_SIREG2) == 0x80005678 &&
	      csr_read(PESA_CSR_SIREG3) == 5;
	check(got, "the last entry keeps what is written", "", got);
	select(CTR_DEPTH);
	csr_write(PESA_CSR_SIREG, 0x80001235);
	check(!csr_read(PESA_CSR_SIREG), "one behind it reads 0", "", csr_read(PESA_CSR_SIREG));
	csr_write(PESA_CSR_SCTRSTATUS, ~0ul & ~PESA_CTR_STATUS_FROZEN);
	got = csr_read(PESA_CSR_SCTRSTATUS);
	check(got == CTR_DEPTH - 1ul, "sctrstatus.WRPTR has the bits of the depth", "", got);
	/* Physical entry CTR_DEPTH - 2 is the newest, then the one behind it. */
	select(0);
	csr_write(PESA_CSR_SIREG, 0x80009991);
	csr_write(PESA_CSR_SCTRSTATUS, 0);
	select(1);
	check(csr_read(PESA_CSR_SIREG) == 0x80009991, "WRPTR says which entry is the newest", "",
	      csr_read(PESA_CSR_SIREG));
	bare_run_in(MODE_S, clear_transfers, 0);
	select(CTR_DEPTH - 1);
	check(!csr_read(PESA_CSR_SIREG), "sctrclr clears it", "", csr_read(PESA_CSR_SIREG));
}

unsigned long bare_main(void)
{
	check_values();
	check_access();
	check_transfers();
	bare_print("1..%u", number);
	return failed != 0;
}
