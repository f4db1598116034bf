// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds what is needed to run a program on the virtual core.  See virtual_core.h. */
#include "tools/record/virtual_core.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decoder/binary/program.h"
#include "decoder/mca/model/model.h"
#include "pesa/mca.h"
#include "tools/record/emulator.h"
#include "tools/files/paths.h"
#include "tools/ui/safe_output.h"

#define DEFAULT_SYSROOT "/usr/riscv64-linux-gnu"

struct pesa_error *virtual_core_load(const char *name, struct pesa_core *core)
{
	char directory[PATH_MAX], path[PATH_MAX + NAME_MAX];

	if (strchr(name, '/'))
		return pesa_core_load(name, core);
	if (!pesa_path_data("cores", directory))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"no core descriptions in %s; is pesa installed completely?", directory);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (access(path, R_OK))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"no core description '%s' in %s; 'pesa list' shows them, a file of your "
			"own needs a slash in its name",
			name, directory);
	return pesa_core_load(path, core);
}

static struct pesa_error *check_program(const char *path, struct pesa_program *program)
{
	pesa_program_probe(path, program);
	switch (program->kind) {
	case PESA_PROGRAM_UNREADABLE:
		return pesa_error_system(errno, "cannot read %s", path);
	case PESA_PROGRAM_SCRIPT:
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s is a script: record its interpreter, '%s %s'", path,
					 program->interpreter, path);
	case PESA_PROGRAM_FOREIGN:
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"%s is an ELF file, but not for RISC-V: build it for RISC-V "
			"(riscv64-linux-gnu-gcc -g), or leave out the options of the "
			"virtual core to sample this machine's programs",
			path);
	case PESA_PROGRAM_OTHER:
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"%s is neither an ELF file nor a script with '#!'; name the "
			"program that reads it",
			path);
	case PESA_PROGRAM_RISCV:
		break;
	}
	if (program->xlen != 64)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s is a 32-bit program; the virtual core is 64-bit",
					 path);
	return NULL;
}

/*
 * Find the interpreter of a dynamic program: on this host, where the user says, or of the cross
 * compiler.
 */
static struct pesa_error *choose_sysroot(const struct pesa_program *program, const char *path,
					 const char **sysroot)
{
	char interpreter[2 * PATH_MAX];

	if (*sysroot || !*program->interpreter || !access(program->interpreter, R_OK) ||
	    getenv("QEMU_LD_PREFIX"))
		return NULL;
	snprintf(interpreter, sizeof(interpreter), "%s%s", DEFAULT_SYSROOT, program->interpreter);
	if (access(interpreter, R_OK))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"%s needs %s, which is neither here nor in %s; say with --sysroot where it is, "
			"install it (Debian: libc6-dev-riscv64-cross), or link with -static",
			path, program->interpreter, DEFAULT_SYSROOT);
	*sysroot = DEFAULT_SYSROOT;
	return NULL;
}

/*
 * Where the core's processor model is a file: its path from the root, for the emulator opens it again
 * in each program that the recorded one executes, in whatever folder that is; and the name of the
 * processor that it describes.
 */
static struct pesa_error *find_model(struct pesa_core *core)
{
	size_t length = pesa_mca_model_path_length(core->model);
	const struct pesa_mca_processor *processor;
	struct pesa_mca_model *model;
	struct pesa_error *error;
	char *path, *whole;

	if (!length)
		return NULL;
	error = pesa_mca_model_open(core->model, &model, &processor);
	if (error)
		return error;
	core->model[length] = '\0';
	path = core->model;
	whole = realpath(path, NULL);
	if (!whole)
		error = pesa_error_system(errno, "%s: cannot find its path", path);
	else if (strlen(processor->name) >= sizeof(core->processor))
		error = pesa_error_create(PESA_ERROR_UNSUPPORTED,
					  "%s: the processor's name '%.40s...' has more than %zu "
					  "characters",
					  path, processor->name, sizeof(core->processor) - 1);
	else if (strlen(whole) + 1 + strlen(processor->name) >= sizeof(core->model))
		error = pesa_error_create(PESA_ERROR_UNSUPPORTED,
					  "%s: its path has more than %zu characters", path,
					  sizeof(core->model) - strlen(processor->name) - 2);
	if (!error) {
		snprintf(core->processor, sizeof(core->processor), "%s", processor->name);
		snprintf(core->model, sizeof(core->model), "%s:%s", whole, processor->name);
	}
	free(whole);
	pesa_mca_model_free(model);
	return error;
}

