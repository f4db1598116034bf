// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of the dsos of a recording: see binaries.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "decoder/binary/binaries.h"
#include "decoder/binary/code.h"
#include "decoder/binary/symbol_kernel.h"
#include "pesa/riscv.h"

/* An instruction set named by a binary; most binaries name the same one. */
struct instruction_set {
	char *name;
	struct pesa_isa *isa; /* NULL: the name cannot be parsed */
	struct instruction_set *next;
};

struct binary {
	bool opened;
	struct pesa_image *image;
	const struct pesa_code *code; /* code made at run time; NULL: the text is in the image */
	/* `own`: the ISA of its attributes.  `every`: all extensions, for code behind run-time
	 * checks. */
	const struct pesa_isa *own, *every;
	const char *isa; /* ISA of code made at run time; NULL: use that of the image */
};

/* Longest instruction of any encoding, bytes. */
#define INSTRUCTION_MAX 8

/* Cache of decoded instructions, by dso and address. */
#define DECODED 4096

struct decoded {
	uint64_t address;
	uint32_t dso_plus_1; /* 0: free */
	enum pesa_text_status status;
	struct pesa_text_insn insn;
};

struct pesa_binaries {
	struct pesa_spaces *spaces;
	struct pesa_origin origin; /* without functions: nothing is known */
	char *root;
	struct binary *binary;
	unsigned int count;
	struct instruction_set *sets;
	bool out_of_memory;
	struct decoded decoded[DECODED];
};

struct pesa_binaries *pesa_binaries_create(struct pesa_spaces *spaces, const char *root)
{
	struct pesa_binaries *binaries = calloc(1, sizeof(*binaries));

	if (!binaries)
		return NULL;
	binaries->spaces = spaces;
	if (root && !(binaries->root = strdup(root))) {
		free(binaries);
		return NULL;
	}
	return binaries;
}

void pesa_binaries_free(struct pesa_binaries *binaries)
{
	if (!binaries)
		return;
	for (unsigned int i = 0; i < binaries->count; i++)
		pesa_image_close(binaries->binary[i].image);
	while (binaries->sets) {
		struct instruction_set *next = binaries->sets->next;

		pesa_isa_free(binaries->sets->isa);
		free(binaries->sets->name);
		free(binaries->sets);
		binaries->sets = next;
	}
	free(binaries->binary);
	free(binaries->root);
	free(binaries);
}

void pesa_binaries_set_origin(struct pesa_binaries *binaries, const struct pesa_origin *origin)
{
	binaries->origin = origin ? *origin : (struct pesa_origin){0};
}

bool pesa_binaries_complete(const struct pesa_binaries *binaries)
{
	return !binaries->out_of_memory;
}

/* ---- Instruction sets ------------------------------------------------------------------------ */

static const struct pesa_isa *instruction_set(struct pesa_binaries *binaries, const char *name)
{
	struct instruction_set *set;

	for (set = binaries->sets; set; set = set->next)
		if (!strcmp(set->name, name))
			return set->isa;
	set = calloc(1, sizeof(*set));
	if (!set || !(set->name = strdup(name))) {
		free(set);
		binaries->out_of_memory = true;
		return NULL;
	}
	/* An unparsable name is not an error: the set of all ratified extensions is tried as
	 * well. */
	pesa_error_free(pesa_isa_create(name, &set->isa));
	set->next = binaries->sets;
	binaries->sets = set;
	return set->isa;
}

/* ---- Finding the file ------------------------------------------------------------------------ */

static void settle(struct pesa_binaries *binaries, struct pesa_dso *dso,
		   enum pesa_dso_status status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void settle(struct pesa_binaries *binaries, struct pesa_dso *dso,
		   enum pesa_dso_status status, const char *format, ...)
{
	va_list arguments;
	char *text;

	dso->status = status;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0) {
		binaries->out_of_memory = true;
		text = NULL;
	}
	va_end(arguments);
	free((char *)dso->problem);
	dso->problem = text;
}

static bool same_build_id(const struct pesa_dso *dso, const struct pesa_image *image)
{
	unsigned int size;
	const uint8_t *id = pesa_image_build_id(image, &size);

	if (!dso->build_id_size)
		return true;
	/* perf pads shorter ids with zeros to 20 bytes if the record has no length */
	if (size > dso->build_id_size || !size || memcmp(id, dso->build_id, size))
		return false;
	for (unsigned int i = size; i < dso->build_id_size; i++)
		if (dso->build_id[i])
			return false;
	return true;
}

