// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Continues profiling across execve.
 *
 * The host's kernel cannot execute a RISC-V program except through binfmt_misc, and then without
 * the virtual core.  So when the guest executes a RISC-V program, or a script whose interpreter is
 * one, the plugin executes the emulator on it in the same process, with the plugin.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "decoder/binary/program.h"
#include "tools/vcore/guest/own_program.h"
#include "tools/vcore/guest/follow.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/process.h"

#define EMULATOR_WORDS 12

/* Read through the kernel: invalid addresses are an error, as in the system call. */
bool follow_read(const struct process *process, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = {buffer, size};
	struct iovec remote = {(void *)(uintptr_t)(address + process->guest_base), size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool follow_read_string(const struct process *process, uint64_t address, char *string, size_t size)
{
	size_t at = 0;

	while (at < size) {
		/* Read up to the end of a page: the next page may not be mapped. */
		size_t chunk = 4096 - (size_t)((address + at) & 4095);

		if (chunk > size - at)
			chunk = size - at;
		if (!follow_read(process, address + at, string + at, chunk))
			return false;
		if (memchr(string + at, '\0', chunk))
			return true;
		at += chunk;
	}
	return false;
}

static void free_strings(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

/* Read a vector of strings; `before` entries in front are left NULL. */
static char **read_strings(const struct process *process, uint64_t address, size_t before)
{
	static const size_t longest = 128 * 1024; /* the kernel's limit for one string
						   * (MAX_ARG_STRLEN) */
	char **strings = calloc(before + 1, sizeof(*strings)), **grown;
	char *buffer = malloc(longest);
	size_t count = 0;
	uint64_t pointer;

	while (strings && buffer && address) {
		if (!follow_read(process, address + count * sizeof(pointer), &pointer,
				 sizeof(pointer)))
			goto failed;
		if (!pointer)
			break;
		grown = realloc(strings, (before + count + 2) * sizeof(*strings));
		if (!grown)
			goto failed;
		strings = grown;
		strings[before + count + 1] = NULL;
		if (!follow_read_string(process, pointer, buffer, longest))
			goto failed;
		strings[before + count] = strdup(buffer);
		if (!strings[before + count++])
			goto failed;
	}
	if (strings && buffer) {
		free(buffer);
		return strings;
	}
failed:
	free(buffer);
	for (size_t i = before; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
	return NULL;
}

static bool has_prefix(char *const *environment)
{
	for (; *environment; environment++)
		if (!strncmp(*environment, "QEMU_LD_PREFIX=", 15))
			return true;
	return false;
}

/* Execute the emulator on `path`.  Returns on failure. */
static void start(const struct process *process, const char *path,
		  const struct pesa_program *program, char *const *arguments,
		  char *const *environment)
{
	const struct vcore_control *control = process->control;
	char plugin[PATH_MAX + 128];
	const char *word[EMULATOR_WORDS + 3];
	char **all;
	size_t count = 0, given = 0;

	while (arguments[given])
		given++;
	snprintf(plugin, sizeof(plugin), "%s,channel=%s,after=%" PRIu64 ":%" PRIu64,
		 control->plugin, control->channel, atomic_load(&process->newest),
		 process->lineage);
	word[count++] = control->emulator;
	word[count++] = "-plugin";
	word[count++] = plugin;
	if (control->cpu[0]) {
		word[count++] = "-cpu";
		word[count++] = control->cpu;
	}
	if (control->sysroot[0] && *program->interpreter && access(program->interpreter, R_OK) &&
	    !has_prefix(environment)) {
		word[count++] = "-L";
		word[count++] = control->sysroot;
	}
	word[count++] = "-0";
	word[count++] = given ? arguments[0] : "";
	word[count++] = path;
	all = calloc(count + given + 1, sizeof(*all));
	if (!all)
		return;
	memcpy(all, word, count * sizeof(*word));
	for (size_t i = 1; i < given; i++)
		all[count++] = arguments[i];
	execve(control->emulator, all, environment);
	free(all);
}

void follow_begin(struct process *process, const char *before)
{
	uint64_t time = 0, lineage = 0;

	if (sscanf(before, "%" SCNu64 ":%" SCNu64, &time, &lineage) != 2)
		return;
	atomic_store(&process->newest, time);
	process->lineage = retirement_seed(lineage, 0, 1);
}

void follow_execve(struct process *process, struct hart *hart, uint64_t path, uint64_t argv,
		   uint64_t envp)
{
	char **arguments = read_strings(process, argv, 2), **environment = NULL;
	struct pesa_program program;
	char file[PATH_MAX], interpreter[PATH_MAX], argument[sizeof(program.argument)];

	if (!arguments || !follow_read_string(process, path, file, sizeof(file)))
		goto out;
	environment = read_strings(process, envp, 0);
	if (!environment)
		goto out;
	/* For the guest this names its own program, not the emulator. */
	if (!strcmp(file, "/proc/self/exe") && !own_program_path(file))
		goto out;
	pesa_program_probe(file, &program);
	if (access(file, X_OK))
		goto out;
	hart_sideband_time(hart);
	if (program.kind == PESA_PROGRAM_RISCV && program.xlen == 64) {
		start(process, file, &program, arguments + 2, environment);
	} else if (program.kind == PESA_PROGRAM_SCRIPT) {
		size_t at = 2;

		strcpy(interpreter, program.interpreter);
		strcpy(argument, program.argument);
		pesa_program_probe(interpreter, &program);
		if (program.kind != PESA_PROGRAM_RISCV || program.xlen != 64)
			goto out;
		/* interpreter [argument] script arguments...: the script replaces argv[0] */
		free(arguments[at]);
		arguments[at] = strdup(file);
		if (*argument)
			arguments[--at] = strdup(argument);
		arguments[--at] = strdup(interpreter);
		start(process, interpreter, &program, arguments + at, environment);
	}
out:
	free_strings(environment);
	if (!arguments)
		return;
	for (size_t i = 0; i < 2 || arguments[i]; i++)
		free(arguments[i]);
	free(arguments);
}
