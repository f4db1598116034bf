// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtual core in the system emulator, with the registers of shpmsdetails (tools/board/qemu).
 *
 * The emulator's patch implements the registers and the interrupt; it passes the period that
 * software writes to the plugin and gets samples from it.  A hart is modelled while its period
 * counter runs, and only blocks that it enters then are passed to the plugin.  So a board without
 * sampling boots at the emulator's speed, and caches and predictors are cold when sampling begins.
 *
 * All harts are in one struct process, without a recorder: the kernel driver records.  A hart
 * counts only cycles in which it is modelled.  Harts run one at a time, so the time of the process
 * is the sum of the cycles of all harts.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/core/core.h"
#include "pesa/csr.h"
#include "tools/vcore/guest/qemu_plugin.h"
#include "tools/vcore/board/board.h"
#include "tools/vcore/board/cost.h"
#include "tools/vcore/board/event.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/guest/run.h"
#include "tools/vcore/guest/trace.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/guest/turn.h"

/* The interface of the emulator's patch, which has the same layouts in target/riscv/pesa.h. */
struct board_transfers {
	unsigned int next;			     /* place of the next record */
	unsigned int count;			     /* of valid records */
	struct transfer newest[PESA_CTR_DEPTH_MOST]; /* newest first */
};

struct board_timing {
	void (*program)(unsigned int hart, uint64_t period);
	void (*select)(unsigned int hart, unsigned int event);
	const struct board_event *events;
	unsigned int event_count;
	void (*transfers)(unsigned int hart, uint64_t control, const struct board_transfers *held);
	void (*recorded)(unsigned int hart, struct board_transfers *held);
	void (*trapped)(unsigned int hart, uint64_t pc);
	void (*interrupt)(unsigned int hart, uint64_t pc);
	void (*leave)(unsigned int hart, uint64_t pc);
	bool every_block; /* pass every block, not only those of harts whose counter runs outside
			   * of machine mode */
};

struct board_sample {
	uint64_t pc, data, details, bt[2];
	const struct board_transfers *transfers;
};

enum board_fate { BOARD_DISCARDED, BOARD_TAKEN, BOARD_FILTERED, BOARD_FATES };

typedef void (*board_attach_function)(const struct board_timing *timing);
typedef enum board_fate (*board_sample_function)(unsigned int hart,
						 const struct board_sample *sample);
typedef unsigned int (*board_mode_function)(void);

#define MACHINE_MODE 3u

struct board_hart {
	uint64_t period;    /* in cycles or events; 0: the counter is stopped */
	unsigned int event; /* the selected event: PESA_SELECT_CYCLES or the number of an event */
	uint64_t counted;   /* count of events other than cycles */
	uint64_t transfers; /* sctrctl: which transfers are recorded; 0: none */
	uint64_t trapped;   /* where execution was at the last trap to supervisor mode */
	uint64_t samples[BOARD_FATES];
};

struct board {
	board_sample_function sample;
	board_mode_function mode;
	const char *counts;	 /* file for the counts, written when the emulator ends */
	const char *interrupts;	 /* file for the cost of the interrupts */
	struct board_cost *cost; /* NULL: not requested */
	struct board_event events[BOARD_EVENTS];
	struct board_timing timing;
	struct board_hart hart[BOARD_HARTS];
};

/* The emulator's callbacks have no context argument. */
static struct process *board_process;

static uint64_t interval(struct hart *hart)
{
	return hart->process->board->hart[hart->index].period;
}

static void copy_transfers(const struct retire *retire, struct board_transfers *held)
{
	held->next = retire->transfer_next;
	held->count = retire->transfer_count;
	for (uint32_t i = 0; i < held->count; i++)
		held->newest[i] = *retire_newest_transfer(retire, i);
}

static void set_transfers(struct retire *retire, const struct board_transfers *held)
{
	retire->transfer_count = held->count < retire->ctr_depth ? held->count : retire->ctr_depth;
	retire->transfer_next = held->next;
	for (uint32_t i = 0; i < retire->transfer_count; i++)
		*retire_newest_transfer(retire, i) = held->newest[i];
}

