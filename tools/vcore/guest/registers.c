// SPDX-License-Identifier: GPL-2.0-or-later
/* The guest's integer registers: see registers.h. */
#include <string.h>

#include "tools/vcore/guest/qemu_plugin.h"
#include "tools/vcore/guest/registers.h"

bool registers_are_shown(void)
{
	return qemu_plugin_get_registers && qemu_plugin_read_register && g_byte_array_new &&
	       g_byte_array_set_size && g_array_get_element_size && g_array_free;
}

/* The names that the emulator's description for debuggers has, by PERF_REG_RISCV_*. */
static int register_of(const char *name)
{
	static const char *const names[VCORE_REGISTERS] = {
		"pc", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "fp", "s1", "a0",
		"a1", "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
		"s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
	};

	for (int i = 1; i < VCORE_REGISTERS; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

/* The descriptors may become longer, so their size is asked for. */
static void look_up(struct registers *registers)
{
	GArray *array = qemu_plugin_get_registers();

	if (!array)
		return;
	for (unsigned int i = 0; i < array->len; i++) {
		const qemu_plugin_reg_descriptor *one =
			(const void *)(array->data + (size_t)i * g_array_get_element_size(array));
		int number = one->name ? register_of(one->name) : -1;

		if (number > 0)
			registers->handle[number] = one->handle;
	}
	g_array_free(array, 1);
	registers->bytes = g_byte_array_new();
}

bool registers_read(struct registers *registers, uint32_t wanted, uint64_t *value)
{
	GByteArray *bytes;

	if (!registers->bytes)
		look_up(registers);
	bytes = registers->bytes;
	if (!bytes)
		return false;
	for (wanted &= ~1u; wanted; wanted &= wanted - 1) {
		int number = __builtin_ctz(wanted);

		g_byte_array_set_size(bytes, 0);
		if (!registers->handle[number] ||
		    qemu_plugin_read_register(registers->handle[number], bytes) < 0 ||
		    bytes->len != sizeof(*value))
			return false;
		memcpy(&value[number], bytes->data, sizeof(*value));
	}
	return true;
}
