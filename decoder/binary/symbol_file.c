/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/binary/debug_info.h"
#include "decoder/base/regular_file.h"
#include "decoder/binary/symbol_debug_file.h"
#include "decoder/binary/elf_section.h"
#include "decoder/binary/symbol_file.h"
#include "decoder/binary/symbol_unnamed.h"

struct pesa_symbol_file {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwfl_Callbacks callbacks;
	char *debug_path; /* libdwfl's search path, used by the callbacks */
	struct pesa_debug_info *debug;
	Dwarf *dwarf; /* owned by libdwfl; NULL: none, or it names files that must not be opened */
	bool debug_tried;
};

/* ---- Opening --------------------------------------------------------------------------------- */

static struct pesa_error *begin(const char *root, struct pesa_symbol_file **result)
{
	struct pesa_symbol_file *file = calloc(1, sizeof(*file));
	/* libdwfl interprets relative entries of its search path as relative to the file's
	 * directory. */
	char *absolute = root ? realpath(root, NULL) : NULL;

	if (!file || (root && !absolute && errno == ENOMEM)) {
		free(file);
		free(absolute);
		return pesa_error_no_memory();
	}
	/* ":" first: next to the file; the checksum of the debug link is verified everywhere. */
	if (asprintf(&file->debug_path, ":.debug%s%s%s:/usr/lib/debug", absolute ? ":" : "",
		     absolute ? absolute : "", absolute ? "/usr/lib/debug" : "") < 0) {
		free(absolute);
		free(file);
		return pesa_error_no_memory();
	}
	free(absolute);
	file->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = pesa_debug_file_find,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &file->debug_path,
	};
	file->dwfl = dwfl_begin(&file->callbacks);
	if (!file->dwfl) {
		pesa_symbol_file_free(file);
		return pesa_error_no_memory();
	}
	*result = file;
	return NULL;
}

struct pesa_error *pesa_symbol_file_open(const char *path, const char *root,
					 struct pesa_symbol_file **result)
{
	struct pesa_symbol_file *file;
	struct pesa_error *error;
	void **user_data;
	int descriptor = pesa_binary_open(path);

	if (descriptor < 0)
		return pesa_regular_file_failed(path);
	error = begin(root, &file);
	if (error) {
		close(descriptor);
		return error;
	}
	/* Base 0: addresses are those of the file. libdwfl takes over the descriptor on success. */
	file->module = dwfl_report_elf(file->dwfl, path, path, descriptor, 0, true);
	if (!file->module) {
		error = pesa_error_create(PESA_ERROR_FORMAT, "%s: no readable ELF file: %s", path,
					  dwfl_errmsg(-1));
		close(descriptor);
		pesa_symbol_file_free(file);
		return error;
	}
	dwfl_module_info(file->module, &user_data, NULL, NULL, NULL, NULL, NULL, NULL);
	*user_data = file->debug_path;
	dwfl_report_end(file->dwfl, NULL, NULL);
	*result = file;
	return NULL;
}

/* What an open file is called.  *path is unchanged if it has no name. */
static struct pesa_error *path_of_descriptor(int descriptor, char **path)
{
	char link[64], target[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	length = readlink(link, target, sizeof(target));
	if (length <= 0 || (size_t)length >= sizeof(target))
		return NULL;
	*path = strndup(target, (size_t)length);
	return *path ? NULL : pesa_error_no_memory();
}

struct pesa_error *pesa_symbol_file_fetch(const uint8_t *build_id, size_t size, char **path)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct pesa_symbol_file *file;
	struct pesa_error *error;
	Dwfl_Module *module;
	char *name = NULL;
	Elf *elf = NULL;
	int descriptor = -1;

	if (!size || !servers || !*servers)
		return NULL;
	error = begin(NULL, &file);
	if (error)
		return error;
	module = dwfl_report_module(file->dwfl, "fetched", 0, UINT64_C(1) << 56);
	if (module && !dwfl_module_report_build_id(module, build_id, size, 0))
		descriptor = dwfl_build_id_find_elf(module, NULL, "fetched", 0, &name, &elf);
	if (descriptor >= 0) {
		error = path_of_descriptor(descriptor, path);
		close(descriptor);
	}
	elf_end(elf);
	free(name);
	pesa_symbol_file_free(file);
	return error;
}

