/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of the program that the emulator runs, as the emulator was given it.
 *
 * QEMU has a function for this, qemu_plugin_path_to_binary(); in some builds of version 10 it is not
 * among those that plugins can use, and a plugin that needs it is not loaded.
 */
#ifndef TOOLS_VCORE_GUEST_OWN_PROGRAM_H
#define TOOLS_VCORE_GUEST_OWN_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Returns false, and an empty path, if the emulator's arguments cannot be read. */
bool own_program_path(char path[PATH_MAX]);

#endif
