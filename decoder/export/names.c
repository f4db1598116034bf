/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What rows stand for, for the files of the formats: threads, and the names of states and causes.  See
 * write.h. */
#include "decoder/export/write.h"

const char *export_state_name(unsigned int state)
{
	return state == EXPORT_UNATTRIBUTED ? "unattributed" : pesa_state_name(state);
}

void export_cause_name(const struct export_writing *writing, uint32_t cause, char *buffer,
		       unsigned int size)
{
	pesa_capabilities_cause_text(pesa_profile_capabilities(writing->profile), (uint16_t)cause,
				     buffer, size);
}

struct pesa_error *export_threads_make(const struct export_writing *writing,
				       struct distinct_records *threads)
{
	const struct distinct_records *tasks = &writing->rows->tasks;

	distinct_records_begin(threads, sizeof(struct export_thread),
			       offsetof(struct export_thread, task));
	for (uint32_t i = 0; i < tasks->index.count; i++) {
		const struct export_task *task = distinct_records_at(tasks, i);
		struct export_thread key = {.pid = task->pid, .tid = task->tid}, *thread;
		uint32_t number = distinct_records_get(threads, &key);

		if (number == DISTINCT_NONE)
			return pesa_error_no_memory();
		thread = distinct_records_at(threads, number);
		thread->task = i;
	}
	return NULL;
}

uint32_t export_thread_of(const struct export_writing *writing, struct distinct_records *threads,
			  const struct export_row *row)
{
	const struct export_task *task = export_task_of(writing, row);
	struct export_thread key = {.pid = task->pid, .tid = task->tid};

	return distinct_records_get(threads, &key);
}

static const char *task_text(const struct export_writing *writing, uint32_t text)
{
	return text == DISTINCT_NONE ? NULL : distinct_text_at(&writing->rows->texts, text);
}

const char *export_thread_name(const struct export_writing *writing,
			       const struct export_thread *thread)
{
	const struct export_task *task = distinct_records_at(&writing->rows->tasks, thread->task);

	return task_text(writing, task->thread);
}

const char *export_process_name(const struct export_writing *writing,
				const struct export_thread *thread)
{
	const struct export_task *task = distinct_records_at(&writing->rows->tasks, thread->task);

	return task_text(writing, task->process);
}
