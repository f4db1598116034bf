// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registers as software finds them: who may use them, which values they take, and when the
 * interrupt comes.  Compiled with COUNTER_BITS, what the board was told to have.
 */
#include "bare.h"
#include "pesa/csr.h"

#define MENVCFG		0x30a
#define MENVCFG_CDE	(1ul << 60)
#define MIDELEG		0x303
#define SIE		0x104
#define SIP		0x144
#define INTERRUPT	17
#define COUNTER_MASK	((1ul << COUNTER_BITS) - 1)

static unsigned long number, failed;

static void check(bool holds, const char *what, const char *of, unsigned long got)
{
	failed += !holds;
	bare_print("%s %u - %s%s", holds ? "ok" : "not ok", ++number, what, of);
	if (!holds)
		bare_print("# got %x", got);
}

#define ACCESS(name, csr)								\
	static void read_##name(unsigned long unused)					\
	{										\
		(void)unused;								\
		bare_return(csr_read(csr));						\
	}										\
	static void write_##name(unsigned long value)					\
	{										\
		csr_write(csr, value);							\
		bare_return(csr_read(csr));						\
	}

ACCESS(pc, PESA_CSR_SHPMSPC)
ACCESS(data, PESA_CSR_SHPMSDATA)
ACCESS(details, PESA_CSR_SHPMSDETAILSDATA)
ACCESS(bt1, PESA_CSR_SHPMSDETAILSBT1)
ACCESS(bt2, PESA_CSR_SHPMSDETAILSBT2)
ACCESS(cc, PESA_CSR_SHPMSDETAILSCC)

static const struct {
	const char *name;
	bare_function read, write;
} registers[] = {
	{"shpmspc", read_pc, write_pc},
	{"shpmsdata", read_data, write_data},
	{"shpmsdetailsdata", read_details, write_details},
	{"shpmsdetailsbt1", read_bt1, write_bt1},
	{"shpmsdetailsbt2", read_bt2, write_bt2},
	{"shpmsdetailscc", read_cc, write_cc},
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

		outcome = bare_run_in(MODE_S, registers[i].write, 0);
		check(outcome.cause == CAUSE_ECALL_S && !outcome.value,
		      "S-mode reads and writes ", name, outcome.cause);
		outcome = bare_run_in(MODE_U, registers[i].read, 0);
		check(outcome.cause == CAUSE_ILLEGAL, "U-mode may not read ", name, outcome.cause);
		outcome = bare_run_in(MODE_VS, registers[i].read, 0);
		check(outcome.cause == CAUSE_VIRTUAL_INSTRUCTION, "a guest traps that reads ", name,
		      outcome.cause);
		csr_clear(MENVCFG, MENVCFG_CDE);
		outcome = bare_run_in(MODE_S, registers[i].read, 0);
		check(outcome.cause == CAUSE_ILLEGAL, "without delegation S-mode may not read ", name,
		      outcome.cause);
		outcome = bare_run_in(MODE_S, registers[i].write, 0);
		check(outcome.cause == CAUSE_ILLEGAL, "without delegation S-mode may not write ", name,
		      outcome.cause);
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
	check(got == COUNTER_MASK + 1 - PESA_CC_MINIMUM_PERIOD, "the minimum period is taken", "", got);
	got = written(held | PESA_CC_AUTORUN);
	check(got == held, "AutoRun, which is not offered, reads 0", "", got);
	got = written(held | 1ul << 40);
	check(got == held, "bits beyond the register read 0", "", got);
	got = written(1);
	check(got == 1, "the longest period is taken", "", got);
	got = written(0x2aaaaaaa) | written(0x55555555);
	check(got == COUNTER_MASK, "the counter has the bits that it was given", "", got);
	check(written(0) == 0, "0 stops the counter", "", 1);
	csr_write(PESA_CSR_SHPMSPC, 0x80001234);
	check(bare_run_in(MODE_S, read_pc, 0).value == 0x80001234, "a register keeps its value", "", 0);
}

unsigned long bare_main(void)
{
	check_values();
	check_access();
	bare_print("1..%u", number);
	return failed != 0;
}
