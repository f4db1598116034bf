// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts identical samples in the kernel.
 *
 * The program runs for every sample of a perf event that it is attached to, after perf has prepared
 * the sample and before the sample is written to the ring.  It returns 0 if the sample was counted
 * or filtered, so that nothing is written, and 1 to write the sample to the ring.
 *
 * Kernel structures are declared with the used fields only; CO-RE relocates them by the running
 * kernel's type information.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "daemon/pesad/bpf/aggregate.h"

#define KERNEL_FIELDS __attribute__((preserve_access_index))

struct mm_struct {
	unsigned long exec_vm;
} KERNEL_FIELDS;

struct task_struct {
	struct task_struct *group_leader;
	struct mm_struct *mm;
	__u64 start_boottime;
	__u32 self_exec_id;
} KERNEL_FIELDS;

struct perf_raw_frag {
	void *data;
	__u32 size;
} KERNEL_FIELDS;

struct perf_raw_record {
	struct perf_raw_frag frag;
} KERNEL_FIELDS;

struct perf_sample_data {
	__u64 period;
	struct {
		__u32 pid, tid;
	} tid_entry;
	__u64 time;
	struct perf_raw_record *raw;
} KERNEL_FIELDS;

/* Only the offset of the member matters. */
struct event_count {
	struct {
		struct {
			__s64 counter;
		} a;
	} a;
} KERNEL_FIELDS;

struct perf_event {
	struct event_count count;
} KERNEL_FIELDS;

struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
	struct perf_event *event;
} KERNEL_FIELDS;

extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

char LICENSE[] SEC("license") = "GPL";

/* The verifier knows the value, the compiler does not. */
#ifndef CONSTANT
#define CONSTANT const volatile
#endif
CONSTANT struct pesa_aggregate_settings settings;
/* The current bank, written by the daemon. */
volatile __u32 bank;

/* The daemon sets the number of entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pesa_aggregate_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pesa_aggregate_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} uids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, char[PESA_AGGREGATE_COMM]);
	__type(value, __u8);
} comms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, PESA_AGGREGATE_CGROUPS);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

static __always_inline bool is_wanted_cgroup(void)
{
	for (__u32 i = 0; i < PESA_AGGREGATE_CGROUPS && i < settings.cgroups; i++)
		if (bpf_current_task_under_cgroup(&cgroups, i) == 1)
			return true;
	return false;
}

static __always_inline bool is_wanted_comm(void)
{
	char comm[PESA_AGGREGATE_COMM] = {};

	return !bpf_get_current_comm(comm, sizeof(comm)) && bpf_map_lookup_elem(&comms, comm);
}

static __always_inline bool is_wanted(void)
{
	if (settings.by_pid) {
		__u32 pid = bpf_get_current_pid_tgid() >> 32;

		if (!bpf_map_lookup_elem(&pids, &pid))
			return false;
	}
	if (settings.by_uid) {
		__u32 uid = (__u32)bpf_get_current_uid_gid();

		if (!bpf_map_lookup_elem(&uids, &uid))
			return false;
	}
	if (settings.by_comm && !is_wanted_comm())
		return false;
	return !settings.cgroups || is_wanted_cgroup();
}

/*
 * The event's count grows by the period of every sample.  Growth beyond the counted periods is from
 * samples that the kernel dropped without running this program.
 */
static __always_inline void notice_missed(struct pesa_aggregate_cpu *cpu, __u64 count, __u64 period)
{
	__u64 missed = count - cpu->seen - period;
	__u64 unit = cpu->period ? cpu->period : period;
	bool known = cpu->watched && cpu->seen != PESA_AGGREGATE_UNSEEN;

	cpu->seen = count;
	if (known && missed && unit)
		cpu->missed += (missed + unit / 2) / unit;
}

static __always_inline __u32 hash_of(const __u64 *word)
{
	__u64 hash = 0;

#pragma unroll
	for (unsigned int i = 0; i < PESA_AGGREGATE_WORDS; i++) {
		hash = (hash ^ word[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	return hash;
}

static __always_inline bool is_equal(const __u64 *a, const __u64 *b)
{
	__u64 differs = 0;

#pragma unroll
	for (unsigned int i = 0; i < PESA_AGGREGATE_WORDS; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

/* Find the slot of a pair, or take a free one; NULL: none. */
static __always_inline struct pesa_aggregate_slot *
find_slot(struct pesa_aggregate_cpu *cpu, __u32 number, const __u64 *word, __u64 time)
{
	__u32 which = bank & 1, hash = hash_of(word);
	__u32 first = (number * 2 + which) * settings.slots;

	for (__u32 i = 0; i < PESA_AGGREGATE_PROBES; i++) {
		__u32 index = first + ((hash + i) & (settings.slots - 1));
		struct pesa_aggregate_slot *slot = bpf_map_lookup_elem(&slots, &index);

		if (!slot)
			return NULL;
		if (!slot->count) {
			__builtin_memcpy(slot->word, word, sizeof(slot->word));
			slot->first = time;
			cpu->used[which]++;
			return slot;
		}
		if (is_equal(slot->word, word))
			return slot;
	}
	return NULL;
}

static __always_inline void identify(struct pesa_aggregate_pair *pair,
				     const struct perf_sample_data *data)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;

	pair->pid = data->tid_entry.pid;
	pair->tid = settings.threads ? data->tid_entry.tid : 0;
	pair->started = task->group_leader->start_boottime;
	pair->execs = task->self_exec_id;
	pair->pages = mm ? mm->exec_vm : 0;
}

/* Read the sample's record; false: it is not a record of the PMU pesa. */
static __always_inline bool read_record(struct pesa_record *record,
					const struct perf_sample_data *data)
{
	struct perf_raw_record *raw = data->raw;

	/* Padding is behind it, or not: that depends on the driver. */
	return raw && raw->frag.size >= sizeof(*record) &&
	       !bpf_probe_read_kernel(record, sizeof(*record), raw->frag.data) &&
	       record->version == PESA_RECORD_VERSION;
}

SEC("perf_event")
int pesa_aggregate(void *context)
{
	struct bpf_perf_event_data_kern *kernel = bpf_cast_to_kern_ctx(context);
	struct perf_sample_data *data = kernel->data;
	__u32 number = bpf_get_smp_processor_id();
	struct pesa_aggregate_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	union {
		struct pesa_aggregate_pair pair;
		__u64 word[PESA_AGGREGATE_WORDS];
	} key;
	struct pesa_aggregate_slot *slot;
	__u64 lost, content;
	bool known;

	if (!cpu)
		return 1;
	notice_missed(cpu, kernel->event->count.a.a.counter, data->period);
	known = read_record(&key.pair.record, data);
	lost = known ? key.pair.record.flags >> PESA_RECORD_LOST_SHIFT : 0;
	if (!is_wanted()) {
		cpu->filtered++;
		cpu->lost += lost;
		return 0;
	}
	if (!known) {
		cpu->passed++;
		return 1;
	}
	identify(&key.pair, data);
	content = key.pair.record.data;
	key.pair.record.flags &= ~(PESA_RECORD_LOST_MASK << PESA_RECORD_LOST_SHIFT);
	key.pair.record.data = 0;
	slot = find_slot(cpu, number, key.word, data->time);
	if (!slot) {
		cpu->overflowed++;
		return 1;
	}
	slot->count++;
	slot->periods += data->period;
	slot->last = data->time;
	slot->data = content;
	slot->lost += lost;
	cpu->counted++;
	return 0;
}
