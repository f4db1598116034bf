// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Static instructions.
 *
 * The properties of an instruction are computed once, when the emulator translates it: class (by
 * mnemonic, the table below), cost, registers, control flow.  Retranslation finds the same struct
 * insn as long as the bytes and the mapping are the same.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/golden.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/core/vector_group.h"
#include "tools/vcore/stack/call_stack.h"

/* The first row whose prefix and suffix match the mnemonic (without "c.") applies. */
struct rule {
	const char *prefix, *suffix;
	uint8_t class;
};

#define CLASS(name) PESA_CORE_CLASS_##name

static const struct rule rules[] = {
	{"vset", "", CLASS(VECTOR_CONFIGURE)},
	{"vdiv", "", CLASS(VECTOR_DIV)},
	{"vrem", "", CLASS(VECTOR_DIV)},
	{"vfdiv", "", CLASS(VECTOR_DIV)},
	{"vfrdiv", "", CLASS(VECTOR_DIV)},
	{"vfsqrt", "", CLASS(VECTOR_DIV)},
	{"vmul", "", CLASS(VECTOR_MUL)},
	{"vmac", "", CLASS(VECTOR_MUL)},
	{"vmadd", "", CLASS(VECTOR_MUL)},
	{"vnms", "", CLASS(VECTOR_MUL)},
	{"vwm", "", CLASS(VECTOR_MUL)},
	{"vsmul", "", CLASS(VECTOR_MUL)},
	{"vrgather", "", CLASS(VECTOR_PERMUTE)},
	{"vslide", "", CLASS(VECTOR_PERMUTE)},
	{"vcompress", "", CLASS(VECTOR_PERMUTE)},
	{"vfmv", "", CLASS(VECTOR_ALU)},
	{"vfmerge", "", CLASS(VECTOR_ALU)},
	{"vf", "", CLASS(VECTOR_FLOAT)},
	{"v", "", CLASS(VECTOR_ALU)},
	{"fence.i", "", CLASS(SYSTEM)},
	{"fence", "", CLASS(FENCE)},
	{"mul", "w", CLASS(MUL_W)},
	{"mul", "", CLASS(MUL)},
	{"clmul", "", CLASS(MUL)},
	{"div", "w", CLASS(DIV_W)},
	{"div", "", CLASS(DIV)},
	{"rem", "w", CLASS(DIV_W)},
	{"rem", "", CLASS(DIV)},
	{"csr", "", CLASS(CSR)},
	{"fdiv", ".d", CLASS(FDIV_D)},
	{"fdiv", "", CLASS(FDIV_S)},
	{"fsqrt", ".d", CLASS(FSQRT_D)},
	{"fsqrt", "", CLASS(FSQRT_S)},
	{"fmadd", "", CLASS(FMA)},
	{"fmsub", "", CLASS(FMA)},
	{"fnm", "", CLASS(FMA)},
	{"fadd", "", CLASS(FADD)},
	{"fsub", "", CLASS(FADD)},
	{"fmul", "", CLASS(FMUL)},
	{"fmv", "", CLASS(FTRANSFER)},
	{"fcvt", "", CLASS(FCONVERT)},
	{"fround", "", CLASS(FCONVERT)},
	{"fsgnj", "", CLASS(FMOVE)},
	{"fclass", "", CLASS(FMOVE)},
	{"fmin", "", CLASS(FMOVE)},
	{"fmax", "", CLASS(FMOVE)},
	{"feq", "", CLASS(FMOVE)},
	{"flt", "", CLASS(FMOVE)},
	{"fle", "", CLASS(FMOVE)},
	{"fli", "", CLASS(FMOVE)},
};

static bool ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text), end = strlen(suffix);

	return length >= end && !strcmp(text + length - end, suffix);
}

static enum pesa_core_class classify(const struct pesa_opcode *opcode, enum pesa_flow flow)
{
	const char *mnemonic = opcode->mnemonic;
	uint32_t properties = opcode->properties;

	if (flow == PESA_FLOW_TRAP || (properties & PESA_OPCODE_SYSTEM))
		return CLASS(SYSTEM);
	if (flow != PESA_FLOW_NEXT)
		return CLASS(BRANCH);
	if (properties & PESA_OPCODE_ATOMIC)
		return CLASS(ATOMIC);
	if (properties & PESA_OPCODE_VECTOR) {
		if (properties & PESA_OPCODE_LOAD)
			return CLASS(VECTOR_LOAD);
		if (properties & PESA_OPCODE_STORE)
			return CLASS(VECTOR_STORE);
	} else if (properties & PESA_OPCODE_LOAD) {
		return CLASS(LOAD);
	} else if (properties & PESA_OPCODE_STORE) {
		return CLASS(STORE);
	}
	if (!strncmp(mnemonic, "c.", 2))
		mnemonic += 2;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strncmp(mnemonic, rules[i].prefix, strlen(rules[i].prefix)) &&
		    ends_with(mnemonic, rules[i].suffix))
			return rules[i].class;
	return CLASS(ALU);
}

