/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only for the module pesa.ko: Kbuild includes this before each source file.  The files themselves
 * are those of a driver in the kernel's own tree (kernel/series): they call functions that are not
 * exported to modules, and have the interfaces of Linux 6.12.
 */
#ifndef PESA_BACKPORT_H
#define PESA_BACKPORT_H

#include <linux/init.h>
#include <linux/perf/riscv_pmu.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>

/* Functions that are not exported: backport.c finds them. */
struct pesa_functions {
	int (*overflow)(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs);
	int (*account_interrupt)(struct perf_event *event);
	void (*sample_event_took)(u64 nanoseconds);
	void (*sched_cb_inc)(struct pmu *pmu);
	void (*sched_cb_dec)(struct pmu *pmu);
};

extern struct pesa_functions pesa_functions;

#define perf_event_overflow pesa_functions.overflow
#define perf_event_account_interrupt pesa_functions.account_interrupt
#define perf_sample_event_took pesa_functions.sample_event_took
#define perf_sched_cb_inc pesa_functions.sched_cb_inc
#define perf_sched_cb_dec pesa_functions.sched_cb_dec

/* backport.c registers the driver, and a device that has the module's parameters. */
extern struct platform_driver *const pesa_module_driver;

#undef builtin_platform_driver
#define builtin_platform_driver(driver) \
	struct platform_driver *const pesa_module_driver = &(driver)

/* The kernel's own driver of the counters has no exact addresses and no branch stacks. */
#define RISCV_PMU_SAMPLE_PC 0
#define RISCV_PMU_BRANCHES 0
#define riscv_pmu_claim(who, what) ((int)(what))
#define riscv_pmu_release(who, what) ((void)(what))

/* Nor has it a mark for the exact address of a sample. */
#define SR_PERF_EXACT 0

/* perf_sample_save_brstack() takes counters too since Linux 6.8, and in stable kernels. */
#ifndef PESA_BRANCHES_HAVE_COUNTERS
#define perf_sample_save_brstack(data, event, stack, ...) \
	perf_sample_save_brstack(data, event, stack)
#endif

/* pmu.sched_task() is told the task in some kernels. */
#ifndef PESA_SWITCH_HAS_TASK
#define pesa_pmu_sched_task(context, task, comes) pesa_pmu_sched_task(context, comes)
#endif

#endif