static void deliver(struct hart *hart, enum vcore_sampler sampler, struct pesa_record *record)
{
	struct board *board = hart->process->board;
	struct board_hart *state = &board->hart[hart->index];
	struct board_transfers transfers = {0};
	struct board_sample sample = {
		.pc = record->pc,
		.data = record->data,
		.details = record->details,
		.bt = {record->bt[0], record->bt[1]},
		.transfers = &transfers,
	};
	enum board_fate fate;

	/* Only this sampler has registers. */
	if (sampler != VCORE_SAMPLER_SHPMS)
		return;
	if (state->transfers)
		copy_transfers(&hart->retire, &transfers);
	fate = board->sample(hart->index, &sample);
	state->samples[fate]++;
	/* A sample freezes the records if LCOFIFRZ is set; a call stack goes on unseen. */
	if (fate == BOARD_TAKEN && state->transfers & PESA_CTR_CONTROL_LCOFIFRZ &&
	    !(state->transfers & PESA_CTR_CONTROL_RASEMU))
		state->transfers = 0;
}

static void count_event(struct hart *hart, const struct passage *passage)
{
	struct board_hart *state = &hart->process->board->hart[hart->index];
	struct pesa_record record = {
		.pc = passage->insn->pc,
		.data = (uint64_t)state->event << PESA_DATA_EVENT_SHIFT,
	};

	if (!board_event_happened(state->event, passage))
		return;
	state->counted++;
	if (--hart->retire.events_left)
		return;
	hart->retire.events_left = state->period;
	deliver(hart, VCORE_SAMPLER_SHPMS, &record);
}

static uint64_t transfer_mode(uint64_t address)
{
	return (int64_t)address < 0 ? PESA_CTR_CONTROL_S : PESA_CTR_CONTROL_U;
}

/*
 * The transfer of a user-mode instruction that an interrupt followed.  The model sees it go to the
 * handler; it went to the address that the handler is to return to.
 */
static void undo_interrupt(const struct board_hart *state, const struct insn *insn,
			   struct transfer *transfer)
{
	static const uint32_t types[] = {
		[PESA_FLOW_INDIRECT_CALL] = PESA_CTR_INDIRECT_CALL,
		[PESA_FLOW_CALL] = PESA_CTR_DIRECT_CALL,
		[PESA_FLOW_RETURN] = PESA_CTR_RETURN,
		[PESA_FLOW_COROUTINE] = PESA_CTR_COROUTINE,
	};

	if (transfer_mode(transfer->source) != PESA_CTR_CONTROL_U ||
	    transfer_mode(transfer->target) != PESA_CTR_CONTROL_S ||
	    insn->flow >= sizeof(types) / sizeof(types[0]) || !types[insn->flow])
		return;
	transfer->data = types[insn->flow];
	transfer->target = insn->target ? insn->target : state->trapped;
}

/*
 * The cycle counter of the records stops where the mode of the target is not recorded, and goes on where
 * that of the source is not.  A fault is no transfer here: a counter that is found to run in a mode that
 * is not recorded missed one.
 */
static void follow_mode(struct transfer_clock *clock, uint64_t control,
			const struct transfer *transfer, uint64_t cycle)
{
	bool from = control & transfer_mode(transfer->source);
	bool to = control & transfer_mode(transfer->target);

	if (!from && clock->runs)
		transfer_clock_reset(clock, cycle, to);
	if (to)
		transfer_clock_go_on(clock, cycle);
	else
		transfer_clock_stop(clock, cycle);
}

