/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's plugin interface that the virtual core uses.
 *
 * It is declared here because distributions do not package the header.  Interface version 1 is that
 * of QEMU 7.2; version 2 and later are those of QEMU 9 and newer.  In user mode the plugin uses
 * only functions whose signature is the same in all versions.  (That excludes
 * qemu_plugin_insn_data(): instruction bytes are read from memory.)
 */
#ifndef TOOLS_VCORE_GUEST_QEMU_PLUGIN_H
#define TOOLS_VCORE_GUEST_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

typedef struct {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
	QEMU_PLUGIN_CB_R_REGS,
	QEMU_PLUGIN_CB_RW_REGS,
};

enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_R = 1,
	QEMU_PLUGIN_MEM_W,
	QEMU_PLUGIN_MEM_RW,
};

#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))

/* provided by the plugin */
extern QEMU_PLUGIN_EXPORT int qemu_plugin_version;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv);

/* provided by the emulator */
typedef void (*qemu_plugin_vcpu_callback)(qemu_plugin_id_t id, unsigned int vcpu_index);
typedef void (*qemu_plugin_end_callback)(qemu_plugin_id_t id, void *userdata);
typedef void (*qemu_plugin_tb_callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_insn_callback)(unsigned int vcpu_index, void *userdata);
typedef void (*qemu_plugin_mem_callback)(unsigned int vcpu_index, qemu_plugin_meminfo_t info,
					 uint64_t vaddr, void *userdata);
typedef void (*qemu_plugin_syscall_callback)(qemu_plugin_id_t id, unsigned int vcpu_index,
					     int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
					     uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
					     uint64_t a8);
typedef void (*qemu_plugin_syscall_return_callback)(qemu_plugin_id_t id, unsigned int vcpu_index,
						    int64_t number, int64_t result);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_callback callback);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_callback callback);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_callback callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_end_callback callback,
				    void *userdata);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
					  qemu_plugin_syscall_callback callback);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
					      qemu_plugin_syscall_return_callback callback);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    qemu_plugin_insn_callback callback,
					    enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  qemu_plugin_insn_callback callback,
					  enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      qemu_plugin_mem_callback callback,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
#if QEMU_PLUGIN_API == 1
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *bytes, size_t size);
#endif
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *place);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
void qemu_plugin_outs(const char *string);

/*
 * The guest's registers, which version 1 does not have: weak, so that the plugin can be loaded and
 * say so.  The arrays are GLib's, which the emulator is linked to.
 */
typedef struct {
	char *data;
	unsigned int len;
} GArray;
typedef struct {
	uint8_t *data;
	unsigned int len;
} GByteArray;
/* Newer versions append members. */
typedef struct {
	void *handle;
	const char *name, *feature;
} qemu_plugin_reg_descriptor;
#define QEMU_PLUGIN_OPTIONAL __attribute__((weak))

QEMU_PLUGIN_OPTIONAL GArray *qemu_plugin_get_registers(void);
QEMU_PLUGIN_OPTIONAL int qemu_plugin_read_register(void *handle, GByteArray *bytes);
QEMU_PLUGIN_OPTIONAL GByteArray *g_byte_array_new(void);
QEMU_PLUGIN_OPTIONAL GByteArray *g_byte_array_set_size(GByteArray *array, unsigned int size);
QEMU_PLUGIN_OPTIONAL unsigned int g_array_get_element_size(GArray *array);
QEMU_PLUGIN_OPTIONAL char *g_array_free(GArray *array, int free_segment);

#endif
