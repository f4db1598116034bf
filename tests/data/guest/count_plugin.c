// SPDX-License-Identifier: GPL-2.0-or-later
/* An oracle: counts the instructions that plain QEMU begins, one number for each process that
 * exits, appended to the file that the plugin argument out= names. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/vcore/guest/qemu_plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_API;

static unsigned long count;
static char path[4096];

static void on_insn(unsigned int index, void *unused)
{
	(void)index, (void)unused;
	__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i), on_insn,
						       QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void on_exit_of_process(qemu_plugin_id_t id, void *unused)
{
	char line[32];
	int length = snprintf(line, sizeof(line), "%lu\n", count);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)id, (void)unused;
	if (fd < 0 || write(fd, line, (size_t)length) != length)
		_exit(125);
	close(fd);
}

static void after_fork_in_child(void)
{
	count = 0;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			snprintf(path, sizeof(path), "%s", argv[i] + 4);
	pthread_atfork(NULL, NULL, after_fork_in_child);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_process, NULL);
	return 0;
}