static void record_transfer(struct hart *hart, const struct insn *insn,
			    const struct transfer *retired)
{
	const struct board_hart *state = &hart->process->board->hart[hart->index];
	struct transfer transfer = *retired;
	uint64_t control = state->transfers, cycle = hart->retire.stage.cycle;
	bool stack = control & PESA_CTR_CONTROL_RASEMU;

	if (!control)
		return;
	follow_mode(&hart->retire.clock, control, retired, cycle);
	/* The counts of a call stack are not valid: returns take records away. */
	if (stack)
		hart->retire.clock.valid = false;
	if (stack)
		undo_interrupt(state, insn, &transfer);
	if (!(control & transfer_mode(transfer.source)) ||
	    !(control & transfer_mode(transfer.target)))
		return;
	if (!stack) {
		if (!(control >> (PESA_CTR_CONTROL_INHIBIT_SHIFT + transfer.data) & 1))
			retire_push_transfer(&hart->retire, transfer, cycle);
		return;
	}
	switch (transfer.data) {
	case PESA_CTR_COROUTINE:
		retire_pop_transfer(&hart->retire);
		retire_push_transfer(&hart->retire, transfer, cycle);
		break;
	case PESA_CTR_INDIRECT_CALL:
	case PESA_CTR_DIRECT_CALL:
		retire_push_transfer(&hart->retire, transfer, cycle);
		break;
	case PESA_CTR_RETURN:
		retire_pop_transfer(&hart->retire);
		break;
	}
}

static const struct sample_sink registers = {
	.interval = interval,
	.deliver = deliver,
	.record_transfer = record_transfer,
	.count = count_event,
	.on_time = true,
};

/* Software wrote the period: the counter starts in the cycle of that instruction. */
static void on_program(unsigned int index, uint64_t period)
{
	struct process *process = board_process;
	struct board_hart *state;
	struct hart *hart;
	bool cycles;

	if (index >= BOARD_HARTS)
		return;
	hart = process->harts[index];
	/* Appending the first word sets up the hart. */
	if (hart)
		hart_consume(hart, true);
	state = &process->board->hart[index];
	state->period = period;
	if (!hart)
		return;
	cycles = state->event == PESA_SELECT_CYCLES;
	hart->retire.next_sample =
		period && cycles ? hart->retire.stage.accounted + period : UINT64_MAX;
	hart->retire.events_left = cycles ? 0 : period;
}

/* Software selected an event; the counter is stopped. */
static void on_select(unsigned int index, unsigned int event)
{
	if (index < BOARD_HARTS)
		board_process->board->hart[index].event = event;
}

/* Software selected the transfers to record, after those that are held. */
static void on_transfers(unsigned int index, uint64_t control, const struct board_transfers *held)
{
	struct hart *hart = index < BOARD_HARTS ? board_process->harts[index] : NULL;
	struct board_hart *state;

	if (!hart)
		return;
	state = &board_process->board->hart[index];
	if (state->period)
		hart_consume(hart, true);
	state->transfers = control & (PESA_CTR_CONTROL_U | PESA_CTR_CONTROL_S) ? control : 0;
	/* Also where software thaws what a sample froze: what retired from the sampled cycle to the
	 * interrupt was not recorded. */
	transfer_clock_reset(&hart->retire.clock, hart->retire.stage.accounted,
			     state->transfers & PESA_CTR_CONTROL_S);
	if (state->transfers)
		set_transfers(&hart->retire, held);
}

/* Software reads the records while the hart continues to record. */
static void on_recorded(unsigned int index, struct board_transfers *held)
{
	struct hart *hart = index < BOARD_HARTS ? board_process->harts[index] : NULL;

	held->next = 0;
	held->count = 0;
	if (!hart)
		return;
	if (board_process->board->hart[index].period)
		hart_consume(hart, true);
	copy_transfers(&hart->retire, held);
}

/* The hart traps to supervisor mode in place of the instruction at `pc`, or by it. */
static void on_trap(unsigned int index, uint64_t pc)
{
	if (index < BOARD_HARTS)
		board_process->board->hart[index].trapped = pc;
}

/* ---- The emulator's callbacks -------------------------------------------------------------- */

static struct hart *modelled(unsigned int index)
{
	if (index >= BOARD_HARTS || !board_process->board->hart[index].period)
		return NULL;
	return board_process->harts[index];
}

