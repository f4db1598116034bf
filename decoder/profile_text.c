/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binaries of a profile and the text that the walk reads: see profile_private.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/profile_private.h"

static bool same_build_id(const struct pesa_dso *dso, const struct pesa_image *image)
{
	unsigned int size;
	const uint8_t *build_id = pesa_image_build_id(image, &size);

	/* The feature section pads short build ids to 20 bytes: compare what the file has. */
	return !dso->build_id_size || !size ||
	       (dso->build_id_size >= size && !memcmp(dso->build_id, build_id, size));
}

/* perf's cache of binaries: ~/.debug/.build-id/xx/yyy/elf, or the file itself in older versions. */
static struct pesa_image *open_cached(const struct pesa_dso *dso, char **opened)
{
	static const char *const forms[] = {"/elf", ""};
	char hex[2 * PESA_BUILD_ID_MAX + 1] = "";
	const char *home = getenv("HOME");
	struct pesa_image *image = NULL;

	if (!home || dso->build_id_size < 2)
		return NULL;
	for (unsigned int i = 0; i < dso->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", dso->build_id[i]);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms) && !image; i++) {
		char *path;

		if (asprintf(&path, "%s/.debug/.build-id/%.2s/%s%s", home, hex, hex + 2, forms[i]) <
		    0)
			return NULL;
		pesa_error_free(pesa_image_open(path, &image));
		if (image && !same_build_id(dso, image)) {
			pesa_image_close(image);
			image = NULL;
		}
		if (image)
			*opened = path;
		else
			free(path);
	}
	return image;
}

static void set_problem(struct pesa_dso *dso, struct binary *binary, enum pesa_dso_status status,
			char *problem)
{
	dso->status = status;
	free(binary->problem);
	binary->problem = problem;
	dso->problem = NULL;
}

/* Find the image of a dso with a file; its status says what became of it. */
static void open_binary(struct pesa_profile *profile, struct pesa_dso *dso, struct binary *binary)
{
	const char *root = profile->symbol_root ? profile->symbol_root : "";
	struct pesa_error *error;
	char *path, *problem = NULL;
	size_t length;

	if (asprintf(&path, "%s%s%s", root, *root && *dso->path != '/' ? "/" : "", dso->path) < 0)
		return;
	length = strlen(path);
	if (length > 10 && !strcmp(path + length - 10, " (deleted)"))
		path[length - 10] = 0; /* a new file of that name tells by its build id */
	error = pesa_image_open(path, &binary->image);
	if (!error && !same_build_id(dso, binary->image)) {
		pesa_image_close(binary->image);
		binary->image = NULL;
		if (asprintf(&problem,
			     "%s: is not the file that was profiled (another build id); its text "
			     "is not used",
			     path) < 0)
			problem = NULL;
		set_problem(dso, binary, PESA_DSO_CHANGED, problem);
	} else if (error) {
		set_problem(dso, binary,
			    error->code == PESA_ERROR_SYSTEM ? PESA_DSO_MISSING : PESA_DSO_DAMAGED,
			    strdup(error->message));
		pesa_error_free(error);
	}
	if (!binary->image) {
		char *cached = NULL;

		binary->image = open_cached(dso, &cached);
		if (binary->image) {
			set_problem(dso, binary, PESA_DSO_OK, NULL);
			free(path);
			path = cached;
		}
	}
	if (binary->image && !pesa_image_isa(binary->image)) {
		if (asprintf(&problem, "%s: is for %s, not RISC-V; reported by address only", path,
			     pesa_image_machine(binary->image)) < 0)
			problem = NULL;
		set_problem(dso, binary, PESA_DSO_FOREIGN, problem);
	}
	if (binary->image)
		dso->file = path;
	else
		free(path);
}

static struct binary *binary_of(struct pesa_profile *profile, uint32_t index)
{
	struct pesa_dso *dso = pesa_spaces_dso(profile->spaces, index);
	struct binary *binary;

	if (index >= profile->binary_capacity) {
		unsigned int capacity = 2 * index + 16;
		struct binary *binaries = realloc(profile->binaries, capacity * sizeof(*binaries));

		if (!binaries)
			return NULL;
		memset(binaries + profile->binary_capacity, 0,
		       (capacity - profile->binary_capacity) * sizeof(*binaries));
		profile->binaries = binaries;
		profile->binary_capacity = capacity;
	}
	binary = &profile->binaries[index];
	if (!binary->looked_for) {
		binary->looked_for = true;
		if (dso->kind == PESA_DSO_FILE)
			open_binary(profile, dso, binary);
		/* An ISA string with an extension that is not known: the general one serves. */
		if (binary->image && pesa_image_isa(binary->image))
			pesa_error_free(
				pesa_isa_create(pesa_image_isa(binary->image), &binary->isa));
	}
	return binary;
}

