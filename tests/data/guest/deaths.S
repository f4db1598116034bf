/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that die of a signal: of 2 TURNS + 2 instructions and those of the end, which DEATH
 * names.  The comments count the latter; an instruction that faults does not retire.
 */
#define LOAD	1 /* 0 */
#define STORE	2 /* 0 */
#define ILLEGAL 3 /* 0 */
#define BREAK	4 /* 0 */
#define JUMP	5 /* 1 */
#define SIGNAL	6 /* 5: kill(getpid(), NUMBER), of which the first is one, and so is ecall */
#define MIDDLE	7 /* 4: a run of instructions that is left inside */

	.option norvc
	.globl _start
_start:
	lui t0, %hi(TURNS)
	addi t0, t0, %lo(TURNS)
1:	addi t0, t0, -1
	bnez t0, 1b
	.globl death
death:
#if DEATH == LOAD
	ld t1, 16(zero)
#elif DEATH == STORE
	sd t1, 16(zero)
#elif DEATH == ILLEGAL
	.word 0
#elif DEATH == BREAK
	ebreak
#elif DEATH == JUMP
	jr zero
#elif DEATH == SIGNAL
	li a7, 172 /* getpid */
	ecall
	li a1, NUMBER
	li a7, 129 /* kill */
	ecall
#elif DEATH == MIDDLE
	addi t1, sp, -16
	ld t2, 0(sp)
	addi t2, t2, 1
	sd t2, 0(t1)
	ld t2, 16(zero)
	addi t2, t2, 1
#endif
1:	j 1b
