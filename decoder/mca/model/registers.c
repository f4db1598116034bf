/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine's registers and opcodes. */
#include <endian.h>
#include <string.h>

#include "decoder/mca/model/registers.h"
#include "pesa/riscv.h"

const char mca_scheduling_classes[][MCA_SCHEDULING_CLASSES + 1] = {
#define SCHEDULING_CLASSES(letters) letters,
#define OPCODE(...)
#include "decoder/mca/generated/opcodes.def"
#undef SCHEDULING_CLASSES
#undef OPCODE
};

const struct mca_opcode mca_opcodes[] = {
#define SCHEDULING_CLASSES(letters)
#define OPCODE(name, flags, outputs, inputs, implicit_outputs, implicit_inputs, classes) \
	{#name, flags, outputs, inputs, implicit_outputs, implicit_inputs, classes},
#include "decoder/mca/generated/opcodes.def"
#undef SCHEDULING_CLASSES
#undef OPCODE
};

const unsigned int mca_opcode_count = sizeof(mca_opcodes) / sizeof(mca_opcodes[0]);

/* Names are padded with zeros: compared as big-endian numbers they are in strcmp() order. */
static int compare_padded(const char *left, const char *right)
{
	for (size_t i = 0; i < MCA_OPCODE_NAME; i += sizeof(uint64_t)) {
		uint64_t a, b;

		memcpy(&a, left + i, sizeof(a));
		memcpy(&b, right + i, sizeof(b));
		if (a != b)
			return be64toh(a) < be64toh(b) ? -1 : 1;
	}
	return 0;
}

/* Binary search among the opcodes from `low` to `high` - 1. */
static int find_between(const char *padded, unsigned int low, unsigned int high)
{
	while (low < high) {
		unsigned int middle = (low + high) / 2;
		int order = compare_padded(padded, mca_opcodes[middle].name);

		if (order == 0)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

int mca_opcode_find(const char *name, size_t length)
{
	char padded[MCA_OPCODE_NAME] = "";

	if (length >= sizeof(padded))
		return -1;
	memcpy(padded, name, length);
	return find_between(padded, 0, mca_opcode_count);
}

int mca_opcode_find_near(const char *name, unsigned int start)
{
	char padded[MCA_OPCODE_NAME] = "";
	unsigned int low = start, step = 1;

	if (strlen(name) >= sizeof(padded))
		return -1;
	strcpy(padded, name);
	if (start >= mca_opcode_count || compare_padded(padded, mca_opcodes[start].name) < 0)
		return find_between(padded, 0, start < mca_opcode_count ? start : mca_opcode_count);
	/* Double the step until it goes too far. */
	while (mca_opcode_count - low > step &&
	       compare_padded(padded, mca_opcodes[low + step].name) >= 0) {
		low += step;
		step *= 2;
	}
	return find_between(padded, low,
			    mca_opcode_count - low > step ? low + step : mca_opcode_count);
}

/* The next smaller parts of a register: `count` registers from `first`; 0: none. */
static unsigned int direct_parts(unsigned int id, unsigned int *first)
{
	static const struct {
		uint16_t begin, end, part, step;
		uint8_t count;
	} rules[] = {
		{MCA_REGISTER_X, MCA_REGISTER_X_WORD, MCA_REGISTER_X_WORD, 1, 1},
		{MCA_REGISTER_X_WORD, MCA_REGISTER_X_HALF, MCA_REGISTER_X_HALF, 1, 1},
		{MCA_REGISTER_X_PAIR, MCA_REGISTER_F_QUAD, MCA_REGISTER_X, 2, 2},
		{MCA_REGISTER_F_QUAD, MCA_REGISTER_F_DOUBLE, MCA_REGISTER_F_DOUBLE, 1, 1},
		{MCA_REGISTER_F_DOUBLE, MCA_REGISTER_F_SINGLE, MCA_REGISTER_F_SINGLE, 1, 1},
		{MCA_REGISTER_F_SINGLE, MCA_REGISTER_F_HALF, MCA_REGISTER_F_HALF, 1, 1},
		{MCA_REGISTER_V2, MCA_REGISTER_V4, MCA_REGISTER_V, 2, 2},
		{MCA_REGISTER_V4, MCA_REGISTER_V8, MCA_REGISTER_V2, 2, 2},
		{MCA_REGISTER_V8, MCA_REGISTER_T, MCA_REGISTER_V4, 2, 2},
	};

	if (id == MCA_REGISTER_X_PAIR) { /* x0 and no other register */
		*first = MCA_REGISTER_X;
		return 1;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (id >= rules[i].begin && id < rules[i].end) {
			*first = rules[i].part + (id - rules[i].begin) * rules[i].step;
			return rules[i].count;
		}
	return 0;
}

static void collect_parts(unsigned int id, struct mca_register_parts *parts)
{
	unsigned int first, count = direct_parts(id, &first);

	for (unsigned int i = 0; i < count; i++) {
		parts->part[parts->count++] = first + i;
		collect_parts(first + i, parts);
	}
}

void mca_register_parts(unsigned int id, struct mca_register_parts *parts)
{
	parts->count = 0;
	collect_parts(id, parts);
}

bool mca_register_is_constant(unsigned int id)
{
	return id == MCA_REGISTER_X || id == MCA_REGISTER_X_WORD || id == MCA_REGISTER_X_HALF ||
	       id == MCA_REGISTER_SPECIAL + PESA_REGISTER_VLENB - PESA_REGISTER_FFLAGS;
}

static const char *const special_names[] = {"fflags", "frm",   "vl",	"vtype",
					    "vxrm",   "vxsat", "vlenb", "ssp"};

const char *mca_register_name(unsigned int id)
{
	static const char *const x[] = {"zero", "ra", "sp",  "gp",  "tp", "t0", "t1", "t2",
					"s0",	"s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
					"a6",	"a7", "s2",  "s3",  "s4", "s5", "s6", "s7",
					"s8",	"s9", "s10", "s11", "t3", "t4", "t5", "t6"};
	static const char *const f[] = {"ft0", "ft1", "ft2",  "ft3",  "ft4", "ft5", "ft6",  "ft7",
					"fs0", "fs1", "fa0",  "fa1",  "fa2", "fa3", "fa4",  "fa5",
					"fa6", "fa7", "fs2",  "fs3",  "fs4", "fs5", "fs6",  "fs7",
					"fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
	static const char *const v[] = {"v0",  "v1",  "v2",  "v3",  "v4",  "v5",  "v6",	 "v7",
					"v8",  "v9",  "v10", "v11", "v12", "v13", "v14", "v15",
					"v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
					"v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"};
	static const char *const t[] = {"mt0",	"mt1",	"mt2",	"mt3", "mt4",  "mt5",
					"mt6",	"mt7",	"mt8",	"mt9", "mt10", "mt11",
					"mt12", "mt13", "mt14", "mt15"};

	if (id >= MCA_REGISTER_MEMORY)
		return id < MCA_REGISTER_COUNT ? "memory" : "none";
	if (id >= MCA_REGISTER_SPECIAL)
		return special_names[id - MCA_REGISTER_SPECIAL];
	if (id >= MCA_REGISTER_T)
		return t[(id - MCA_REGISTER_T) % 16];
	if (id >= MCA_REGISTER_V8)
		return v[(id - MCA_REGISTER_V8) * 8 % 32];
	if (id >= MCA_REGISTER_V4)
		return v[(id - MCA_REGISTER_V4) * 4 % 32];
	if (id >= MCA_REGISTER_V2)
		return v[(id - MCA_REGISTER_V2) * 2 % 32];
	if (id >= MCA_REGISTER_V)
		return v[id - MCA_REGISTER_V];
	if (id >= MCA_REGISTER_F_QUAD)
		return f[(id - MCA_REGISTER_F_QUAD) % 32];
	if (id >= MCA_REGISTER_X_PAIR)
		return x[(id - MCA_REGISTER_X_PAIR) * 2 % 32];
	if (id >= MCA_REGISTER_X)
		return x[(id - MCA_REGISTER_X) % 32];
	return "none";
}

unsigned int mca_register_from(char letter, unsigned int riscv_register)
{
	static const struct {
		char letter;
		uint8_t file, end, step;
		uint16_t base;
	} classes[] = {
		{'x', PESA_REGISTER_X0, 32, 1, MCA_REGISTER_X},
		{'w', PESA_REGISTER_X0, 32, 1, MCA_REGISTER_X_WORD},
		{'h', PESA_REGISTER_X0, 32, 1, MCA_REGISTER_X_HALF},
		{'p', PESA_REGISTER_X0, 32, 2, MCA_REGISTER_X_PAIR},
		{'Q', PESA_REGISTER_F0, 64, 1, MCA_REGISTER_F_QUAD},
		{'D', PESA_REGISTER_F0, 64, 1, MCA_REGISTER_F_DOUBLE},
		{'F', PESA_REGISTER_F0, 64, 1, MCA_REGISTER_F_SINGLE},
		{'H', PESA_REGISTER_F0, 64, 1, MCA_REGISTER_F_HALF},
		{'v', PESA_REGISTER_V0, 96, 1, MCA_REGISTER_V},
		{'2', PESA_REGISTER_V0, 96, 2, MCA_REGISTER_V2},
		{'4', PESA_REGISTER_V0, 96, 4, MCA_REGISTER_V4},
		{'8', PESA_REGISTER_V0, 96, 8, MCA_REGISTER_V8},
		{'t', PESA_REGISTER_T0, PESA_REGISTER_T0 + 16, 1, MCA_REGISTER_T},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].letter == letter && riscv_register >= classes[i].file &&
		    riscv_register < classes[i].end)
			return classes[i].base +
			       (riscv_register - classes[i].file) / classes[i].step;
	return MCA_REGISTER_NONE;
}

unsigned int mca_register_find(const char *name, size_t length)
{
	if (length >= 2 && name[0] == 'X' && name[1] >= '0' && name[1] <= '9') {
		unsigned int number = name[1] - '0';

		if (length == 3)
			number = number * 10 + (name[2] - '0');
		return number < 32 ? MCA_REGISTER_X + number : MCA_REGISTER_NONE;
	}
	for (size_t i = 0; i < sizeof(special_names) / sizeof(special_names[0]); i++)
		if (strlen(special_names[i]) == length &&
		    !strncasecmp(special_names[i], name, length))
			return MCA_REGISTER_SPECIAL + i;
	return MCA_REGISTER_NONE;
}