void binaries_finish(struct pesa_profile *profile)
{
	unsigned int count = pesa_spaces_dso_count(profile->spaces);

	for (unsigned int i = 0; i < count; i++)
		binary_of(profile, i);
	for (unsigned int i = 0; i < count && i < profile->binary_capacity; i++) {
		struct pesa_dso *dso = pesa_spaces_dso(profile->spaces, i);
		const char *problem = profile->binaries[i].problem;

		/* The dso owns what it names (pesa_spaces_free). */
		if (problem && !dso->problem)
			dso->problem = strdup(problem);
	}
}

void binaries_free(struct pesa_profile *profile)
{
	for (unsigned int i = 0; i < profile->binary_capacity; i++) {
		pesa_image_close(profile->binaries[i].image);
		pesa_isa_free(profile->binaries[i].isa);
		free(profile->binaries[i].problem);
	}
	free(profile->binaries);
	pesa_isa_free(profile->isa32);
	pesa_isa_free(profile->isa64);
}

static const struct pesa_mapping *mapping_of(struct process_text *text, uint64_t address)
{
	const struct pesa_mapping *mapping = text->last;

	if (mapping && address >= mapping->start && address < mapping->end)
		return mapping;
	mapping = pesa_layout_find(text->layout, address);
	if (!mapping)
		mapping = pesa_layout_find(text->kernel, address);
	if (mapping)
		text->last = mapping;
	return mapping;
}

static struct place place_in(struct pesa_profile *profile, const struct pesa_mapping *mapping,
			     uint64_t address)
{
	const struct pesa_dso *dso = pesa_spaces_dso(profile->spaces, mapping->dso);
	struct place place = {mapping->dso, address};
	struct binary *binary;

	if (dso->kind == PESA_DSO_VDSO || dso->kind == PESA_DSO_FILE)
		place.address = address - mapping->start + mapping->offset;
	if (dso->kind != PESA_DSO_FILE)
		return place;
	binary = binary_of(profile, mapping->dso);
	if (binary && binary->image)
		pesa_image_address(binary->image, place.address, &place.address);
	return place;
}

struct place process_text_place(struct process_text *text, uint64_t address)
{
	const struct pesa_mapping *mapping = mapping_of(text, address);

	if (!mapping)
		return (struct place){0, address};
	return place_in(text->profile, mapping, address);
}

/* The general instruction set of a width, made when it is first needed. */
static const struct pesa_isa *general_isa(struct pesa_profile *profile, unsigned int xlen)
{
	struct pesa_isa **isa = xlen == 32 ? &profile->isa32 : &profile->isa64;

	if (!*isa)
		pesa_error_free(pesa_isa_create(xlen == 32 ? "rv32" : "rv64", isa));
	return *isa;
}

enum pesa_text_status process_text_instruction(void *context, uint64_t address,
					       struct pesa_text_insn *text_insn)
{
	struct process_text *text = context;
	const struct pesa_mapping *mapping = mapping_of(text, address);
	const struct pesa_isa *general;
	const struct binary *binary;
	const uint8_t *bytes;
	struct pesa_insn insn;
	unsigned int length = 0;
	size_t size;

	if (!mapping)
		return PESA_TEXT_UNMAPPED;
	binary = binary_of(text->profile, mapping->dso);
	if (!binary || !binary->image || !pesa_image_isa(binary->image))
		return PESA_TEXT_MISSING;
	bytes = pesa_image_text_at(binary->image, place_in(text->profile, mapping, address).address,
				   &size);
	if (!bytes)
		return PESA_TEXT_MISSING;
	if (binary->isa)
		length = pesa_insn_decode(binary->isa, bytes, size, &insn);
	if (!length) {
		general = general_isa(text->profile,
				      !strncmp(pesa_image_isa(binary->image), "rv32", 4) ? 32 : 64);
		length = general ? pesa_insn_decode(general, bytes, size, &insn) : 0;
	}
	if (!length)
		return PESA_TEXT_UNDECODABLE;
	*text_insn = (struct pesa_text_insn){.length = (uint8_t)length,
					     .flow = (uint8_t)pesa_insn_flow(&insn)};
	text_insn->has_target = pesa_insn_target(&insn, address, &text_insn->target);
	return PESA_TEXT_OK;
}
