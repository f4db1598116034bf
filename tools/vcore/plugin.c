// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The callbacks that the plugin registers with QEMU.  core/process.h has an overview of the virtual
 * core.
 *
 * This file is the only one with global state: a callback has no context argument.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/vcore/guest/calls.h"
#include "tools/vcore/guest/own_program.h"
#include "tools/vcore/guest/qemu_plugin.h"
#include "tools/vcore/memory/shared.h"
#include "tools/vcore/board/board.h"
#include "tools/vcore/core/channel.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/relay.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/guest/death.h"
#include "tools/vcore/guest/follow.h"
#include "tools/vcore/guest/registers.h"
#include "tools/vcore/guest/run.h"
#include "tools/vcore/guest/space.h"
#include "tools/vcore/guest/trace.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/guest/turn.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_API;

#ifdef VCORE_PROFILED
/* gcc's libgcov: write the profile that `make tuned` uses. */
void __gcov_dump(void);
#endif

static struct process process = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.ring_lock = PTHREAD_MUTEX_INITIALIZER,
};

/* A thread that ended keeps its hart until the emulator reuses its index. */
static bool has_ended(const struct hart *hart)
{
	return hart->tid && !hart->slot;
}

static __attribute__((noinline, cold)) struct hart *make_hart(unsigned int index)
{
	struct hart *hart;
	struct pesa_error *error = index < PROCESS_HARTS ? hart_create(&process, index, &hart)
							 : pesa_error_no_memory();

	if (error) {
		fprintf(stderr, "pesa record: %s for the core of another thread\n", error->message);
		_exit(125);
	}
	hart->parent_tid = (uint32_t)gettid();
	hart_free(process.harts[index]);
	process.harts[index] = hart;
	return hart;
}

/* Returns NULL if the hart does not exist yet. */
static inline struct hart *find_hart(unsigned int index)
{
	return index < PROCESS_HARTS ? process.harts[index] : NULL;
}

/* Some versions of the emulator run a CPU before its init callback: create the hart here then. */
static struct hart *hart_of(unsigned int index)
{
	struct hart *hart = find_hart(index);

	return __builtin_expect(hart != NULL, 1) ? hart : make_hart(index);
}

/* ---- Execution ----------------------------------------------------------------------------- */

/* Cold code is not inlined into the callbacks, so that they need not save registers. */
static __attribute__((noinline, cold)) void append_first(unsigned int index, uint64_t word)
{
	hart_append(make_hart(index), word);
}

static inline void append(unsigned int index, uint64_t word)
{
	struct hart *hart = find_hart(index);

	if (__builtin_expect(hart != NULL, 1))
		hart_append(hart, word);
	else
		append_first(index, word);
}

static void on_run(unsigned int index, void *run)
{
	append(index, trace_run(run));
}

/*
 * A run of one instruction, whose registers are noted.  It is given to the pipeline as soon as it
 * has been executed, so that the stack is still that of the sampled instruction.
 */
static void on_noted_run(unsigned int index, void *run)
{
	struct hart *hart = hart_of(index);
	const struct insn *insn = ((const struct run *)run)->step[0].insn;

	if (!registers_read(&hart->reader, register_log_wanted(hart->registers),
			    register_log_next(hart->registers, insn->pc))) {
		fprintf(stderr, "pesa record: the emulator lacks a register of the program\n");
		_exit(125);
	}
	hart_append(hart, trace_run(run));
	hart_consume(hart, false);
}

/*
 * A cache of access kinds.  `info` has few values; an entry has it in bits 63:32 and the trace word
 * for address 0 in bits 31:0.  Entries are single words because several threads read them.
 */
#define KINDS_BITS 6u
static _Atomic uint64_t kinds[1u << KINDS_BITS];

static __attribute__((noinline, cold)) void append_kind(unsigned int index,
							qemu_plugin_meminfo_t info,
							uint64_t address, _Atomic uint64_t *known)
{
	uint64_t kind =
		trace_access(0, qemu_plugin_mem_size_shift(info), qemu_plugin_mem_is_store(info));

	atomic_store_explicit(known, (uint64_t)info << 32 | kind, memory_order_relaxed);
	append(index, address << TRACE_ADDRESS_SHIFT | kind);
}

static void on_access(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address,
		      void *unused)
{
	_Atomic uint64_t *known = &kinds[info * 0x9e3779b1u >> (32 - KINDS_BITS)];
	uint64_t kind = atomic_load_explicit(known, memory_order_relaxed);

	(void)unused;
	/* A valid entry has TRACE_ACCESS set, so its low half is not 0. */
	if (__builtin_expect(kind >> 32 == info && (uint32_t)kind, 1))
		append(index, address << TRACE_ADDRESS_SHIFT | (uint32_t)kind);
	else
		append_kind(index, info, address, known);
}

