/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bare programs: they run on the board in the place of the firmware, in M-mode on hart 0, and report
 * TAP over the serial line.
 */
#ifndef PESA_BARE_H
#define PESA_BARE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define csr_read(csr)                                                                 \
	({                                                                            \
		unsigned long value_;                                                 \
		__asm__ volatile("csrr %0, %1" : "=r"(value_) : "i"(csr) : "memory"); \
		value_;                                                               \
	})
#define csr_write(csr, value) \
	__asm__ volatile("csrw %0, %1" : : "i"(csr), "r"((unsigned long)(value)) : "memory")
#define csr_set(csr, value) \
	__asm__ volatile("csrs %0, %1" : : "i"(csr), "r"((unsigned long)(value)) : "memory")
#define csr_clear(csr, value) \
	__asm__ volatile("csrc %0, %1" : : "i"(csr), "r"((unsigned long)(value)) : "memory")

#define MSTATUS_MPP_SHIFT 11
#define MSTATUS_MPV	  (1ul << 39)
enum bare_mode { MODE_U = 0, MODE_S = 1, MODE_VS = 2 | 1 << 4, MODE_M = 3 };

/* mcause of what ends a function that bare_run() started */
#define CAUSE_ILLEGAL		  2
#define CAUSE_ECALL_S		  9
#define CAUSE_ECALL_VS		  10
#define CAUSE_VIRTUAL_INSTRUCTION 22

struct bare_outcome {
	unsigned long cause, value;
};

typedef void (*bare_function)(unsigned long argument);

struct bare_outcome bare_run(unsigned long mstatus, bare_function function, unsigned long argument);
void bare_exit(unsigned long status) __attribute__((noreturn));
unsigned long bare_main(void);

/* What the second hart, where there is one, begins with, in M-mode.  Only one hart at a time may be
 * in a function that bare_run() started. */
extern void (*volatile bare_other)(void);

/* Last act of a function that bare_run() started. */
static inline void bare_return(unsigned long value)
{
	register unsigned long a0 __asm__("a0") = value;

	__asm__ volatile("ecall" : : "r"(a0) : "memory");
	__builtin_unreachable();
}

static inline struct bare_outcome bare_run_in(enum bare_mode mode, bare_function function,
					      unsigned long argument)
{
	unsigned long status = csr_read(0x300) & ~(3ul << MSTATUS_MPP_SHIFT) & ~MSTATUS_MPV;

	status |= (mode == MODE_VS ? 1ul : (unsigned long)mode) << MSTATUS_MPP_SHIFT;
	if (mode == MODE_VS)
		status |= MSTATUS_MPV;
	return bare_run(status, function, argument);
}

static inline void bare_put(char character)
{
	*(volatile uint8_t *)0x10000000 = (uint8_t)character;
}

static inline void bare_text(const char *text)
{
	while (*text)
		bare_put(*text++);
}

static inline void bare_number(unsigned long number, unsigned int base)
{
	char digits[24];
	unsigned int count = 0;

	do {
		digits[count++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	while (count)
		bare_put(digits[--count]);
}

/* One line; %s, %u (unsigned long, decimal) and %x only. */
static inline void bare_print(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	for (; *format; format++) {
		if (*format != '%') {
			bare_put(*format);
			continue;
		}
		switch (*++format) {
		case 's':
			bare_text(va_arg(arguments, const char *));
			break;
		case 'u':
			bare_number(va_arg(arguments, unsigned long), 10);
			break;
		default:
			bare_text("0x");
			bare_number(va_arg(arguments, unsigned long), 16);
		}
	}
	va_end(arguments);
	bare_put('\n');
}

#endif
