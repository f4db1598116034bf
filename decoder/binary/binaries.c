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
#include "decoder/binary/symbol_file.h"
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
	/* `own`: the ISA of its attributes.  `every`: all extensions, for code after run-time
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

/* ---- Instruction sets ------------------------------------------------------------------------ */

/* *isa: NULL if the name cannot be parsed, which is not an error: the set of all ratified extensions
 * is tried as well. */
static struct pesa_error *instruction_set(struct pesa_binaries *binaries, const char *name,
					  const struct pesa_isa **isa)
{
	struct instruction_set *set;
	struct pesa_error *error;

	for (set = binaries->sets; set; set = set->next)
		if (!strcmp(set->name, name)) {
			*isa = set->isa;
			return NULL;
		}
	set = calloc(1, sizeof(*set));
	if (!set || !(set->name = strdup(name))) {
		free(set);
		return pesa_error_no_memory();
	}
	error = pesa_isa_create(name, &set->isa);
	if (error && error->code == PESA_ERROR_NO_MEMORY) {
		free(set->name);
		free(set);
		return error;
	}
	pesa_error_free(error);
	set->next = binaries->sets;
	binaries->sets = set;
	*isa = set->isa;
	return NULL;
}

/* ---- Finding the file ------------------------------------------------------------------------ */

static struct pesa_error *settle(struct pesa_dso *dso, enum pesa_dso_status status,
				 const char *format, ...) __attribute__((format(printf, 3, 4)));
