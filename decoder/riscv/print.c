/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Printing of decoded instructions, as llvm-mc --disassemble does. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "decoder/riscv/isa.h"
#include "decoder/riscv/print.h"

/* Text in a buffer of fixed size; `length` keeps counting when the buffer is full. */
struct text {
	char *buffer;
	size_t size, length;
};

static void put(struct text *text, const char *string)
{
	size_t length = strlen(string);

	if (text->length < text->size) {
		size_t room = text->size - text->length;

		memcpy(text->buffer + text->length, string, length < room ? length : room);
	}
	text->length += length;
}

__attribute__((format(printf, 2, 3))) static void put_format(struct text *text, const char *format,
							     ...)
{
	char part[64];
	va_list list;

	va_start(list, format);
	vsnprintf(part, sizeof(part), format, list);
	va_end(list);
	put(text, part);
}

/* Arguments of the operand printers. */
struct context {
	const struct pesa_isa *isa;
	const struct pesa_insn *insn;
	uint64_t pc;
	unsigned int flags;
	struct text *text;
};

static void put_register(const struct context *context, unsigned int number)
{
	static const char *const abi[96] = {
		"zero", "ra",  "sp",  "gp",   "tp",   "t0",  "t1",  "t2",   "s0",   "s1",  "a0",
		"a1",	"a2",  "a3",  "a4",   "a5",   "a6",  "a7",  "s2",   "s3",   "s4",  "s5",
		"s6",	"s7",  "s8",  "s9",   "s10",  "s11", "t3",  "t4",   "t5",   "t6",  "ft0",
		"ft1",	"ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1",  "fa0", "fa1",
		"fa2",	"fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4",  "fs5", "fs6",
		"fs7",	"fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
	};
	static const char *const special[] = {
		"fflags", "frm", "vl", "vtype", "vxrm", "vxsat", "vlenb", "ssp",
	};

	if (number < PESA_REGISTER_V0 && !(context->flags & PESA_PRINT_NUMERIC))
		put(context->text, abi[number]);
	else if (number < PESA_REGISTER_FFLAGS)
		put_format(context->text, "%c%u", "xfv"[number / 32], number % 32);
	else if (number < PESA_REGISTER_T0)
		put(context->text, special[number - PESA_REGISTER_FFLAGS]);
	else
		put_format(context->text, "mt%u", number - PESA_REGISTER_T0);
}

static void put_plain(const struct context *context, const struct pesa_operand *operand)
{
	uint64_t target;

	if (operand->kind == PESA_OPERAND_REGISTER) {
		put_register(context, operand->value);
	} else if (operand->kind == PESA_OPERAND_TARGET && context->flags & PESA_PRINT_ADDRESSES) {
		target = context->pc + (uint64_t)operand->value;
		put_format(context->text, "0x%" PRIx64,
			   context->isa->xlen == 32 ? target & 0xffffffff : target);
	} else {
		put_format(context->text, "%" PRId64, operand->value);
	}
}

static void put_memory(const struct context *context, const struct pesa_operand *operand)
{
	put(context->text, "(");
	put_register(context, operand->value);
	put(context->text, ")");
}

static void put_register_offset(const struct context *context, const struct pesa_operand *operand)
{
	put_register(context, operand[1].value);
	put_memory(context, operand);
}

static void put_mask(const struct context *context, const struct pesa_operand *operand)
{
	if (operand->value == PESA_REGISTER_NONE)
		return;
	put(context->text, ", ");
	put_register(context, operand->value);
	put(context->text, ".t");
}

const char *const riscv_rounding_modes[8] = {"rne", "rtz", "rdn", "rup", "rmm", "", "", "dyn"};

#define ROUND_NEAREST_EVEN 0
#define ROUND_DYNAMIC	   7

static void put_rounding(const struct context *context, const struct pesa_operand *operand,
			 bool silent)
{
	if (silent)
		return;
	put(context->text, ", ");
	put(context->text, riscv_rounding_modes[operand->value & 7]);
}

