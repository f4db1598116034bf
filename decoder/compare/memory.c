/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Store-to-load forwarding along a path: see memory.h. */
#include <string.h>

#include "decoder/compare/memory.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

#define WRITTEN 33 /* in place of a register: what an atomic writes */

/* A new value, different from all others. */
static struct compare_value unknown(const struct compare_memory *memory, unsigned int reg)
{
	return (struct compare_value){.symbol = mix(mix(1, memory->steps), reg) | 1};
}

void compare_memory_begin(struct compare_memory *memory)
{
	memory->cells = memory->steps = memory->newest = memory->newest_size = 0;
	memset(memory->last, 0, sizeof(memory->last));
	memory->reg[0] = (struct compare_value){0};
	for (unsigned int i = 1; i < 32; i++)
		memory->reg[i] = unknown(memory, i);
}

/* ---- Values computed by instructions --------------------------------------------------------- */

enum operation {
	OPERATION_OTHER, /* any function of the operands: equal for equal operands */
	OPERATION_SUM,	 /* sum of the operands */
	OPERATION_HIGH,	 /* operand times 4096 */
	OPERATION_HIGH_PC,
	OPERATION_UNKNOWN,
};

static enum operation operation_of(const struct pesa_opcode *opcode)
{
	static const struct {
		const char *mnemonic;
		enum operation operation;
	} operations[] = {
		{"addi", OPERATION_SUM}, {"add", OPERATION_SUM},       {"mv", OPERATION_SUM},
		{"li", OPERATION_SUM},	 {"addi16sp", OPERATION_SUM},  {"addi4spn", OPERATION_SUM},
		{"lui", OPERATION_HIGH}, {"auipc", OPERATION_HIGH_PC},
	};
	const char *mnemonic = opcode->mnemonic;

	if (opcode->properties &
	    (PESA_OPCODE_LOAD | PESA_OPCODE_ATOMIC | PESA_OPCODE_SYSTEM | PESA_OPCODE_CSR |
	     PESA_OPCODE_CALL | PESA_OPCODE_VECTOR | PESA_OPCODE_FLOAT))
		return OPERATION_UNKNOWN;
	if (!strncmp(mnemonic, "c.", 2))
		mnemonic += 2;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(mnemonic, operations[i].mnemonic))
			return operations[i].operation;
	return OPERATION_OTHER;
}

static struct compare_value operand_value(const struct compare_memory *memory,
					  const struct pesa_operand *operand)
{
	if (operand->kind != PESA_OPERAND_REGISTER)
		return (struct compare_value){.number = operand->value};
	if (operand->value < 32)
		return memory->reg[operand->value];
	return unknown(memory, (unsigned int)operand->value);
}

static struct compare_value sum_of(struct compare_value a, struct compare_value b)
{
	if (a.symbol && b.symbol) {
		struct compare_value sum = {.symbol = mix(2, a.symbol + b.symbol) | 1};

		sum.number = (int64_t)((uint64_t)a.number + (uint64_t)b.number);
		return sum;
	}
	return (struct compare_value){.symbol = a.symbol | b.symbol,
				      .number = (int64_t)((uint64_t)a.number + (uint64_t)b.number)};
}

static struct compare_value sum_of_inputs(const struct compare_memory *memory,
					  const struct pesa_insn *insn)
{
	struct compare_value sum = {0};

	for (unsigned int i = 0; i < insn->operands; i++)
		if (!insn->operand[i].output)
			sum = sum_of(sum, operand_value(memory, &insn->operand[i]));
	return sum;
}

static struct compare_value function_of_inputs(const struct compare_memory *memory,
					       const struct pesa_insn *insn)
{
	uint64_t hash = mix(3, insn->opcode);

	for (unsigned int i = 0; i < insn->operands; i++) {
		struct compare_value value;

		if (insn->operand[i].output)
			continue;
		value = operand_value(memory, &insn->operand[i]);
		hash = mix(mix(hash, value.symbol), (uint64_t)value.number);
	}
	return (struct compare_value){.symbol = hash | 1};
}

