/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an emulator told a plugin, as a file of 64-bit words that record.c writes and replay.c tells
 * another plugin.
 *
 * The two lowest bits say what a word is.  A block that was translated: the number of its
 * instructions, behind which each has two words, its address, and its bytes with their number above
 * them.  An instruction that is executed: the how-manieth of all that were translated.  An access
 * that it makes: its address, with the log2 of its size and whether it is a store.
 */
#ifndef TESTS_BENCH_REPLAY_TRACE_H
#define TESTS_BENCH_REPLAY_TRACE_H

#define TRACE_KIND    3u
#define TRACE_EXECUTE 0u
#define TRACE_ACCESS  1u
#define TRACE_BLOCK   2u
#define TRACE_SHIFT   2 /* of numbers */

#define TRACE_STORE	    4u
#define TRACE_SIZE_SHIFT    3
#define TRACE_SIZE_MASK	    7u
#define TRACE_ADDRESS_SHIFT 8
#define TRACE_LENGTH_SHIFT  32

#endif
