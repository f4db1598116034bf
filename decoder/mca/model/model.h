/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A processor model in memory.
 *
 * Every resource has a bit: first the resources, then the groups, each in the order of the model.
 * The mask of a resource is its bit; that of a group is its own bit (the highest of the mask) and
 * the bits of its members.
 */
#ifndef PESA_MCA_MODEL_H
#define PESA_MCA_MODEL_H

#include "decoder/mca/model/registers.h"
#include "pesa/mca.h"

#define MCA_RESOURCES_MAX 63
#define MCA_UNITS_MAX	  64

#define MCA_CLASS_UNSUPPORTED 0xffff
#define MCA_CLASS_VARIANT     0x8000 /* flag: the rest is the index of a variant */

#define MCA_CLASS_BEGIN_GROUP	      (1u << 0)
#define MCA_CLASS_END_GROUP	      (1u << 1)
#define MCA_CLASS_RETIRE_OUT_OF_ORDER (1u << 2)

struct mca_write {
	uint16_t latency;
	uint16_t name; /* index of the write's name, 0: no read-advance refers to it */
};

struct mca_advance {
	uint8_t operand; /* index among the inputs */
	uint16_t write;	 /* applies to this write only; 0: to all */
	int16_t cycles;
};

struct mca_class {
	uint16_t micro_ops;
	uint8_t flags;
	uint8_t writes;
	uint16_t uses, advances;
	uint32_t write, use, advance; /* index of the first of each in the model */
};

/* What a class is called, in the model's text and by LLVM. */
struct mca_identity {
	const char *name;   /* of the line `class` */
	const char *write;  /* SchedWrite, or several joined by '+'; NULL: not known */
	const char *from;   /* FILE:LINE,... of its definition; NULL: not known */
	const char *reads;  /* SchedReads by operand, separated by commas; NULL: not known */
	unsigned int costs; /* index of the first class of that line: their costs are equal */
	unsigned int entry; /* index of the first class of that SchedWrite */
	unsigned int whole; /* index of the class that an opcode was split off; or of this one */
};

/* A SchedRead that has an advance. */
struct mca_read_definition {
	const char *name, *from;
};

/* Conditions for a class: the first alternative whose conditions all hold is taken. */
struct mca_condition {
	const char *feature; /* feature that must be on, or */
	uint8_t operand;     /* operand that must be */
	uint16_t reg;	     /* this register */
};

struct mca_alternative {
	uint16_t class;
	uint16_t conditions;
	uint32_t condition;
};

struct mca_variant {
	uint32_t alternative;
	uint32_t alternatives;
};

/* The classes of an opcode by mca_vector_place() - 1. */
typedef uint16_t mca_vector_classes[MCA_LMULS * MCA_SEWS];

struct pesa_mca_model {
	const char *name;
	char *text; /* the file, cut into NUL-terminated words to which names point */
	unsigned int issue_width, micro_op_buffer, load_latency, mispredict_penalty;
	unsigned int reorder_buffer, retire_width, load_queue, store_queue; /* 0: not specified */
	struct pesa_mca_processor *processors;
	unsigned int processor_count;
	struct pesa_mca_resource *resources;
	unsigned int resource_count;
	int *super; /* by resource: its super resource, or -1 */
	uint64_t masks[MCA_RESOURCES_MAX + 1];
	uint8_t of_bit[MCA_RESOURCES_MAX + 1];
	struct mca_class *classes;
	struct mca_identity *identities; /* by class */
	unsigned int class_count;
	struct mca_read_definition *reads;
	unsigned int read_count;
	struct mca_write *writes;
	unsigned int write_count;
	struct pesa_mca_use *uses;
	unsigned int use_count;
	struct mca_advance *advances;
	unsigned int advance_count;
	struct mca_variant *variants;
	unsigned int variant_count;
	struct mca_alternative *alternatives;
	unsigned int alternative_count;
	struct mca_condition *conditions;
	unsigned int condition_count;
	uint16_t *opcode_class; /* by opcode */
	uint16_t *
		vector_row; /* by opcode: 1 + its row in vector_class, which others may share; 0: none */
	mca_vector_classes *vector_class;
	unsigned int vector_rows;
	unsigned int write_name_count;
	/* The constants of a built-in model, from which it has its arrays until it is changed. */
	const struct mca_model_table *table;
	const struct pesa_mca_model *base; /* original of a changed model; shares constants */
	/* Of a changed model: whether it has copies of what follows from an opcode (identities,
	 * opcode_class, vector_row, vector_class, variants, alternatives), because an opcode was
	 * split off. */
	bool own_opcodes;
};

/* Index in tables by LMUL and SEW: 0 without an LMUL, then LMUL by LMUL. */
static inline unsigned int mca_vector_place(enum pesa_mca_lmul lmul, unsigned int sew)
{
	unsigned int width = sew ? __builtin_ctz(sew) - 2 : 0; /* 8, 16, ... become 1, 2, ... */

	return lmul == PESA_MCA_LMUL_NONE ? 0 : 1 + (lmul - 1) * MCA_SEWS + width;
}

/* The classes of an opcode by LMUL and SEW, or NULL. */
static inline uint16_t *mca_model_vector(const struct pesa_mca_model *model, unsigned int opcode)
{
	unsigned int row = model->vector_row[opcode];

	return row ? model->vector_class[row - 1] : NULL;
}

/* Copy what follows from an opcode into a changed model, if it still shares it: see split.c. */
/* Apply changes that blanks or ends of lines separate, in their order, up to the first that fails
 * (pesa_mca_model_change()). */
struct pesa_error *mca_model_change_each(struct pesa_mca_model *model, const char *changes);
struct pesa_error *mca_model_own_opcodes(struct pesa_mca_model *model);
/* Free these copies. */
void mca_model_free_opcodes(struct pesa_mca_model *model);
/* Give an opcode classes of its own, with the costs that it has: a change of these is then a change
 * of that opcode alone. */
struct pesa_error *mca_model_split_opcode(struct pesa_mca_model *model, unsigned int opcode);

/* The class of an opcode: an index, a variant or MCA_CLASS_UNSUPPORTED. */
uint16_t mca_model_class(const struct pesa_mca_model *model, unsigned int opcode,
			 enum pesa_mca_lmul lmul, unsigned int sew);

/* Whether one of the classes that an opcode can have, by its operands, LMUL and SEW, is `chosen`. */
bool mca_model_opcode_has(const struct pesa_mca_model *model, unsigned int opcode,
			  const bool *chosen);

#endif
