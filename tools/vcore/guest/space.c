// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mappings of the guest, announced when code in them is first translated.
 *
 * They are read from the emulator's own /proc/self/maps: guest memory is host memory at a fixed
 * offset.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/binary/program.h"
#include "decoder/binary/jitdump.h"
#include "tools/vcore/guest/space.h"
#include "tools/vcore/core/channel.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/guest/trace.h"
#include "tools/vcore/core/process.h"

#define TAIL_ROOM (PATH_MAX + 8)

static uint64_t event_time(struct process *process)
{
	struct hart *hart = hart_current();
	_Atomic uint64_t *newest = &process->newest;

	return hart ? hart_sideband_time(hart) : atomic_fetch_add(newest, 1) + 1;
}

void space_name(struct process *process, const char *name, bool exec)
{
	struct vcore_message message = {
		.type = VCORE_MESSAGE_COMM,
		.tid = (uint32_t)gettid(),
		.time = event_time(process),
	};

	message.comm.exec = exec;
	snprintf(message.comm.name, 16, "%s", name); /* the length of the kernel's comm */
	channel_send(process, &message, NULL, 0);
}

static void announce(struct process *process, uint64_t start, uint64_t end, uint64_t offset,
		     const char *path)
{
	struct vcore_message message = {
		.type = VCORE_MESSAGE_MMAP,
		.tid = (uint32_t)gettid(),
		.time = event_time(process),
	};

	message.mmap.address = start;
	message.mmap.length = end - start;
	message.mmap.offset = offset;
	message.mmap.protection = PROT_READ | PROT_EXEC;
	message.mmap.flags = MAP_PRIVATE;
	if (*path == '/' && path[1] != '/')
		message.mmap.build_id_size = (uint8_t)pesa_program_build_id(
			path, message.mmap.build_id, sizeof(message.mmap.build_id));
	channel_send(process, &message, path, strlen(path) + 1);
}

static bool add_mapping(struct space *space, uint64_t start, uint64_t end, bool made)
{
	size_t at = 0;

	if (space->count == space->room) {
		size_t room = space->room ? 2 * space->room : 64;
		struct mapping *mapping = realloc(space->mapping, room * sizeof(*mapping));

		if (!mapping)
			return false;
		space->mapping = mapping;
		space->room = room;
	}
	while (at < space->count && space->mapping[at].start < start)
		at++;
	memmove(space->mapping + at + 1, space->mapping + at,
		(space->count - at) * sizeof(*space->mapping));
	space->mapping[at] = (struct mapping){start, end, made};
	space->last = at;
	space->count++;
	return true;
}

static bool is_known(struct space *space, uint64_t pc)
{
	if (space->last < space->count && pc >= space->mapping[space->last].start &&
	    pc < space->mapping[space->last].end)
		return true;
	for (size_t i = 0; i < space->count; i++) {
		if (pc >= space->mapping[i].start && pc < space->mapping[i].end) {
			space->last = i;
			return true;
		}
	}
	return false;
}

/*
 * The name of executable memory without a file.  The vdso that the emulator provides is an ELF
 * image; other memory is JIT code or the emulator's signal trampoline.
 */
static const char *anonymous_name(const void *start)
{
	return memcmp(start, "\177ELF", 4) ? "//anon" : "[vdso]";
}

/*
 * Return false for the pseudo-names in a maps file.  (decoder/binary/space.c knows more; the others
 * are never executable.)
 */
static bool is_file(const char *path)
{
	return *path == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7) &&
	       strncmp(path, "/dev/zero", 9) && strncmp(path, "/SYSV", 5);
}

bool space_is_announced(struct process *process, uint64_t pc)
{
	return is_known(&process->space, pc);
}

bool space_is_dump(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = fd < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
	if (size < 0)
		return false;
	path[size] = '\0';
	return pesa_jitdump_is_name(path);
}

/*
 * Cut the range around `pc` down to the part that is not announced.  A JIT compiler that changes
 * the protection of parts of its memory splits and joins mappings; the other parts are known.
 */
static void trim(const struct space *space, uint64_t pc, uint64_t *start, uint64_t *end)
{
	for (size_t i = 0; i < space->count; i++) {
		if (space->mapping[i].end <= pc && space->mapping[i].end > *start)
			*start = space->mapping[i].end;
		if (space->mapping[i].start > pc && space->mapping[i].start < *end)
			*end = space->mapping[i].start;
	}
}