/* Open what a server sent.  *result is unchanged if it is another file. */
static struct pesa_error *open_fetched(const char *path, const uint8_t *build_id, size_t size,
				       const char *root, struct pesa_symbol_file **result)
{
	struct pesa_symbol_file *file;
	struct pesa_error *error = pesa_symbol_file_open(path, root, &file);
	const void *its_id;
	GElf_Addr bias;
	ssize_t its_size;

	if (error && error->code != PESA_ERROR_NO_MEMORY) {
		pesa_error_free(error);
		return NULL;
	}
	if (error)
		return error;
	its_size = dwelf_elf_gnu_build_id(dwfl_module_getelf(file->module, &bias), &its_id);
	if (its_size > 0 && (size_t)its_size <= size && !memcmp(its_id, build_id, (size_t)its_size))
		*result = file;
	else
		pesa_symbol_file_free(file);
	return NULL;
}

struct pesa_error *pesa_symbol_file_open_by_id(const uint8_t *build_id, size_t size,
					       const char *root, struct pesa_symbol_file **result)
{
	const char *home = getenv("HOME");
	char digits[2 * 64 + 1], *candidate[3] = {NULL}, *fetched = NULL;
	struct pesa_symbol_file *file = NULL;
	struct pesa_error *error = NULL;

	if (size < 2 || size > 64)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "no build id to find it by");
	for (size_t i = 0; i < size; i++)
		snprintf(digits + 2 * i, 3, "%02x", build_id[i]);
	if ((root && asprintf(&candidate[0], "%s/usr/lib/debug/.build-id/%.2s/%s.debug", root,
			      digits, digits + 2) < 0) ||
	    asprintf(&candidate[1], "/usr/lib/debug/.build-id/%.2s/%s.debug", digits, digits + 2) <
		    0 ||
	    asprintf(&candidate[2], "%s/.debug/.build-id/%.2s/%s/elf", home ? home : "", digits,
		     digits + 2) < 0)
		error = pesa_error_no_memory();
	for (int i = 0; i < 3 && !error && !file; i++)
		if (candidate[i] && !access(candidate[i], R_OK))
			error = pesa_symbol_file_open(candidate[i], root, &file);
	for (int i = 0; i < 3; i++)
		free(candidate[i]);
	if (error)
		return error;
	if (!file)
		error = pesa_symbol_file_fetch(build_id, size, &fetched);
	if (!error && fetched)
		error = open_fetched(fetched, build_id, size, root, &file);
	free(fetched);
	if (error)
		return error;
	if (!file)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "nothing has build id %s", digits);
	*result = file;
	return NULL;
}

void pesa_symbol_file_free(struct pesa_symbol_file *file)
{
	if (!file)
		return;
	pesa_debug_info_free(file->debug);
	if (file->dwfl)
		dwfl_end(file->dwfl);
	free(file->debug_path);
	free(file);
}

/* ---- Symbol tables --------------------------------------------------------------------------- */

/* Assemblers leave artificial symbols: RISC-V and Arm mapping symbols, local labels. */
static bool is_artificial(const char *name)
{
	return !name || !*name || name[0] == '$' || !strncmp(name, ".L", 2) ||
	       !strncmp(name, "L0\001", 3);
}

static struct pesa_error *load_symbols(Dwfl_Module *module, struct pesa_symbol_table *table)
{
	int count = dwfl_module_getsymtab(module);

	for (int i = 1; i < count; i++) {
		struct pesa_symbol_candidate candidate = {0};
		GElf_Shdr section_header;
		GElf_Word section;
		GElf_Addr address;
		GElf_Sym symbol;
		Elf *elf = NULL;
		Dwarf_Addr bias;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section,
							   &elf, &bias);
		unsigned int type, binding;
		struct pesa_error *error;
		Elf_Scn *scn;

		if (is_artificial(name) || !elf)
			continue;
		type = GELF_ST_TYPE(symbol.st_info);
		binding = GELF_ST_BIND(symbol.st_info);
		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		if (section == SHN_UNDEF || section == SHN_ABS || section == SHN_COMMON)
			continue;
		scn = elf_getscn(elf, section);
		if (!scn || !gelf_getshdr(scn, &section_header) ||
		    !(section_header.sh_flags & SHF_EXECINSTR))
			continue;
		candidate.name = name;
		candidate.start = address;
		candidate.size = symbol.st_size;
		/* st_value - sh_addr is the same distance before and after relocation */
		candidate.limit = address + (section_header.sh_addr + section_header.sh_size -
					     symbol.st_value);
		if (candidate.limit <= address)
			candidate.limit = 0;
		candidate.label = type == STT_NOTYPE;
		candidate.binding = binding == STB_WEAK	    ? PESA_SYMBOL_WEAK
				    : binding == STB_GLOBAL ? PESA_SYMBOL_GLOBAL
							    : PESA_SYMBOL_LOCAL;
		error = pesa_symbol_table_add(table, &candidate);
		if (error)
			return error;
	}
	return NULL;
}

