// SPDX-License-Identifier: GPL-2.0-or-later
/* Call chains from copies of the stack: see unwind.h. */
#include <elfutils/libdwfl.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/unwind.h"

#define FRAMES_MAX    2048 /* a longer chain is circular */
#define CACHED	      8	   /* number of processes whose binaries are kept open */
#define DWARF_NUMBERS 32
#define NO_REGISTER   255

/* By DWARF register number: the bit of the register in perf's mask.  Sources:
 * arch/ARCH/include/uapi/asm/perf_regs.h of Linux; the psABIs' tables of DWARF registers. */
static const struct machine {
	const char *arch;
	uint8_t pc, sp;	      /* numbers of perf */
	uint8_t first, count; /* DWARF numbers */
	uint8_t bit[DWARF_NUMBERS];
} machines[] = {
	{"riscv64", 0, 2, 1, 31, {NO_REGISTER, 1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				  11,	       12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				  22,	       23, 24, 25, 26, 27, 28, 29, 30, 31}},
	/* rax rdx rcx rbx rsi rdi rbp rsp r8..r15, and the return address: rip */
	{"x86_64", 8, 7, 0, 17, {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8}},
};

struct process {
	const struct pesa_layout *layout; /* with a reference */
	Dwfl *dwfl;			  /* NULL: the process cannot be unwound */
};

struct pesa_unwinder {
	struct pesa_binaries *binaries;
	struct pesa_spaces *spaces;
	const struct machine *machine; /* NULL: unsupported */
	struct process process[CACHED];
	unsigned int next; /* next entry to replace */
	uint64_t *chain;
	size_t length, room;
	/* The sample being unwound. */
	const struct pesa_sample *sample;
	uint64_t stack_pointer;
};

/* ---- Callbacks of libdw ---------------------------------------------------------------------- */

/* Value of a register, by perf's number.  False: it is not in the sample. */
static bool register_of(const struct pesa_sample *sample, unsigned int bit, uint64_t *value)
{
	uint64_t below = ((uint64_t)1 << bit) - 1;

	if (bit > 63 || !(sample->register_mask >> bit & 1))
		return false;
	memcpy(value,
	       sample->registers +
		       (size_t)__builtin_popcountll(sample->register_mask & below) * sizeof(*value),
	       sizeof(*value));
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = context;
	return 1;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *context)
{
	const struct pesa_unwinder *unwinder = context;
	uint64_t at = address - unwinder->stack_pointer, value;

	(void)dwfl;
	if (address < unwinder->stack_pointer || unwinder->sample->stack_size < sizeof(value) ||
	    at > unwinder->sample->stack_size - sizeof(value))
		return false;
	memcpy(&value, unwinder->sample->stack + at, sizeof(value));
	*result = value;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct pesa_unwinder *unwinder = context;
	const struct machine *machine = unwinder->machine;
	Dwarf_Word value[DWARF_NUMBERS] = {0};
	uint64_t one;

	for (unsigned int i = 0; i < machine->count; i++)
		if (register_of(unwinder->sample, machine->bit[machine->first + i], &one))
			value[i] = one;
	if (!register_of(unwinder->sample, machine->pc, &one) ||
	    !dwfl_thread_state_registers(thread, machine->first, machine->count, value))
		return false;
	dwfl_thread_state_register_pc(thread, one);
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int find_no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		       char **file, Elf **elf)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

/* The tables are in the binaries themselves: no debug file is searched, locally or on servers. */
static int find_no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			      const char *path, const char *link, GElf_Word checksum, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)path, (void)link, (void)checksum,
		(void)found;
	return -1;
}

static const Dwfl_Callbacks file_callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_no_debug_file,
};

/* ---- Processes ------------------------------------------------------------------------------- */

/* Report the binary of a mapping to libdw, at its load address. */
static struct pesa_error *report_mapping(struct pesa_unwinder *unwinder, Dwfl *dwfl,
					 const struct pesa_mapping *mapping)
{
	struct pesa_error *error = pesa_binaries_open(unwinder->binaries, mapping->dso);
	const struct pesa_dso *dso;
	uint64_t bias;

	if (error || !pesa_binaries_image(unwinder->binaries, mapping->dso))
		return error;
	dso = pesa_spaces_dso(unwinder->spaces, mapping->dso);
	bias = mapping->start - pesa_binaries_address(unwinder->binaries, mapping, mapping->start);
	/* A binary mapped in several parts is reported once: libdw has a module at the address
	 * then. */
	if (dso->file && !dwfl_addrmodule(dwfl, mapping->start))
		dwfl_report_elf(dwfl, dso->path, dso->file, -1, bias, true);
	return NULL;
}

/* *opened: NULL if the process cannot be unwound. */
static struct pesa_error *open_process(struct pesa_unwinder *unwinder,
				       const struct pesa_layout *layout, Dwfl **opened)
{
	Dwfl *dwfl = dwfl_begin(&file_callbacks);
	struct pesa_error *error = NULL;

	if (!dwfl)
		return pesa_error_no_memory();
	dwfl_report_begin(dwfl);
	for (uint32_t i = 0; i < layout->count && !error; i++)
		error = report_mapping(unwinder, dwfl, &layout->mapping[i]);
	dwfl_report_end(dwfl, NULL, NULL);
	if (error || !dwfl_attach_state(dwfl, NULL, 1, &thread_callbacks, unwinder)) {
		dwfl_end(dwfl);
		dwfl = NULL;
	}
	if (!error)
		*opened = dwfl;
	return error;
}

