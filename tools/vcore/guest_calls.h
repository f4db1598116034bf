/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's system calls that the virtual core has to know, with their flags: the generic table
 * of Linux, as RISC-V uses it. */
#ifndef TOOLS_VCORE_GUEST_CALLS_H
#define TOOLS_VCORE_GUEST_CALLS_H

enum {
	CALL_EXIT = 93,
	CALL_EXIT_GROUP = 94,
	CALL_SET_TID_ADDRESS = 96,
	CALL_FUTEX = 98,
	CALL_PRCTL = 167,
	CALL_MUNMAP = 215,
	CALL_MREMAP = 216,
	CALL_CLONE = 220,
	CALL_EXECVE = 221,
	CALL_MMAP = 222,
	CALL_CLONE3 = 435,
};

#define GUEST_CLONE_VM		0x100
#define GUEST_CLONE_VFORK	0x4000
#define GUEST_CLONE_CHILD_CLEAR 0x200000
#define GUEST_MAP_FIXED		0x10
#define GUEST_PR_SET_NAME	15

#endif
