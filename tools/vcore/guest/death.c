// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The emulator dies of a signal that the guest does not handle.
 *
 * QEMU does not notify its plugins of this (true at least up to 7.2): it sends itself the signal,
 * with its default action, and the instructions that are not accounted yet would be lost.  Those
 * are the last ones before the fault.  The plugin can only intercept the call of kill(), which goes
 * through the emulator's table of imported functions: it replaces the table's entry by a function
 * of its own. If there is no such entry, nothing is changed.
 */
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/vcore/guest/death.h"

static void (*tell)(void);

/* Return whether the signal now terminates the process. */
static bool is_deadly(int number)
{
	struct sigaction action;

	switch (number) {
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return false;
	default:
		return number > 0 && !sigaction(number, NULL, &action) &&
		       action.sa_handler == SIG_DFL;
	}
}

static int send_signal(pid_t pid, int number)
{
	if (pid == getpid() && is_deadly(number))
		tell();
	return kill(pid, number);
}

/* ---- The table of imported functions ------------------------------------------------------- */

struct imports {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * list[2]; /* relocations of functions; all others */
	size_t size[2];		    /* in bytes */
};

/* The dynamic linker relocates most addresses in place; the others are still offsets. */
static const void *at(ElfW(Addr) base, ElfW(Addr) address)
{
	return (const void *)(uintptr_t)(address < base ? base + address : address);
}

static void find_imports(const struct dl_phdr_info *object, struct imports *imports)
{
	const ElfW(Dyn) *entry = NULL;

	for (unsigned int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(uintptr_t)(object->dlpi_addr +
							  object->dlpi_phdr[i].p_vaddr);
	imports->base = object->dlpi_addr;
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			imports->symbols = at(imports->base, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			imports->names = at(imports->base, entry->d_un.d_ptr);
			break;
		case DT_JMPREL:
			imports->list[0] = at(imports->base, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			imports->size[0] = entry->d_un.d_val;
			break;
		case DT_RELA:
			imports->list[1] = at(imports->base, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			imports->size[1] = entry->d_un.d_val;
			break;
		default:
			break;
		}
	}
}

/* The table may be read-only already (RELRO). */
static void replace(void **place, void *function)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)place & -page;
	size_t size = (uintptr_t)(place + 1) - start;

	if (!mprotect((void *)start, size, PROT_READ | PROT_WRITE))
		*place = function;
}

/* The first object is the emulator itself. */
static int visit(struct dl_phdr_info *object, size_t size, void *unused)
{
	struct imports imports = {0};

	(void)size, (void)unused;
	find_imports(object, &imports);
	if (!imports.symbols || !imports.names)
		return 1;
	for (unsigned int i = 0; i < 2; i++) {
		size_t count = imports.list[i] ? imports.size[i] / sizeof(ElfW(Rela)) : 0;

		for (size_t j = 0; j < count; j++) {
			const ElfW(Rela) *import = &imports.list[i][j];
			/* The symbol index, ELF64 or ELF32. */
			size_t symbol = sizeof(void *) == 8 ? (uint64_t)import->r_info >> 32
							    : import->r_info >> 8;

			if (symbol &&
			    !strcmp(imports.names + imports.symbols[symbol].st_name, "kill"))
				replace((void **)(imports.base + import->r_offset),
					(void *)(uintptr_t)send_signal);
		}
	}
	return 1;
}

void death_watch(void (*dies)(void))
{
	tell = dies;
	dl_iterate_phdr(visit, NULL);
}
