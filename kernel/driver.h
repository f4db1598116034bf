/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the driver share.
 *
 *   main.c      probing, harts that come and go
 *   hart.c      what a hart has: its registers tried out
 *   sample.c    perf's callbacks, the interrupt, records: the way of a sample
 *   branch.c    control transfer records (Ssctr)
 *   event.c     events other than cycles
 *   autorun.c   AutoRun: samples that the hart writes to memory itself
 *   sysfs.c     what sysfs says
 */
#ifndef PESA_DRIVER_H
#define PESA_DRIVER_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/notifier.h>
#include <linux/perf_event.h>

#include <asm/csr.h>
#include <asm/ptrace.h>

#include "pesa/csr.h"
#include "pesa/record.h"

#define PESA_NAME "pesa"

/* attr.config */
#define PESA_CONFIG_EVENT   GENMASK_ULL(7, 0)
#define PESA_CONFIG_FIXED   BIT_ULL(8)
#define PESA_CONFIG_AUTORUN BIT_ULL(9)
#define PESA_CONFIG_KNOWN   (PESA_CONFIG_EVENT | PESA_CONFIG_FIXED | PESA_CONFIG_AUTORUN)
#define PESA_EVENT_CYCLES   0x01
#define PESA_CYCLES_NAME    "cycles"
/* Other events have the numbers of shpmsevent; no more of them than: */
#define PESA_EVENTS_MOST 64

/* What became of samples, on one hart. */
enum pesa_statistic {
	/* The first three are all that were taken. */
	PESA_RECORDED,	/* handed to perf */
	PESA_EXCLUDED,	/* of a privilege mode that the event excludes */
	PESA_UNCLAIMED, /* taken while no event was scheduled on the hart */
	PESA_DISCARDED, /* overflows that found the registers occupied, or no room */
	PESA_UNHEARD,	/* the same while no event was scheduled on the hart */
	PESA_THROTTLED, /* times that perf stopped an event for its interrupts */
	PESA_UNTOLD,	/* of the discarded: no record tells of them, perf counts them as lost */
	PESA_CROWDED,	/* interrupts that left what they interrupted less time than they took */
	PESA_STATISTICS,
	PESA_TAKEN = PESA_STATISTICS /* a sum, which is counted nowhere */
};

#define PESA_GROUPS 5 /* directories in sysfs */

struct pesa_pmu;

/* Functions of perf's that are not exported to modules, by their own names. */
struct pesa_perf {
	int (*overflow)(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs);
	int (*account_interrupt)(struct perf_event *event);
	void (*sample_event_took)(u64 nanoseconds);
};

/* The piece of an AUX buffer that a hart writes to. */
struct pesa_autorun {
	struct perf_output_handle handle;
	bool active;
	bool last;	     /* of the room that there is: what finds none is lost */
	unsigned long first; /* physical address of its start */
	unsigned long limit; /* and of its end */
};

struct pesa_choice {
	const char *name;
	u32 number; /* in attr.config and in shpmsevent */
	struct perf_pmu_events_attr file;
};

struct pesa_hart {
	struct pesa_pmu *pmu;
	struct perf_event *event; /* scheduled here, NULL: none */
	u32 interval;		  /* that the counter is counting; 0: it is stopped */
	u32 selected;		  /* what it counts: the value of shpmsevent */
	bool gone;		  /* not online, or not yet: its registers are left alone */
	bool to_memory;		  /* it is in AutoRun */
	bool asleep;		  /* and the event goes on when it wakes */
	u32 counter_mask;	  /* bits that its counter has */
	/* Whose the last sample was, and so the overflows that it kept out; NULL: nobody's. */
	struct perf_event *owner;
	u64 lost;  /* overflows discarded that no record of the event tells of yet */
	u64 ended; /* when the last interrupt did, by the time register */
	/* Intervals are `least` plus a random number below `span`, for events of this period. */
	u64 sample_period;
	u32 least, span;
	u32 random; /* not 0 */
	struct pesa_record record;
	/* Here rather than on the stack, where some kernels clear them each time. */
	struct perf_raw_record raw;
	struct perf_sample_data data;
	struct pt_regs regs;
	struct pt_regs **interrupted; /* where the kernel says what its interrupt interrupted */
	struct perf_branch_stack *branches; /* NULL: there are no control transfer records */
	struct pesa_autorun autorun;
	u64 statistic[PESA_STATISTICS];
};