static void put_rounding_mode(const struct context *context, const struct pesa_operand *operand)
{
	put_rounding(context, operand,
		     operand->value == ROUND_DYNAMIC && !(context->flags & PESA_PRINT_NO_ALIASES));
}

static void put_rounding_mode_legacy(const struct context *context,
				     const struct pesa_operand *operand)
{
	put_rounding(context, operand, operand->value == ROUND_NEAREST_EVEN);
}

static void put_fence(const struct context *context, const struct pesa_operand *operand)
{
	static const char letters[] = "iorw";

	if (!operand->value)
		put(context->text, "0");
	for (int i = 0; i < 4; i++)
		if (operand->value & 8 >> i)
			put_format(context->text, "%c", letters[i]);
}

/* LLVM's preferred name of a CSR, or its number. */
static void put_csr(const struct context *context, const struct pesa_operand *operand)
{
	const char *name = riscv_csr_name(context->isa, operand->value);

	if (name)
		put(context->text, name);
	else
		put_format(context->text, "%" PRId64, operand->value);
}

/*
 * vtype: vlmul in bits 0..2, vsew in bits 3..5, vta in bit 6, vma in bit 7 and, with the extension,
 * altfmt in bit 8.
 */
static void put_vtype(const struct context *context, const struct pesa_operand *operand)
{
	static const char *const multipliers[8] = {"m1", "m2", "m4", "m8", "", "mf8", "mf4", "mf2"};
	unsigned int value = operand->value, multiplier = value & 7, width = value >> 3 & 7;

	if (value >> (context->isa->alternate_format ? 9 : 8) || width > 3 || multiplier == 4)
		put_format(context->text, "%u", value);
	else
		put_format(context->text, "e%u%s, %s, t%c, m%c", 8u << width,
			   value & 0x100 ? "alt" : "", multipliers[multiplier],
			   value & 0x40 ? 'a' : 'u', value & 0x80 ? 'a' : 'u');
}

/* vtype of the matrix extension XSfmm: vsew, altfmt, and the widening factor in bits 9 and 10. */
static void put_widening_vtype(const struct context *context, const struct pesa_operand *operand)
{
	unsigned int value = operand->value;

	put_format(context->text, "e%u%s, w%u", 8u << (value >> 3 & 7), value & 0x100 ? "alt" : "",
		   1u << ((value >> 9 & 3) - 1));
}

/* Indexed by the 5 bits of the operand; NULL entries are printed by value. */
const char *const riscv_float_constants[32] = {
	"-1.0",
	"min",
	"1.52587890625e-05",
	"3.0517578125e-05",
	"0.00390625",
	"0.0078125",
	"0.0625",
	"0.125",
	"0.25",
	"0.3125",
	"0.375",
	"0.4375",
	"0.5",
	"0.625",
	"0.75",
	"0.875",
	"1.0",
	"1.25",
	"1.5",
	"1.75",
	"2.0",
	"2.5",
	"3.0",
	"4.0",
	"8.0",
	"16.0",
	"128.0",
	"256.0",
	"32768.0",
	"65536.0",
	"inf",
	"nan",
};

static void put_float(const struct context *context, const struct pesa_operand *operand)
{
	put(context->text, riscv_float_constants[operand->value & 31]);
}

/* Zcmp register lists: 4 is {ra}, 5 adds s0, 6 adds s1, ..., 14 adds s9, 15 adds s10 and s11. */
static void put_register_list(const struct context *context, const struct pesa_operand *operand)
{
	bool numeric = context->flags & PESA_PRINT_NUMERIC;
	unsigned int list = operand->value;
	unsigned int saved = list < 15 ? list - 4 : 12; /* number of s registers */

	put(context->text, numeric ? "{x1" : "{ra");
	if (saved == 1)
		put(context->text, numeric ? ", x8" : ", s0");
	else if (saved > 1 && !numeric)
		put_format(context->text, ", s0-s%u", saved - 1);
	else if (saved > 1)
		put(context->text, ", x8-x9");
	if (saved == 3 && numeric)
		put(context->text, ", x18");
	else if (saved > 3 && numeric)
		put_format(context->text, ", x18-x%u", 15 + saved);
	put(context->text, "}");
}

