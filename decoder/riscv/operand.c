/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing assembly operands: see operand.h. */
#include <ctype.h>
#include <string.h>

#include "decoder/riscv/operand.h"
#include "decoder/riscv/print.h"

/* ---- Tokens ---------------------------------------------------------------------------------- */

static void skip_blanks(struct riscv_cursor *cursor)
{
	while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
		cursor->at++;
}

bool riscv_take(struct riscv_cursor *cursor, char character)
{
	skip_blanks(cursor);
	if (cursor->at == cursor->end || *cursor->at != character)
		return false;
	cursor->at++;
	return true;
}

static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

size_t riscv_take_name(struct riscv_cursor *cursor, const char **name)
{
	const char *letter;

	skip_blanks(cursor);
	*name = letter = cursor->at;
	/* "$1" and ".5" are not names. */
	if (letter < cursor->end && *letter == '.')
		letter++;
	if (letter < cursor->end && (isdigit((unsigned char)*letter) || *letter == '$'))
		return 0;
	while (cursor->at < cursor->end && is_name_character(*cursor->at))
		cursor->at++;
	return cursor->at - *name;
}

static bool is_name(const char *name, size_t length, const char *expected)
{
	return strlen(expected) == length && !memcmp(name, expected, length);
}

/* Register names: a prefix and a number in a range that starts at the given register. */
static const struct {
	const char *prefix;
	uint8_t first, last, number;
} numbered_registers[] = {
	{"a", 0, 7, 10},  {"s", 0, 1, 8},
	{"s", 2, 11, 18}, {"t", 0, 2, 5},
	{"t", 3, 6, 28},  {"x", 0, 31, 0},
	{"v", 0, 31, 64}, {"fa", 0, 7, 42},
	{"fs", 0, 1, 40}, {"fs", 2, 11, 50},
	{"ft", 0, 7, 32}, {"ft", 8, 11, 60},
	{"f", 0, 31, 32}, {"mt", 0, 15, PESA_REGISTER_T0},
};

static const struct {
	const char *name;
	uint8_t number;
} named_registers[] = {
	{"zero", 0}, {"ra", 1}, {"sp", 2}, {"gp", 3}, {"tp", 4}, {"fp", 8},
};

/* A prefix and a number without a leading 0. */
static bool find_numbered(const char *name, size_t letters, size_t length, unsigned int *number)
{
	unsigned int value = 0;

	if (length - letters > 2 || (name[letters] == '0' && length - letters > 1))
		return false;
	for (size_t i = letters; i < length; i++) {
		if (!isdigit((unsigned char)name[i]))
			return false;
		value = value * 10 + (name[i] - '0');
	}
	for (size_t i = 0; i < sizeof(numbered_registers) / sizeof(*numbered_registers); i++)
		if (*numbered_registers[i].prefix == *name &&
		    value >= numbered_registers[i].first && value <= numbered_registers[i].last &&
		    is_name(name, letters, numbered_registers[i].prefix)) {
			*number =
				numbered_registers[i].number + value - numbered_registers[i].first;
			return true;
		}
	return false;
}

static bool find_register(const char *name, size_t length, unsigned int *number)
{
	size_t letters = 0;

	while (letters < length && isalpha((unsigned char)name[letters]))
		letters++;
	if (letters < length)
		return find_numbered(name, letters, length, number);
	for (size_t i = 0; i < sizeof(named_registers) / sizeof(*named_registers); i++)
		if (is_name(name, length, named_registers[i].name)) {
			*number = named_registers[i].number;
			return true;
		}
	return false;
}

bool pesa_is_register_name(const char *name, size_t length)
{
	unsigned int number;

	return find_register(name, length, &number);
}

bool riscv_take_register(struct riscv_cursor *cursor, unsigned int *number)
{
	const char *name;
	size_t length = riscv_take_name(cursor, &name);

	return length && find_register(name, length, number);
}

bool riscv_take_symbol(struct riscv_cursor *cursor, const char **symbol, size_t *length)
{
	*length = riscv_take_name(cursor, symbol);
	return *length && !pesa_is_register_name(*symbol, *length);
}