struct pesa_pmu {
	struct pmu pmu;
	struct device *dev;
	struct pesa_hart __percpu *harts;
	void __percpu *branches;
	struct hlist_node hotplug;
	struct notifier_block power;
	cpumask_t supported;
	cpumask_t came;	 /* online again while the system slept */
	atomic_t events; /* that exist */
	bool down;	 /* the system goes down: nothing starts any more */
	bool suspended;	 /* the system sleeps: what would start does when it wakes */
	struct pesa_perf perf;
	u32 tick; /* of the time register, in nanoseconds */
	int irq;
	unsigned long irq_mask; /* of sie and sip */
	/* capabilities */
	u32 counter_bits;
	u32 counter_mask; /* what all harts have of it: what periods have to fit into */
	u32 retire_width;
	u32 ct_targets;
	u32 ctr_depth;
	bool autorun;
	u64 frequency;
	bool discarded_count; /* shpmsdata tells how many overflows were discarded */
	const char *cause_names[PESA_CAUSE_COUNT];
	const char *core, *model;
	/* what else than cycles can be counted */
	unsigned int choice_count;
	struct pesa_choice choices[PESA_EVENTS_MOST];
	struct attribute *event_files[PESA_EVENTS_MOST + 2]; /* with that of cycles, and NULL */
	struct attribute_group event_group;
	const struct attribute_group *groups[PESA_GROUPS + 1];
};

static inline struct pesa_pmu *to_pesa(struct pmu *pmu)
{
	return container_of(pmu, struct pesa_pmu, pmu);
}

static inline bool pesa_is_kernel(unsigned long address)
{
	/* RV64 has the kernel in the upper half of the addresses. */
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

/* The next overflow may write the registers of the sample. */
static inline void pesa_rearm(struct pesa_pmu *pesa)
{
	csr_clear(CSR_IP, pesa->irq_mask);
}

/* hart.c */
/* Try out all harts that are online: what is offered is what all of them have. */
int pesa_probe_harts(struct pesa_pmu *pesa);
/* On a hart that comes: whether it has what is offered. */
bool pesa_hart_suits(struct pesa_hart *hart);

/* sample.c */
/* What is the same in all records. */
void pesa_prepare_record(struct pesa_hart *hart);
void pesa_counter_stop(struct pesa_hart *hart);
/* The hart sleeps, or has been asleep and has forgotten its registers. */
void pesa_hart_sleeps(struct pesa_hart *hart);
void pesa_hart_wakes(struct pesa_hart *hart);
void pesa_stop_harts(struct pesa_pmu *pesa);
/* The same for all harts; what perf starts in between waits. */
void pesa_suspend_harts(struct pesa_pmu *pesa);
void pesa_resume_harts(struct pesa_pmu *pesa);
irqreturn_t pesa_interrupt(int irq, void *context);
/* Fill in perf's callbacks. */
void pesa_set_callbacks(struct pesa_pmu *pesa);

/* branch.c */
/* What branch_sample_type asks for, as a value of sctrctl; -EOPNOTSUPP: what is not there. */
int pesa_branches_control(const struct perf_event *event, u64 *control);
void pesa_branches_start(const struct perf_event *event);
void pesa_branches_stop(void);
/* Read the records of the pending sample, and let the hart go on recording. */
void pesa_branches_read(struct pesa_hart *hart, const struct perf_event *event);

/* autorun.c */
static inline bool pesa_is_autorun(const struct perf_event *event)
{
	return event->attr.config & PESA_CONFIG_AUTORUN;
}

/* No record goes to memory any more, whatever the registers held. */
void pesa_autorun_disarm(void);
int pesa_autorun_check(const struct pesa_pmu *pesa, struct perf_event *event);
/* Let the hart write into the event's AUX buffer; false: there is none, or no room in it. */
bool pesa_autorun_begin(struct pesa_hart *hart, struct perf_event *event);
/* Hand over what it wrote. */
void pesa_autorun_end(struct pesa_hart *hart, struct perf_event *event);
void *pesa_autorun_setup(struct perf_event *event, void **pages, int count, bool overwrite);
void pesa_autorun_free(void *buffer);

/* event.c */
int pesa_describe_events(struct pesa_pmu *pesa);
/* On a hart that has shpmsevent: mark those that it does not take up. */
void pesa_try_events(const struct pesa_pmu *pesa, unsigned long *refused);
void pesa_drop_events(struct pesa_pmu *pesa, const unsigned long *refused);
bool pesa_has_event(const struct pesa_pmu *pesa, u32 number);
int pesa_prepare_event_files(struct pesa_pmu *pesa);

/* The value of shpmsevent that makes the counter count what the event asks for. */
static inline u32 pesa_selector(const struct perf_event *event)
{
	u32 number = event->attr.config & PESA_CONFIG_EVENT;

	return number == PESA_EVENT_CYCLES ? PESA_SELECT_CYCLES : number;
}

/* sysfs.c */
/* Fill in `groups`. */
void pesa_prepare_groups(struct pesa_pmu *pesa);

#endif