/* Stack size in bytes of a Zcmp register list, 16-byte aligned. */
int64_t riscv_list_bytes(unsigned int xlen, unsigned int list)
{
	unsigned int registers = list < 15 ? list - 3 : 13;

	return (registers * (xlen / 8) + 15) & ~15u;
}

static void put_stack(const struct context *context, const struct pesa_operand *operand)
{
	/* The register list is the first operand of every instruction that adjusts the stack. */
	put_format(context->text, "%" PRId64,
		   operand->value +
			   riscv_list_bytes(context->isa->xlen, context->insn->operand[0].value));
}

static void put_stack_negative(const struct context *context, const struct pesa_operand *operand)
{
	put(context->text, "-");
	put_stack(context, operand);
}

static void put_operand(const struct context *context, unsigned int index)
{
	static void (*const printers[])(const struct context *, const struct pesa_operand *) = {
		[PRINT_PLAIN] = put_plain,
		[PRINT_MEMORY] = put_memory,
		[PRINT_REGISTER_OFFSET] = put_register_offset,
		[PRINT_MASK] = put_mask,
		[PRINT_ROUNDING_MODE] = put_rounding_mode,
		[PRINT_ROUNDING_MODE_LEGACY] = put_rounding_mode_legacy,
		[PRINT_FENCE] = put_fence,
		[PRINT_CSR] = put_csr,
		[PRINT_VTYPE] = put_vtype,
		[PRINT_FLOAT] = put_float,
		[PRINT_REGISTER_LIST] = put_register_list,
		[PRINT_STACK] = put_stack,
		[PRINT_STACK_NEGATIVE] = put_stack_negative,
	};
	const struct riscv_operand *operand =
		&riscv_operands[riscv_opcodes[context->insn->opcode].first + index];

	printers[riscv_operand_types[operand->type].print](context, &context->insn->operand[index]);
}

/* "%N" is operand N; "%wN" is operand N as a vtype with widening factor. */
static void put_operands(const struct context *context, const char *format)
{
	for (; *format; format++) {
		char character[2] = {*format, 0};

		if (*format != '%') {
			put(context->text, character);
		} else if (format[1] == 'w') {
			put_widening_vtype(context, &context->insn->operand[format[2] - '0']);
			format += 2;
		} else {
			put_operand(context, *++format - '0');
		}
	}
}

size_t pesa_insn_print(const struct pesa_isa *isa, const struct pesa_insn *insn, uint64_t pc,
		       unsigned int flags, char *buffer, size_t size)
{
	struct text text = {buffer, size, 0};
	struct context context = {isa, insn, pc, flags, &text};
	const struct riscv_alias *alias = NULL;
	const char *mnemonic, *format;
	struct pesa_insn full;

	if (!(flags & PESA_PRINT_NO_ALIASES)) {
		if (riscv_expand(isa, insn, &full))
			context.insn = &full;
		alias = riscv_alias_find(isa, context.insn);
	}
	if (alias) {
		mnemonic = alias->mnemonic;
		format = alias->format;
	} else {
		mnemonic = riscv_opcodes[context.insn->opcode].public.mnemonic;
		format = riscv_formats[riscv_opcodes[context.insn->opcode].format];
	}
	put(&text, mnemonic);
	if (*format) {
		put(&text, "\t");
		put_operands(&context, format);
	}
	if (size)
		buffer[text.length < size ? text.length : size - 1] = '\0';
	return text.length;
}
