# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest program without a C library: loops, each a function of its own, which are called in turn, again and again.  A loop is how
many iterations a call has, and its lines; s2 points to 64 bytes, and a1 is 3."""
import subprocess

from tap import GUEST_CC, bail_out


def program(loops, turns, setup=""):
    """The text: {name: (iterations, lines)}, and lines before the first call."""
    calls = "; ".join(f"call {name}" for name in loops)
    return f"""
	.option norvc
	.bss
	.balign 64
data:	.space 64
	.text
	.globl _start
_start:	li s1, {turns}
	la s2, data
	li a1, 3
	{setup}
2:	{calls}
	addi s1, s1, -1
	bnez s1, 2b
	li a0, 0
	li a7, 93
	ecall
""" + "".join(f"""
	.balign 64
	.globl {name}
	.type {name}, @function
{name}:	li s0, {count}
1:	{body}
	addi s0, s0, -1
	bnez s0, 1b
	ret
	.size {name}, . - {name}
""" for name, (count, body) in loops.items())


def build(text, name="program.s", options=()):
    """Make ./program of it."""
    with open(name, "w", encoding="ascii") as out:
        out.write(text)
    made = subprocess.run([GUEST_CC, "-static", "-nostdlib", "-Wl,--build-id", *options, name, "-o", "program"],
                          capture_output=True, text=True)
    if made.returncode:
        bail_out("cannot build the program:", made.stderr)
