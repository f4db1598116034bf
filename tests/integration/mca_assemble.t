#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The built-in assembler of pesa mca gives the same result as an assembler program: instructions, sizes and
regions.

Without PATH no assembler program is found, so a source that succeeds was assembled by pesa.  With a last
line that pesa does not support, the assembler program assembles the whole source.

Environment: PESA; ASSEMBLE_PROGRAMS (random programs, default 60), ASSEMBLE_SEED (default 1).
"""
import os
import random
import re
import shutil
import subprocess
import tempfile

from tap import PESA, check, end, needs, skip_all

COUNT = int(os.environ.get("ASSEMBLE_PROGRAMS", "60"))
SEED = int(os.environ.get("ASSEMBLE_SEED", "1"))
NOT_OURS = ".set pesa_not_ours, 1\n"  # no place in data
OPTIONS = ["-mcpu=rocket-rv64", "-mattr=+m,+a,+f,+d,+c", "-show-encoding", "-instruction-tables",
           "-resource-pressure=false"]


def run(text, inside, options=OPTIONS):
    environment = dict(os.environ)
    if inside:
        environment["PATH"] = "/nonexistent"
    process = subprocess.run([PESA, "mca"] + options + ["-"], input=text,
                             capture_output=True, text=True, env=environment)
    return process.returncode, process.stdout, process.stderr


BRANCH = re.compile(r"((?:[0-9a-f]{2} )+)( *)((?:b\w+|j|jal)\t(?:\S+, )*)\S+$", re.M)


def comparable(answer):
    """Branches are shown with the symbol that the source has for their target, and with the encoding
    before the target is known; the object file has any symbol of that place, and the distance."""
    status, output, messages = answer
    return status, BRANCH.sub(lambda m: f"{len(m[1]) // 3} bytes {m[3]}TARGET", output), messages


def both(text, options=OPTIONS):
    """("refused", why), ("same", "") or ("different", both outputs)."""
    inside = run(text, True, options)
    if inside[0] and "no assembler found" in inside[2]:
        return "refused", inside[2]
    outside = run(text + NOT_OURS, False, options)
    if comparable(inside) == comparable(outside):
        return "same", ""
    return "different", f"{text}\nhere: {inside[1]}{inside[2]}\nelsewhere: {outside[1]}{outside[2]}"


TAKEN = {
    "an architecture without short instructions": """
	.attribute arch, "rv64i2p1_m2p0_zicsr2p0"
	add a0, a0, a1
	mul a0, a0, a1
""",
    "a plain block": "add a0, a1, a2\nld a3, 8(sp)\n",
    "labels and branches both ways":
        "f:\nbeqz a0, .L1\nj f\n.L1: addi a0, a0, 1\nbne a0, a1, f\nbgt a0, a1, .L1\n",
    "several labels on a line": "a: b: c: add a0, a0, a1\nbeqz a0, d\nd: ret\n",
    "a label behind the last instruction": "beqz a0, end\nnop\nend:\n",
    "numbers as targets": "beqz a0, 64\nnop\nj -2\nbne a0, a1, -8\n",
    "calls": "call puts\ntail exit\n",
    "a call of a global function of the file": ".globl f\nf: call f\nret\n",
    "addresses": "lla a0, x\nla a1, y\nlui a2, %hi(z)\naddi a2, a2, %lo(z)\nlw a3, %lo(z+4)(a2)\n",
    "an address in two parts": ".Lp: auipc a0, %pcrel_hi(x)\naddi a0, a0, %pcrel_lo(.Lp)\n",
    "large numbers": "li a0, 74565\nli a1, -4096\nli a2, 0x7fffffff\nli a3, 63488\nli a4, 2048\n",
    "regions": "add a0, a0, a1\n# LLVM-MCA-BEGIN one\nmul a0, a0, a1\n# LLVM-MCA-END one\n"
               "// LLVM-MCA-BEGIN two\nsub a0, a0, a1 # LLVM-MCA-END two\nret\n",
    "padding is no instruction": "nop\n.p2align 4\nnop\n.balign 8\nnop\n",
    "a function as a compiler writes it": """
	.file	"f.c"
	.option nopic
	.option norelax
	.attribute unaligned_access, 0
	.attribute stack_align, 16
	.text
	.section	.rodata.str1.8,"aMS",@progbits,1
	.align	3
