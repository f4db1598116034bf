/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Death of a signal. */
#ifndef TOOLS_VCORE_GUEST_DEATH_H
#define TOOLS_VCORE_GUEST_DEATH_H

/* Call `dies` when the emulator is about to end itself by a signal, on the thread that does it. */
void death_watch(void (*dies)(void));

#endif