static struct pesa_error *settle(struct pesa_dso *dso, enum pesa_dso_status status,
				 const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return pesa_error_no_memory();
	dso->status = status;
	free((char *)dso->problem);
	dso->problem = text;
	return NULL;
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

/* *text is changed only if there is no error. */
static struct pesa_error *print_text(char **text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static struct pesa_error *print_text(char **text, const char *format, ...)
{
	va_list arguments;
	char *printed;
	int length;

	va_start(arguments, format);
	length = vasprintf(&printed, format, arguments);
	va_end(arguments);
	if (length < 0)
		return pesa_error_no_memory();
	*text = printed;
	return NULL;
}

/* A file of perf's build-id cache: DIRECTORY/.build-id/ab/cdef.../elf (vdso: .../vdso).  *path is
 * unchanged if there is no directory or no build id. */
static struct pesa_error *cached_path(const char *directory, const struct pesa_dso *dso,
				      char **path)
{
	char digits[2 * PESA_BUILD_ID_MAX + 1];

	if (!directory || dso->build_id_size < 2)
		return NULL;
	for (unsigned int i = 0; i < dso->build_id_size; i++)
		snprintf(digits + 2 * i, 3, "%02x", dso->build_id[i]);
	return print_text(path, "%s/.build-id/%.2s/%s/%s", directory, digits, digits + 2,
			  dso->kind == PESA_DSO_VDSO ? "vdso" : "elf");
}

/* The path in the user's build-id cache. */
static struct pesa_error *user_cached_path(const struct pesa_dso *dso, char **path)
{
	const char *home = getenv("HOME");
	struct pesa_error *error = NULL;
	char *directory = NULL;

	if (home)
		error = print_text(&directory, "%s/.debug", home);
	if (!error)
		error = cached_path(directory, dso, path);
	free(directory);
	return error;
}

/* Results of trying files, in ascending order of what is worth telling the user. */
enum attempt { ATTEMPT_ABSENT, ATTEMPT_CHANGED, ATTEMPT_DAMAGED, ATTEMPT_USED };

/* Trying the files that may hold the text of a dso. */
struct attempts {
	char *path[4];		/* NULL: none */
	enum attempt best;	/* of the files tried */
	struct pesa_error *why; /* the damage of the last damaged file; NULL: none */
};

/* Try the file at *path.  If it is used, *path becomes the dso's file. */
static struct pesa_error *attempt(struct attempts *attempts, struct pesa_dso *dso,
				  struct binary *binary, char **path)
{
	enum attempt result = ATTEMPT_ABSENT;
	struct pesa_image *image;
	struct pesa_error *error;

	error = pesa_image_open(*path, &image);
	if (error && error->code == PESA_ERROR_NO_MEMORY)
		return error;
	if (error && (error->code != PESA_ERROR_SYSTEM || error->system_error == EACCES)) {
		pesa_error_free(attempts->why);
		attempts->why = error;
		result = ATTEMPT_DAMAGED;
	} else if (error) {
		pesa_error_free(error);
	} else if (same_build_id(dso, image)) {
		binary->image = image;
		free((char *)dso->file);
		dso->file = *path;
		*path = NULL;
		result = ATTEMPT_USED;
	} else {
		pesa_image_close(image);
		result = ATTEMPT_CHANGED;
	}
	if (result > attempts->best)
		attempts->best = result;
	return NULL;
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

/* The paths at which the file of a dso is searched, in this order. */
static struct pesa_error *list_paths(const struct pesa_binaries *binaries,
				     const struct pesa_dso *dso, bool deleted, char *path[4])
{
	struct pesa_error *error = NULL;

	/* The file that now has the path of a deleted one is another file, unless the build id
	 * matches. */
	if (dso->kind == PESA_DSO_FILE && (!deleted || dso->build_id_size)) {
		if (binaries->root)
			error = print_text(&path[0], "%s/%s", binaries->root, dso->path);
		if (!error)
			error = print_text(&path[2], "%s", dso->path);
	}
	/* pesa archive stores files here that have no usable path. */
	if (!error)
		error = cached_path(binaries->root, dso, &path[1]);
	return error ? error : user_cached_path(dso, &path[3]);
}

/* Set the status of a dso whose files have been tried. */
static struct pesa_error *settle_file(const struct attempts *attempts, const struct binary *binary,
				      struct pesa_dso *dso, bool deleted)
{
	if (attempts->best == ATTEMPT_USED) {
		dso->status = PESA_DSO_OK;
		if (pesa_image_isa(binary->image))
			return NULL;
		return settle(dso, PESA_DSO_FOREIGN,
			      "%s: is for %s, not RISC-V: reported by sampled PC only", dso->file,
			      pesa_image_machine(binary->image));
	}
	if (dso->kind != PESA_DSO_FILE)
		return NULL; /* expected to have no file: the caller sets the status */
	if (attempts->best == ATTEMPT_DAMAGED)
		return settle(dso, PESA_DSO_DAMAGED, "%s", attempts->why->message);
	if (attempts->best == ATTEMPT_CHANGED)
		return settle(
			dso, PESA_DSO_CHANGED,
			"%s: has another build id than the file that ran: its text is not used; put "
			"the original below --symfs or into perf's build-id cache",
			dso->path);
	return settle(dso, PESA_DSO_MISSING,
		      "%s: %s: its text cannot be read; put a copy below --symfs%s", dso->path,
		      deleted ? "was deleted" : "not found",
		      dso->build_id_size ? " or into perf's build-id cache" : "");
}

/* Ask debuginfod servers, if there are any; what they send is used only if it has the build id. */
static struct pesa_error *fetch(struct attempts *attempts, struct pesa_dso *dso,
				struct binary *binary)
{
	char *path = NULL;
	struct pesa_error *error = pesa_symbol_file_fetch(dso->build_id, dso->build_id_size, &path);

	if (!error && path)
		error = attempt(attempts, dso, binary, &path);
	free(path);
	return error;
}

static struct pesa_error *open_file(struct pesa_binaries *binaries, struct pesa_dso *dso,
				    struct binary *binary)
{
	struct attempts attempts = {.best = ATTEMPT_ABSENT};
	bool deleted = strip_deleted(dso);
	struct pesa_error *error;

	if (!dso->build_id_size && binaries->origin.build_id)
		binaries->origin.build_id(binaries->origin.recording, dso->path, dso->build_id,
					  &dso->build_id_size);
	error = list_paths(binaries, dso, deleted, attempts.path);
	for (unsigned int i = 0; i < sizeof(attempts.path) / sizeof(*attempts.path); i++) {
		if (!error && attempts.path[i] && attempts.best != ATTEMPT_USED)
			error = attempt(&attempts, dso, binary, &attempts.path[i]);
		free(attempts.path[i]);
	}
	if (!error && attempts.best != ATTEMPT_USED && dso->kind == PESA_DSO_FILE)
		error = fetch(&attempts, dso, binary);
	if (!error)
		error = settle_file(&attempts, binary, dso, deleted);
	pesa_error_free(attempts.why);
	return error;
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
static struct pesa_error *identify_running_kernel(struct pesa_binaries *binaries, uint32_t index,
						  struct pesa_dso *dso, const char *symbol)
{
	const struct pesa_origin *origin = &binaries->origin;
	const char *host = origin->hostname(origin->recording);
	const char *release = origin->os_release(origin->recording);
	struct pesa_error *error;
	struct utsname here;
	size_t size;

	if (!host || !release || uname(&here) || strcmp(host, here.nodename) ||
	    strcmp(release, here.release))
		return NULL;
	error = pesa_kernel_running_build_id(binaries->root, symbol,
					     kernel_address(binaries, index), dso->build_id, &size);
	if (!error)
		dso->build_id_size = (uint8_t)size;
	return error;
}

/* The path of the kernel's mapping contains its reference symbol ("[kernel.kallsyms]_text"); the
 * path in the build-id table does not. */
static struct pesa_error *identify_kernel(struct pesa_binaries *binaries, uint32_t index,
					  struct pesa_dso *dso)
{
	const char *end = strchr(dso->path, ']');
	struct pesa_error *error;
	char *name;

	if (!end || dso->build_id_size || !binaries->origin.build_id)
		return NULL;
	error = print_text(&name, "%.*s", (int)(end + 1 - dso->path), dso->path);
	if (error)
		return error;
	binaries->origin.build_id(binaries->origin.recording, name, dso->build_id,
				  &dso->build_id_size);
	free(name);
	return dso->build_id_size ? NULL : identify_running_kernel(binaries, index, dso, end + 1);
}

/* The machine of the recording; NULL: unknown. */
static const char *recorded_arch(const struct pesa_binaries *binaries)
{
	const struct pesa_origin *origin = &binaries->origin;

	return origin->arch ? origin->arch(origin->recording) : NULL;
}

/* Use code whose bytes are in the recording or in a jitdump. */
static struct pesa_error *open_code(struct pesa_binaries *binaries, struct pesa_dso *dso,
				    struct binary *binary)
{
	const char *arch = recorded_arch(binaries);
	const char *isa = arch && !strncmp(arch, "riscv32", 7) ? "rv32" : "rv64";
	struct pesa_error *error = instruction_set(binaries, isa, &binary->every);

	if (error)
		return error;
	binary->own = binary->every;
	binary->code = dso->code;
	binary->isa = isa;
	dso->status = PESA_DSO_OK;
	return NULL;
}

/* Find the instruction sets of a file; none if it is not RISC-V. */
static struct pesa_error *find_instruction_sets(struct pesa_binaries *binaries,
						struct binary *binary)
{
	const char *isa = pesa_image_isa(binary->image);
	struct pesa_error *error;

	if (!isa)
		return NULL;
	error = instruction_set(binaries, strncmp(isa, "rv32", 4) ? "rv64" : "rv32",
				&binary->every);
	if (!error)
		error = instruction_set(binaries, isa, &binary->own);
	if (!error && !binary->own)
		binary->own = binary->every;
	return error;
}

static struct pesa_error *open_binary(struct pesa_binaries *binaries, uint32_t index,
				      struct binary *binary)
{
	struct pesa_dso *dso = pesa_spaces_dso(binaries->spaces, index);
	static const char *const without_file[] = {
		[PESA_DSO_KERNEL] = "the kernel's text is not read",
		[PESA_DSO_VDSO] = "its text is kept by the kernel only",
		[PESA_DSO_JIT] = "code made at run time, which no file holds",
		[PESA_DSO_UNKNOWN] = "no mapping was recorded at these addresses",
	};
	const char *arch = recorded_arch(binaries);
	struct pesa_error *error = NULL;

	if (dso->kind == PESA_DSO_FILE || dso->kind == PESA_DSO_VDSO)
		error = open_file(binaries, dso, binary);
	else if (dso->kind == PESA_DSO_KERNEL)
		error = identify_kernel(binaries, index, dso);
	else if (dso->kind == PESA_DSO_JIT && dso->code && (!arch || !strncmp(arch, "riscv", 5)))
		return open_code(binaries, dso, binary);
	if (error)
		return error;
	if (binary->image)
		return find_instruction_sets(binaries, binary);
	if (dso->kind == PESA_DSO_FILE)
		return NULL;
	return settle(dso, PESA_DSO_NO_FILE, "%s: %s", *dso->path ? dso->path : "//anon",
		      without_file[dso->kind]);
}

static struct pesa_error *grow_binaries(struct pesa_binaries *binaries)
{
	unsigned int count = pesa_spaces_dso_count(binaries->spaces);
	struct binary *grown = realloc(binaries->binary, count * sizeof(*grown));

	if (!grown)
		return pesa_error_no_memory();
	memset(grown + binaries->count, 0, (count - binaries->count) * sizeof(*grown));
	binaries->binary = grown;
	binaries->count = count;
	return NULL;
}

struct pesa_error *pesa_binaries_open(struct pesa_binaries *binaries, uint32_t dso)
{
	struct pesa_error *error;
	struct binary *binary;

	if (dso >= binaries->count) {
		error = grow_binaries(binaries);
		if (error)
			return error;
	}
	binary = &binaries->binary[dso];
	if (binary->opened && (binary->code || !pesa_spaces_dso(binaries->spaces, dso)->code))
		return NULL;
	error = open_binary(binaries, dso, binary);
	if (error) {
		pesa_image_close(binary->image);
		*binary = (struct binary){0};
		return error;
	}
	binary->opened = true;
	return NULL;
}

/* NULL: not opened yet. */
static const struct binary *binary_of(const struct pesa_binaries *binaries, uint32_t dso)
{
	return dso < binaries->count ? &binaries->binary[dso] : NULL;
}

const struct pesa_image *pesa_binaries_image(const struct pesa_binaries *binaries, uint32_t dso)
{
	const struct binary *binary = binary_of(binaries, dso);

	return binary ? binary->image : NULL;
}

/* ---- Addresses and text ---------------------------------------------------------------------- */

uint64_t pesa_binaries_address(const struct pesa_binaries *binaries,
			       const struct pesa_mapping *mapping, uint64_t address)
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

size_t pesa_binaries_text(const struct pesa_binaries *binaries, uint32_t dso, uint64_t address,
			  void *buffer, size_t size)
{
	const struct binary *binary = binary_of(binaries, dso);

	if (binary && binary->code)
		return pesa_code_read(binary->code, address, buffer, size);
	return binary && binary->image ? pesa_image_text(binary->image, address, buffer, size) : 0;
}

const char *pesa_binaries_isa(const struct pesa_binaries *binaries, uint32_t dso)
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
