// SPDX-License-Identifier: GPL-2.0-or-later
/* Registers of vector operands: see vector_group.h. */
#include <stdbool.h>
#include <string.h>

#include "tools/vcore/core/vector_group.h"

/* log2 of the registers of each operand: of the one that is written or stored, of vs1, of vs2.
 * SINGLE: a mask or a scalar.  `fields`: of a segment, or of a whole-register instruction: so many
 * groups follow each other in the place of the first. */
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

/* Whether there is a vector in the place of vs1, not a scalar, an immediate or part of the opcode.
 */
static bool has_first(uint32_t bits)
{
	unsigned int kind = bits >> 12 & 7, function = bits >> 26;

	return kind <= 2 && function != 0x10 && (function < 0x12 || function > 0x14);
}

/* The element width of a load or store is that of its data, or of its indices.  Where it is no
 * segment's data, `log` is that of the data already, see insn.c. */
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

/* What masks are made of is as large as LMUL says, what is made of masks too. */
static bool makes_mask(const char *mnemonic)
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
	if (makes_mask(mnemonic))
		group.data = SINGLE;
	if (starts(mnemonic, "vw") || starts(mnemonic, "vfw"))
		group.data = log + 1;
	/* The wide source has it in its name: vwadd.wv, vnsrl.wi, vfncvt.x.f.w. */
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
