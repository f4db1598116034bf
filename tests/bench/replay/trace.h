/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an emulator reported a plugin, as a file of 64-bit words that record.c writes and replay.c tells
 * another plugin.
 *
 * An access is a word as in the virtual core's own traces (trace_access()).  A block that was
 * translated: the number of its instructions, behind which each has two words, its address, and its
 * bytes with their number above them.  An instruction that is executed: its number among all that
 * were translated.
 */
#ifndef TESTS_BENCH_REPLAY_TRACE_H
#define TESTS_BENCH_REPLAY_TRACE_H

#include "tools/vcore/core/step.h"

/* Of what is no access: */
#define REPLAY_BLOCK	    2u
#define REPLAY_NUMBER_SHIFT 2
#define REPLAY_LENGTH_SHIFT 32

#endif
