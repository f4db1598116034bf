// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kexec KERNEL WORDS: load another kernel (an ELF file), with this command line, and `kexec` alone:
 * become it.  The system goes down as for a restart: devices are shut down, processes are not.
 */
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int load(const char *path, const char *words)
{
	int kernel = open(path, O_RDONLY);

	if (kernel < 0) {
		perror(path);
		return 1;
	}
	if (syscall(SYS_kexec_file_load, kernel, -1, strlen(words) + 1, words,
		    KEXEC_FILE_NO_INITRAMFS)) {
		perror("the kernel cannot be loaded");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return load(argv[1], argv[2]);
	if (argc != 1) {
		fprintf(stderr, "usage: kexec [KERNEL WORDS]\n");
		return 2;
	}
	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	perror("the kernel cannot be started");
	return 1;
}
