/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports that the emulator is about to die of a signal; see death.c. */
#ifndef TOOLS_VCORE_GUEST_DEATH_H
#define TOOLS_VCORE_GUEST_DEATH_H

/*
 * Call `dies` when the emulator is about to end itself with a signal, on the thread that does it.
 */
void death_watch(void (*dies)(void));

#endif
