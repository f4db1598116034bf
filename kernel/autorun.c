// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AutoRun: the hart writes its samples to a perf AUX buffer by itself and interrupts when the write
 * pointer reaches a threshold.
 *
 * The driver does not see the records before user space does, so the hart has to filter them:
 * shpmsarcontrol selects the privilege modes whose samples are written, and the hart writes 0 for
 * targets in other modes.  While no event is scheduled no mode is selected; the counter keeps
 * running.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "driver.h"

/* Room, in bytes, behind the threshold for samples taken before the interrupt is handled. */
#define PESA_AUTORUN_SLACK (16 * PESA_AUTORUN_RECORD_SIZE)

struct pesa_buffer {
	unsigned long size;
	struct pesa_buffer_page {
		unsigned long address; /* physical */
		unsigned long run;     /* contiguous bytes from `address` on */
	} pages[];
};

void pesa_autorun_disarm(void)
{
	csr_write(PESA_CSR_SHPMSARCONTROL, 0);
	csr_write(PESA_CSR_SHPMSARLIMIT, 0);
	csr_write(PESA_CSR_SHPMSARPTR, 0);
	csr_write(PESA_CSR_SHPMSARTHRESHOLD, 0);
}

int pesa_autorun_check(const struct pesa_pmu *pesa, struct perf_event *event)
{
	/* An AutoRun record does not say which event it is of: readers assume cycles. */
	if (pesa_selector(event) != PESA_SELECT_CYCLES)
		return -EOPNOTSUPP;
	if (!pesa->autorun || event->attr.freq || event->attr.exclude_idle ||
	    has_branch_stack(event))
		return -EOPNOTSUPP;
	/* shpmsarcontrol cannot exclude guests.  On EINVAL perf's tools retry without the bit. */
	return event->attr.exclude_guest ? -EINVAL : 0;
}

void *pesa_autorun_setup(struct perf_event *event, void **pages, int count, bool overwrite)
{
	struct pesa_buffer *buffer;

	if (!pesa_is_autorun(event) || overwrite)
		return NULL;
	buffer = kvzalloc(struct_size(buffer, pages, count), GFP_KERNEL);
	if (!buffer)
		return NULL;
	buffer->size = (unsigned long)count << PAGE_SHIFT;
	for (int i = count - 1; i >= 0; i--) {
		struct pesa_buffer_page *page = &buffer->pages[i];

		page->address = virt_to_phys(pages[i]);
		page->run = PAGE_SIZE;
		if (i + 1 < count && page[1].address == page->address + PAGE_SIZE)
			page->run += page[1].run;
	}
	return buffer;
}

void pesa_autorun_free(void *buffer)
{
	kvfree(buffer);
}

bool pesa_autorun_begin(struct pesa_hart *hart, struct perf_event *event)
{
	struct pesa_autorun *autorun = &hart->autorun;
	struct perf_output_handle *handle = &autorun->handle;
	const struct pesa_buffer *buffer = perf_aux_output_begin(handle, event);
	unsigned long offset, within, room, threshold;
	const struct pesa_buffer_page *page;
	u32 control = 0;

	if (!buffer)
		return false;
	offset = handle->head & (buffer->size - 1);
	within = offset & ~PAGE_MASK;
	page = &buffer->pages[offset >> PAGE_SHIFT];
	room = min(handle->size, page->run - within);
	autorun->last = room == handle->size;
	room = round_down(room, PESA_AUTORUN_RECORD_SIZE);
	if (!room) {
		perf_aux_output_flag(handle, PERF_AUX_FLAG_TRUNCATED);
		perf_aux_output_end(handle, 0);
		return false;
	}
	threshold = room - min_t(unsigned long, room / 2, PESA_AUTORUN_SLACK);
	if (handle->wakeup > handle->head)
		threshold = min(threshold, handle->wakeup - handle->head);
	if (!event->attr.exclude_user)
		control |= PESA_AUTORUN_CONTROL_U;
	if (!event->attr.exclude_kernel)
		control |= PESA_AUTORUN_CONTROL_S;
	autorun->first = page->address + within;
	autorun->limit = autorun->first + room;
	autorun->active = true;
	csr_write(PESA_CSR_SHPMSARPTR, autorun->first);
	csr_write(PESA_CSR_SHPMSARLIMIT, autorun->limit);
	csr_write(PESA_CSR_SHPMSARTHRESHOLD, autorun->first + threshold);
	csr_write(PESA_CSR_SHPMSARCONTROL, control);
	return true;
}

void pesa_autorun_end(struct pesa_hart *hart, struct perf_event *event)
{
	struct pesa_autorun *autorun = &hart->autorun;
	unsigned long end, records;

	if (!autorun->active)
		return;
	autorun->active = false;
	csr_write(PESA_CSR_SHPMSARCONTROL, 0);
	/* Order the hart's writes to the buffer before perf publishes the new head. */
	mb();
	end = csr_read(PESA_CSR_SHPMSARPTR);
	/* The reader may reuse the room from here on. */
	pesa_autorun_disarm();
	records = (end - autorun->first) / PESA_AUTORUN_RECORD_SIZE;
	pesa_count(hart, PESA_RECORDED, records);
	local64_add(records * hart->interval, &event->count);
	if (autorun->last && end == autorun->limit)
		perf_aux_output_flag(&autorun->handle, PERF_AUX_FLAG_TRUNCATED);
	perf_aux_output_end(&autorun->handle, end - autorun->first);
}
