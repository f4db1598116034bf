// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of a hart, and the hart of the current thread. */
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/process.h"

static __thread struct hart *current __attribute__((tls_model("initial-exec")));

struct hart *hart_current(void)
{
	return current;
}

/* Time of the process: includes the time in which other threads ran. */
static uint64_t nanoseconds(const struct hart *hart)
{
	return (uint64_t)((unsigned __int128)(hart->retire.stage.accounted + hart->turn_offset) *
			  1000000000 / hart->process->core->frequency);
}

uint64_t hart_time(struct hart *hart)
{
	struct process *process = hart->process;
	uint64_t time = nanoseconds(hart) + hart->time_offset;
	uint64_t newest = atomic_load_explicit(&process->newest, memory_order_acquire);
	uint64_t newest_returned =
		atomic_load_explicit(&process->newest_returned, memory_order_relaxed);

	if (time < newest) {
		hart->time_offset += newest - time;
		time = newest;
	}
	/*
	 * Never return a time before one returned for another hart, which can be ahead by a time
	 * slice.  The recorder would sort late messages by when they arrive, which depends on the
	 * host.
	 */
	while (newest_returned < time &&
	       !atomic_compare_exchange_weak(&process->newest_returned, &newest_returned, time))
		;
	if (time < newest_returned)
		time = newest_returned;
	if (hart->slot)
		hart->slot->time = time;
	return time;
}

uint64_t hart_sideband_time(struct hart *hart)
{
	_Atomic uint64_t *newest = &hart->process->newest;
	uint64_t time = hart_time(hart), seen = atomic_load(newest);

	do {
		if (time <= seen)
			time = seen + 1;
	} while (!atomic_compare_exchange_weak(newest, &seen, time));
	return hart_time(hart);
}

void hart_set_current(struct hart *hart)
{
	current = hart;
}
