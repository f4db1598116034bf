// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random events of the PMU pesa, by a user who may not see the kernel: no address of the kernel may
 * ever arrive.
 *
 *   fuzz_attributes SEED END      as user 1000, until the file END is there
 *   fuzz_attributes SEED control  a few with the kernel, as who may see it: addresses must arrive
 *
 * All words of every sample and of the AUX buffer are looked at, except the user's own stack, which is
 * not asked for.  No number that this program holds itself looks like such an address.
 */
#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "guest_event.h"

/* RV64: the upper half, without small negative numbers, which are errors and marks of perf's. */
#define KERNEL_START UINT64_C(0xff00000000000000)
#define KERNEL_END   UINT64_C(0xfffffffff0000000)
#define INT_LEAST    UINT64_C(0xffffffff80000000) /* of an int in a register */
#define DATA_PAGES   16u
#define AUX_PAGES    4u
#define RECORD_MARK  0x00304001u /* how a raw record begins: version 1, 64 bits, 48 bytes */

struct counts {
	unsigned long opened, refused, privileged, samples, raw, branches, aux, leaks;
};

static struct counts counts;
static uint32_t state;

/* Below 2^31: a word of two of them is no address of the kernel. */
static uint32_t random_number(void)
{
	state = (state * 1103515245u + 12345u) & 0x7fffffff;
	return state >> 8;
}

static bool one_in(uint32_t times)
{
	return random_number() % times == 0;
}

static bool is_kernel(uint64_t value)
{
	return value >= KERNEL_START && value < KERNEL_END && value != INT_LEAST;
}

static void leak(const char *where, uint64_t value, const struct perf_event_attr *attr)
{
	if (counts.leaks++ < 5)
		printf("leak: %s has %#llx: sample_type %#llx config %#llx branches %#llx\n", where,
		       (unsigned long long)value, (unsigned long long)attr->sample_type,
		       (unsigned long long)attr->config,
		       (unsigned long long)attr->branch_sample_type);
}

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static void look_at_sample(const uint8_t *record, size_t size, uint16_t misc,
			   const struct perf_event_attr *attr)
{
	counts.samples++;
	counts.branches += attr->sample_type & PERF_SAMPLE_BRANCH_STACK && size > 64;
	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		leak("the mode of a sample", misc, attr);
	for (size_t at = 8; at + 8 <= size; at += 8)
		if (is_kernel(word_at(record + at)))
			leak("a sample", word_at(record + at), attr);
	/* The raw record stands behind four bytes with its size. */
	for (size_t at = 8; at + 4 + 48 <= size; at += 8) {
		uint32_t mark;

		memcpy(&mark, record + at + 4, sizeof(mark));
		if (mark != RECORD_MARK)
			continue;
		counts.raw++;
		for (size_t word = 8; word < 48; word += 8)
			/* Not shpmsdata: it counts. */
			if (word != 16 && is_kernel(word_at(record + at + 4 + word)))
				leak("a raw record", word_at(record + at + 4 + word), attr);
	}
}

static void look_at_ring(struct perf_event_mmap_page *page, const struct perf_event_attr *attr)
{
	static uint8_t record[65536];
	const uint8_t *data = (const uint8_t *)page + page->data_offset;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;

	while (head - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		for (size_t i = 0; i < sizeof(header); i++)
			record[i] = data[(at + i) % page->data_size];
		memcpy(&header, record, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - at)
			break;
		for (size_t i = 0; i < header.size; i++)
			record[i] = data[(at + i) % page->data_size];
		if (header.type == PERF_RECORD_SAMPLE)
			look_at_sample(record, header.size, header.misc, attr);
		at += header.size;
	}
	__atomic_store_n(&page->data_tail, at, __ATOMIC_RELEASE);
}

static void look_at_aux(const uint8_t *aux, const struct perf_event_attr *attr)
{
	for (size_t at = 0; at < AUX_PAGES * 4096; at += 8) {
		uint64_t word = word_at(aux + at);

		counts.aux += at % 64 == 0 && word;
		if (at % 64 != 32 && is_kernel(word))
			leak("the AUX buffer", word, attr);
	}
}

/* System calls, page faults and jumps of all kinds: the kernel is entered and left. */
static void work(void)
{
	static int (*const calls[])(void) = {getpid, getppid};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile unsigned long sum = 0;
	char *memory;

	for (unsigned int round = 0; round < 5; round++) {
		memory = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		for (size_t i = 0; memory != MAP_FAILED && i < 8; i++)
			memory[i * page] = 1;
		if (memory != MAP_FAILED)
			munmap(memory, 8 * page);
		for (unsigned int i = 0; i < 50; i++)
			sum += (unsigned long)calls[i & 1]() + i / (round + 1);
		getuid();
	}
}

static uint64_t random_period(void)
{
	static const uint64_t some[] = {0,	    1,		255,	    256,
					257,	    300,	1000,	    10000,
					0x7fffffff, 0x80000000, 1ull << 33, 1ull << 62};

	return one_in(8) ? some[random_number() % (sizeof(some) / sizeof(some[0]))]
			 : 256 + random_number() % 5000;
}

