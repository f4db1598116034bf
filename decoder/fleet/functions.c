// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of functions.  See functions.h. */
#include "decoder/fleet/functions.h"

#include <stdlib.h>
#include <string.h>

#include "decoder/binary/binaries.h"
#include "decoder/fleet/native.h"
#include "decoder/fleet/restored.h"
#include "pesa/space.h"
#include "pesa/symbols.h"

/* Each binary in turn is mapped here, which makes it known to what finds files. */
#define PLACE	   (UINT64_C(1) << 40)
#define LENGTH	   (UINT64_C(1) << 40)
#define PROCESS	   1
#define KERNEL_PID UINT32_MAX

struct known {
	uint64_t number;
	struct pesa_mapping mapping;
};

struct fleet_functions {
	struct pesa_spaces *spaces;
	struct pesa_binaries *binaries;
	struct pesa_symbols *symbols;
	struct distinct_bytes texts;
	struct distinct_records known; /* struct known, by number: binaries that are here */
	uint64_t *present;	       /* their numbers */
	size_t count, absent;
};

static const struct pesa_dso *dso_of_spaces(void *context, uint32_t index)
{
	struct pesa_spaces *spaces = context;

	return index < pesa_spaces_dso_count(spaces) ? pesa_spaces_dso(spaces, index) : NULL;
}

struct pesa_error *fleet_functions_create(const char *root, struct fleet_functions **result)
{
	struct fleet_functions *functions = calloc(1, sizeof(*functions));
	struct pesa_error *error;

	if (!functions)
		return pesa_error_no_memory();
	distinct_records_begin(&functions->known, sizeof(struct known), sizeof(uint64_t));
	error = pesa_spaces_create(&functions->spaces);
	if (!error) {
		functions->binaries = pesa_binaries_create(functions->spaces, root);
		error = functions->binaries
				? pesa_symbols_create_for(dso_of_spaces, functions->spaces, root,
							  &functions->symbols)
				: pesa_error_no_memory();
	}
	if (error)
		fleet_functions_free(functions);
	else
		*result = functions;
	return error;
}

void fleet_functions_free(struct fleet_functions *functions)
{
	if (!functions)
		return;
	pesa_symbols_free(functions->symbols);
	pesa_binaries_free(functions->binaries);
	pesa_spaces_free(functions->spaces);
	distinct_bytes_free(&functions->texts);
	distinct_records_free(&functions->known);
	free(functions->present);
	free(functions);
}

/* ---- Binaries -------------------------------------------------------------------------------- */

/* Map a binary.  *mapping: NULL if it is nothing that has a file. */
static struct pesa_error *map(struct fleet_functions *functions,
			      const struct restored_binary *binary,
			      const struct pesa_mapping **mapping)
{
	const bool kernel = binary->kind == PESA_DSO_KERNEL;
	const uint64_t start = kernel ? binary->base : PLACE;
	struct pesa_event event = {
		.type = PERF_RECORD_MMAP2,
		.mmap = {.pid = kernel ? KERNEL_PID : PROCESS,
			 .tid = kernel ? 0 : PROCESS,
			 .address = start,
			 .length = start < UINT64_MAX - LENGTH ? LENGTH : UINT64_MAX - start,
			 .offset = kernel ? start : 0,
			 .protection = 5, /* PROT_READ | PROT_EXEC */
			 .build_id_size = binary->build_id_size,
			 .path = distinct_text_at(&functions->texts, binary->path)},
	};
	struct pesa_error *error;

	*mapping = NULL;
	if (!kernel && binary->kind != PESA_DSO_FILE && binary->kind != PESA_DSO_VDSO)
		return NULL;
	memcpy(event.mmap.build_id, binary->build_id, binary->build_id_size);
	error = pesa_spaces_apply(functions->spaces, &event);
	if (!error)
		*mapping = pesa_layout_find(kernel ? pesa_spaces_kernel(functions->spaces)
						   : pesa_spaces_layout(functions->spaces, PROCESS),
					    start);
	return error;
}

/* Offsets become addresses by the program's headers.  The kernel's are addresses. */
static bool is_here(const struct fleet_functions *functions, uint32_t index)
{
	return pesa_spaces_dso(functions->spaces, index)->kind == PESA_DSO_KERNEL ||
	       pesa_binaries_image(functions->binaries, index);
}

