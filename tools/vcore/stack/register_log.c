// SPDX-License-Identifier: GPL-2.0-or-later
/* Registers before each of the newest instructions: see register_log.h. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/vcore/stack/register_log.h"

/*
 * Notes that are kept, a power of 2.  A hart that loses the turn executes to the end of its block,
 * of 512 instructions at most in the emulator, before they are accounted.
 */
#define NOTES 1024u
/* Instructions that the emulator restarts are noted again: look so many notes further back. */
#define RESTARTS 8u

/* PERF_REG_RISCV_* */
#define REGISTER_RA 1u
#define REGISTER_S0 8u

struct note {
	uint64_t value[VCORE_REGISTERS];
};

struct register_log {
	uint32_t wanted;
	bool waits;	/* the newest note is of an instruction that is in no batch yet */
	uint64_t noted; /* number of notes */
	uint64_t base;	/* note of number 0 of the batch */
	struct note note[NOTES];
};

struct register_log *register_log_create(uint32_t registers)
{
	struct register_log *log = calloc(1, sizeof(*log));

	if (log)
		log->wanted = registers;
	return log;
}

void register_log_free(struct register_log *log)
{
	free(log);
}

uint32_t register_log_wanted(const struct register_log *log)
{
	return log->wanted;
}

uint64_t *register_log_next(struct register_log *log, uint64_t pc)
{
	uint64_t *value = log->note[log->noted++ % NOTES].value;

	value[0] = pc;
	return value;
}

void register_log_begin(struct register_log *log, size_t steps, bool waits)
{
	log->waits = waits;
	log->base = log->noted - waits - steps;
}

void register_log_end(struct register_log *log)
{
	log->base = log->noted - log->waits;
}

const uint64_t *register_log_find(const struct register_log *log, ptrdiff_t number, uint64_t pc)
{
	uint64_t at = log->base + (uint64_t)number;

	for (unsigned int i = 0; i < RESTARTS; i++, at--) {
		const uint64_t *value = log->note[at % NOTES].value;

		/* In front of the first note, or overwritten. */
		if (at >= log->noted || log->noted - at > NOTES)
			return NULL;
		if (value[0] == pc)
			return value;
	}
	return NULL;
}

size_t register_log_copy(uint64_t guest_base, uint64_t address, void *bytes, size_t size)
{
	struct iovec local = {bytes, size};
	struct iovec remote = {(void *)(uintptr_t)(address + guest_base), size};
	ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return copied < 0 ? 0 : (size_t)copied;
}

size_t register_log_walk(uint64_t guest_base, const uint64_t *registers, uint64_t pc,
			 uint64_t *entry, bool *cut)
{
	uint64_t fp = registers[REGISTER_S0], ra = registers[REGISTER_RA];
	struct {
		uint64_t fp, ra;
	} frame;
	size_t count = 0;

	*cut = false;
	entry[count++] = (uint64_t)PERF_CONTEXT_USER;
	entry[count++] = pc;
	do {
		if (register_log_copy(guest_base, fp - sizeof(frame), &frame, sizeof(frame)) <
		    sizeof(frame))
			break;
		/* The first caller is what ra says, wherever it is used. */
		if (!ra)
			ra = frame.ra;
		if (!ra)
			break;
		*cut = count == REGISTER_LOG_FRAMES + 1;
		if (*cut)
			break;
		entry[count++] = ra;
		fp = frame.fp;
		ra = 0;
	} while (fp && !(fp & 7));
	return count;
}