bool riscv_at_end(struct riscv_cursor *cursor)
{
	skip_blanks(cursor);
	return cursor->at == cursor->end;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* A leading 0 would be octal, and a letter after the digits another base or a label: both are
 * rejected. */
bool riscv_take_number(struct riscv_cursor *cursor, int64_t *value)
{
	bool negative = riscv_take(cursor, '-');
	uint64_t result = 0;
	int base = 10;
	const char *start;

	if (!negative)
		skip_blanks(cursor);
	if (cursor->end - cursor->at > 2 && cursor->at[0] == '0' && cursor->at[1] == 'x') {
		cursor->at += 2;
		base = 16;
	}
	for (start = cursor->at; cursor->at < cursor->end; cursor->at++) {
		int digit = digit_value(*cursor->at);

		if (digit >= base)
			break;
		if (result > (UINT64_C(1) << 58))
			return false;
		result = result * base + digit;
	}
	if (cursor->at == start || (base == 10 && *start == '0' && cursor->at - start > 1) ||
	    (cursor->at < cursor->end && is_name_character(*cursor->at)))
		return false;
	*value = negative ? -(int64_t)result : (int64_t)result;
	return true;
}

/* ---- Operands by how they are printed -------------------------------------------------------- */

static void set_value(struct riscv_reading *reading, unsigned int index, int64_t value)
{
	reading->values.value[index] = value;
	reading->values.known[index] = true;
}

static bool read_register(struct riscv_reading *reading, unsigned int index)
{
	unsigned int number;

	if (!riscv_take_register(&reading->cursor, &number) ||
	    (reading->isa->embedded && number >= 16 && number < PESA_REGISTER_F0))
		return false;
	set_value(reading, index, number);
	return true;
}

static bool read_number(struct riscv_reading *reading, unsigned int index)
{
	int64_t value;

	if (!riscv_take_number(&reading->cursor, &value))
		return false;
	set_value(reading, index, value);
	return true;
}

/* A target is a number of bytes, or a symbol. */
static bool read_target(struct riscv_reading *reading, unsigned int index)
{
	const struct riscv_cursor before = reading->cursor;

	if (riscv_take_symbol(&reading->cursor, &reading->symbol, &reading->symbol_length)) {
		reading->use = PESA_SYMBOL_TARGET;
		set_value(reading, index, 0);
		return true;
	}
	reading->symbol = NULL;
	reading->cursor = before;
	return read_number(reading, index);
}

/* "%lo(symbol)" or "%lo(symbol+4)": a number inserted by the linker, for this type of operand. */
static bool read_relocated(struct riscv_reading *reading, const struct riscv_operand *operand,
			   unsigned int index)
{
	static const struct {
		const char *name, *type;
		enum pesa_symbol_use use;
	} modifiers[] = {
		{"hi", "uimm20_lui", PESA_SYMBOL_ADDRESS},
		{"lo", "simm12_lo", PESA_SYMBOL_ADDRESS},
		{"pcrel_hi", "uimm20_auipc", PESA_SYMBOL_DISTANCE},
		{"pcrel_lo", "simm12_lo", PESA_SYMBOL_ITS_LOWER},
	};
	const char *type = riscv_operand_types[operand->type].name, *name;
	struct riscv_cursor *cursor = &reading->cursor;
	size_t length = riscv_take_name(cursor, &name);
	int64_t offset;

	for (size_t i = 0; i < sizeof(modifiers) / sizeof(*modifiers); i++) {
		if (!is_name(name, length, modifiers[i].name) || strcmp(type, modifiers[i].type))
			continue;
		reading->use = modifiers[i].use;
		set_value(reading, index, 0);
		if (!riscv_take(cursor, '(') ||
		    !riscv_take_symbol(cursor, &reading->symbol, &reading->symbol_length))
			return false;
		if (reading->use != PESA_SYMBOL_ITS_LOWER && riscv_take(cursor, '+') &&
		    (!riscv_take_number(cursor, &offset) || offset < 0 || offset > INT32_MAX))
			return false;
		return riscv_take(cursor, ')');
	}
	return false;
}

static bool read_plain(struct riscv_reading *reading, const struct riscv_operand *operand,
		       unsigned int index)
{
	if (operand->kind == PESA_OPERAND_REGISTER)
		return read_register(reading, index);
	if (operand->kind == PESA_OPERAND_TARGET)
		return read_target(reading, index);
	if (riscv_take(&reading->cursor, '%'))
		return read_relocated(reading, operand, index);
	return read_number(reading, index);
}

/* "(reg)" or the equivalent "0(reg)". */
static bool read_memory(struct riscv_reading *reading, const struct riscv_operand *operand,
			unsigned int index)
{
	int64_t zero;

	(void)operand;
	if (!riscv_take(&reading->cursor, '(') && (!riscv_take_number(&reading->cursor, &zero) ||
						   zero || !riscv_take(&reading->cursor, '(')))
		return false;
	return read_register(reading, index) && riscv_take(&reading->cursor, ')');
}

static bool read_register_offset(struct riscv_reading *reading, const struct riscv_operand *operand,
				 unsigned int index)
{
	(void)operand;
	return read_register(reading, index + 1) && riscv_take(&reading->cursor, '(') &&
	       read_register(reading, index) && riscv_take(&reading->cursor, ')');
}

/* ", v0.t" or nothing. */
static bool read_mask(struct riscv_reading *reading, const struct riscv_operand *operand,
		      unsigned int index)
{
	const char *name;
	size_t length;

	(void)operand;
	set_value(reading, index, PESA_REGISTER_NONE);
	if (!riscv_take(&reading->cursor, ','))
		return true;
	length = riscv_take_name(&reading->cursor, &name);
	set_value(reading, index, PESA_REGISTER_V0);
	return is_name(name, length, "v0.t");
}

static bool read_rounding(struct riscv_reading *reading, unsigned int index, int64_t usual)
{
	const char *name;
	size_t length;

	set_value(reading, index, usual);
	if (!riscv_take(&reading->cursor, ','))
		return true;
	length = riscv_take_name(&reading->cursor, &name);
	for (unsigned int i = 0; length && i < 8; i++)
		if (is_name(name, length, riscv_rounding_modes[i])) {
			set_value(reading, index, i);
			return true;
		}
	return false;
}

static bool read_rounding_mode(struct riscv_reading *reading, const struct riscv_operand *operand,
			       unsigned int index)
{
	(void)operand;
	return read_rounding(reading, index, 7);
}

static bool read_rounding_mode_legacy(struct riscv_reading *reading,
				      const struct riscv_operand *operand, unsigned int index)
{
	(void)operand;
	return read_rounding(reading, index, 0);
}

/* A subset of the letters i, o, r and w, in this order, or 0. */
static bool read_fence(struct riscv_reading *reading, const struct riscv_operand *operand,
		       unsigned int index)
{
	static const char letters[] = "iorw";
	const char *name, *letter = letters;
	size_t length = riscv_take_name(&reading->cursor, &name);
	int64_t value = 0;

	(void)operand;
	if (!length)
		return riscv_take_number(&reading->cursor, &value) && !value &&
		       (set_value(reading, index, 0), true);
	for (size_t i = 0; i < length; i++) {
		letter = *letter ? strchr(letter, name[i]) : NULL;
		if (!letter)
			return false;
		value |= 8 >> (letter - letters);
		letter++;
	}
	set_value(reading, index, value);
	return true;
}

static bool read_csr(struct riscv_reading *reading, const struct riscv_operand *operand,
		     unsigned int index)
{
	const char *name;
	size_t length = riscv_take_name(&reading->cursor, &name);

	(void)operand;
	if (!length)
		return read_number(reading, index);
	for (unsigned int i = 0; i < riscv_csr_count; i++)
		if (reading->isa->conditions[riscv_csrs[i].condition] &&
		    is_name(name, length, riscv_csrs[i].name)) {
			set_value(reading, index, riscv_csrs[i].number);
			return true;
		}
	return false;
}

/* Index of the next name in a list; all but the first follow a comma. */
static bool take_choice(struct riscv_cursor *cursor, const char *const *choices, unsigned int count,
			bool comma, unsigned int *chosen)
{
	const char *name;
	size_t length;

	if (comma && !riscv_take(cursor, ','))
		return false;
	length = riscv_take_name(cursor, &name);
	for (*chosen = 0; length && *chosen < count; ++*chosen)
		if (is_name(name, length, choices[*chosen]))
			return true;
	return false;
}

/* "e32, m1, ta, ma", or a number. */
static bool read_vtype(struct riscv_reading *reading, const struct riscv_operand *operand,
		       unsigned int index)
{
	static const char *const widths[] = {"e8", "e16", "e32", "e64", "e8alt", "e16alt"};
	static const char *const multipliers[] = {"m1", "m2", "m4", "m8", "-", "mf8", "mf4", "mf2"};
	static const char *const tails[] = {"tu", "ta"}, *const masks[] = {"mu", "ma"};
	struct riscv_cursor before = reading->cursor;
	unsigned int width, multiplier, tail, mask;

	(void)operand;
	if (riscv_take_number(&reading->cursor, &reading->values.value[index])) {
		reading->values.known[index] = true;
		return true;
	}
	reading->cursor = before;
	if (!take_choice(&reading->cursor, widths, reading->isa->alternate_format ? 6 : 4, false,
			 &width) ||
	    !take_choice(&reading->cursor, multipliers, 8, true, &multiplier) ||
	    !take_choice(&reading->cursor, tails, 2, true, &tail) ||
	    !take_choice(&reading->cursor, masks, 2, true, &mask))
		return false;
	set_value(reading, index,
		  multiplier | (width & 3) << 3 | tail << 6 | mask << 7 | width >> 2 << 8);
	return true;
}

/* vtype of XSfmm: "e16alt, w2"; only the widths allowed by the factor. */
static bool read_widening_vtype(struct riscv_reading *reading, unsigned int index)
{
	static const char *const widths[] = {"e8",    "e16",	"e32",	  "e64",
					     "e8alt", "e16alt", "e32alt", "e64alt"};
	static const char *const factors[] = {"w1", "w2", "w4"};
	unsigned int width, factor;

	if (!take_choice(&reading->cursor, widths, 8, false, &width) ||
	    !take_choice(&reading->cursor, factors, 3, true, &factor))
		return false;
	set_value(reading, index, (width & 3) << 3 | width >> 2 << 8 | (factor + 1) << 9);
	return true;
}

/* A constant of fli, in its printed form. */
static bool read_float(struct riscv_reading *reading, const struct riscv_operand *operand,
		       unsigned int index)
{
	struct riscv_cursor *cursor = &reading->cursor;

	(void)operand;
	skip_blanks(cursor);
	for (unsigned int i = 0; i < 32; i++)
		if (is_name(cursor->at, cursor->end - cursor->at, riscv_float_constants[i])) {
			cursor->at = cursor->end;
			set_value(reading, index, i);
			return true;
		}
	return false;
}

/* Index of a register among the saved ones s0, s1, ..., s11; 12: not one of them. */
static unsigned int saved_place(unsigned int number)
{
	if (number == 8 || number == 9)
		return number - 8;
	return number >= 18 && number <= 27 ? number - 16 : 12;
}

/* A separator, then a saved register, in the same notation (number or name) as the rest of the
 * list. */
static bool take_saved(struct riscv_cursor *cursor, char before, bool numbers, unsigned int *place)
{
	const struct riscv_cursor start = *cursor;
	unsigned int number;

	if (riscv_take(cursor, before)) {
		skip_blanks(cursor);
		if (cursor->at < cursor->end && (*cursor->at == 'x') == numbers &&
		    riscv_take_register(cursor, &number)) {
			*place = saved_place(number);
			return true;
		}
	}
	*cursor = start;
	return false;
}

/* "{ra}", "{ra, s0}", "{ra, s0-sN}"; with numbers, "{x1, x8-x9, x18-xN}". */
static bool read_register_list(struct riscv_reading *reading, const struct riscv_operand *operand,
			       unsigned int index)
{
	struct riscv_cursor *cursor = &reading->cursor;
	unsigned int number, place, saved = 0;
	bool numbers;

	(void)operand;
	if (!riscv_take(cursor, '{'))
		return false;
	skip_blanks(cursor);
	numbers = cursor->at < cursor->end && *cursor->at == 'x';
	if (!riscv_take_register(cursor, &number) || number != 1)
		return false;
	if (take_saved(cursor, ',', numbers, &place)) {
		if (place)
			return false;
		saved = 1;
		if (take_saved(cursor, '-', numbers, &place)) {
			if (!place || (numbers && place != 1))
				return false;
			saved = place + 1;
			if (numbers && take_saved(cursor, ',', numbers, &place)) {
				if (place != 2)
					return false;
				saved = 3;
				if (take_saved(cursor, '-', numbers, &place)) {
					if (place < 3)
						return false;
					saved = place + 1;
				}
			}
		}
	}
	/* No list ends with s10. */
	if (saved > 12 || saved == 11 || !riscv_take(cursor, '}'))
		return false;
	set_value(reading, index, saved == 12 ? 15 : 4 + saved);
	return true;
}

/* Stack adjustment: the size of the registers, plus up to three times 16 bytes. */
static bool read_stack_by(struct riscv_reading *reading, unsigned int index, int sign)
{
	int64_t value, least;

	if (!reading->values.known[0] || !riscv_take_number(&reading->cursor, &value))
		return false;
	least = riscv_list_bytes(reading->isa->xlen, reading->values.value[0]);
	value = sign * value - least;
	set_value(reading, index, value);
	return value >= 0 && value <= 48;
}

static bool read_stack(struct riscv_reading *reading, const struct riscv_operand *operand,
		       unsigned int index)
{
	(void)operand;
	return read_stack_by(reading, index, 1);
}

static bool read_stack_negative(struct riscv_reading *reading, const struct riscv_operand *operand,
				unsigned int index)
{
	(void)operand;
	return read_stack_by(reading, index, -1);
}

static bool read_operand(struct riscv_reading *reading, unsigned int opcode, unsigned int index)
{
	static bool (*const readers[])(struct riscv_reading *, const struct riscv_operand *,
				       unsigned int) = {
		[PRINT_PLAIN] = read_plain,
		[PRINT_MEMORY] = read_memory,
		[PRINT_REGISTER_OFFSET] = read_register_offset,
		[PRINT_MASK] = read_mask,
		[PRINT_ROUNDING_MODE] = read_rounding_mode,
		[PRINT_ROUNDING_MODE_LEGACY] = read_rounding_mode_legacy,
		[PRINT_FENCE] = read_fence,
		[PRINT_CSR] = read_csr,
		[PRINT_VTYPE] = read_vtype,
		[PRINT_FLOAT] = read_float,
		[PRINT_REGISTER_LIST] = read_register_list,
		[PRINT_STACK] = read_stack,
		[PRINT_STACK_NEGATIVE] = read_stack_negative,
	};
	const struct riscv_operand *operand = &riscv_operands[riscv_opcodes[opcode].first + index];

	return readers[riscv_operand_types[operand->type].print](reading, operand, index);
}

bool riscv_read_operands(struct riscv_reading *reading, unsigned int opcode, const char *format)
{
	for (; *format; format++) {
		if (*format == ' ')
			continue;
		if (*format != '%') {
			if (!riscv_take(&reading->cursor, *format))
				return false;
		} else if (format[1] == 'w') {
			if (!read_widening_vtype(reading, format[2] - '0'))
				return false;
			format += 2;
		} else if (!read_operand(reading, opcode, *++format - '0')) {
			return false;
		}
	}
	return riscv_at_end(&reading->cursor);
}