.LC0:
	.string	"it is \\"%d\\"\\n"
	.text
	.align	1
	.globl	f
	.type	f, @function
f:
	.cfi_startproc
	addi	sp,sp,-16
	.cfi_def_cfa_offset 16
	sd	ra,8(sp)
	.cfi_offset 1, -8
.L2:
	lui	a0,%hi(.LC0)
	addi	a0,a0,%lo(.LC0)
	call	printf
	addiw	a5,a5,-1
	bne	a5,zero,.L2
	ld	ra,8(sp)
	.cfi_restore 1
	addi	sp,sp,16
	.cfi_def_cfa_offset 0
	jr	ra
	.cfi_endproc
	.size	f, .-f
	.section	.data
	.bss
	.section	.rodata
	.align	3
x:	.dword	7, -9
	.word	.LC0
	.zero	16
	.comm	buffer,64,8
	.ident	"GCC: (Debian 12.2.0) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
""",
}

REFUSED = {
    "a number in octal": "addi a0, a0, 010\n",
    "an expression": "addi a0, a0, 3+4\n",
    "a local label that is a number": "1: beqz a0, 1b\n",
    "a branch to a global label": ".globl f\nf: beqz a0, f\n",
    "a branch to somewhere else": "beqz a0, elsewhere\n",
    "two statements on a line": "nop; nop\n",
    "data among the code": "nop\n.word 19\n",
    "compression switched off": ".option norvc\nnop\n",
    "two sections of code": "nop\n.section .text.b,\"ax\",@progbits\nnop\n",
    "a macro": ".macro m\nnop\n.endm\nm\n",
    "an unknown directive": ".cfi_sections .debug_frame\nnop\n",
    "position-independent addresses": ".option pic\nla a0, x\n",
    "the address of a place in the code": "f: lla a0, f\n",
    "a size of what is not there": "nop\n.size f, .-f\n",
}

WRONG = {
    "an unknown instruction": "frobnicate a0\n",
    "a register that does not exist": "add a0, a1, x32\n",
    "a number that is too large": "addi a0, a0, 4096\n",
    "an extension that the processor lacks": "vadd.vv v1, v2, v3\n",
    "a label defined twice": "a: nop\na: nop\n",
    "a frame that does not end": ".cfi_startproc\nnop\n",
    "a frame that did not begin": "nop\n.cfi_endproc\n",
    "data where there are only zeros": "nop\n.bss\n.word 1\n",
    "a common alignment of 68": "nop\n.comm b,64,68\n",
    "an unclosed comment": "nop /* nop\n*/ nop\n",
    "a lower part without the upper": "x: nop\naddi a0, a0, %pcrel_lo(x)\n",
    "a register in place of a label": "beqz a0, a1\n",
    "a branch that is too far": "beq a0, a1, 8192\n",
    "an overlapping mask": "vadd.vv v0, v1, v2, v0.t\n",
    "a number where a name must be": ".globl 5\nnop\n",
}


def random_program(source):
    """Labels, branches over all distances at which they grow, and a few instructions between.

    No two labels at one place, and no numbers that could be the distance to one: of those pesa shows what
    the source has, an object file the first label.
    """
    labels = [f".L{i}" for i in range(source.randint(1, 12))]
    lines = []
    for label in labels:
        lines.append(label + ":")
        size = source.choice([1, 2, 5, 60, 63, 64, 65, 120, 126, 127, 128, 129, 400, 1020])
        lines += source.choices(["addi a0, a0, 1", "add s4, s5, s6", "lw a1, 4(a0)"], k=size)
        for _ in range(source.randint(0, 3)):
            target = source.choice(labels)
            lines.append(source.choice([f"beqz a0, {target}", f"bnez a5, {target}", f"j {target}",
                                        f"beq a0, a1, {target}", f"bgtu s2, s3, {target}",
                                        f"beq zero, s1, {target}", f"jal {target}",
                                        f"jal t0, {target}"]))
    return "\n".join(lines) + "\nret\n"


def damaged(source, text):
    lines = text.splitlines()
    place = source.randrange(len(lines))
    line = lines[place]
    at = source.randrange(len(line) + 1)
    kind = source.randrange(4)
    if kind == 0:
        lines[place] = line[:at] + source.choice("0123456789abstx.,()@%:-+ \\_$") + line[at:]
    elif kind == 1:
        lines[place] = line[:at] + line[at + 1:]
    elif kind == 2:
        lines[place] = source.choice(lines)
    else:
        del lines[place]
    return "\n".join(lines) + "\n"


def compiler_output(directory):
    """(compiler, assembly) of a small program, by every compiler that is there."""
    path = os.path.join(directory, "sort.c")
    with open(path, "w") as file:
        file.write("""
