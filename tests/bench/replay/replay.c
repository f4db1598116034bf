// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for the emulator (PESA_QEMU): it has the plugin interface and tells the plugin what the
 * file REPLAY_FILE says that an emulator reported (record.c), without emulating anything.  So a tool
 * that counts instructions of the host can run it, and counts the same each time.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/bench/replay/trace.h"
#include "tools/vcore/guest/qemu_plugin.h"

struct qemu_plugin_insn {
	uint64_t address;
	uint8_t *bytes;
	qemu_plugin_insn_callback on_insn;
	void *on_insn_data;
	qemu_plugin_mem_callback on_access;
	void *on_access_data;
};

struct qemu_plugin_tb {
	size_t count;
	struct qemu_plugin_insn *insn;
};

/* The interface has no place for a context. */
static qemu_plugin_vcpu_callback on_begin;
static qemu_plugin_tb_callback on_block;
static qemu_plugin_end_callback on_end;
static struct qemu_plugin_insn **insns; /* by number */
static size_t insn_count, insn_room;

#define INTERFACE __attribute__((visibility("default"), noinline))

INTERFACE void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id,
						 qemu_plugin_vcpu_callback callback)
{
	(void)id;
	on_begin = callback;
}

INTERFACE void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id,
						 qemu_plugin_vcpu_callback callback)
{
	(void)id, (void)callback;
}

INTERFACE void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
						     qemu_plugin_tb_callback callback)
{
	(void)id;
	on_block = callback;
}

INTERFACE void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
					      qemu_plugin_end_callback callback, void *data)
{
	(void)id, (void)data;
	on_end = callback;
}

INTERFACE void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
						    qemu_plugin_syscall_callback callback)
{
	(void)id, (void)callback;
}

INTERFACE void
qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
					 qemu_plugin_syscall_return_callback callback)
{
	(void)id, (void)callback;
}

INTERFACE void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
						      qemu_plugin_insn_callback callback,
						      enum qemu_plugin_cb_flags flags, void *data)
{
	(void)flags;
	insn->on_insn = callback;
	insn->on_insn_data = data;
}

INTERFACE void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
						    qemu_plugin_insn_callback callback,
						    enum qemu_plugin_cb_flags flags, void *data)
{
	(void)block, (void)callback, (void)flags, (void)data;
	fprintf(stderr, "replay: callbacks of blocks are not replayed\n");
	exit(1);
}

INTERFACE void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
						qemu_plugin_mem_callback callback,
						enum qemu_plugin_cb_flags flags,
						enum qemu_plugin_mem_rw which, void *data)
{
	(void)flags, (void)which;
	insn->on_access = callback;
	insn->on_access_data = data;
}

INTERFACE size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block)
{
	return block->count;
}

INTERFACE struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block,
							   size_t index)
{
	return &block->insn[index];
}

INTERFACE uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return insn->address;
}

INTERFACE void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn)
{
	return insn->bytes;
}

INTERFACE unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info)
{
	return info >> TRACE_SHIFT_SHIFT & TRACE_SHIFT_MASK;
}

INTERFACE bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
	return info & TRACE_STORE;
}

/* The board's part of the plugin, which needs these, is never used here. */
INTERFACE struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info,
							    uint64_t address)
{
	(void)info, (void)address;
	return NULL;
}

INTERFACE uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *place)
{
	(void)place;
	return 0;
}

INTERFACE const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn)
{
	return insn->bytes;
}

INTERFACE size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	return (insn->bytes[0] & 3) == 3 ? 4 : 2;
}

INTERFACE void qemu_plugin_outs(const char *string)
{
	fputs(string, stderr);
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory)
		return memory;
	fprintf(stderr, "replay: out of memory\n");
	exit(1);
}

static void add_insn(struct qemu_plugin_insn *insn)
{
	if (insn_count == insn_room) {
		insn_room = insn_room ? 2 * insn_room : 4096;
		insns = realloc(insns, insn_room * sizeof(insns[0]));
		if (!insns) {
			fprintf(stderr, "replay: out of memory\n");
			exit(1);
		}
	}
	insns[insn_count++] = insn;
}

/* `word`: behind the block's own.  Returns the first that is not of it. */
static const uint64_t *replay_block(const uint64_t *word, size_t count)
{
	struct qemu_plugin_tb block = {count, allocate(count, sizeof(block.insn[0]))};
	uint64_t first = word[0], last = word[2 * (count - 1)];
	uint8_t *bytes = allocate(last - first + 16, 1);

	for (size_t i = 0; i < count; i++, word += 2) {
		uint32_t bits = (uint32_t)word[1];

		block.insn[i].address = word[0];
		block.insn[i].bytes = bytes + (word[0] - first);
		memcpy(block.insn[i].bytes, &bits, word[1] >> REPLAY_LENGTH_SHIFT);
		add_insn(&block.insn[i]);
	}
	on_block(1, &block);
	return word;
}

static void replay(const uint64_t *word, const uint64_t *end)
{
	const struct qemu_plugin_insn *now = NULL;
	bool begun = false; /* what was recorded may begin inside a block */

	on_begin(1, 0);
	while (word < end) {
		uint64_t is = *word++;

		if (is & TRACE_ACCESS) {
			if (begun && now->on_access)
				now->on_access(0, (qemu_plugin_meminfo_t)(is & 0xff),
					       is >> TRACE_ADDRESS_SHIFT, now->on_access_data);
		} else if (is & REPLAY_BLOCK) {
			word = replay_block(word, is >> REPLAY_NUMBER_SHIFT);
		} else {
			now = insns[is >> REPLAY_NUMBER_SHIFT];
			begun |= now->on_insn != NULL;
			if (now->on_insn)
				now->on_insn(0, now->on_insn_data);
		}
	}
	on_end(1, NULL);
}

/* The plugin `specification` names, with its options. */
static void load(char *specification)
{
	int (*install)(qemu_plugin_id_t, const qemu_info_t *, int, char **);
	const qemu_info_t info = {.target_name = "riscv64", .version = {1, 1}};
	char *option[16];
	int options = 0;
	void *plugin;

	for (char *at = strtok(specification, ","); at && options < 16; at = strtok(NULL, ","))
		option[options++] = at;
	plugin = options ? dlopen(option[0], RTLD_NOW) : NULL;
	*(void **)&install = plugin ? dlsym(plugin, "qemu_plugin_install") : NULL;
	if (!install) {
		fprintf(stderr, "replay: no plugin: %s\n", dlerror());
		exit(1);
	}
	if (install(1, &info, options - 1, option + 1))
		exit(1);
}

int main(int argc, char **argv)
{
	const char *file = getenv("REPLAY_FILE");
	char *specification = NULL;
	struct stat status;
	const uint64_t *words;
	int descriptor;

	if (argc > 1 && strstr(argv[1], "version")) {
		puts("qemu-riscv64 version 7.2.0");
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "-h")) {
		puts("usage: replay\n-plugin file");
		return 0;
	}
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], "-plugin"))
			specification = argv[i + 1];
	descriptor = file ? open(file, O_RDONLY) : -1;
	if (!specification || descriptor < 0 || fstat(descriptor, &status)) {
		fprintf(stderr, "replay: started by tests/bench/replay/count\n");
		return 1;
	}
	words = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (words == MAP_FAILED) {
		perror(file);
		return 1;
	}
	load(specification);
	replay(words, words + (size_t)status.st_size / sizeof(*words));
	return 0;
}