/* csrrs and csrrc with source x0 or 0 only read the CSR; csrrw always writes. */
static bool csr_writes(const struct pesa_insn *insn, const struct pesa_opcode *opcode)
{
	uint32_t funct3 = (uint32_t)insn->bits >> 12 & 7, source = (uint32_t)insn->bits >> 15 & 31;

	return insn->length == 4 && (opcode->properties & PESA_OPCODE_CSR) &&
	       (funct3 == 1 || funct3 == 5 || source);
}

static uint8_t flags_of(const struct pesa_insn *insn, const struct pesa_opcode *opcode,
			enum pesa_flow flow, enum pesa_core_class class)
{
	uint32_t properties = opcode->properties;
	uint8_t flags = 0;

	if (properties & PESA_OPCODE_LOAD)
		flags |= INSN_LOAD;
	if (properties & PESA_OPCODE_STORE)
		flags |= INSN_STORE;
	if (properties & PESA_OPCODE_ATOMIC)
		flags |= INSN_LOAD | INSN_STORE;
	if (properties & PESA_OPCODE_VECTOR)
		flags |= INSN_VECTOR;
	if (class == CLASS(FENCE))
		flags |= INSN_BARRIER;
	if (class == CLASS(SYSTEM) || csr_writes(insn, opcode))
		flags |= INSN_SERIALISE_BEFORE | INSN_FLUSH_AFTER;
	if (flow == PESA_FLOW_TRAP)
		flags |= INSN_TRAP;
	return flags;
}

/* The vector type that an instruction sets; INSN_VECTOR_TYPES: it sets none. */
static unsigned int vector_type_of(const struct pesa_opcode *opcode, uint64_t bits)
{
	unsigned int type;

	if (!strcmp(opcode->mnemonic, "vsetvl"))
		return 0;
	if (strcmp(opcode->mnemonic, "vsetvli") && strcmp(opcode->mnemonic, "vsetivli"))
		return INSN_VECTOR_TYPES;
	type = (unsigned int)(bits >> 20);
	/* LMUL as in enum pesa_mca_lmul: 1, 2, 4, 8 are 0 to 3 in vtype, fractions 5 to 7. */
	if ((type & 7) == 4 || (type >> 3 & 7) > 3)
		return 0;
	return ((type & 7) < 4 ? (type & 7) + 1 : (type & 7)) | ((type >> 3 & 3) + 1) << 3;
}

/*
 * The element width in the name of a load or store; its register group is LMUL * width / SEW.  0:
 * the name has none.
 */
static unsigned int width_of(const struct pesa_opcode *opcode)
{
	const char *name = opcode->name, *digit;

	if (strncmp(name, "VL", 2) && strncmp(name, "VS", 2))
		return 0;
	digit = strpbrk(name, "0123456789");
	if (!digit || digit[-1] != 'E' || strstr(name, "RE") || strstr(name, "SEG"))
		return 0;
	return (unsigned int)strtoul(digit, NULL, 10);
}

static struct cost *cost_of(const struct process *process, const struct pesa_insn *decoded,
			    uint64_t pc, enum pesa_core_class class, unsigned int vector_type)
{
	const struct pesa_core_ideal_places *ideal = &process->control->ideal;
	/* Indexed by log2(LMUL) + 3. */
	static const uint8_t lmuls[] = {
		PESA_MCA_LMUL_1_8, PESA_MCA_LMUL_1_4, PESA_MCA_LMUL_1_2, PESA_MCA_LMUL_1,
		PESA_MCA_LMUL_2,   PESA_MCA_LMUL_4,   PESA_MCA_LMUL_8,
	};
	unsigned int width, sew = vector_type >> 3 ? 4u << (vector_type >> 3) : 0;
	enum pesa_mca_lmul lmul = vector_type & 7;

	width = vector_type ? width_of(pesa_opcode_get(decoded->opcode)) : 0;
	if (width) {
		int group = vector_log(lmul) + 3 + __builtin_ctz(width) - __builtin_ctz(sew);

		lmul = lmuls[group < 0 ? 0 : group > 6 ? 6 : group];
	}
	return cost_create(
		process->model,
		&(struct pesa_mca_instruction){
			.insn = *decoded,
			.lmul = lmul,
			.sew = sew,
			.latency = pesa_core_is_ideal(ideal, PESA_CORE_IDEAL_LATENCY, pc) ? 1 : -1,
			.no_units = pesa_core_is_ideal(ideal, PESA_CORE_IDEAL_UNIT, pc),
		},
		class);
}