static char *text_of(struct pesa_binaries *binaries, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static char *text_of(struct pesa_binaries *binaries, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0) {
		binaries->out_of_memory = true;
		text = NULL;
	}
	va_end(arguments);
	return text;
}

/* A file of perf's build-id cache: DIRECTORY/.build-id/ab/cdef.../elf (vdso: .../vdso). */
static char *cached_path(struct pesa_binaries *binaries, const char *directory,
			 const struct pesa_dso *dso)
{
	char digits[2 * PESA_BUILD_ID_MAX + 1];

	if (!directory || dso->build_id_size < 2)
		return NULL;
	for (unsigned int i = 0; i < dso->build_id_size; i++)
		snprintf(digits + 2 * i, 3, "%02x", dso->build_id[i]);
	return text_of(binaries, "%s/.build-id/%.2s/%s/%s", directory, digits, digits + 2,
		       dso->kind == PESA_DSO_VDSO ? "vdso" : "elf");
}

/* The path in the user's build-id cache. */
static char *user_cached_path(struct pesa_binaries *binaries, const struct pesa_dso *dso)
{
	const char *home = getenv("HOME");
	char *directory = home ? text_of(binaries, "%s/.debug", home) : NULL;
	char *path = cached_path(binaries, directory, dso);

	free(directory);
	return path;
}

enum attempt { ATTEMPT_ABSENT, ATTEMPT_CHANGED, ATTEMPT_DAMAGED, ATTEMPT_USED };

/* Try one file, which is freed or kept; *why is set to a description of the damage, if any. */
static enum attempt attempt(struct pesa_binaries *binaries, struct pesa_dso *dso,
			    struct binary *binary, char *path, char **why)
{
	struct pesa_image *image;
	struct pesa_error *error;
	enum attempt result = ATTEMPT_ABSENT;

	if (!path)
		return ATTEMPT_ABSENT;
	error = pesa_image_open(path, &image);
	if (error) {
		if (error->code == PESA_ERROR_NO_MEMORY)
			binaries->out_of_memory = true;
		if (error->code != PESA_ERROR_SYSTEM || error->system_error == EACCES) {
			free(*why);
			*why = text_of(binaries, "%s", error->message);
			result = ATTEMPT_DAMAGED;
		}
		pesa_error_free(error);
	} else if (same_build_id(dso, image)) {
		binary->image = image;
		free((char *)dso->file);
		dso->file = path;
		return ATTEMPT_USED;
	} else {
		pesa_image_close(image);
		result = ATTEMPT_CHANGED;
	}
	free(path);
	return result;
}

#define DELETED " (deleted)"

/* The kernel appends " (deleted)" to the path of a file unlinked while mapped.  Returns whether it
 * was there. */
static bool strip_deleted(struct pesa_dso *dso)
{
	size_t length = strlen(dso->path), suffix = strlen(DELETED);

	if (length <= suffix || strcmp(dso->path + length - suffix, DELETED))
		return false;
	((char *)dso->path)[length - suffix] = 0;
	return true;
}

static void open_file(struct pesa_binaries *binaries, struct pesa_dso *dso, struct binary *binary)
{
	bool deleted = strip_deleted(dso);
	enum attempt worst = ATTEMPT_ABSENT, result = ATTEMPT_ABSENT;
	char *candidates[4] = {NULL}, *why = NULL;

	if (!dso->build_id_size && binaries->origin.build_id)
		binaries->origin.build_id(binaries->origin.recording, dso->path, dso->build_id,
					  &dso->build_id_size);
	/* The file that now has the path of a deleted one is another file, unless the build id
	 * matches. */
	if (dso->kind == PESA_DSO_FILE && (!deleted || dso->build_id_size)) {
		if (binaries->root)
			candidates[0] = text_of(binaries, "%s/%s", binaries->root, dso->path);
		candidates[2] = text_of(binaries, "%s", dso->path);
	}
	/* pesa archive stores files here that have no usable path. */
	candidates[1] = cached_path(binaries, binaries->root, dso);
	candidates[3] = user_cached_path(binaries, dso);
	for (unsigned int i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
		if (result == ATTEMPT_USED) {
			free(candidates[i]);
			continue;
		}
		result = attempt(binaries, dso, binary, candidates[i], &why);
		if (result > worst)
			worst = result;
	}
	if (result == ATTEMPT_USED) {
		dso->status = PESA_DSO_OK;
		if (!pesa_image_isa(binary->image))
			settle(binaries, dso, PESA_DSO_FOREIGN,
			       "%s: is for %s, not RISC-V: reported by sampled PC only", dso->file,
			       pesa_image_machine(binary->image));
	} else if (dso->kind != PESA_DSO_FILE) {
		; /* expected to have no file: the caller sets the status */
	} else if (worst == ATTEMPT_DAMAGED) {
		settle(binaries, dso, PESA_DSO_DAMAGED, "%s", why ? why : dso->path);
	} else if (worst == ATTEMPT_CHANGED) {
		settle(binaries, dso, PESA_DSO_CHANGED,
		       "%s: has another build id than the file that ran: its text is not used; put "
		       "the original below --symfs or into perf's build-id cache",
		       dso->path);
	} else {
		settle(binaries, dso, PESA_DSO_MISSING,
		       "%s: %s: its text cannot be read; put a copy below --symfs%s", dso->path,
		       deleted ? "was deleted" : "not found",
		       dso->build_id_size ? " or into perf's build-id cache" : "");
	}
	free(why);
}

