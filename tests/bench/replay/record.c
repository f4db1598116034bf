// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin of the emulator (interface version 1) that writes what it is asked to the file
 * REPLAY_FILE: blocks from the beginning on, executions of REPLAY_COUNT instructions behind the
 * first REPLAY_SKIP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/replay/trace.h"
#include "tools/vcore/guest/qemu_plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_API;

static FILE *out;
static uint64_t translated, executed, begin, end;

static void write_word(uint64_t word)
{
	if (fwrite(&word, sizeof(word), 1, out) != 1) {
		perror("replay: cannot write");
		exit(1);
	}
}

static bool is_wanted(void)
{
	return executed > begin && executed <= end;
}

static void on_insn(unsigned int index, void *number)
{
	(void)index;
	executed++;
	if (is_wanted())
		write_word((uint64_t)(uintptr_t)number << REPLAY_NUMBER_SHIFT);
}

static void on_access(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address,
		      void *unused)
{
	(void)index, (void)unused;
	if (is_wanted())
		write_word(trace_access(address, qemu_plugin_mem_size_shift(info),
					qemu_plugin_mem_is_store(info)));
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t count = qemu_plugin_tb_n_insns(block);

	(void)id;
	if (executed > end)
		return;
	write_word((uint64_t)count << REPLAY_NUMBER_SHIFT | REPLAY_BLOCK);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
		size_t length = qemu_plugin_insn_size(insn);
		uint32_t bits = 0;

		memcpy(&bits, qemu_plugin_insn_data(insn), length);
		write_word(qemu_plugin_insn_vaddr(insn));
		write_word((uint64_t)length << REPLAY_LENGTH_SHIFT | bits);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_insn, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)translated++);
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	}
}

static void on_end(qemu_plugin_id_t id, void *unused)
{
	(void)id, (void)unused;
	if (fclose(out)) {
		perror("replay: cannot write");
		exit(1);
	}
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	const char *file = getenv("REPLAY_FILE"), *skip = getenv("REPLAY_SKIP");
	const char *count = getenv("REPLAY_COUNT");

	(void)info, (void)argc, (void)argv;
	if (!file || !skip || !count)
		return 1;
	out = fopen(file, "w");
	if (!out) {
		perror(file);
		return 1;
	}
	begin = strtoull(skip, NULL, 10);
	end = begin + strtoull(count, NULL, 10);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
