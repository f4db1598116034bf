/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linked with --wrap=_exit into the programs that tests/coverage/run builds: _exit() runs no function that
 * libgcov registered, and the counts of a child process would be lost.
 */
#include <unistd.h>

void __gcov_dump(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
