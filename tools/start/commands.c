/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All subcommands.  It only dispatches; each has a file of its own. */
#include <stdio.h>
#include <string.h>

#include "decoder/base/nearest.h"
#include "pesa/version.h"
#include "pesa_build.h"
#include "tools/commands.h"
#include "tools/perf/perf.h"
#include "tools/start/commands_object.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/standard_output.h"

struct command {
	const char *name, *title;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
#define COMMAND(name, summary) {#name, "pesa " #name, pesa_command_##name, summary},
	PESA_COMMANDS
#undef COMMAND
	{NULL, NULL, NULL, NULL},
};

static void usage(FILE *stream)
{
	fprintf(stream,
		"Usage: pesa COMMAND [OPTIONS]\n\nA sampling profiler for RISC-V that weighs every "
		"instruction in cycles.\n\nCommands:\n");
	for (const struct command *command = commands; command->name; command++)
		fprintf(stream, "  %-10s %s\n", command->name, command->summary);
	fprintf(stream,
		"\n'pesa COMMAND --help' explains a command, 'man pesa-COMMAND' in full.\n");
}

static void print_version(void)
{
	printf("pesa %s\ncommit %s\nbuilt with %s\n", PESA_VERSION, PESA_COMMIT, PESA_BUILT_WITH);
	if (*PESA_PARTS)
		printf("with %s\n", PESA_PARTS);
	if (*PESA_MISSING_PARTS)
		printf("without %s\n", PESA_MISSING_PARTS);
}

/* The command whose name is nearest to a mistyped one; NULL: none is near. */
static const char *nearest_command(const char *typed)
{
	const char *found = NULL;
	struct nearest nearest;

	nearest_begin(&nearest, typed);
	for (const struct command *command = commands; command->name; command++)
		if (nearest_try(&nearest, command->name, strlen(command->name)))
			found = command->name;
	return found;
}

static int run(int argc, char **argv)
{
	char help_option[] = "--help";
	const struct command *command = commands;
	const char *answer, *nearest;

	safe_output_start();
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "help") && argc == 3) {
		/* 'pesa help COMMAND' is 'pesa COMMAND --help'. */
		argv[1] = argv[2];
		argv[2] = help_option;
	}
	while (command->name && strcmp(argv[1], command->name))
		command++;
	standard_output_watch(command->name ? command->title : "pesa");
	if (command->name)
		return command->run(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--list-cmds")) {
		for (command = commands; command->name; command++)
			printf("%s\t%s\n", command->name, command->summary);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") || !strcmp(argv[1], "-v") ||
	    !strcmp(argv[1], "version")) {
		print_version();
		return 0;
	}
	answer = perf_command_answer(argv[1]);
	if (answer) {
		safe_output_message("pesa: perf's '%s': %s", argv[1], answer);
		return 2;
	}
	nearest = nearest_command(argv[1]);
	safe_output_message("pesa: '%s' is not a command; %s%s%s'pesa --help' lists them", argv[1],
			    nearest ? "do you mean '" : "", nearest ? nearest : "",
			    nearest ? "'? " : "");
	return 2;
}

const struct commands_object pesa_commands_object = {
	.build = COMMANDS_OBJECT_BUILD,
	.run = run,
	.program_read = mca_program_read,
	.object_read = mca_object_read,
};
