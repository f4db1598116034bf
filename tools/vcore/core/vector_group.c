// SPDX-License-Identifier: GPL-2.0-or-later
/* Registers of vector operands: see vector_group.h. */
#include <stdbool.h>
#include <string.h>

#include "tools/vcore/core/vector_group.h"

/*
 * log2 of the number of registers of each operand: the one written or stored, vs1, vs2.  SINGLE: a
 * mask or a scalar.  `fields`: number of consecutive groups of the first operand, for segments and
 * whole-register instructions.
 */
struct group {
	int data, first, second;
	unsigned int fields;
};

#define SINGLE (-8)

int vector_log(enum pesa_mca_lmul lmul)
{
	static const int8_t logs[] = {
		[PESA_MCA_LMUL_NONE] = 0, [PESA_MCA_LMUL_1] = 0,    [PESA_MCA_LMUL_2] = 1,
		[PESA_MCA_LMUL_4] = 2,	  [PESA_MCA_LMUL_8] = 3,    [PESA_MCA_LMUL_1_8] = -3,
		[PESA_MCA_LMUL_1_4] = -2, [PESA_MCA_LMUL_1_2] = -1,
	};

	return logs[lmul];
}

static bool starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool starts_any(const char *text, const char *const *prefix)
{
	for (; *prefix; prefix++)
		if (starts(text, *prefix))
			return true;
	return false;
}

static bool is_memory(uint32_t bits)
{
	return (bits & 0x5f) == 0x07;
}

/* Return whether vs1 is a vector, not a scalar, an immediate or part of the opcode. */
static bool has_first(uint32_t bits)
{
	unsigned int kind = bits >> 12 & 7, function = bits >> 26;

	return kind <= 2 && function != 0x10 && (function < 0x12 || function > 0x14);
}

/*
 * The element width of a load or store is that of its data, or of its indices.  Except for
 * segments, `log` is already that of the data, see insn.c.
 */
static struct group of_memory(uint32_t bits, int log, unsigned int sew)
{
	static const uint8_t width_logs[] = {3, 0, 0, 0, 0, 4, 5, 6};
	unsigned int mode = bits >> 26 & 3, unit = bits >> 20 & 31, fields = (bits >> 29 & 7) + 1;
	int width = log + width_logs[bits >> 12 & 7] - __builtin_ctz(sew);
	struct group group = {log, SINGLE, SINGLE, fields};

	if (mode & 1)
		group.second = width;
	else if (mode == 0 && (unit == 8 || unit == 11))
		group.data = SINGLE; /* whole registers, masks */
	else if (fields > 1)
		group.data = width;
	return group;
}

/* The destination of these instructions is a mask; their sources are groups. */
static bool writes_mask(const char *mnemonic)
{
	static const char *const comparisons[] = {"vmseq", "vmsne", "vmsl", "vmsg",
						  "vmfeq", "vmfne", "vmfl", "vmfg",
						  "vmadc", "vmsbc", NULL};

	return starts_any(mnemonic, comparisons);
}

static bool is_of_masks(const char *mnemonic)
{
	static const char *const names[] = {"vmsbf",   "vmsif",	   "vmsof",   "vcpop.m",  "vfirst",
					    "vmv.x.s", "vfmv.f.s", "vmv.s.x", "vfmv.s.f", NULL};

	return strstr(mnemonic, ".mm") || starts_any(mnemonic, names);
}

static bool is_reduction(const char *mnemonic)
{
	static const char *const names[] = {"vred", "vwred", "vfred", "vfwred", NULL};

	return starts_any(mnemonic, names);
}

static struct group of_arithmetic(const char *mnemonic, uint32_t bits, int log, unsigned int sew)
{
	const char *suffix = strchr(mnemonic, '.');
	struct group group = {log, log, log, 1};

	if (!suffix)
		suffix = "";
	if (is_of_masks(mnemonic))
		return (struct group){SINGLE, SINGLE, SINGLE, 1};
	if (is_reduction(mnemonic)) {
		group.data = group.first = SINGLE;
		return group;
	}
	if (writes_mask(mnemonic))
		group.data = SINGLE;
	if (starts(mnemonic, "vw") || starts(mnemonic, "vfw"))
		group.data = log + 1;
	/* The name marks the wide source: vwadd.wv, vnsrl.wi, vfncvt.x.f.w. */
	if (strstr(suffix, ".w"))
		group.second = log + 1;
	if (starts(mnemonic, "vzext") || starts(mnemonic, "vsext"))
		group.second = log - __builtin_ctz((unsigned int)(suffix[3] - '0'));
	if (starts(mnemonic, "vrgatherei16"))
		group.first = log + 4 - __builtin_ctz(sew);
	if (starts(mnemonic, "vcompress"))
		group.first = SINGLE;
	if (starts(mnemonic, "viota"))
		group.second = SINGLE;
	/* vmv1r.v to vmv8r.v: the count is an immediate. */
	if (starts(mnemonic, "vmv") && mnemonic[3] >= '1' && mnemonic[3] <= '8')
		group.data = group.second = __builtin_ctz((bits >> 15 & 7) + 1);
	return group;
}

static unsigned int most(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

static unsigned int registers(int log)
{
	return log > 0 ? 1u << log : 1;
}

unsigned int vector_group_size(const struct pesa_insn *insn, enum pesa_mca_lmul lmul,
			       unsigned int sew, unsigned int number)
{
	uint32_t bits = (uint32_t)insn->bits;
	int log = vector_log(lmul);
	unsigned int size = 1;
	struct group group;

	if (!sew)
		return 1;
	group = is_memory(bits)
			? of_memory(bits, log, sew)
			: of_arithmetic(pesa_opcode_get(insn->opcode)->mnemonic, bits, log, sew);
	if ((bits >> 7 & 31) == number)
		size = group.fields * registers(group.data);
	if (!is_memory(bits) && has_first(bits) && (bits >> 15 & 31) == number)
		size = most(size, registers(group.first));
	if ((bits >> 20 & 31) == number)
		size = most(size, registers(group.second));
	return number + size > 32 ? 32 - number : size;
}