/* The emulator loads the program after the plugin, so its name is not known at start. */
static void name_process(void)
{
	char program[PATH_MAX];
	const char *slash;

	if (!own_program_path(program))
		strcpy(program, "?");
	slash = strrchr(program, '/');
	space_name(&process, slash ? slash + 1 : program, true);
	process.name_announced = true;
}

static __attribute__((noreturn)) void out_of_memory(void)
{
	fprintf(stderr, "pesa record: out of memory in the virtual core\n");
	_exit(125);
}

/* Divides the instructions of a translated block into runs. */
struct run_builder {
	struct qemu_plugin_insn *begin; /* first instruction of the open run */
	struct insn *insn[RUN_INSNS];
	size_t insns; /* instructions of the open run */
};

static bool notes_registers(void)
{
	return process.control->call_chains == VCORE_CALL_CHAINS_FRAME_POINTER ||
	       process.control->call_chains == VCORE_CALL_CHAINS_DWARF;
}

static void close_run(struct run_builder *builder)
{
	struct run *run = run_get(&process, builder->insn, builder->insns);

	if (!run)
		out_of_memory();
	if (notes_registers())
		qemu_plugin_register_vcpu_insn_exec_cb(builder->begin, on_noted_run,
						       QEMU_PLUGIN_CB_R_REGS, run);
	else
		qemu_plugin_register_vcpu_insn_exec_cb(builder->begin, on_run,
						       QEMU_PLUGIN_CB_NO_REGS, run);
	builder->insns = 0;
}

static void add_insn(struct run_builder *builder, struct qemu_plugin_insn *place, struct insn *insn)
{
	if (builder->insns == (notes_registers() ? 1 : RUN_INSNS) ||
	    (builder->insns && !run_continues(builder->insn[builder->insns - 1], insn)))
		close_run(builder);
	if (!builder->insns)
		builder->begin = place;
	builder->insn[builder->insns++] = insn;
}

/*
 * Called before a block is executed for the first time: announce its mapping, and its code if no
 * file holds it.
 */
static void announce_block(struct hart *hart, struct qemu_plugin_tb *tb)
{
	struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, qemu_plugin_tb_n_insns(tb) - 1);
	uint64_t pc = qemu_plugin_insn_vaddr(first);
	/*
	 * When a block crosses a page, some versions return a wrong host address for the
	 * instructions after the first one.
	 */
	const uint8_t *bytes = qemu_plugin_insn_haddr(first);
	size_t size = qemu_plugin_insn_vaddr(last) - pc;
	uint16_t bits;
	bool lacks;

	memcpy(&bits, bytes + size, sizeof(bits));
	size += insn_length(bits);
	/*
	 * The mapping's time follows the instructions executed before it, so account them first.
	 * That takes the lock.  With a relay the guest has one thread.
	 */
	if (hart && !process.turn.active && !space_is_announced(&process, pc))
		relay_drain(hart);
	pthread_mutex_lock(&process.lock);
	if (!process.name_announced)
		name_process();
	process.guest_base = (uint64_t)(uintptr_t)bytes - pc;
	space_announce(&process, pc);
	lacks = space_is_new_code(&process, pc, bytes, size);
	pthread_mutex_unlock(&process.lock);
	if (!lacks)
		return;
	if (hart)
		hart_settle(hart);
	pthread_mutex_lock(&process.lock);
	space_announce_code(&process, hart, pc, bytes, size);
	pthread_mutex_unlock(&process.lock);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);
	struct run_builder builder = {0};

	(void)id;
	announce_block(hart_current(), tb);
	pthread_mutex_lock(&process.lock);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *place = qemu_plugin_tb_get_insn(tb, i);
		uint64_t pc = qemu_plugin_insn_vaddr(place);
		struct insn *insn;

		insn = insn_get(&process, pc, (const void *)(uintptr_t)(pc + process.guest_base));
		if (!insn)
			out_of_memory();
		add_insn(&builder, place, insn);
		if (insn_accesses(insn))
			qemu_plugin_register_vcpu_mem_cb(place, on_access, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW, NULL);
	}
	if (builder.insns)
		close_run(&builder);
	pthread_mutex_unlock(&process.lock);
}

/* ---- Harts --------------------------------------------------------------------------------- */