static struct compare_value result_of(const struct compare_memory *memory, enum operation operation,
				      const struct pesa_insn *insn, uint64_t address)
{
	uint64_t page;

	switch (operation) {
	case OPERATION_SUM:
		return sum_of_inputs(memory, insn);
	case OPERATION_HIGH_PC:
	case OPERATION_HIGH:
		page = (uint64_t)sum_of_inputs(memory, insn).number * 4096;
		page += operation == OPERATION_HIGH_PC ? address : 0;
		return (struct compare_value){.number = (int64_t)page};
	case OPERATION_OTHER:
		return function_of_inputs(memory, insn);
	default:
		return unknown(memory, 0);
	}
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Bytes that a load, a store or an atomic accesses; 0: another instruction. */
static unsigned int access_size(const struct pesa_opcode *opcode)
{
	static const char letters[] = "bhwdq";
	const char *mnemonic = opcode->mnemonic, *letter;

	if (!(opcode->properties & (PESA_OPCODE_LOAD | PESA_OPCODE_STORE)) ||
	    opcode->properties & PESA_OPCODE_VECTOR)
		return 0;
	if (opcode->properties & PESA_OPCODE_ATOMIC) {
		letter = strchr(mnemonic, '.');
	} else {
		mnemonic += strncmp(mnemonic, "c.", 2) ? 0 : 2;
		mnemonic += *mnemonic == 'f';
		letter = *mnemonic == 'l' || *mnemonic == 's' ? mnemonic : NULL;
	}
	letter = letter && letter[1] ? strchr(letters, letter[1]) : NULL;
	return letter ? 1u << (letter - letters) : 0;
}

/* Address of an access: the base register is the last register, followed by the offset; atomics have
 * none. */
static bool address_of(const struct compare_memory *memory, const struct pesa_insn *insn,
		       struct compare_value *address)
{
	const struct pesa_operand *operand = insn->operand;
	unsigned int last = insn->operands;

	if (last && operand[last - 1].kind == PESA_OPERAND_REGISTER && !operand[last - 1].output &&
	    pesa_opcode_get(insn->opcode)->properties & PESA_OPCODE_ATOMIC) {
		*address = operand_value(memory, &operand[last - 1]);
		return true;
	}
	if (last < 2 || operand[last - 1].kind != PESA_OPERAND_IMMEDIATE ||
	    operand[last - 2].kind != PESA_OPERAND_REGISTER || operand[last - 2].output)
		return false;
	*address = sum_of(operand_value(memory, &operand[last - 2]),
			  operand_value(memory, &operand[last - 1]));
	return true;
}

static struct compare_cell *cell_at(struct compare_memory *memory, unsigned int number)
{
	return &memory->cell[number % COMPARE_CELLS];
}

static unsigned int list_of(uint64_t symbol)
{
	return (unsigned int)(symbol * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (COMPARE_LISTS - 1);
}

static void add_cell(struct compare_memory *memory, struct compare_cell cell)
{
	unsigned int *last = &memory->last[list_of(cell.address.symbol)];

	cell.older = *last;
	*cell_at(memory, memory->cells) = cell;
	*last = ++memory->cells;
}

static bool overlaps(const struct compare_cell *cell, int64_t start, int64_t end)
{
	return cell->address.number < end && start < cell->address.number + (int64_t)cell->size;
}

/* The newest cells that overlap the bytes; NULL: none. */
struct found {
	const struct compare_cell *content, *store;
};

static struct found find_cells(struct compare_memory *memory, struct compare_value address,
			       unsigned int size)
{
	unsigned int oldest = memory->cells > COMPARE_CELLS ? memory->cells - COMPARE_CELLS : 0;
	int64_t start = address.number, end = start + (int64_t)size;
	struct found found = {0};
	const struct compare_cell *cell;

	for (unsigned int i = memory->last[list_of(address.symbol)]; i > oldest && !found.store;
	     i = cell->older) {
		cell = cell_at(memory, i - 1);
		if (cell->address.symbol != address.symbol || !overlaps(cell, start, end))
			continue;
		if (!found.content)
			found.content = cell;
		if (cell->writer)
			found.store = cell;
	}
	return found;
}

static bool holds(const struct compare_cell *cell, struct compare_value address, unsigned int size)
{
	return cell->address.number <= address.number &&
	       address.number + (int64_t)size <= cell->address.number + (int64_t)cell->size;
}

static struct compare_forward forward_of(const struct compare_memory *memory,
					 const struct found *found, struct compare_value address,
					 unsigned int size)
{
	if (!found->store)
		return (struct compare_forward){0};
	return (struct compare_forward){
		.distance = memory->steps - found->store->writer,
		.partly = !holds(found->store, address, size),
	};
}

/* Returns the value of the bytes. */
static struct compare_value load(struct compare_memory *memory, struct compare_value address,
				 unsigned int size, struct compare_forward *forward)
{
	struct found found = find_cells(memory, address, size);
	struct compare_value content = unknown(memory, 0);

	*forward = forward_of(memory, &found, address, size);
	if (!found.content) {
		add_cell(memory, (struct compare_cell){
					 .address = address, .content = content, .size = size});
		return content;
	}
	return found.content->address.number == address.number && found.content->size == size
		       ? found.content->content
		       : content;
}

/* The value that a store or an atomic writes: what an atomic computes from memory is not known. */
static struct compare_value written_by(struct compare_memory *memory, const struct pesa_insn *insn)
{
	const struct pesa_opcode *opcode = pesa_opcode_get(insn->opcode);

	if (!(opcode->properties & PESA_OPCODE_ATOMIC))
		return operand_value(memory, &insn->operand[0]);
	return opcode->properties & PESA_OPCODE_LOAD || insn->operands < 3
		       ? unknown(memory, WRITTEN)
		       : operand_value(memory, &insn->operand[1]);
}

/* What does not depend on the path: names and lists of registers take long to look at. */
static const struct compare_known *know(struct compare_memory *memory, const struct pesa_insn *insn)
{
	uint64_t hash =
		(insn->bits ^ (uint64_t)insn->opcode << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	struct compare_known *known = &memory->known[hash % COMPARE_KNOWN];
	const struct pesa_opcode *opcode;
	struct pesa_register_list used;

	if (known->valid && known->bits == insn->bits && known->opcode == insn->opcode)
		return known;
	opcode = pesa_opcode_get(insn->opcode);
	*known = (struct compare_known){
		.valid = true,
		.bits = insn->bits,
		.opcode = insn->opcode,
		.operation = (uint8_t)operation_of(opcode),
		.size = (uint8_t)access_size(opcode),
		.trap = pesa_insn_flow(insn) == PESA_FLOW_TRAP,
		.load = opcode->properties & PESA_OPCODE_LOAD,
		.store = opcode->properties & PESA_OPCODE_STORE,
	};
	pesa_insn_registers(insn, &known->registers, &used);
	return known;
}

struct compare_forward compare_memory_step(struct compare_memory *memory,
					   const struct pesa_insn *insn, uint64_t address)
{
	const struct compare_known *known = know(memory, insn);
	const struct pesa_register_list *defined = &known->registers;
	struct compare_value place, result;
	struct compare_forward forward = {0};

	memory->steps++;
	result = result_of(memory, known->operation, insn, address);
	if (known->size && address_of(memory, insn, &place)) {
		if (known->load) {
			result = load(memory, place, known->size, &forward);
			forward.address = place;
			forward.known = true;
		}
		if (known->store)
			add_cell(memory, (struct compare_cell){
						 .address = place,
						 .content = written_by(memory, insn),
						 .size = known->size,
						 .writer = memory->steps,
					 });
	}
	for (unsigned int i = 0; i < defined->count; i++)
		if (defined->registers[i] && defined->registers[i] < 32)
			memory->reg[defined->registers[i]] =
				defined->count == 1 ? result
						    : unknown(memory, defined->registers[i]);
	/* The kernel returns its result in a0. */
	if (known->trap)
		memory->reg[10] = unknown(memory, 10);
	if (known->load && memory->newest) {
		forward.newest = memory->steps - memory->newest;
		forward.narrow = memory->newest_size && memory->newest_size < known->size;
	}
	if (known->store) {
		memory->newest = memory->steps;
		memory->newest_size = known->size;
	}
	return forward;
}
