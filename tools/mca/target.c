/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ISA string to decode with, and the check of the output; see target.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/riscv/tables.h"
#include "tools/mca/target.h"
#include "tools/ui/output_files.h"

/* How -mattr mentions an extension: 1 on (+), -1 off (-), 0 not at all. */
static int mentioned(const struct mca_settings *settings, const char *name, size_t length)
{
	int result = 0;

	for (unsigned int i = 0; i < settings->feature_count; i++)
		if (strlen(settings->features[i] + 1) == length &&
		    !strncmp(settings->features[i] + 1, name, length))
			result = *settings->features[i] == '+' ? 1 : -1;
	return result;
}

/* Print an extension, or the extensions of a profile (RVA22U64), which -mattr may also name. */
static void print_extensions(const char *name, FILE *letters, FILE *names)
{
	const char *list = name;

	for (unsigned int i = 0; i < riscv_profile_count; i++)
		if (!strcmp(riscv_profiles[i].name, name))
			list = riscv_profiles[i].implies;
	for (size_t length; *list; list += length, list += strspn(list, " ")) {
		length = strcspn(list, " ");
		fprintf(length == 1 ? letters : names, length == 1 ? "%.*s" : "_%.*s", (int)length,
			list);
	}
}

char *mca_target_isa(const struct mca_settings *settings, const char *isa,
		     const struct pesa_mca_model *model)
{
	bool narrow = settings->triple && !strncmp(settings->triple, "riscv32", 7);
	char *text = NULL, *longer = NULL, *result = NULL;
	size_t size, longer_size;
	FILE *letters = open_memstream(&text, &size),
	     *names = open_memstream(&longer, &longer_size);
	const char *base = isa ? isa : narrow ? "rv32i" : "rv64i";

	if (!letters || !names)
		goto out;
	fprintf(letters, "%.4s", base);
	for (base += 4; *base;) {
		size_t length = *base == '_' ? strcspn(base + 1, "_") : 1;

		base += *base == '_';
		if (mentioned(settings, base, length) >= 0)
			fprintf(length == 1 ? letters : names, length == 1 ? "%.*s" : "_%.*s",
				(int)length, base);
		base += length;
	}
	for (unsigned int i = 0; i < settings->feature_count; i++) {
		const char *name = settings->features[i] + 1;
		bool tuning = pesa_mca_model_has_feature(model, name);

		if (*settings->features[i] == '+' && !tuning && strcmp(name, "64bit") &&
		    strcmp(name, "32bit") && strcmp(name, "relax"))
			print_extensions(name, letters, names);
	}
out:
	if (letters)
		fclose(letters);
	if (names)
		fclose(names);
	if (text && longer && asprintf(&result, "%s%s", text, longer) < 0)
		result = NULL;
	free(text);
	free(longer);
	return result;
}

struct pesa_error *mca_target_check_output(const struct mca_settings *settings)
{
	size_t length = pesa_mca_model_path_length(settings->cpu);
	char *model = length ? strndup(settings->cpu, length) : NULL;
	const struct output_file files[] = {
		{.path = settings->output, .what = "the report"},
		{.path = settings->path, .what = "the input", .read = true},
		{.path = settings->trace, .what = "the branch trace", .read = true},
		{.path = settings->profile, .what = "the profile", .read = true},
		{.path = model, .what = "the processor model", .read = true},
	};
	struct pesa_error *error =
		length && !model ? pesa_error_no_memory()
				 : output_files_check(files, sizeof(files) / sizeof(files[0]));

	free(model);
	return error;
}
