// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What only the kernel can do to the driver's harts, for the tests: each parameter is one thing, done when the
 * module is loaded.  It stays loaded for `hold` only; otherwise loading it "fails", and it can be loaded again.
 */
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include <asm/csr.h>

#include "pesa/csr.h"

static unsigned int hold;
module_param(hold, uint, 0444);
MODULE_PARM_DESC(
	hold, "a hart that comes is kept for so many milliseconds before the driver hears of it");
static bool arm;
module_param(arm, bool, 0444);
MODULE_PARM_DESC(arm, "let each hart stream records to memory, as a kernel leaves it that crashes");
static bool show;
module_param(show, bool, 0444);
MODULE_PARM_DESC(show, "print the registers of AutoRun of each hart");
static unsigned int select;
module_param(select, uint, 0444);
MODULE_PARM_DESC(select,
		 "use the indirect registers so many times, and print how often siselect changed");
static unsigned int guest;
module_param(guest, uint, 0444);
MODULE_PARM_DESC(guest, "look like a guest for so many rounds of a loop");

static enum cpuhp_state held;

static int hold_hart(unsigned int cpu)
{
	msleep(hold);
	return 0;
}

static void arm_hart(void *page)
{
	unsigned long address = virt_to_phys(page);

	csr_write(PESA_CSR_SHPMSARPTR, address);
	csr_write(PESA_CSR_SHPMSARLIMIT, address + PAGE_SIZE);
	csr_write(PESA_CSR_SHPMSARTHRESHOLD, address + PAGE_SIZE);
	csr_write(PESA_CSR_SHPMSARCONTROL, PESA_AUTORUN_CONTROL_MASK);
	csr_write(PESA_CSR_SHPMSDETAILSCC,
		  (PESA_CC_SAMPLEINITVALUE_MASK - 100000ul) | PESA_CC_AUTORUN);
}

static void show_hart(void *unused)
{
	pr_info("probing: hart %u cc %lx control %lx ptr %lx limit %lx threshold %lx\n",
		smp_processor_id(), csr_read(PESA_CSR_SHPMSDETAILSCC),
		csr_read(PESA_CSR_SHPMSARCONTROL), csr_read(PESA_CSR_SHPMSARPTR),
		csr_read(PESA_CSR_SHPMSARLIMIT), csr_read(PESA_CSR_SHPMSARTHRESHOLD));
}

/* As a driver does that has indirect registers of its own, between its two instructions. */
static void use_indirect(void)
{
	unsigned long changed = 0;

	for (unsigned int times = 0; times < select; times++) {
		unsigned long mine = PESA_CTR_SELECT_FIRST + times % 8;

		preempt_disable();
		csr_write(PESA_CSR_SISELECT, mine);
		for (unsigned int i = 0; i < 100; i++)
			cpu_relax();
		changed += csr_read(PESA_CSR_SISELECT) != mine;
		preempt_enable();
	}
	pr_info("probing: siselect changed %lu times of %u\n", changed, select);
}

static void look_like_guest(void)
{
	current->flags |= PF_VCPU;
	for (unsigned int i = 0; i < guest; i++)
		cpu_relax();
	current->flags &= ~PF_VCPU;
}

static int __init probing_init(void)
{
	int error;

	if (hold) {
		error = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "test:hold", hold_hart,
						  NULL);
		held = error;
		return error < 0 ? error : 0;
	}
	if (arm) {
		/* Never freed: the harts have its address. */
		void *page = kzalloc(PAGE_SIZE, GFP_KERNEL);

		if (page)
			on_each_cpu(arm_hart, page, 1);
	}
	if (show)
		on_each_cpu(show_hart, NULL, 1);
	if (select)
		use_indirect();
	if (guest)
		look_like_guest();
	return -EAGAIN;
}

static void __exit probing_exit(void)
{
	cpuhp_remove_state_nocalls(held);
}

module_init(probing_init);
module_exit(probing_exit);

MODULE_DESCRIPTION("Tests of pesa's driver");
MODULE_LICENSE("GPL");
