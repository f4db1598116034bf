// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A 32-bit program on a 64-bit kernel that samples itself, without a library (there is none of 32
 * bits): narrow TYPE, the number of the PMU.  It tells its samples, and what it was refused with.
 * Without TYPE it only works, for others to record.
 */
#include <linux/perf_event.h>
#include <stdint.h>

/* Of the 32-bit system calls. */
#define CALL_IOCTL	     29
#define CALL_WRITE	     64
#define CALL_EXIT	     93
#define CALL_MMAP2	     222
#define CALL_PERF_EVENT_OPEN 241

#define READ_WRITE  3 /* PROT_READ | PROT_WRITE */
#define MAP_SHARED  1
#define PAGE	    4096u
#define DATA_BYTES  (16u * PAGE)
#define ROUNDS	    100000u
#define CYCLES	    1u
#define NAME_LENGTH 24u

static long call(long number, long a, long b, long c, long d, long e)
{
	register long a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d, a4 __asm__("a4") = e, a5 __asm__("a5") = 0;
	register long a7 __asm__("a7") = number;

	__asm__ volatile("ecall"
			 : "+r"(a0)
			 : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7)
			 : "memory");
	return a0;
}

static void tell(const char *name, long number)
{
	char line[NAME_LENGTH + 16], digits[12];
	unsigned int length = 0, count = 0;
	unsigned long rest = number < 0 ? 0ul - (unsigned long)number : (unsigned long)number;

	while (*name && length < NAME_LENGTH)
		line[length++] = *name++;
	line[length++] = ' ';
	if (number < 0)
		line[length++] = '-';
	do {
		digits[count++] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	while (count)
		line[length++] = digits[--count];
	line[length++] = '\n';
	call(CALL_WRITE, 1, (long)line, (long)length, 0, 0);
}

static long event_open(const struct perf_event_attr *attr)
{
	return call(CALL_PERF_EVENT_OPEN, (long)attr, 0, -1, -1, 0);
}

/* What is sampled. */
__attribute__((noinline)) static unsigned int work(unsigned int rounds)
{
	unsigned int value = 1;

	while (rounds--)
		value = value * 1103515245u + 12345u;
	return value;
}

extern const char program_start[] __asm__("__executable_start"), program_end[] __asm__("etext");

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t raw_size;
	uint8_t version, xlen;
};

/* Samples, and how many of them are of this program and have a record. */
static void tell_samples(const struct perf_event_mmap_page *page)
{
	const uint8_t *data = (const uint8_t *)page + PAGE;
	uint32_t tail = 0, head = (uint32_t)page->data_head;
	unsigned int samples = 0, inside = 0, records = 0;

	/* No more is read than was never overwritten. */
	while (tail < head && head <= DATA_BYTES) {
		const struct sample *sample = (const struct sample *)(data + tail);

		if (sample->header.type == PERF_RECORD_SAMPLE) {
			samples++;
			inside += sample->ip >= (uintptr_t)program_start &&
				  sample->ip < (uintptr_t)program_end;
			records += sample->raw_size >= 48 && sample->version == 1 &&
				   sample->xlen == 64;
		}
		tail += sample->header.size;
	}
	tell("samples", (long)samples);
	tell("inside", (long)inside);
	tell("records", (long)records);
}

static void program(int count, char **words)
{
	static struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = CYCLES,
		.sample_period = 10000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	uint64_t id = 0, period = 100;
	long event, page;

	if (count < 2) {
		tell("odd", work(ROUNDS) & 1);
		return;
	}
	for (const char *digit = words[1]; *digit; digit++)
		attr.type = attr.type * 10 + (unsigned int)(*digit - '0');
	attr.sample_period = 255;
	tell("below-minimum", event_open(&attr));
	attr.sample_period = 1ull << 40;
	tell("beyond-counter", event_open(&attr));
	attr.sample_period = 10000;
	attr.config |= 1ull << 63;
	tell("unknown-config", event_open(&attr));
	attr.config = CYCLES;
	event = event_open(&attr);
	tell("opened", event);
	tell("id", call(CALL_IOCTL, event, (long)PERF_EVENT_IOC_ID, (long)&id, 0, 0));
	tell("period", call(CALL_IOCTL, event, (long)PERF_EVENT_IOC_PERIOD, (long)&period, 0, 0));
	page = call(CALL_MMAP2, 0, PAGE + DATA_BYTES, READ_WRITE, MAP_SHARED, event);
	tell("mapped", page & (PAGE - 1) ? page : 0);
	if (page & (PAGE - 1))
		return;
	tell("enabled", call(CALL_IOCTL, event, PERF_EVENT_IOC_ENABLE, 0, 0, 0));
	tell("odd", work(ROUNDS) & 1);
	call(CALL_IOCTL, event, PERF_EVENT_IOC_DISABLE, 0, 0, 0);
	tell_samples((const struct perf_event_mmap_page *)page);
}

/* The kernel's way to begin a program: sp points at the count of words. */
__asm__("	.globl	_start\n"
	"_start:\n"
	"	.option push\n"
	"	.option norelax\n"
	"	la	gp, __global_pointer$\n"
	"	.option pop\n"
	"	mv	a0, sp\n"
	"	call	begin\n");

__attribute__((used, noreturn)) void begin(const int *stack)
{
	program(*stack, (char **)(uintptr_t)(stack + 1));
	for (;;)
		call(CALL_EXIT, 0, 0, 0, 0, 0);
}
