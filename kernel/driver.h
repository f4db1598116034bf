/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations shared by the driver's source files.
 *
 * The driver registers one PMU, "pesa", for the period counter that every hart with shpmsdetails
 * has.  An overflow interrupt reads the sample registers, fills a struct pesa_record and hands it
 * to perf as raw data.  struct pesa_pmu is the device, struct pesa_hart its per-hart state; a hart
 * accesses only its own state, with interrupts disabled.
 *
 *   main.c      device properties, probing, CPU hotplug, power management
 *   hart.c      probes a hart's registers
 *   sample.c    perf callbacks, the overflow interrupt, records
 *   branch.c    control transfer records (Ssctr)
 *   call_stack.c call stacks made of them, which go with their tasks
 *   event.c     events other than cycles
 *   autorun.c   AutoRun: the hart writes samples to an AUX buffer by itself
 *   sysfs.c     attributes: caps/, format/, events/, statistics/
 */
#ifndef PESA_DRIVER_H
#define PESA_DRIVER_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/notifier.h>
#include <linux/perf/riscv_pmu.h>
#include <linux/perf_event.h>

#include <asm/csr.h>
#include <asm/ptrace.h>

#include "csr.h"
#include "raw_sample.h"
#include "transfer.h"

#define PESA_NAME		"pesa"

/* attr.config */
#define PESA_CONFIG_EVENT   GENMASK_ULL(7, 0)
#define PESA_CONFIG_FIXED   BIT_ULL(8)
#define PESA_CONFIG_AUTORUN BIT_ULL(9)
#define PESA_CONFIG_KNOWN   (PESA_CONFIG_EVENT | PESA_CONFIG_FIXED | PESA_CONFIG_AUTORUN)
#define PESA_EVENT_CYCLES   0x01
#define PESA_CYCLES_NAME    "cycles"
/* Other events use their shpmsevent number. */
#define PESA_EVENTS_MAX 64

/* Per-hart counters, shown in statistics/ under these names. */
enum pesa_statistic {
	/* The sum of the first three is the number of samples taken. */
	PESA_RECORDED,	/* samples handed to perf */
	PESA_EXCLUDED,	/* samples in a privilege mode that the event excludes */
	PESA_UNCLAIMED, /* samples taken while no event was scheduled on the hart */
	PESA_DISCARDED, /* overflows without a sample: registers occupied or AUX buffer full */
	PESA_DISCARDED_IDLE, /* the same while no event was scheduled on the hart */
	PESA_THROTTLED, /* times perf throttled an event */
	PESA_UNREPORTED, /* discarded overflows in no record: counted in perf's lost_samples */
	PESA_BACK_TO_BACK, /* interrupts soon after the last one: within half their duration */
	PESA_STATISTICS,
	PESA_TAKEN = PESA_STATISTICS /* sum of the first three; has no counter */
};

#define PESA_ATTR_GROUPS 5 /* attribute groups: directories in sysfs */

struct pesa_pmu;

/* The physically contiguous part of an AUX buffer that the hart writes to. */
struct pesa_autorun {
	struct perf_output_handle handle;
	bool active;
	bool last;	     /* it is the whole free space: samples beyond `limit` are lost */
	unsigned long first; /* physical address of the start */
	unsigned long limit; /* physical address of the end */
};

/* A type of event that the counter can count instead of cycles. */
struct pesa_event_type {
	const char *name;
	u32 number; /* in attr.config and in shpmsevent */
	struct perf_pmu_events_attr file;
};