static struct perf_event_attr random_attributes(unsigned int type)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = CONFIG_CYCLES,
		.sample_period = random_period(),
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};

	/* 25 fields are known; the stack is not looked at. */
	attr.sample_type = (random_number() | random_number() << 13) & 0x1ffffff;
	attr.sample_type &= one_in(2) ? 0x1fff : 0x1ffffff;
	/* What is refused to whoever asks, or to who is nobody, is not asked for each time. */
	if (!one_in(6))
		attr.sample_type &= ~(uint64_t)(PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_AUX |
						PERF_SAMPLE_WEIGHT_STRUCT);
	attr.sample_type &= ~(uint64_t)PERF_SAMPLE_STACK_USER;
	attr.sample_type |= PERF_SAMPLE_IP | (one_in(2) ? PERF_SAMPLE_RAW : 0);
	if (attr.sample_type & PERF_SAMPLE_BRANCH_STACK || one_in(3)) {
		attr.branch_sample_type =
			one_in(3) ? random_number() & 0xfffff : PERF_SAMPLE_BRANCH_ANY;
		attr.branch_sample_type |= one_in(2) ? PERF_SAMPLE_BRANCH_USER : 0;
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	}
	if (one_in(10))
		attr.config |= 1ull << random_number() % 12;
	if (one_in(20))
		attr.config1 = random_number();
	if (one_in(4)) {
		attr.freq = 1;
		attr.sample_freq = 1 + random_number() % 20000;
	}
	attr.exclude_user = one_in(8);
	attr.exclude_idle = one_in(8);
	attr.exclude_hv = one_in(2);
	attr.exclude_guest = one_in(2);
	attr.exclude_host = one_in(30);
	attr.inherit = one_in(6);
	attr.pinned = one_in(4);
	attr.precise_ip = one_in(4) ? random_number() % 4 : 0;
	attr.sample_id_all = one_in(2);
	attr.exclude_callchain_kernel = one_in(2);
	attr.exclude_callchain_user = one_in(2);
	attr.context_switch = one_in(4);
	attr.read_format = one_in(2) ? random_number() & 0x1f : 0;
	attr.sample_regs_user = one_in(2) ? random_number() : 0x3;
	attr.sample_regs_intr = one_in(2) ? random_number() : 0x3;
	attr.sample_max_stack = one_in(4) ? random_number() % 200 : 0;
	attr.wakeup_events = one_in(4) ? random_number() % 100 : 0;
	attr.aux_watermark = one_in(4) ? random_number() % 20000 : 0;
	if (one_in(4)) {
		attr.config |= CONFIG_AUTORUN;
		if (!one_in(4)) {
			attr.sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
			attr.freq = 0;
			attr.sample_period = 256 + random_number() % 5000;
			attr.exclude_idle = 0;
		}
	}
	return attr;
}

static void try_one(const struct perf_event_attr *asked, int cpu)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = *asked;
	int event = guest_open(&attr, 0, cpu, -1);
	struct perf_event_mmap_page *ring;
	uint8_t *aux = MAP_FAILED;

	if (event < 0) {
		counts.refused++;
		return;
	}
	counts.opened++;
	ring = mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	if (ring != MAP_FAILED) {
		ring->aux_offset = (1 + DATA_PAGES) * page;
		ring->aux_size = AUX_PAGES * page;
		if (attr.config & CONFIG_AUTORUN)
			aux = mmap(NULL, AUX_PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED,
				   event, (off_t)ring->aux_offset);
	}
	ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
	work();
	if (one_in(2))
		ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
	if (ring != MAP_FAILED)
		look_at_ring(ring, &attr);
	if (aux != MAP_FAILED) {
		look_at_aux(aux, &attr);
		munmap(aux, AUX_PAGES * page);
	}
	if (ring != MAP_FAILED)
		munmap(ring, (1 + DATA_PAGES) * page);
	close(event);
}

static void show_counts(void)
{
	printf("opened %lu refused %lu privileged %lu samples %lu raw %lu branches %lu aux %lu leaks %lu\n",
	       counts.opened, counts.refused, counts.privileged, counts.samples, counts.raw,
	       counts.branches, counts.aux, counts.leaks);
}

static void control(unsigned int type)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = CONFIG_CYCLES,
		.sample_period = 500,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
	};

	try_one(&attr, -1);
	attr.config |= CONFIG_AUTORUN;
	try_one(&attr, -1);
	attr.config = CONFIG_CYCLES;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	try_one(&attr, -1);
}

int main(int argc, char **argv)
{
	unsigned int type = guest_pmu_type();

	if (argc != 3)
		return 2;
	state = (uint32_t)strtoul(argv[1], NULL, 0) & 0x7fffffff;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(argv[2], "control")) {
		control(type);
		show_counts();
		return 0;
	}
	if (setgroups(0, NULL) || setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000))
		return 3;
	for (unsigned long i = 0; access(argv[2], F_OK); i++) {
		struct perf_event_attr attr = random_attributes(type);
		struct perf_event_attr with = attr;
		int event;

		try_one(&attr, one_in(3) ? (int)(random_number() % 2) : -1);
		/* With the kernel it must be refused. */
		with.exclude_kernel = 0;
		event = guest_open(&with, 0, -1, -1);
		counts.privileged += event >= 0;
		if (event >= 0)
			close(event);
		if (i % 200 == 0)
			show_counts();
	}
	show_counts();
	return 0;
}
