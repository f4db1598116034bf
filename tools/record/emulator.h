/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the emulator that runs the virtual core, and the virtual core's file for it.
 *
 * The emulator is QEMU's qemu-riscv64, and the virtual core one of its plugins.  Distributions build
 * qemu-riscv64 with plugins (Debian 12) or, linked statically, without them (Debian 13): then
 * tools/emulator builds one.  Both are asked of the emulator itself, before anything is recorded.
 */
#ifndef TOOLS_RECORD_EMULATOR_H
#define TOOLS_RECORD_EMULATOR_H

#include <limits.h>

#include "pesa/error.h"

/*
 * Find the emulator, which is the first that exists of: what PESA_QEMU names, qemu-riscv64 beside
 * pesa's other files, qemu-riscv64 in PATH; and the plugin for its version.  Fails if it has no
 * plugins or is too old; the message says what to do.
 */
struct pesa_error *emulator_find(char emulator[PATH_MAX], char plugin[PATH_MAX]);

#endif