static void on_interrupt(unsigned int index, uint64_t pc)
{
	if (board_process->board->cost && index < BOARD_HARTS)
		board_cost_begin(board_process->board->cost, index, pc);
}

static void on_leave(unsigned int index, uint64_t pc)
{
	if (board_process->board->cost && index < BOARD_HARTS)
		board_cost_end(board_process->board->cost, index, pc);
}

/* An instruction that may be part of an interrupt handler. */
static void on_counted(unsigned int index, void *insn)
{
	if (index < BOARD_HARTS)
		board_cost_count(board_process->board->cost, index,
				 ((const struct insn *)insn)->pc);
}

static void on_insn(unsigned int index, void *run)
{
	struct hart *hart = modelled(index);

	if (hart)
		hart_append(hart, trace_run(run));
}

/* Caches and TLBs use physical addresses, because processes use the same virtual ones. */
static void on_access(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address,
		      void *unused)
{
	struct hart *hart = modelled(index);
	const struct qemu_plugin_hwaddr *place;

	(void)unused;
	if (!hart)
		return;
	place = qemu_plugin_get_hwaddr(info, address);
	if (place)
		address = qemu_plugin_hwaddr_phys_addr(place);
	hart_append(hart, trace_access(address, qemu_plugin_mem_size_shift(info),
				       qemu_plugin_mem_is_store(info)));
}

/*
 * A block begins: model the code before it now, so that an interrupt comes near the cycle in which
 * the counter overflowed.
 */
static void on_block(unsigned int index, void *unused)
{
	struct hart *hart = modelled(index);

	(void)unused;
	if (!hart)
		return;
	turn_follow(hart);
	if (hart->cursor > hart->trace)
		hart_consume(hart, false);
}

/* Read an instruction that may cross a page. */
static void instruction_bytes(const struct qemu_plugin_insn *place, uint8_t bytes[8])
{
#if QEMU_PLUGIN_API == 1
	size_t size = qemu_plugin_insn_size(place);

	memcpy(bytes, qemu_plugin_insn_data(place), size < 8 ? size : 8);
#else
	qemu_plugin_insn_data(place, bytes, 8);
#endif
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);
	const struct board *board = board_process->board;
	/* The counter does not run in machine mode; blocks are passed for the cost count only. */
	bool machine = board->mode() == MACHINE_MODE;

	(void)id;
	pthread_mutex_lock(&board_process->lock);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *place = qemu_plugin_tb_get_insn(tb, i);
		uint8_t bytes[8] = {0};
		struct insn *insn;
		struct run *run;

		instruction_bytes(place, bytes);
		insn = insn_get(board_process, qemu_plugin_insn_vaddr(place), bytes);
		run = insn ? run_get(board_process, &insn, 1) : NULL;
		if (!run) {
			fprintf(stderr, "board: out of memory in the virtual core\n");
			_exit(125);
		}
		if (board->cost)
			qemu_plugin_register_vcpu_insn_exec_cb(place, on_counted,
							       QEMU_PLUGIN_CB_NO_REGS, insn);
		if (machine)
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(place, on_insn, QEMU_PLUGIN_CB_NO_REGS, run);
		if (insn_accesses(insn))
			qemu_plugin_register_vcpu_mem_cb(place, on_access, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW, NULL);
	}
	pthread_mutex_unlock(&board_process->lock);
	if (!machine)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void on_hart_begins(qemu_plugin_id_t id, unsigned int index)
{
	struct pesa_error *error;

	(void)id;
	if (index >= BOARD_HARTS || board_process->harts[index])
		return;
	error = hart_create(board_process, index, &board_process->harts[index]);
	if (error) {
		fprintf(stderr, "board: %s for the core of hart %u\n", error->message, index);
		_exit(125);
	}
}