extern int compare(const void *, const void *);
static int depth;
static const char *const names[] = {"one", "two", "three"};
long sum(const int *values, long count)
{
	long total = 0;
	for (long i = 0; i < count; i++)
		total += values[i] > 100000 ? values[i] * 3 : -values[i];
	return total;
}
double scale(double x, int n) { return n ? scale(x * 1.5, n - 1) : x + depth; }
const char *name(unsigned int i) { return i < 3 ? names[i] : "none"; }
void sort(long *base, long count)
{
	depth++;
	for (long i = 1; i < count; i++)
		for (long j = i; j > 0 && compare(&base[j - 1], &base[j]) > 0; j--) {
			long other = base[j];
			base[j] = base[j - 1];
			base[j - 1] = other;
		}
}
""")
    for compiler in (["riscv64-linux-gnu-gcc"], ["clang-22", "--target=riscv64-linux-gnu"],
                     ["clang", "--target=riscv64-linux-gnu"]):
        if not shutil.which(compiler[0]):
            continue
        for options in (["-O0", "-fno-pic"], ["-O2", "-fno-pic", "-fno-asynchronous-unwind-tables"],
                        ["-O2", "-fno-pic"]):
            process = subprocess.run(compiler + ["-march=rv64gc", "-S", "-o", "-", path] + options,
                                     capture_output=True, text=True)
            if not process.returncode:
                # LLVM 22 refuses the versions of extensions that its ancestor names.
                yield compiler[0] + " " + options[0], "".join(
                    line + "\n" for line in process.stdout.splitlines()
                    if "i2p0" not in line)


def main():
    if not shutil.which("llvm-mc-22"):
        skip_all(needs("llvm-22"))
    for name, text in TAKEN.items():
        kind, detail = both(text)
        check(kind == "same", f"taken: {name}", f"{kind}: {detail}")
    for name, text in REFUSED.items():
        kind, detail = both(text)
        check(kind == "refused" and run(text, False)[0] == 0, f"left to the other: {name}",
               f"{kind}: {detail}{run(text, False)}")
    for name, text in WRONG.items():
        kind, detail = both(text)
        status, _, message = run(text, False)
        check(kind == "refused" and status == 1 and "no assembler" not in message,
               f"wrong: {name}", f"{kind}: {detail}{message}")

    shifts = "slli zero, zero, 1\nslli zero, zero, 3\nslli zero, zero, 5\n"
    status, shown, message = run(shifts, True, ["-mcpu=mips-p8700"])
    check(status == 0 and shown.count("slli\tzero, zero, ") == 6, "a shift that MIPS has a name for is a shift",
          shown + message)

    source = random.Random(SEED)
    kinds = {"same": 0, "refused": 0, "different": 0}
    details = ""
    for _ in range(COUNT):
        kind, detail = both(random_program(source))
        kinds[kind] += 1
        details += detail if kind == "different" else ""
    check(not kinds["different"] and kinds["same"] > COUNT / 2,
           f"random branches: {kinds['same']} of {COUNT} taken, all the same", details or str(kinds))

    kinds = {"same": 0, "refused": 0, "different": 0}
    details = ""
    for _ in range(2 * COUNT):
        kind, detail = both(damaged(source, TAKEN["a function as a compiler writes it"]))
        kinds[kind] += 1
        details += detail if kind == "different" else ""
    check(not kinds["different"] and kinds["same"],
           f"damaged source: {kinds['same']} of {2 * COUNT} taken, all the same", details or str(kinds))

    with tempfile.TemporaryDirectory() as directory:
        for name, text in compiler_output(directory):
            kind, detail = both(text)
            check(kind == "same", f"output of {name}: {kind}", detail)
    end()


main()