struct pesa_error *virtual_core_find(struct virtual_core *found, const char *core,
				     const char *sysroot, const char *program)
{
	struct pesa_program probed;
	struct pesa_error *error = virtual_core_load(core, &found->core);

	found->changes[0] = '\0';
	found->sysroot = sysroot;
	if (!error)
		error = find_model(&found->core);
	if (!error)
		error = emulator_find(found->emulator, found->plugin);
	if (!error)
		error = pesa_path_find_program(program, found->program);
	if (!error)
		error = check_program(found->program, &probed);
	if (!error)
		error = choose_sysroot(&probed, found->program, &found->sysroot);
	return error;
}

struct pesa_error *virtual_core_set(struct virtual_core *found, const char *setting)
{
	size_t used = strlen(found->changes);
	const struct pesa_mca_processor *processor;
	struct pesa_mca_model *model;
	struct pesa_error *error;
	bool known;

	error = pesa_core_set(&found->core, setting, &known);
	if (!error && known)
		error = find_model(&found->core);
	if (known || error)
		return pesa_error_prefix(error, "--set %s: ", setting);
	/* Check the change here, after those before it: two that are right alone may leave a group without
	 * a unit.  The virtual core applies it. */
	error = pesa_mca_model_open(found->core.model, &model, &processor);
	if (error)
		return error;
	error = mca_model_change_each(model, found->changes);
	if (!error)
		error = pesa_mca_model_change(model, setting, NULL);
	pesa_mca_model_free(model);
	if (error)
		return pesa_error_prefix(error,
					 "--set %s is neither a key that 'pesa list --keys' lists "
					 "nor a change of %s: ",
					 setting, found->core.model);
	if (used + strlen(setting) + 2 > sizeof(found->changes))
		return pesa_error_create(PESA_ERROR_ARGUMENT, "too many changes with --set");
	sprintf(found->changes + used, "%s\n", setting);
	return NULL;
}

struct pesa_error *virtual_core_not_begun(const struct pesa_vcore_options *record, int status)
{
	char how[64];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(status));
	return pesa_error_create(PESA_ERROR_UNSUPPORTED,
				 "%s %s before the first instruction of %s: is the file complete, "
				 "are --cpu and --sysroot right?",
				 record->emulator, how, record->program[0]);
}

int virtual_core_exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A program that died of a fault: the shell, which did not start it, does not say so. */
static void print_fault(const char *command, int status)
{
	static const int faults[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (signal == faults[i])
			safe_output_message(
				"pesa %s: the program was killed by signal %d (%s)%s", command,
				signal, strsignal(signal),
				signal == SIGILL
					? ": if it needs instructions that the emulator's processor "
					  "lacks, choose one with --cpu (vectors: rv64,v=true)"
					: "; up to there it was observed");
}

void virtual_core_print_problems(const char *command, const struct pesa_vcore_summary *summary)
{
	const struct {
		uint64_t count;
		const char *what;
	} problems[] = {
		{summary->lost, "samples were lost"},
		{summary->golden_lost, "cycles found no room in the exact profile"},
		{summary->undecoded,
		 "instructions are unknown to the decoder and were taken for simple ones"},
		{summary->unmodelled,
		 "instructions are unknown to the core's processor model and were taken for simple "
		 "ones"},
		{summary->unwatched,
		 "threads had no core and were not recorded (too many at a time)"},
		{summary->cut_chains, "call chains have more frames than are recorded"},
		{summary->forced_turns,
		 "times the wait for a thread was given up: their order depends on this machine"},
		{summary->refused, "processes were not recorded (too many)"},
		{summary->damaged, "processes overwrote their messages, which are lost"},
	};

	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		if (problems[i].count)
			safe_output_message("pesa %s: %" PRIu64 " %s", command, problems[i].count,
					    problems[i].what);
	if (summary->harts)
		print_fault(command, summary->status);
}