static void print_events(FILE *file, const struct board *board, const struct hart *hart)
{
	for (unsigned int i = 0; i < BOARD_EVENTS; i++) {
		const struct board_event *event = &board->events[i];
		enum vcore_event counter = board_event_counter(event->number);

		fprintf(file, "%s\"%s\": %" PRIu64, i ? ", " : "", event->name,
			hart->slot ? hart->slot->counters.event[counter] : 0);
	}
	fprintf(file, "}}");
}

static void on_end(qemu_plugin_id_t id, void *unused)
{
	const struct process *process = board_process;
	const struct board *board = process->board;
	FILE *file = board->counts ? fopen(board->counts, "w") : NULL;
	const char *separator = "";

	(void)id;
	(void)unused;
	if (board->cost && !board_cost_write(board->cost, board->interrupts))
		fprintf(stderr, "board: cannot write %s: %s\n", board->interrupts, strerror(errno));
	if (!file)
		return;
	fprintf(file, "{\"harts\": [");
	for (unsigned int i = 0; i < BOARD_HARTS; i++) {
		const struct hart *hart = process->harts[i];

		if (!hart)
			continue;
		fprintf(file,
			"%s{\"hart\": %u, \"cycles\": %" PRIu64 ", \"instructions\": %" PRIu64
			", \"taken\": %" PRIu64 ", \"discarded\": %" PRIu64
			", \"filtered\": %" PRIu64 ", \"period\": %" PRIu64
			", \"counted\": %" PRIu64 ", \"events\": {",
			separator, i, hart->slot ? hart->slot->totals.cycles : 0,
			hart->slot ? hart->slot->totals.instructions : 0,
			board->hart[i].samples[BOARD_TAKEN],
			board->hart[i].samples[BOARD_DISCARDED],
			board->hart[i].samples[BOARD_FILTERED], board->hart[i].period,
			board->hart[i].counted);
		print_events(file, board, hart);
		separator = ", ";
	}
	fprintf(file, "]}\n");
	fclose(file);
}

static const char *map_areas(struct process *process)
{
	process->control = mmap(NULL, VCORE_CONTROL_SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	process->region = mmap(NULL, VCORE_REGION_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (process->control == MAP_FAILED || process->region == MAP_FAILED)
		return "out of memory";
	process->core = &process->control->core;
	process->pid = getpid();
	process->name_announced = true;
	process->control->samplers = 1u << VCORE_SAMPLER_SHPMS;
	atomic_store(&process->control->recorder_pid, (uint32_t)getpid());
	return NULL;
}

const char *board_open(struct process *process, qemu_plugin_id_t id, const char *core,
		       const char *counts, const char *interrupts, const char *driver)
{
	static struct board board;
	board_attach_function attach;
	struct pesa_error *error;
	const char *problem;

	if (!core)
		return "the board's plugin needs core=FILE, a core description";
	attach = (board_attach_function)dlsym(RTLD_DEFAULT, "qemu_pesa_attach");
	board.sample = (board_sample_function)dlsym(RTLD_DEFAULT, "qemu_pesa_sample");
	board.mode = (board_mode_function)dlsym(RTLD_DEFAULT, "qemu_pesa_mode");
	if (!attach || !board.sample || !board.mode)
		return "the emulator has no registers of shpmsdetails: use that of make board";
	problem = map_areas(process);
	if (problem)
		return problem;
	error = pesa_core_load(core, &process->control->core);
	if (error)
		return error->message;
	board.counts = counts;
	board.interrupts = interrupts;
	if (interrupts) {
		board.cost = board_cost_create(driver);
		if (!board.cost)
			return "out of memory";
	}
	process->board = &board;
	process->sink = &registers;
	board_process = process;
	qemu_plugin_register_vcpu_init_cb(id, on_hart_begins);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	board.timing = (struct board_timing){
		.program = on_program,
		.select = on_select,
		.events = board.events,
		.event_count = board_events(board.events),
		.transfers = on_transfers,
		.recorded = on_recorded,
		.trapped = on_trap,
		.interrupt = on_interrupt,
		.leave = on_leave,
		.every_block = interrupts != NULL,
	};
	attach(&board.timing);
	return NULL;
}