struct pesa_hart {
	struct pesa_pmu *pmu;
	struct perf_event *event; /* scheduled on this hart, or NULL */
	unsigned long interval;	  /* current period in cycles or events; 0: counter stopped */
	u32 selected;		  /* value of shpmsevent: what the counter counts */
	bool offline;		  /* do not access the registers */
	bool autorun_mode;	  /* the counter is in AutoRun: no interrupt for each sample */
	bool has_branches;	  /* `event` has a branch stack */
	bool asleep;		  /* the hart sleeps; restart `event` when it wakes */
	bool keeps_calls;	  /* the control transfer records are the call stack of the task */
	bool counts_cycles;	  /* control transfer records have had valid cycle counts */
	unsigned long counter_mask; /* writable bits of the counter */
	/* Event of the last sample, or NULL; overflows discarded since are charged to it. */
	struct perf_event *owner;
	/* Overflows charged to `event`, as owner, that no record has reported yet. */
	u64 lost;
	u64 ended; /* time register at the end of the last interrupt */
	/* Intervals for `sample_period`: `least` plus a random number below `span`. */
	u64 sample_period;
	unsigned long least, span;
	u32 random; /* xorshift state, never 0 */
	u32 record_flags; /* PESA_RECORD_HAS_*: of what the counter counts */
	struct pesa_record record;
	u32 record_padding; /* 0; behind the record, see pesa_save_raw() */
	/* Not on the stack: some kernels zero stack variables on every call. */
	struct perf_raw_record raw;
	struct perf_sample_data data;
	struct pt_regs regs;
	struct pt_regs **interrupted;	    /* this CPU's __irq_regs */
	struct perf_branch_stack *branches; /* NULL: no control transfer records */
	struct pesa_autorun autorun;
	u64 statistic[PESA_STATISTICS];
};

struct pesa_pmu {
	struct pmu pmu;
	struct device *dev;
	struct pesa_hart __percpu *harts;
	void __percpu *branches;
	enum cpuhp_state hotplug_state;
	struct hlist_node hotplug;
	struct notifier_block power;
	cpumask_t supported;
	cpumask_t came_online; /* harts that came online during system suspend */
	atomic_t events;   /* number of perf events of this PMU */
	bool shut_down;	   /* the system shuts down: start no event */
	bool suspended;	   /* system suspend: events start on resume */
	u32 tick; /* of the time register, in nanoseconds */
	int irq;
	unsigned long irq_mask; /* bit in sie and sip */
	/* capabilities */
	u32 counter_bits;
	u32 counter_mask; /* counter bits that all harts have; periods fit into them */
	u32 retire_width;
	u32 ct_targets;
	u32 ctr_depth;
	bool call_stacks;
	bool autorun;
	u64 frequency;
	bool discarded_count; /* shpmsdata[63:32] counts the discarded overflows */
	const char *cause_names[PESA_CAUSE_COUNT];
	const char *core, *model;
	/* events other than cycles */
	unsigned int event_type_count;
	struct pesa_event_type event_types[PESA_EVENTS_MAX];
	struct attribute *event_files[PESA_EVENTS_MAX + 2]; /* with cycles and a final NULL */
	struct attribute_group event_group;
	const struct attribute_group *groups[PESA_ATTR_GROUPS + 1];
};

static inline struct pesa_pmu *to_pesa(struct pmu *pmu)
{
	return container_of(pmu, struct pesa_pmu, pmu);
}

static inline bool pesa_is_kernel(unsigned long address)
{
	/* On RV64 the kernel has the upper half of the address space. */
	return IS_ENABLED(CONFIG_64BIT) ? (long)address < 0 : address >= TASK_SIZE;
}

static inline void pesa_count(struct pesa_hart *hart, enum pesa_statistic which, u64 count)
{
	WRITE_ONCE(hart->statistic[which], hart->statistic[which] + count);
}

static inline void pesa_interrupt_open(struct pesa_pmu *pesa)
{
	csr_set(CSR_IE, pesa->irq_mask);
}

static inline void pesa_interrupt_close(struct pesa_pmu *pesa)
{
	csr_clear(CSR_IE, pesa->irq_mask);
}

static inline bool pesa_is_pending(struct pesa_pmu *pesa)
{
	return csr_read(CSR_IP) & pesa->irq_mask;
}

/* Clear the pending bit, so that the next overflow writes the sample registers. */
static inline void pesa_rearm(struct pesa_pmu *pesa)
{
	csr_clear(CSR_IP, pesa->irq_mask);
}

/* hart.c */
/* Probe all online harts and keep the capabilities that they have in common. */
int pesa_probe_harts(struct pesa_pmu *pesa);
/* Probe the current hart as it comes online; false: it lacks a capability of the PMU. */
bool pesa_hart_is_compatible(struct pesa_hart *hart);