const struct cost *insn_vector_cost(struct process *process, const struct insn *insn,
				    unsigned int vector_type)
{
	struct cost **place = &insn->vector_cost[vector_type], *cost;
	struct pesa_insn decoded;

	cost = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (cost)
		return cost;
	pthread_mutex_lock(&process->lock);
	cost = *place;
	if (!cost &&
	    pesa_insn_decode(process->isa, (const uint8_t *)&insn->bits, insn->length, &decoded)) {
		cost = cost_of(process, &decoded, insn->pc, insn->class, vector_type);
		__atomic_store_n(place, cost, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&process->lock);
	return cost ? cost : &insn->cost;
}

/* Set the cost and free `cost` as needed.  Returns false: out of memory. */
static bool set_cost(struct insn *insn, struct cost *cost)
{
	if (!cost)
		return false;
	insn->cost = *cost;
	insn->lists = cost;
	return true;
}

/*
 * Complete an instruction that the decoder does not know but the emulator may: it has no registers.
 * An illegal instruction traps.
 */
static bool complete_unknown(struct process *process, struct insn *insn)
{
	atomic_fetch_add(&process->region->undecoded, 1);
	insn->flags = INSN_TRAP;
	insn->flow = PESA_FLOW_NEXT;
	insn->class = CLASS(ALU);
	return set_cost(insn, cost_create_unknown(process->model, CLASS(ALU)));
}

static bool complete(struct process *process, struct insn *insn, const struct pesa_insn *decoded)
{
	const struct pesa_opcode *opcode = pesa_opcode_get(decoded->opcode);
	unsigned int type = vector_type_of(opcode, insn->bits);

	insn->flow = (uint8_t)pesa_insn_flow(decoded);
	if (!pesa_insn_target(decoded, insn->pc, &insn->target))
		insn->target = 0;
	insn->class = (uint8_t)classify(opcode, insn->flow);
	insn->flags = flags_of(decoded, opcode, insn->flow, insn->class);
	if (type < INSN_VECTOR_TYPES) {
		insn->flags |= INSN_VECTOR_TYPE;
		insn->vector_type = (uint8_t)type;
	} else if (insn->flags & INSN_VECTOR) {
		insn->vector_cost = calloc(INSN_VECTOR_TYPES, sizeof(struct cost *));
		if (!insn->vector_cost)
			return false;
	}
	if (!set_cost(insn, cost_of(process, decoded, insn->pc, insn->class, 0)))
		return false;
	/*
	 * The pipeline computes the cost of fences and system calls, so a model need not have them.
	 */
	if ((insn->cost.flags & COST_UNKNOWN) && insn->class != CLASS(FENCE) &&
	    insn->class != CLASS(SYSTEM))
		atomic_fetch_add(&process->region->unmodelled, 1);
	return true;
}

static bool is_simple(const struct insn *insn, const struct pesa_core *core)
{
	const struct cost *cost = &insn->cost;

	return (cost->flags & COST_ONE_USE) && cost->reads <= 2 && !cost->float_results &&
	       !(core->out_of_order && (cost->flags & COST_ADVANCES));
}

static void find_shapes(struct insn *insn, const struct pesa_core *core)
{
	const uint8_t special =
		INSN_SERIALISE_BEFORE | INSN_FLUSH_AFTER | INSN_BARRIER | INSN_VECTOR | INSN_TRAP;
	bool simple = is_simple(insn, core);

	insn->shape = insn->turning_shape = SHAPE_ANY;
	if (!(insn->cost.flags & COST_PLAIN) || (insn->flags & special))
		return;
	insn->turning_shape = SHAPE_PLAIN;
	if (insn->flow != PESA_FLOW_NEXT) {
		if (simple && !(insn->flags & (INSN_LOAD | INSN_STORE)))
			insn->turning_shape = SHAPE_BRANCH;
		return;
	}
	insn->shape = SHAPE_PLAIN;
	if (!simple)
		return;
	switch (insn->flags & (INSN_LOAD | INSN_STORE)) {
	case 0:
		if (insn->cost.integer_results)
			insn->shape = SHAPE_ALU;
		break;
	case INSN_LOAD:
		if (insn->cost.integer_results)
			insn->shape = SHAPE_LOAD;
		break;
	case INSN_STORE:
		if (!insn->cost.writes)
			insn->shape = SHAPE_STORE;
		break;
	default:
		break;
	}
}

static uint8_t fetch_of(const struct insn *insn, const struct pesa_core *core)
{
	uint64_t last = insn->pc + insn->length - 1;

	return (insn->pc ^ last) & ~(uint64_t)(core->line - 1) ? STEP_TWO_LINES : 0;
}

_Static_assert(offsetof(struct insn, cost) == INSN_LINE, "behind the first line");
_Static_assert(offsetof(struct cost, queue) < INSN_LINE, "what most need lies in the second one");

static struct insn *decode(struct process *process, uint64_t pc, const uint8_t *bytes,
			   unsigned int length)
{
	struct insn *insn = aligned_alloc(INSN_LINE, sizeof(*insn));
	struct pesa_insn decoded;
	bool made;

	if (!insn)
		return NULL;
	memset(insn, 0, sizeof(*insn));
	insn->pc = pc;
	insn->length = (uint8_t)length;
	memcpy(&insn->bits, bytes, length < 8 ? length : 8);
	if (pesa_insn_decode(process->isa, bytes, length, &decoded)) {
		made = complete(process, insn, &decoded);
		if (process->control->call_chains)
			insn->stack_use = stack_use_of(&decoded, &insn->stack_offset);
	} else {
		made = complete_unknown(process, insn);
	}
	if (!made) {
		free(insn->vector_cost);
		free(insn);
		return NULL;
	}
	insn->counts = counters_of_insn(insn);
	find_shapes(insn, process->core);
	insn->fetch = fetch_of(insn, process->core);
	return insn;
}

static size_t slot_of(const struct process *process, uint64_t pc)
{
	return (size_t)((pc >> 1) * 0x9e3779b97f4a7c15 >> 32) & (process->table_size - 1);
}

static bool grow_table(struct process *process)
{
	size_t size = process->table_size ? process->table_size * 2 : 1 << 14;
	struct insn **table = calloc(size, sizeof(*table)), **old = process->table;
	size_t old_size = process->table_size;

	if (!table)
		return false;
	process->table = table;
	process->table_size = size;
	for (size_t i = 0; i < old_size; i++) {
		for (struct insn *insn = old[i], *next; insn; insn = next) {
			struct insn **slot = &table[slot_of(process, insn->pc)];

			next = insn->next;
			insn->next = *slot;
			*slot = insn;
		}
	}
	free(old);
	return true;
}

/* Static instructions are never freed: translated code and the pipeline refer to them. */
static bool keep_insn(struct process *process, struct insn *insn)
{
	if (process->all_count == process->all_room) {
		size_t room = process->all_room ? process->all_room * 2 : 1 << 14;
		struct insn **all = realloc(process->all, room * sizeof(*all));

		if (!all)
			return false;
		process->all = all;
		process->all_room = room;
	}
	process->all[process->all_count++] = insn;
	return true;
}

struct insn *insn_get(struct process *process, uint64_t pc, const void *bytes)
{
	uint64_t bits = 0;
	uint16_t first;
	unsigned int length;
	struct insn *insn, **slot;

	memcpy(&first, bytes, sizeof(first));
	length = insn_length(first);
	memcpy(&bits, bytes, length);
	if (process->insn_count >= process->table_size && !grow_table(process))
		return NULL;
	/* Self-modifying code makes several instructions with the same address. */
	for (insn = process->table[slot_of(process, pc)]; insn; insn = insn->next)
		if (insn->pc == pc && insn->bits == bits)
			return insn;
	insn = decode(process, pc, bytes, length);
	if (!insn)
		return NULL;
	if (!keep_insn(process, insn)) {
		free(insn->vector_cost);
		free(insn->lists);
		free(insn);
		return NULL;
	}
	if (process->control->golden)
		insn->golden = golden_create(process, insn);
	slot = &process->table[slot_of(process, pc)];
	insn->next = *slot;
	*slot = insn;
	process->insn_count++;
	return insn;
}

void insn_forget(struct process *process, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < process->table_size; i++) {
		for (struct insn **slot = &process->table[i]; *slot;) {
			if ((*slot)->pc >= start && (*slot)->pc < end) {
				*slot = (*slot)->next;
				process->insn_count--;
			} else {
				slot = &(*slot)->next;
			}
		}
	}
}

void insn_refork(struct process *process)
{
	for (size_t i = 0; i < process->all_count; i++) {
		struct insn *insn = process->all[i];

		if (insn->golden)
			insn->golden = golden_create(process, insn);
	}
}
