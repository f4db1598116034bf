// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/perfdata/queue.h"
#include "decoder/perfdata/reader.h"

/* Header of an event in the file; its record follows. */
struct spilled {
	uint64_t time, offset;
	uint64_t size; /* size of the record, padded to 8 */
};

#define RUN_BUFFER_BYTES (128 * 1024) /* holds at least one whole event */

static bool open_temporary(struct perfdata_spill *spill)
{
	const char *folder = getenv("TMPDIR");
	char *path;

	if (spill->open)
		return true;
	if (asprintf(&path, "%s/pesa-sort-XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		spill->error = ENOMEM;
		return false;
	}
	spill->descriptor = mkostemp(path, O_CLOEXEC);
	if (spill->descriptor < 0)
		spill->error = errno;
	else
		unlink(path);
	free(path);
	spill->open = spill->descriptor >= 0;
	return spill->open;
}

static bool write_all(struct perfdata_spill *spill, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t written = pwrite(spill->descriptor, bytes, size, spill->size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			spill->error = written ? errno : ENOSPC;
			return false;
		}
		spill->size += written;
		bytes += written;
		size -= written;
	}
	return true;
}

/* Load as much as fits.  Afterwards the event at head is whole, or the run has ended. */
static bool load(struct perfdata_spill *spill, struct perfdata_run *run)
{
	struct spilled head;
	size_t rest = run->tail - run->head;

	if (rest >= sizeof(head)) {
		memcpy(&head, run->buffer + run->head, sizeof(head));
		if (rest >= sizeof(head) + head.size) {
			run->time = head.time;
			return true;
		}
	}
	memmove(run->buffer, run->buffer + run->head, rest);
	run->head = 0;
	run->tail = rest;
	while (run->tail < RUN_BUFFER_BYTES && run->position < run->end) {
		size_t room = RUN_BUFFER_BYTES - run->tail;
		ssize_t got =
			pread(spill->descriptor, run->buffer + run->tail,
			      run->end - run->position < room ? run->end - run->position : room,
			      run->position);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			spill->error = got ? errno : EIO;
			return false;
		}
		run->tail += got;
		run->position += got;
	}
	if (!run->tail)
		return false;
	memcpy(&head, run->buffer, sizeof(head));
	run->time = head.time;
	return true;
}

bool perfdata_spill_write(struct perfdata_spill *spill, const struct perfdata_queued *events,
			  size_t count, bool swap)
{
	struct perfdata_run run = {.left = count};
	uint8_t *bytes = malloc(RUN_BUFFER_BYTES);
	void *grown = realloc(spill->runs, (spill->count + 1) * sizeof(*spill->runs));
	uint64_t start = spill->size;
	size_t used = 0;

	if (grown)
		spill->runs = grown;
	if (!bytes || !grown) {
		spill->error = ENOMEM;
		goto failed;
	}
	if (!open_temporary(spill))
		goto failed;
	run.position = start;
	for (size_t i = 0; i < count; i++) {
		size_t size = perfdata_u16(events[i].record + 6, swap);
		const struct spilled head = {events[i].time, events[i].offset,
					     (size + 7) & ~(size_t)7};

		if (RUN_BUFFER_BYTES - used < sizeof(head) + head.size) {
			if (!write_all(spill, bytes, used))
				goto failed;
			used = 0;
		}
		memcpy(bytes + used, &head, sizeof(head));
		memcpy(bytes + used + sizeof(head), events[i].record, size);
		memset(bytes + used + sizeof(head) + size, 0, head.size - size);
		used += sizeof(head) + head.size;
	}
	if (!write_all(spill, bytes, used))
		goto failed;
	run.end = spill->size;
	run.buffer = bytes;
	if (!load(spill, &run))
		goto failed;
	spill->runs[spill->count++] = run;
	return true;
failed:
	spill->size = start;
	free(bytes);
	return false;
}

bool perfdata_spill_peek(struct perfdata_spill *spill, uint64_t limit,
			 struct perfdata_queued *event)
{
	const struct perfdata_run *run;
	struct spilled head;
	size_t best = 0;

	for (size_t i = 1; i < spill->count; i++)
		if (spill->runs[i].time < spill->runs[best].time)
			best = i;
	if (!spill->count || spill->runs[best].time > limit)
		return false;
	spill->current = best;
	run = &spill->runs[best];
	memcpy(&head, run->buffer + run->head, sizeof(head));
	*event = (struct perfdata_queued){
		.time = head.time,
		.offset = head.offset,
		.record = run->buffer + run->head + sizeof(head),
	};
	return true;
}

void perfdata_spill_pop(struct perfdata_spill *spill)
{
	struct perfdata_run *run = &spill->runs[spill->current];
	struct spilled head;

	memcpy(&head, run->buffer + run->head, sizeof(head));
	run->head += sizeof(head) + head.size;
	run->left--;
	if (load(spill, run))
		return;
	/* All events were taken, or the rest cannot be read back. */
	spill->lost += run->left;
	free(run->buffer);
	spill->count--;
	memmove(run, run + 1, (spill->count - spill->current) * sizeof(*run));
	if (!spill->count) {
		/* no event waits: reuse the space */
		spill->size = 0;
		if (ftruncate(spill->descriptor, 0))
			spill->error = errno;
	}
}

void perfdata_spill_free(struct perfdata_spill *spill)
{
	for (size_t i = 0; i < spill->count; i++)
		free(spill->runs[i].buffer);
	free(spill->runs);
	if (spill->open)
		close(spill->descriptor);
	*spill = (struct perfdata_spill){0};
}
