/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random instructions, blocks and models for tests of the engine. */
#ifndef TESTS_UNIT_MCA_BLOCKS_H
#define TESTS_UNIT_MCA_BLOCKS_H

#include "decoder/mca/model/block.h"

static inline uint32_t pick(uint32_t *seed, uint32_t count)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 16) % count;
}

static inline uint32_t encode(uint32_t *seed)
{
	static const uint32_t bases[] = {
		0x00000033, /* add */ 0x00000013,    /* addi */ 0x02000033,   /* mul */
		0x02004033, /* div */ 0x0200603b,    /* remw */ 0x00003003,   /* ld */
		0x00003023, /* sd */ 0x00002003,     /* lw */ 0x02000053,     /* fadd.d */
		0x12000053, /* fmul.d */ 0x1a000053, /* fdiv.d */ 0x02000043, /* fmadd.d */
		0x00003007, /* fld */ 0x00003027,    /* fsd */ 0xd2200053,    /* fcvt.d.l */
		0x1000202f, /* lr.w */ 0x0000302f,			      /* amoadd.d */
	};
	uint32_t base = bases[pick(seed, sizeof(bases) / sizeof(bases[0]))];
	uint32_t first = 10 + pick(seed, 5), second = 10 + pick(seed, 5);

	/* These have a fixed second source. */
	if (base == 0xd2200053 || base == 0x1000202f)
		second = 0;
	return base | (10 + pick(seed, 5)) << 7 | first << 15 | second << 20;
}

/* Up to RANDOM_BLOCK_MAX instructions. */
#define RANDOM_BLOCK_MAX 20

static inline struct pesa_mca_block *random_block(const struct pesa_mca_model *model,
						  const struct pesa_isa *isa, uint32_t *seed)
{
	const struct pesa_mca_block_options options = {.skip_unsupported = true};
	struct pesa_mca_instruction instructions[RANDOM_BLOCK_MAX] = {0};
	unsigned int count = 1 + pick(seed, RANDOM_BLOCK_MAX);
	struct pesa_mca_block *block;

	for (unsigned int i = 0; i < count; i++) {
		uint32_t bits = encode(seed);

		instructions[i].latency = -1;
		assert_int_equal(pesa_insn_decode(isa, &bits, sizeof(bits), &instructions[i].insn),
				 4);
	}
	assert_null(pesa_mca_block_create(model, instructions, count, &options, &block));
	return block;
}

/* Blocks per processor: those of an environment variable, if it is set. */
static inline unsigned int number_of_blocks(const char *variable, unsigned int usual)
{
	const char *blocks = getenv(variable);

	return blocks ? strtoul(blocks, NULL, 10) : usual;
}

/*
 * A built-in model in which some instructions have many micro-ops, or occupy units for longer than
 * their results take: what is still to come is in the state of the machine then, not in that of
 * the instructions in flight.
 */
static inline struct pesa_mca_model *make_model(const char *name, uint32_t *seed)
{
	static const char *const changed[] = {"div", "mul", "fmul.d", "fdiv.d", "add", "ld"};
	struct pesa_mca_model *model;
	char change[128];

	assert_null(pesa_mca_model_builtin(name, &model));
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		if (pick(seed, 2))
			continue;
		snprintf(change, sizeof(change), "%s.latency=%u", changed[i], 1 + pick(seed, 4));
		pesa_error_free(pesa_mca_model_change(model, change, NULL));
		snprintf(change, sizeof(change), "%s.uops=%u", changed[i], 1 + pick(seed, 9));
		pesa_error_free(pesa_mca_model_change(model, change, NULL));
		for (unsigned int j = 0; j < pesa_mca_model_resources(model); j++) {
			snprintf(change, sizeof(change), "%s.%s=%u", changed[i],
				 pesa_mca_model_resource(model, j)->name, 1 + pick(seed, 12));
			/* An error: it is not a resource of that instruction. */
			pesa_error_free(pesa_mca_model_change(model, change, NULL));
		}
	}
	return model;
}

/*
 * Operands that are needed late, buffers that are kept until a unit is free, groups that overlap:
 * no built-in model has the first, few the others.
 */
#define UNUSUAL(BUFFERS)                                                                     \
	"pesa-processor-model 1\nname Unusual\nprocessor unusual -\nissue-width 3\n"         \
	"load-latency 2\nmispredict-penalty 3\nmicro-op-buffer " BUFFERS "\n"                \
	"resource A units=2 buffer=6\nresource B buffer=0\nresource C\nresource M units=2\n" \
	"group AC buffer=8 A C\ngroup AM A M\n"                                              \
	"class integer uops=1 latency=1:I uses=AC advance=0:-3 advance=1:-2:I\n"             \
	"\tADD ADDI\n"                                                                       \
	"class multiply uops=2 latency=3 uses=A,AC,AM:2 advance=0:1:I\n"                     \
	"\tMUL\n"                                                                            \
	"class divide uops=7 latency=9 uses=B:7 begin-group\n"                               \
	"\tDIV REMW\n"                                                                       \
	"class load uops=1 latency=4:L uses=M\n"                                             \
	"\tLD LW FLD\n"                                                                      \
	"class store uops=1 latency=1 uses=M advance=0:-4:L end-group\n"                     \
	"\tSD FSD\n"                                                                         \
	"class float uops=1 latency=5 uses=C:2 advance=1:-6\n"                               \
	"\tFADD_D FMUL_D\n"                                                                  \
	"end\n"

static inline struct pesa_mca_model *unusual_model(const char *text)
{
	struct pesa_mca_model *model;

	assert_null(pesa_mca_model_parse("unusual", text, strlen(text), &model));
	return model;
}

typedef struct pesa_mca_block *(*make_one_block)(const struct pesa_mca_model *model,
						 const struct pesa_isa *isa, uint32_t *seed);
typedef void (*each_block)(const struct pesa_mca_block *block, uint32_t *seed, void *data);

/* Random blocks for every processor, with the model as it is or changed. */
static inline void for_each_block(make_one_block make, uint32_t seed, bool changed,
				  unsigned int blocks, each_block function, void *data)
{
	static const char *const unusual[] = {UNUSUAL("0"), UNUSUAL("4"), UNUSUAL("200")};
	const unsigned int unusual_count = sizeof(unusual) / sizeof(unusual[0]);
	struct pesa_isa *isa;
	const char *name = "";

	assert_null(pesa_isa_create("rv64imafdc", &isa));
	for (unsigned int i = 0; name; i++) {
		struct pesa_mca_model *model;

		if (i >= unusual_count)
			name = pesa_mca_builtin_processor(i - unusual_count);
		if (!name)
			break;
		if (i < unusual_count)
			model = unusual_model(unusual[i]);
		else if (changed)
			model = make_model(name, &seed);
		else
			assert_null(pesa_mca_model_builtin(name, &model));
		for (unsigned int j = 0; j < (i < unusual_count ? 10 : 1) * blocks; j++) {
			struct pesa_mca_block *block = make(model, isa, &seed);

			if (pesa_mca_block_count(block))
				function(block, &seed, data);
			pesa_mca_block_free(block);
		}
		pesa_mca_model_free(model);
	}
	pesa_isa_free(isa);
}

#endif
