// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of a hart, and whose thread it is. */
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/process.h"

static __thread struct hart *current __attribute__((tls_model("initial-exec")));

struct hart *hart_current(void)
{
	return current;
}

/* Of the process: while another thread had the turn, time went on. */
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
	uint64_t told = atomic_load_explicit(&process->told, memory_order_relaxed);

	if (time < newest) {
		hart->time_offset += newest - time;
		time = newest;
	}
	/* A thread that is behind another one, at most by a turn.  The recorder would move what
	 * comes too late, when it does is the host's affair. */
	while (told < time && !atomic_compare_exchange_weak(&process->told, &told, time))
		;
	if (time < told)
		time = told;
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