/* Run-time address of the kernel's reference symbol, which perf stores as the mapping's offset. */
static uint64_t kernel_address(struct pesa_binaries *binaries, uint32_t index)
{
	const struct pesa_layout *layout = pesa_spaces_kernel(binaries->spaces);

	for (uint32_t i = 0; layout && i < layout->count; i++)
		if (layout->mapping[i].dso == index)
			return layout->mapping[i].offset;
	return 0;
}

/* perf stores no build ids in compressed recordings.  The running kernel is the recorded one if
 * host and release are those of this machine and the reference symbol has the same address. */
static void identify_running_kernel(struct pesa_binaries *binaries, uint32_t index,
				    struct pesa_dso *dso, const char *symbol)
{
	const struct pesa_origin *origin = &binaries->origin;
	const char *host = origin->hostname(origin->recording);
	const char *release = origin->os_release(origin->recording);
	struct utsname here;

	if (!host || !release || uname(&here) || strcmp(host, here.nodename) ||
	    strcmp(release, here.release))
		return;
	dso->build_id_size = (uint8_t)pesa_kernel_running_build_id(
		binaries->root, symbol, kernel_address(binaries, index), dso->build_id);
}

/* The path of the kernel's mapping contains its reference symbol ("[kernel.kallsyms]_text"); the
 * path in the build-id table does not. */
static void identify_kernel(struct pesa_binaries *binaries, uint32_t index, struct pesa_dso *dso)
{
	const char *end = strchr(dso->path, ']');
	char *name;

	if (!end || dso->build_id_size || !binaries->origin.build_id)
		return;
	name = text_of(binaries, "%.*s", (int)(end + 1 - dso->path), dso->path);
	if (name)
		binaries->origin.build_id(binaries->origin.recording, name, dso->build_id,
					  &dso->build_id_size);
	free(name);
	if (!dso->build_id_size)
		identify_running_kernel(binaries, index, dso, end + 1);
}

/* Code whose bytes are in the recording or in a jitdump. */
static bool open_code(struct pesa_binaries *binaries, struct pesa_dso *dso, struct binary *binary)
{
	const struct pesa_origin *origin = &binaries->origin;
	const char *arch = origin->arch ? origin->arch(origin->recording) : NULL;

	if (!dso->code || (arch && strncmp(arch, "riscv", 5)))
		return false;
	binary->code = dso->code;
	binary->isa = arch && !strncmp(arch, "riscv32", 7) ? "rv32" : "rv64";
	binary->own = binary->every = instruction_set(binaries, binary->isa);
	dso->status = PESA_DSO_OK;
	return true;
}

static void open_binary(struct pesa_binaries *binaries, uint32_t index, struct binary *binary)
{
	struct pesa_dso *dso = pesa_spaces_dso(binaries->spaces, index);
	static const char *const without_file[] = {
		[PESA_DSO_KERNEL] = "the kernel's text is not read",
		[PESA_DSO_VDSO] = "its text is kept by the kernel only",
		[PESA_DSO_JIT] = "code made at run time, which no file holds",
		[PESA_DSO_UNKNOWN] = "no mapping was recorded at these addresses",
	};
	const char *isa;

	if (dso->kind == PESA_DSO_FILE || dso->kind == PESA_DSO_VDSO)
		open_file(binaries, dso, binary);
	else if (dso->kind == PESA_DSO_KERNEL)
		identify_kernel(binaries, index, dso);
	if (dso->kind == PESA_DSO_JIT && open_code(binaries, dso, binary))
		return;
	if (!binary->image) {
		if (dso->kind != PESA_DSO_FILE)
			settle(binaries, dso, PESA_DSO_NO_FILE, "%s: %s",
			       *dso->path ? dso->path : "//anon", without_file[dso->kind]);
		return;
	}
	isa = pesa_image_isa(binary->image);
	if (!isa)
		return;
	binary->every = instruction_set(binaries, strncmp(isa, "rv32", 4) ? "rv64" : "rv32");
	binary->own = instruction_set(binaries, isa);
	if (!binary->own)
		binary->own = binary->every;
}