void space_announce(struct process *process, uint64_t pc)
{
	uint64_t host = pc + process->guest_base, start, end, offset;
	char line[TAIL_ROOM + 128], *path;
	FILE *maps;
	bool made;
	int used;

	if (is_known(&process->space, pc))
		return;
	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return;
	while (fgets(line, sizeof(line), maps)) {
		used = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &start, &end,
			   &offset, &used) < 3 ||
		    !used || host < start || host >= end)
			continue;
		path = line + used;
		path[strcspn(path, "\n")] = '\0';
		if (*path != '/') {
			path = (char *)anonymous_name((const void *)(uintptr_t)start);
			offset = 0;
		}
		made = !is_file(path) && *path != '[';
		start -= process->guest_base;
		end -= process->guest_base;
		if (made)
			trim(&process->space, pc, &start, &end);
		add_mapping(&process->space, start, end, made);
		announce(process, start, end, offset, path);
		break;
	}
	fclose(maps);
}

/*
 * Remove a range from the announced mappings.  A rest that has a file is announced again when
 * needed.
 */
static bool remove_range(struct space *space, uint64_t start, uint64_t end)
{
	bool found = false;

	for (size_t i = 0; i < space->count;) {
		struct mapping *mapping = &space->mapping[i];

		if (end <= mapping->start || start >= mapping->end) {
			i++;
			continue;
		}
		struct mapping old = *mapping;

		found = true;
		memmove(mapping, mapping + 1, (space->count - i - 1) * sizeof(*mapping));
		space->count--;
		if (old.made && old.start < start && add_mapping(space, old.start, start, true))
			i++;
		if (old.made && old.end > end && add_mapping(space, end, old.end, true))
			i++;
	}
	if (found && space->code)
		pesa_code_forget(space->code, start, end);
	return found;
}

/* ---- Code made at run time ----------------------------------------------------------------- */

bool space_is_new_code(struct process *process, uint64_t pc, const void *bytes, size_t size)
{
	struct space *space = &process->space;
	uint8_t known[256];
	size_t done = 0;

	if (!is_known(space, pc) || !space->mapping[space->last].made)
		return false;
	if (!space->code)
		return true;
	while (done < size) {
		size_t part = size - done < sizeof(known) ? size - done : sizeof(known);

		if (pesa_code_read(space->code, pc + done, known, part) < part ||
		    memcmp(known, (const uint8_t *)bytes + done, part))
			return true;
		done += part;
	}
	return false;
}

/* Finish the counts of a range.  process->lock is held. */
static void end_counts(struct process *process, struct hart *hart, uint64_t start, uint64_t end)
{
	struct vcore_message message = {
		.type = VCORE_MESSAGE_UNMAP,
		.tid = hart->tid,
		.cpu = (uint16_t)hart->index,
	};

	insn_forget(process, start, end);
	message.unmap.start = start;
	message.unmap.end = end;
	message.unmap.entries = atomic_load(&process->region->golden_entries);
	message.time = hart_sideband_time(hart);
	channel_send(process, &message, NULL, 0);
}

void space_announce_code(struct process *process, struct hart *hart, uint64_t pc, const void *bytes,
			 size_t size)
{
	struct space *space = &process->space;
	struct vcore_message message = {
		.type = VCORE_MESSAGE_TEXT,
		.tid = (uint32_t)gettid(),
	};

	if (!space->code)
		space->code = pesa_code_create();
	if (!space->code)
		return;
	if (!pesa_code_agrees(space->code, pc, bytes, size)) {
		pesa_code_forget(space->code, pc, pc + size);
		if (hart && hart->slot)
			end_counts(process, hart, pc, pc + size);
	}
	/* Without memory a later change of these bytes is not noticed. */
	pesa_error_free(pesa_code_add(space->code, pc, bytes, size));
	message.time = event_time(process);
	message.text.address = pc;
	message.text.bytes = size;
	channel_send(process, &message, bytes, size);
}

/* ---- What goes away ------------------------------------------------------------------------ */

void space_drop(struct process *process, struct hart *hart, uint64_t start, uint64_t end)
{
	bool found;

	if (start >= end)
		return;
	pthread_mutex_lock(&process->lock);
	found = remove_range(&process->space, start, end);
	pthread_mutex_unlock(&process->lock);
	if (!found)
		return;
	hart_consume(hart, true);
	pthread_mutex_lock(&process->lock);
	end_counts(process, hart, start, end);
	pthread_mutex_unlock(&process->lock);
}
