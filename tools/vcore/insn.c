// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Static instructions.
 *
 * What the pipeline needs to know of an instruction, worked out once when the emulator translates
 * it: its class (by mnemonic, the table below), unit, latency, registers, control flow.  An
 * instruction keeps its identity over retranslation as long as its bytes and its mapping are the
 * same.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/vcore.h"

/* The first row whose prefix and suffix fit the mnemonic (without "c.") decides. */
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

/* A csr instruction that only reads has x0 or 0 as its source: csrrs and csrrc, not csrrw. */
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

static const uint8_t unit_queue[] = {
#define UNIT(id, name, queue) PESA_CORE_QUEUE_##queue,
	PESA_CORE_UNITS(UNIT)
#undef UNIT
};

static void set_class(struct insn *insn, const struct pesa_core *core, enum pesa_core_class class)
{
	insn->class = (uint8_t) class;
	insn->unit = (uint8_t)core->unit[class];
	insn->queue = unit_queue[insn->unit];
	insn->latency = (uint16_t)core->latency[class];
	insn->interval = (uint16_t)core->interval[class];
}

static struct insn *decode(struct process *process, uint64_t pc, const uint8_t *bytes,
			   unsigned int length)
{
	struct pesa_register_list defs = {0}, uses = {0};
	const struct pesa_opcode *opcode;
	struct pesa_insn decoded;
	struct insn *insn;
	bool known = pesa_insn_decode(process->isa, bytes, length, &decoded) != 0;

	if (known)
		pesa_insn_registers(&decoded, &defs, &uses);
	insn = calloc(1, sizeof(*insn) + defs.count + uses.count);
	if (!insn)
		return NULL;
	insn->pc = pc;
	insn->length = (uint8_t)length;
	memcpy(&insn->bits, bytes, length < 8 ? length : 8);
	if (!known) {
		/* The emulator may know it all the same: it takes its place, without registers.  An
		 * illegal instruction traps. */
		atomic_fetch_add(&process->region->undecoded, 1);
		insn->flags = INSN_TRAP;
		insn->flow = PESA_FLOW_NEXT;
		set_class(insn, process->core, CLASS(ALU));
		insn->counts = counters_of_insn(insn);
		return insn;
	}
	opcode = pesa_opcode_get(decoded.opcode);
	insn->flow = (uint8_t)pesa_insn_flow(&decoded);
	if (!pesa_insn_target(&decoded, pc, &insn->target))
		insn->target = 0;
	set_class(insn, process->core, classify(opcode, insn->flow));
	insn->flags = flags_of(&decoded, opcode, insn->flow, insn->class);
	insn->counts = counters_of_insn(insn);
	insn->results = (uint8_t)defs.count;
	insn->sources = (uint8_t)uses.count;
	for (unsigned int i = 0; i < defs.count; i++) {
		insn->registers[i] = defs.registers[i];
		if (defs.registers[i] < PESA_REGISTER_F0)
			insn->integer_results++;
		else if (defs.registers[i] < PESA_REGISTER_FFLAGS)
			insn->float_results++;
	}
	memcpy(insn->registers + defs.count, uses.registers, uses.count);
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

/* Every instruction ever made stays: translated code and the pipeline point to them. */
static bool remember(struct process *process, struct insn *insn)
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
	length = pesa_insn_length(first);
	if (length < 2 || length > 8)
		length = 2;
	memcpy(&bits, bytes, length);
	if (process->insn_count >= process->table_size && !grow_table(process))
		return NULL;
	/* Code that is changed in place makes several instructions of one address. */
	for (insn = process->table[slot_of(process, pc)]; insn; insn = insn->next)
		if (insn->pc == pc && insn->bits == bits)
			return insn;
	insn = decode(process, pc, bytes, length);
	if (!insn || !remember(process, insn)) {
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