static struct binary *binary_of(struct pesa_binaries *binaries, uint32_t index)
{
	struct binary *binary;

	if (index >= binaries->count) {
		unsigned int count = pesa_spaces_dso_count(binaries->spaces);
		struct binary *grown = realloc(binaries->binary, count * sizeof(*grown));

		if (!grown) {
			binaries->out_of_memory = true;
			return NULL;
		}
		memset(grown + binaries->count, 0, (count - binaries->count) * sizeof(*grown));
		binaries->binary = grown;
		binaries->count = count;
	}
	binary = &binaries->binary[index];
	if (!binary->opened || (!binary->code && pesa_spaces_dso(binaries->spaces, index)->code)) {
		binary->opened = true;
		open_binary(binaries, index, binary);
	}
	return binary;
}

const struct pesa_image *pesa_binaries_image(struct pesa_binaries *binaries, uint32_t dso)
{
	const struct binary *binary = binary_of(binaries, dso);

	return binary ? binary->image : NULL;
}

/* ---- Addresses and text ---------------------------------------------------------------------- */

uint64_t pesa_binaries_address(struct pesa_binaries *binaries, const struct pesa_mapping *mapping,
			       uint64_t address)
{
	const struct pesa_dso *dso = pesa_spaces_dso(binaries->spaces, mapping->dso);
	const struct pesa_image *image;
	uint64_t offset, converted;

	if (dso->kind != PESA_DSO_FILE && dso->kind != PESA_DSO_VDSO)
		return address;
	offset = address - mapping->start + mapping->offset;
	image = pesa_binaries_image(binaries, mapping->dso);
	if (image && pesa_image_address(image, offset, &converted))
		return converted;
	return offset;
}

size_t pesa_binaries_text(struct pesa_binaries *binaries, uint32_t dso, uint64_t address,
			  void *buffer, size_t size)
{
	const struct binary *binary = binary_of(binaries, dso);

	if (binary && binary->code)
		return pesa_code_read(binary->code, address, buffer, size);
	return binary && binary->image ? pesa_image_text(binary->image, address, buffer, size) : 0;
}

const char *pesa_binaries_isa(struct pesa_binaries *binaries, uint32_t dso)
{
	const struct binary *binary = binary_of(binaries, dso);

	if (binary && binary->code)
		return binary->isa;
	return binary && binary->image ? pesa_image_isa(binary->image) : NULL;
}

static enum pesa_text_status decode(const struct binary *binary, uint64_t address,
				    struct pesa_text_insn *insn)
{
	uint8_t copied[INSTRUCTION_MAX];
	size_t size;
	const uint8_t *bytes = copied;
	struct pesa_insn decoded;

	if (!binary || (!binary->image && !binary->code) || !binary->every)
		return PESA_TEXT_MISSING;
	if (binary->code) {
		size = pesa_code_read(binary->code, address, copied, sizeof(copied));
		if (size < 2)
			return PESA_TEXT_MISSING;
	} else {
		bytes = pesa_image_text_at(binary->image, address, &size);
		if (!bytes)
			return PESA_TEXT_UNMAPPED;
	}
	if (!pesa_insn_decode(binary->own, bytes, size, &decoded) &&
	    (binary->own == binary->every ||
	     !pesa_insn_decode(binary->every, bytes, size, &decoded)))
		return PESA_TEXT_UNDECODABLE;
	insn->length = decoded.length;
	insn->flow = (uint8_t)pesa_insn_flow(&decoded);
	insn->target = 0;
	insn->has_target = pesa_insn_target(&decoded, address, &insn->target);
	return PESA_TEXT_OK;
}

enum pesa_text_status pesa_binaries_instruction(struct pesa_binaries *binaries, uint32_t dso,
						uint64_t address, struct pesa_text_insn *insn)
{
	struct decoded *cached =
		&binaries->decoded[(address / 2 ^ (uint64_t)dso * 0x9e5) % DECODED];

	if (cached->dso_plus_1 != dso + 1 || cached->address != address) {
		cached->status = decode(binary_of(binaries, dso), address, &cached->insn);
		cached->address = address;
		/* Code made at run time may be added later. */
		cached->dso_plus_1 = cached->status == PESA_TEXT_MISSING ? 0 : dso + 1;
	}
	*insn = cached->insn;
	return cached->status;
}