/* The procedure linkage table has no symbols of its own: its entries are in the order of its
 * relocations.  Sizes in bytes, from the psABI of each machine. */
struct plt_shape {
	GElf_Half machine;
	const char *section;
	unsigned int header, entry;
};

static const struct plt_shape plt_shapes[] = {
	{EM_RISCV, ".plt", 32, 16},   {EM_X86_64, ".plt.sec", 0, 16}, {EM_X86_64, ".plt", 16, 16},
	{EM_AARCH64, ".plt", 32, 16}, {EM_386, ".plt.sec", 0, 16},    {EM_386, ".plt", 16, 16},
};

static struct pesa_error *load_plt_section(Elf *elf, const struct plt_shape *shape,
					   const GElf_Shdr *plt, struct pesa_symbol_table *table)
{
	struct pesa_error *error = NULL;
	GElf_Shdr relocations, symbols;
	Elf_Scn *scn = pesa_elf_find_section(elf, ".rela.plt", ".rel.plt", &relocations);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL, *symbol_data;
	uint64_t address = plt->sh_addr + shape->header, end = plt->sh_addr + plt->sh_size;
	Elf_Scn *symbol_section = data ? elf_getscn(elf, relocations.sh_link) : NULL;
	size_t count;

	if (!symbol_section || !gelf_getshdr(symbol_section, &symbols) || !relocations.sh_entsize)
		return NULL;
	symbol_data = elf_getdata(symbol_section, NULL);
	if (!symbol_data)
		return NULL;
	count = relocations.sh_size / relocations.sh_entsize;
	for (size_t i = 0; i < count && i <= INT32_MAX && address < end && !error;
	     i++, address += shape->entry) {
		char name[512];
		GElf_Rela rela;
		GElf_Rel rel;
		GElf_Sym symbol;
		const char *target;
		uint64_t info;

		if (relocations.sh_type == SHT_RELA) {
			if (!gelf_getrela(data, (int)i, &rela))
				break;
			info = rela.r_info;
		} else {
			if (!gelf_getrel(data, (int)i, &rel))
				break;
			info = rel.r_info;
		}
		if (!GELF_R_SYM(info) || GELF_R_SYM(info) > INT32_MAX ||
		    !gelf_getsym(symbol_data, (int)GELF_R_SYM(info), &symbol))
			continue;
		target = elf_strptr(elf, symbols.sh_link, symbol.st_name);
		if (!target || !*target)
			continue;
		snprintf(name, sizeof(name), "%s@plt", target);
		error = pesa_symbol_table_add(
			table, &(struct pesa_symbol_candidate){.name = name,
							       .start = address,
							       .size = shape->entry,
							       .limit = end,
							       .binding = PESA_SYMBOL_LOCAL});
	}
	return error;
}

static struct pesa_error *load_plt(Elf *elf, struct pesa_symbol_table *table)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return NULL;
	for (size_t i = 0; i < sizeof(plt_shapes) / sizeof(*plt_shapes); i++) {
		GElf_Shdr plt;

		if (plt_shapes[i].machine != header.e_machine ||
		    !pesa_elf_find_section(elf, plt_shapes[i].section, NULL, &plt))
			continue;
		return load_plt_section(elf, &plt_shapes[i], &plt, table);
	}
	return NULL;
}

struct pesa_error *pesa_symbol_file_load(struct pesa_symbol_file *file,
					 struct pesa_symbol_table *table)
{
	struct pesa_error *error = load_symbols(file->module, table);
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(file->module, &bias);

	if (!error && elf)
		error = load_plt(elf, table);
	return error || !elf ? error : pesa_unnamed_functions_load(elf, table);
}

bool pesa_symbol_file_is_stripped(struct pesa_symbol_file *file)
{
	const char *debug = NULL;
	GElf_Shdr header;
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(file->module, &bias);

	dwfl_module_info(file->module, NULL, NULL, NULL, NULL, NULL, NULL, &debug);
	return elf && !debug && !pesa_elf_find_section(elf, ".symtab", ".gnu_debugdata", &header);
}

/* ---- Debug information ----------------------------------------------------------------------- */