static struct pesa_error *add_present(struct fleet_functions *functions, uint64_t number,
				      const struct pesa_mapping *mapping)
{
	const uint32_t index = distinct_records_get(&functions->known, &number);
	struct known *known;
	uint64_t *grown;

	if (index == DISTINCT_NONE)
		return pesa_error_no_memory();
	known = distinct_records_at(&functions->known, index);
	known->mapping = *mapping;
	grown = reallocarray(functions->present, functions->count + 1, sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	functions->present = grown;
	functions->present[functions->count++] = number;
	return NULL;
}

static struct pesa_error *take_binary(struct fleet_functions *functions,
				      const struct native_block *block, size_t row)
{
	struct restored_binary binary = {.number = native_number(block, 0, row)};
	const struct pesa_mapping *mapping = NULL;
	struct pesa_error *error = restored_binary_read(block, row, &functions->texts, &binary);

	if (!error)
		error = map(functions, &binary, &mapping);
	if (!error && mapping)
		error = pesa_binaries_open(functions->binaries, mapping->dso);
	if (error)
		return error;
	if (mapping && is_here(functions, mapping->dso))
		return add_present(functions, binary.number, mapping);
	functions->absent++;
	return NULL;
}

struct pesa_error *fleet_functions_binaries(struct fleet_functions *functions, const void *bytes,
					    size_t size)
{
	struct native_reader reader = native_begin_reading(bytes, size);
	struct native_block block;
	struct pesa_error *error = NULL;
	bool any = true;

	while (any && !error) {
		error = native_read(&reader, restored_binary_types, RESTORED_BINARY_COLUMNS, &block,
				    &any);
		for (size_t i = 0; i < block.rows && any && !error; i++)
			error = take_binary(functions, &block, i);
		native_block_free(&block);
	}
	return error;
}

const uint64_t *fleet_functions_present(const struct fleet_functions *functions, size_t *count,
					size_t *absent)
{
	*count = functions->count;
	*absent = functions->absent;
	return functions->present;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* A column of the table, one value a place. */
struct columns {
	struct perfdata_buffer binary, pc, name, start, size;
	uint32_t rows;
};

static struct pesa_error *name_place(struct fleet_functions *functions, uint64_t binary,
				     uint64_t pc, struct columns *columns)
{
	const uint32_t before = functions->known.index.count;
	const uint32_t index = distinct_records_get(&functions->known, &binary);
	const struct pesa_symbol *symbol;
	const struct known *known;
	struct pesa_error *error;
	uint64_t address;

	if (index == DISTINCT_NONE)
		return pesa_error_no_memory();
	if (index >= before)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the server's answer has a binary that was not asked for");
	known = distinct_records_at(&functions->known, index);
	address = pesa_spaces_dso(functions->spaces, known->mapping.dso)->kind == PESA_DSO_KERNEL
			  ? known->mapping.start + pc
			  : pesa_binaries_address(functions->binaries, &known->mapping,
						  known->mapping.start + pc);
	error = pesa_symbols_find(functions->symbols, known->mapping.dso, address, &symbol);
	if (error || !symbol)
		return error;
	native_u64(&columns->binary, binary);
	native_u64(&columns->pc, pc);
	native_text(&columns->name, symbol->name, strlen(symbol->name));
	native_u64(&columns->start, pc - (address - symbol->start));
	native_u64(&columns->size, symbol->size);
	columns->rows++;
	return NULL;
}

static struct pesa_error *put_columns(const struct columns *columns, struct perfdata_buffer *block)
{
	const struct {
		const char *name, *type;
		const struct perfdata_buffer *values;
	} each[] = {
		{"binary", "UInt64", &columns->binary}, {"pc", "UInt64", &columns->pc},
		{"name", "String", &columns->name},	{"start", "UInt64", &columns->start},
		{"size", "UInt64", &columns->size},
	};
	bool failed = false;

	if (!columns->rows)
		return NULL;
	native_begin(block, sizeof(each) / sizeof(*each), columns->rows);
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		native_column(block, each[i].name, each[i].type);
		failed |= each[i].values->failed;
		perfdata_buffer_append(block, each[i].values->bytes, each[i].values->size);
	}
	return failed || block->failed ? pesa_error_no_memory() : NULL;
}

struct pesa_error *fleet_functions_name(struct fleet_functions *functions, const void *bytes,
					size_t size, struct perfdata_buffer *result, uint32_t *rows,
					uint64_t *unnamed)
{
	static const enum native_type types[] = {NATIVE_U64, NATIVE_U64};
	struct native_reader reader = native_begin_reading(bytes, size);
	struct columns columns = {0};
	struct native_block block;
	struct pesa_error *error = NULL;
	uint64_t places = 0;
	bool any = true;

	while (any && !error) {
		error = native_read(&reader, types, 2, &block, &any);
		for (size_t i = 0; i < block.rows && any && !error; i++, places++)
			error = name_place(functions, native_number(&block, 0, i),
					   native_number(&block, 1, i), &columns);
		native_block_free(&block);
	}
	if (!error)
		error = put_columns(&columns, result);
	*rows = columns.rows;
	*unnamed = places - columns.rows;
	perfdata_buffer_free(&columns.binary);
	perfdata_buffer_free(&columns.pc);
	perfdata_buffer_free(&columns.name);
	perfdata_buffer_free(&columns.start);
	perfdata_buffer_free(&columns.size);
	return error;
}

const char *fleet_functions_columns(void)
{
	return "binary, pc, name, start, size";
}