static struct pesa_error *process_of(struct pesa_unwinder *unwinder,
				     const struct pesa_layout *layout, Dwfl **dwfl)
{
	struct process *process;
	struct pesa_error *error;

	for (unsigned int i = 0; i < CACHED; i++)
		if (unwinder->process[i].layout == layout) {
			*dwfl = unwinder->process[i].dwfl;
			return NULL;
		}
	error = open_process(unwinder, layout, dwfl);
	if (error)
		return error;
	process = &unwinder->process[unwinder->next++ % CACHED];
	if (process->layout)
		pesa_layout_release(process->layout);
	dwfl_end(process->dwfl);
	pesa_layout_hold(layout);
	process->layout = layout;
	process->dwfl = *dwfl;
	return NULL;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

static struct pesa_error *push(struct pesa_unwinder *unwinder, uint64_t entry)
{
	size_t room = unwinder->room ? unwinder->room * 2 : 128;
	uint64_t *grown;

	if (unwinder->length == unwinder->room) {
		grown = realloc(unwinder->chain, room * sizeof(*grown));
		if (!grown)
			return pesa_error_no_memory();
		unwinder->chain = grown;
		unwinder->room = room;
	}
	unwinder->chain[unwinder->length++] = entry;
	return NULL;
}

/* Context of take_frame(). */
struct frames {
	struct pesa_unwinder *unwinder;
	struct pesa_error *error;
};

static int take_frame(Dwfl_Frame *frame, void *context)
{
	struct frames *frames = context;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL) || frames->unwinder->length >= FRAMES_MAX)
		return DWARF_CB_ABORT;
	frames->error = push(frames->unwinder, pc);
	return frames->error ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Push the frames of the sample being unwound.  Any failure to unwind further ends the chain, and
 * is not an error. */
static struct pesa_error *push_frames(struct pesa_unwinder *unwinder, Dwfl *dwfl)
{
	struct frames frames = {.unwinder = unwinder};

	dwfl_getthread_frames(dwfl, 1, take_frame, &frames);
	return frames.error;
}

/* Copy the kernel's part of a sample's chain.  *has_user: the chain has a user part already. */
static struct pesa_error *copy_kernel_part(struct pesa_unwinder *unwinder,
					   const struct pesa_sample *sample, bool *has_user)
{
	unwinder->length = 0;
	*has_user = false;
	for (uint64_t i = 0; i < sample->callchain_count; i++) {
		struct pesa_error *error;
		uint64_t entry;

		memcpy(&entry, sample->callchain + i * sizeof(entry), sizeof(entry));
		if (entry == (uint64_t)PERF_CONTEXT_USER) {
			*has_user = i + 1 < sample->callchain_count;
			return NULL;
		}
		error = push(unwinder, entry);
		if (error)
			return error;
	}
	return NULL;
}

struct pesa_error *pesa_unwinder_complete(struct pesa_unwinder *unwinder,
					  const struct pesa_layout *layout,
					  struct pesa_sample *sample)
{
	struct pesa_error *error;
	Dwfl *dwfl = NULL;
	bool has_user;
	size_t kernel;

	if (!sample->stack || !sample->registers || !unwinder->machine ||
	    !register_of(sample, unwinder->machine->sp, &unwinder->stack_pointer))
		return NULL;
	error = copy_kernel_part(unwinder, sample, &has_user);
	if (error || has_user)
		return error;
	error = process_of(unwinder, layout, &dwfl);
	if (!error)
		error = push(unwinder, (uint64_t)PERF_CONTEXT_USER);
	if (error)
		return error;
	kernel = unwinder->length;
	unwinder->sample = sample;
	if (dwfl)
		error = push_frames(unwinder, dwfl);
	unwinder->sample = NULL;
	if (error || unwinder->length == kernel)
		return error;
	sample->callchain = (const uint8_t *)unwinder->chain;
	sample->callchain_count = unwinder->length;
	return NULL;
}

/* ---- Creation and destruction ---------------------------------------------------------------- */

struct pesa_unwinder *pesa_unwinder_create(struct pesa_binaries *binaries,
					   struct pesa_spaces *spaces, const char *arch)
{
	struct pesa_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return NULL;
	unwinder->binaries = binaries;
	unwinder->spaces = spaces;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (!strcmp(arch ? arch : "riscv64", machines[i].arch))
			unwinder->machine = &machines[i];
	return unwinder;
}

void pesa_unwinder_free(struct pesa_unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (unsigned int i = 0; i < CACHED; i++) {
		if (unwinder->process[i].layout)
			pesa_layout_release(unwinder->process[i].layout);
		dwfl_end(unwinder->process[i].dwfl);
	}
	free(unwinder->chain);
	free(unwinder);
}