/* Path of the debug information: a separate file, or the main one. */
static const char *debug_path(struct pesa_symbol_file *file)
{
	const char *main = NULL, *debug = NULL;

	dwfl_module_info(file->module, NULL, NULL, NULL, NULL, NULL, &main, &debug);
	return debug ? debug : main;
}

/* Whether libdw may open the shared file and the file of all split units that the debug information
 * of `from` names. libdw opens them when any name is read. */
static struct pesa_error *may_follow(Dwarf *dwarf, const char *from, bool *may)
{
	const char *alternate = NULL, *slash = from ? strrchr(from, '/') : NULL;
	struct pesa_error *error = NULL;
	const void *id;
	char *package;

	*may = true;
	if (dwelf_dwarf_gnu_debugaltlink(dwarf, &alternate, &id) > 0)
		error = pesa_debug_file_may_open(from, NULL, alternate, may);
	if (error || !*may || !from)
		return error;
	if (asprintf(&package, "%s.dwp", slash ? slash + 1 : from) < 0)
		return pesa_error_no_memory();
	error = pesa_debug_file_may_open(from, NULL, package, may);
	free(package);
	return error;
}

struct pesa_error *pesa_symbol_file_open_debug(struct pesa_symbol_file *file, bool *found)
{
	if (!file->debug_tried) {
		Dwarf_Addr bias = 0;
		Dwarf *dwarf = dwfl_module_getdwarf(file->module, &bias);
		const char *from = debug_path(file);
		struct pesa_error *error = NULL;
		bool may = false;

		if (dwarf)
			error = may_follow(dwarf, from, &may);
		if (!error && may)
			error = pesa_debug_info_create(dwarf, bias, from, &file->debug);
		if (error)
			return error;
		file->dwarf = may ? dwarf : NULL;
		file->debug_tried = true;
	}
	*found = file->debug;
	return NULL;
}

/* Path of a file shared by debug files (dwz), relative to the debug file's directory. */
static char *alternate_path(const char *from, const char *name)
{
	const char *slash = strrchr(from, '/');
	char *path;

	if (*name == '/' || !slash)
		return strdup(name);
	return asprintf(&path, "%.*s/%s", (int)(slash - from), from, name) < 0 ? NULL : path;
}

struct pesa_error *pesa_symbol_file_paths(struct pesa_symbol_file *file,
					  struct pesa_symbol_paths *result)
{
	const char *main = NULL, *debug = NULL, *alternate = NULL;
	struct pesa_symbol_paths paths = {0};
	const void *id = NULL;
	ssize_t size;

	dwfl_module_info(file->module, NULL, NULL, NULL, NULL, NULL, &main, &debug);
	if (debug && main && !strcmp(main, debug))
		debug = NULL;
	size = file->dwarf && dwarf_getalt(file->dwarf)
		       ? dwelf_dwarf_gnu_debugaltlink(file->dwarf, &alternate, &id)
		       : 0;
	if (size <= 0 || size > (ssize_t)sizeof(paths.alternate_id))
		alternate = NULL;
	paths.main = main ? strdup(main) : NULL;
	paths.debug = debug ? strdup(debug) : NULL;
	if (alternate) {
		paths.alternate = alternate_path(debug ? debug : main ? main : "", alternate);
		paths.alternate_id_size = (uint8_t)size;
		memcpy(paths.alternate_id, id, (size_t)size);
	}
	if ((main && !paths.main) || (debug && !paths.debug) || (alternate && !paths.alternate)) {
		free(paths.main);
		free(paths.debug);
		free(paths.alternate);
		return pesa_error_no_memory();
	}
	*result = paths;
	return NULL;
}

struct pesa_error *pesa_symbol_file_source(struct pesa_symbol_file *file, uint64_t address,
					   struct pesa_source *source)
{
	if (file->debug)
		return pesa_debug_info_source(file->debug, address, source);
	*source = (struct pesa_source){0};
	return NULL;
}

struct pesa_error *pesa_symbol_file_inlines(struct pesa_symbol_file *file, uint64_t address,
					    struct pesa_inline_frame *frames, size_t max,
					    size_t *count)
{
	if (file->debug)
		return pesa_debug_info_inlines(file->debug, address, frames, max, count);
	*count = 0;
	return NULL;
}

struct pesa_error *pesa_symbol_file_source_frames(struct pesa_symbol_file *file, uint64_t address,
						  struct pesa_source_frame *frames, size_t max,
						  size_t *count)
{
	if (file->debug)
		return pesa_debug_info_source_frames(file->debug, address, frames, max, count);
	*count = 0;
	return NULL;
}
