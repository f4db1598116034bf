/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start of a bare program in M-mode, and a way to run a function in another mode. */

	.section .text.start, "ax"
	.globl	_start
_start:
	la	t0, on_trap
	csrw	mtvec, t0
	/* All memory is open to the lower modes. */
	li	t0, -1
	csrw	pmpaddr0, t0
	li	t0, 0x1f
	csrw	pmpcfg0, t0
	csrr	t0, mhartid
	bnez	t0, park
	la	sp, stack_end
	call	bare_main
	j	bare_exit
/* The others wait until bare_other says what they are to do: of two harts, one. */
park:
	la	t0, bare_other
	ld	t0, 0(t0)
	beqz	t0, park
	la	sp, other_stack_end
	jalr	t0
parked:
	wfi
	j	parked

	.text
/*
 * struct bare_outcome bare_run(unsigned long mstatus, function, unsigned long argument): runs the
 * function with that mstatus until it traps to M-mode, as it does when it ends with an ecall.
 * Returns mcause, and what a0 was.
 */
	.globl	bare_run
bare_run:
	addi	sp, sp, -128
	sd	ra, 0(sp)
	sd	s0, 8(sp)
	sd	s1, 16(sp)
	sd	s2, 24(sp)
	sd	s3, 32(sp)
	sd	s4, 40(sp)
	sd	s5, 48(sp)
	sd	s6, 56(sp)
	sd	s7, 64(sp)
	sd	s8, 72(sp)
	sd	s9, 80(sp)
	sd	s10, 88(sp)
	sd	s11, 96(sp)
	csrr	t0, mstatus
	sd	t0, 104(sp)
	la	t0, saved_sp
	sd	sp, 0(t0)
	csrw	mstatus, a0
	csrw	mepc, a1
	mv	a0, a2
	la	sp, lower_stack_end
	mret

	.align	2
on_trap:
	la	t0, saved_sp
	ld	sp, 0(t0)
	beqz	sp, lost
	sd	zero, 0(t0)
	ld	t0, 104(sp)
	csrw	mstatus, t0
	ld	ra, 0(sp)
	ld	s0, 8(sp)
	ld	s1, 16(sp)
	ld	s2, 24(sp)
	ld	s3, 32(sp)
	ld	s4, 40(sp)
	ld	s5, 48(sp)
	ld	s6, 56(sp)
	ld	s7, 64(sp)
	ld	s8, 72(sp)
	ld	s9, 80(sp)
	ld	s10, 88(sp)
	ld	s11, 96(sp)
	addi	sp, sp, 128
	mv	a1, a0
	csrr	a0, mcause
	ret
/* A trap that nobody expected: end with status 99. */
lost:
	li	a0, 99

/* void bare_exit(unsigned long status): ends the emulator. */
	.globl	bare_exit
bare_exit:
	li	t0, 0x100000
	li	t1, 0x5555
	beqz	a0, 1f
	slli	a0, a0, 16
	li	t1, 0x3333
	or	t1, t1, a0
1:	sw	t1, 0(t0)
	j	1b

	.bss
	.align	4
saved_sp:
	.space	16
	.space	16384
stack_end:
	.space	16384
lower_stack_end:
	.space	16384
other_stack_end:
	.globl	bare_other
bare_other:
	.space	16