static void on_hart_begins(qemu_plugin_id_t id, unsigned int index)
{
	(void)id;
	if (index >= PROCESS_HARTS || !process.harts[index] || has_ended(process.harts[index]))
		make_hart(index);
}

static void on_hart_ends(qemu_plugin_id_t id, unsigned int index)
{
	struct hart *hart = hart_of(index);

	(void)id;
	if (!hart->slot)
		return;
	hart_consume(hart, true);
	hart_end(hart);
}

static void on_exit_of_process(qemu_plugin_id_t id, void *unused)
{
	(void)id;
	(void)unused;
	turn_end(&process);
	for (unsigned int i = 0; i < PROCESS_HARTS; i++) {
		if (!process.harts[i] || !process.harts[i]->slot)
			continue;
		hart_consume(process.harts[i], true);
		hart_end(process.harts[i]);
	}
	atomic_store(&process.region->state, VCORE_REGION_ENDED);
#ifdef VCORE_PROFILED
	/* The emulator exits without running the functions that libgcov registered. */
	__gcov_dump();
#endif
}

/*
 * The emulator's thread dies of a signal, and with it all others.  This thread holds the turn, so
 * the others stay where they wait: for the turn or in the kernel.
 */
static void on_death(void)
{
	struct hart *hart = hart_current();

	if (hart && hart->slot)
		turn_acquire(hart);
	turn_stop(&process);
	for (unsigned int i = 0; i < PROCESS_HARTS; i++)
		if (process.harts[i])
			hart_die(process.harts[i]);
	atomic_store(&process.region->state, VCORE_REGION_ENDED);
#ifdef VCORE_PROFILED
	__gcov_dump();
#endif
}

/* ---- System calls -------------------------------------------------------------------------- */

static void rename_thread(uint64_t address)
{
	char name[17] = "";

	if (follow_read_string(&process, address, name, sizeof(name) - 1) || name[0])
		space_name(&process, name, false);
}

/* rt_sigaction(): the structure at `action` begins with the handler. */
static void note_handler(uint64_t action)
{
	uint64_t handler;

	if (action && follow_read(&process, action, &handler, sizeof(handler)) &&
	    handler > GUEST_SIG_IGN)
		call_chain_add_handler(&process, handler);
}

static void on_system_call(qemu_plugin_id_t id, unsigned int index, int64_t number, uint64_t a1,
			   uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
			   uint64_t a7, uint64_t a8)
{
	struct hart *hart = hart_of(index);
	const uint64_t argument[] = {a1, a2, a3, a4, a5};

	(void)id, (void)a6, (void)a7, (void)a8;
	turn_acquire(hart);
	relay_drain(hart);
	switch (number) {
	case CALL_MUNMAP:
	case CALL_MREMAP:
		space_drop(&process, hart, a1, a1 + a2);
		break;
	case CALL_MMAP:
		if (a4 & GUEST_MAP_FIXED)
			space_drop(&process, hart, a1, a1 + a2);
		hart->maps_dump = a3 & GUEST_PROT_EXEC && space_is_dump((int)a5);
		break;
	case CALL_RT_SIGACTION:
		if (hart->calls)
			note_handler(a2);
		hart_consume(hart, false);
		break;
	case CALL_PRCTL:
		if (a1 == GUEST_PR_SET_NAME)
			rename_thread(a2);
		break;
	case CALL_CLONE:
	case CALL_CLONE3:
		if (number == CALL_CLONE3 || (a1 & GUEST_CLONE_VM))
			process.threaded = true;
		hart_consume(hart, true);
		break;
	case CALL_EXECVE:
		hart_consume(hart, true);
		turn_call(hart, number, argument);
		follow_execve(&process, hart, a1, a2, a3);
		break;
	case CALL_EXIT:
	case CALL_EXIT_GROUP:
		hart_consume(hart, true);
		break;
	case CALL_KILL:
	case CALL_TKILL:
		/*
		 * SIGKILL cannot be caught, so on_death() is not called: account the last
		 * instruction now.
		 */
		hart_consume(hart, a2 == GUEST_SIGKILL);
		break;
	case CALL_TGKILL:
		hart_consume(hart, a3 == GUEST_SIGKILL);
		break;
	default:
		/* Account the instructions before the system call, in case it does not return. */
		hart_consume(hart, false);
	}
	turn_call(hart, number, argument);
}

