/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code beyond what the ELF attributes name: vector instructions, which a program executes after asking the
 * hart for them, and a word that is no instruction of any extension.
 */
	.globl	beyond, main
	.type	beyond, @function
beyond:
	.word	0x0d0572d7	/* vsetvli t0, a0, e32, m1, ta, ma */
	.word	0x0205e407	/* vle32.v v8, (a1) */
	.word	0xfff0700b	/* none: custom-0 */
	ret
	.size	beyond, . - beyond
	.type	main, @function
main:
	call	beyond
	ret
	.size	main, . - main