/* sample.c */
/* Fill in the fields that are the same in all records. */
void pesa_prepare_record(struct pesa_hart *hart);
void pesa_counter_stop(struct pesa_hart *hart);
/* Stop the current hart's event before the hart loses its registers; restart it afterwards. */
void pesa_hart_suspend(struct pesa_hart *hart);
void pesa_hart_resume(struct pesa_hart *hart);
/* Stop all harts for shutdown. */
void pesa_stop_harts(struct pesa_pmu *pesa);
/* System suspend: events that perf starts before pesa_resume_harts() start then. */
void pesa_suspend_harts(struct pesa_pmu *pesa);
void pesa_resume_harts(struct pesa_pmu *pesa);
irqreturn_t pesa_interrupt(int irq, void *context);
/* Fill in perf's callbacks. */
void pesa_set_callbacks(struct pesa_pmu *pesa);

/* branch.c */
static inline bool pesa_has_call_stack(const struct perf_event *event)
{
	return event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
	       event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

/* Allocate buffers. */
int pesa_branches_prepare(struct pesa_pmu *pesa);
/* Translate branch_sample_type to a value of sctrctl; -EOPNOTSUPP if a bit has no equivalent. */
int pesa_branches_control(const struct perf_event *event, u64 *control);
/* The event was added to the hart; is about to be removed. */
void pesa_branches_add(const struct perf_event *event);
void pesa_branches_delete(struct pesa_hart *hart, const struct perf_event *event);
void pesa_branches_start(struct pesa_hart *hart, const struct perf_event *event);
/* Take no further sample.  A call stack is kept up to date until the hart forgets it. */
void pesa_branches_stop(const struct perf_event *event);
void pesa_branches_forget(struct pesa_hart *hart);
/* Read the records of the pending sample and unfreeze recording. */
void pesa_branches_read(struct pesa_hart *hart, const struct perf_event *event);

static inline void pesa_clear_records(void)
{
	asm volatile(".4byte %0" : : "i" (PESA_CTR_SCTRCLR) : "memory");
}

/* call_stack.c */
/* Set perf's callbacks for call stacks, where the harts have them. */
int pesa_call_stacks_prepare(struct pesa_pmu *pesa);

/* autorun.c */
static inline bool pesa_is_autorun(const struct perf_event *event)
{
	return event->attr.config & PESA_CONFIG_AUTORUN;
}

/* Clear the AutoRun registers, so that the hart writes no more records. */
void pesa_autorun_disarm(void);
int pesa_autorun_check(const struct pesa_pmu *pesa, struct perf_event *event);
/* Point the hart at free room in the event's AUX buffer; false: no buffer or no room. */
bool pesa_autorun_begin(struct pesa_hart *hart, struct perf_event *event);
/* Stop writing and hand the records to perf. */
void pesa_autorun_end(struct pesa_hart *hart, struct perf_event *event);
void *pesa_autorun_setup(struct perf_event *event, void **pages, int count, bool overwrite);
void pesa_autorun_free(void *buffer);

/* event.c */
/* Read the events from the device's properties. */
int pesa_describe_events(struct pesa_pmu *pesa);
/* On a hart with shpmsevent: set in `refused` the events whose number does not read back. */
void pesa_probe_events(const struct pesa_pmu *pesa, unsigned long *refused);
void pesa_remove_events(struct pesa_pmu *pesa, const unsigned long *refused);
bool pesa_has_event(const struct pesa_pmu *pesa, u32 number);
int pesa_prepare_event_files(struct pesa_pmu *pesa);

/* The value of shpmsevent for the event. */
static inline u32 pesa_selector(const struct perf_event *event)
{
	u32 number = event->attr.config & PESA_CONFIG_EVENT;

	return number == PESA_EVENT_CYCLES ? PESA_SELECT_CYCLES : number;
}

/* sysfs.c */
/* Fill in pesa->groups. */
void pesa_prepare_groups(struct pesa_pmu *pesa);

#endif