static void on_system_call_return(qemu_plugin_id_t id, unsigned int index, int64_t number,
				  int64_t result)
{
	struct hart *hart = hart_of(index);

	(void)id;
	turn_return(hart, number, result);
	if (!hart->maps_dump || number != CALL_MMAP)
		return;
	hart->maps_dump = false;
	if (result > 0) {
		pthread_mutex_lock(&process.lock);
		space_announce(&process, (uint64_t)result);
		pthread_mutex_unlock(&process.lock);
	}
}

/* ---- Fork ---------------------------------------------------------------------------------- */

static void before_fork(void)
{
	struct hart *hart = hart_current();

	/* The child inherits what is mapped now, without later changes by the parent. */
	process.fork_time = hart ? hart_sideband_time(hart) : 0;
	process.forks++;
	atomic_store(&process.control->forked, 1);
	pthread_mutex_lock(&process.lock);
	pthread_mutex_lock(&process.ring_lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&process.ring_lock);
	pthread_mutex_unlock(&process.lock);
}

static void after_fork_in_child(void)
{
	struct hart *hart = hart_current();

	pthread_mutex_init(&process.ring_lock, NULL);
	pthread_mutex_init(&process.lock, NULL);
	process.lineage = retirement_seed(process.lineage, process.forks, 0);
	process.forks = 0;
	channel_refork(&process);
	insn_refork(&process);
	for (unsigned int i = 0; i < PROCESS_HARTS; i++)
		if (process.harts[i] && process.harts[i] != hart)
			process.harts[i]->slot = NULL;
	turn_refork(&process, hart && hart->slot ? hart : NULL);
	if (hart)
		hart_refork(hart);
}

/* ---- Start --------------------------------------------------------------------------------- */

static int refuse(const char *what)
{
	fprintf(stderr, "pesa record: the virtual core cannot start: %s\n", what);
	return 1;
}

/* Create what all harts share, from the core description. */
static const char *prepare_core(void)
{
	struct pesa_error *error;

	error = shared_create(process.core, &process.shared);
	if (!error)
		error = cost_model_create(process.core, process.control->changes, &process.model);
	return error ? error->message : NULL;
}

static int install_on_board(qemu_plugin_id_t id, const qemu_info_t *info, const char *core,
			    const char *counts, const char *interrupts, const char *driver)
{
	const char *problem = NULL;
	struct pesa_error *error;

	if (strcmp(info->target_name, "riscv64"))
		return refuse("the emulator is not qemu-system-riscv64");
	error = pesa_isa_create("rv64", &process.isa);
	if (error)
		problem = error->message;
	else
		problem = board_open(&process, id, core, counts, interrupts, driver);
	if (!problem)
		problem = prepare_core();
	return problem ? refuse(problem) : 0;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	const char *channel = NULL, *core = NULL, *counts = NULL, *interrupts = NULL;
	const char *driver = NULL;
	const char *problem;
	struct pesa_error *error;

	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "channel=", 8))
			channel = argv[i] + 8;
		else if (!strncmp(argv[i], "core=", 5))
			core = argv[i] + 5;
		else if (!strncmp(argv[i], "counts=", 7))
			counts = argv[i] + 7;
		else if (!strncmp(argv[i], "interrupts=", 11))
			interrupts = argv[i] + 11;
		else if (!strncmp(argv[i], "driver=", 7))
			driver = argv[i] + 7;
		else if (!strncmp(argv[i], "after=", 6))
			follow_begin(&process, argv[i] + 6);
	if (info->system_emulation)
		return install_on_board(id, info, core, counts, interrupts, driver);
	if (!channel)
		return refuse("it was not started by pesa record");
	if (strcmp(info->target_name, "riscv64"))
		return refuse("the emulator is not qemu-riscv64");
	process.sink = &sample_send;
	problem = channel_open(&process, channel);
	if (problem)
		return refuse(problem);
	if (notes_registers() && !registers_are_shown())
		return refuse("this emulator does not show registers to plugins, which -g fp and "
			      "-g dwarf need: name QEMU 9 or newer in PESA_QEMU, or give -g alone "
			      "for exact chains");
	error = pesa_isa_create("rv64", &process.isa);
	if (error) {
		problem = error->message;
		return refuse(problem);
	}
	turn_create(&process.turn);
	problem = prepare_core();
	if (problem)
		return refuse(problem);
	if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child))
		return refuse("out of memory");
	death_watch(on_death);
	qemu_plugin_register_vcpu_init_cb(id, on_hart_begins);
	qemu_plugin_register_vcpu_exit_cb(id, on_hart_ends);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_system_call_return);
	qemu_plugin_register_atexit_cb(id, on_exit_of_process, NULL);
	return 0;
}
