#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every option of llvm-mca-22 is accepted by pesa mca in its one-dash spelling, or listed here with the
reason why not; those that change the text or the input give what llvm-mca-22 gives."""
import os
import re
import shutil
import subprocess
import tempfile

from tap import PESA, check, end, needs, skip

ORACLE = shutil.which("llvm-mca-22")

# Options of llvm-mca --help-hidden that pesa mca does not have.  pesa-mca(1) says so, too.
REFUSED = {
    "help-hidden": "of LLVM's command line", "help-list-hidden": "of LLVM's command line",
    "print-options": "of LLVM's command line", "print-all-options": "of LLVM's command line",
    "help-list": "a list without headings is no analysis; -help has all",
    "version": "is that of pesa: pesa --version",
    "micro-op-queue-size": "hidden in llvm-mca; a queue between decoder and dispatch, which no RISC-V model describes",
    "decoder-throughput": "hidden in llvm-mca; works only with -micro-op-queue-size",
}
VALUES = {
    "mcpu": "sifive-p670", "mattr": "+zba", "mtriple": "riscv64", "march": "riscv64",
    "instruction-tables": "full", "skip-unsupported-instructions": "any", "output-asm-variant": "0",
    "o": os.devnull,
}
TEXT = "addi a0, a0, -8\nli a0, 123456789\nlw a0, 16(a1)\nsd a0, -16(sp)\nbeq a0, a1, 256\njal 64\n" \
       "csrr a0, 0x7c5\ncsrwi 0x7c0, 9\nslli a0, a0, 0\namoadd.w a0, a1, (a2)\nfcvt.w.d a0, fa0, rtz\necall\n" \
       "vsetivli a0, 10, e8, m8, ta, mu\nvadd.vi v8, v8, -5\n"
# Each kind of failure, several statements on a line, labels, and a region around two of them.
BROKEN = "nop\nfoo a0\nadd a0,a0\nfence\n# LLVM-MCA-BEGIN x\nbar\nmul a0,a0,a0\n# LLVM-MCA-END x\n.foo 1\n" \
         "# LLVM-MCA-BEGIN y\nadd a0, a0, a1 ; baz ; add a1,a1,a1\nlbl: quux\nj lbl\n vadd.vv v1,v1,v1\n" \
         "addi a0, a0, 99999\nlw a0, 4(a1\n"


def run(command, text, **environment):
    result = subprocess.run(command, input=text, capture_output=True, text=True,
                            env={**os.environ, **environment})
    return result.returncode, result.stdout, result.stderr


def same(what, options, text):
    common = ["-mtriple=riscv64"] + options
    oracle, expected, _ = run([ORACLE] + common, text)
    status, actual, errors = run([PESA, "mca"] + common + ["-"], text)
    differ = [f"expected: {left}\n   found: {right}" for left, right in
              zip(expected.splitlines(), actual.splitlines()) if left != right]
    check(oracle == status and expected == actual, what,
          f"{' '.join(common)}: status {oracle} and {status}\n{errors}\n" + "\n".join(differ[:1]))


def help_options():
    """The names in llvm-mca's own help, hidden ones included, and whether they take a number."""
    text = run([ORACLE, "--help-hidden"], "")[1]
    text = text[text.index("Generic Options:"):]
    return sorted(set(re.findall(r"^  -{1,2}([a-z][a-z-]*)(?:=(<uint>))?", text, re.M)))


def test_options():
    options = help_options()
    check(len(options) > 30, "llvm-mca lists its options", options)
    for name, takes_number in options:
        if name in ("help", "h"):
            command = [PESA, "mca", "-" + name]
        else:
            value = VALUES.get(name, "3" if takes_number else None)
            command = [PESA, "mca", "-mcpu=sifive-p670", "-" + name + (f"={value}" if value else ""), "-"]
        status, _, errors = run(command, "add a0, a0, a0\n")
        if name in REFUSED:
            check(status == 2 and "unknown option" in errors, f"-{name} is refused: {REFUSED[name]}", errors)
        else:
            check(status == 0 and not errors, f"-{name}" + ("=" + value if name not in ("help", "h") and value else ""),
                  f"status {status}: {errors}")
    names = {name for name, _ in options}
    check(not set(REFUSED) - names, "what is refused exists", set(REFUSED) - names)
    status, text, _ = run([PESA, "mca", "--help"], "")
    missing = [name for name in names - set(REFUSED) - {"help", "h"} if not re.search(rf"^  -{name}\b", text, re.M)]
    check(status == 0 and not missing, "--help names what is accepted", missing)


def test_values():
    for option in ("-print-imm-hex", "-print-imm-hex=false", "-output-asm-variant=0", "-disable-cb"):
        same(f"{option}: the same text", ["-mcpu=sifive-x390", "-iterations=3", option], TEXT)
    for mode in ("none", "lack-sched", "parse-failure", "any"):
        same(f"-skip-unsupported-instructions={mode}, lines that are no assembly",
             ["-mcpu=sifive-u74", "-skip-unsupported-instructions=" + mode], BROKEN)
        same(f"-skip-unsupported-instructions={mode}, instructions that the model lacks",
             ["-mcpu=tt-ascalon-d8", "-skip-unsupported-instructions", mode],
             "add a0, a0, a0\nfence.i\nmul a0, a0, a0\nhfence.vvma\n")
        same(f"-skip-unsupported-instructions={mode}, nothing remains",
             ["-mcpu=sifive-u74", "-skip-unsupported-instructions=" + mode], "foo\nbar\n")


def test_bottleneck():
    same("a register and a resource that delay one instruction by another are two dependencies",
         ["-mcpu=xiangshan-nanhu", "-iterations=10", "-bottleneck-analysis", "-lqueue=3"],
         "rem s2, s2, a5\nmulw a5, a5, t3\nlui s8, 629242\nsrli t3, s6, 17\nslli s2, s4, 20\n"
         "fmadd.s ft0, fa1, fa1, ft0\nld s8, 40(t3)\nfcvt.d.w fa1, s0\nj 512\n")


def test_descriptions():
    """An opcode is described once for each of its scheduling classes: what the first instance leaves out,
    because it is zero, holds for the others of that class."""
    for what, first, then, line in (
            ("classes that cost the same are two: LMUL", "e32, m1", "e32, m2", "vcpop.m {}, v0"),
            ("classes that cost the same are two: SEW", "e8, m1", "e16, m1", "vdivu.vx v8, v16, {}"),
            ("loads of one width have one class", "e8, m1", "e16, m2", "vle8.v v8, ({})")):
        for processor in ("sifive-x280", "tt-ascalon-d8"):
            same(f"{what}, {processor}", ["-mcpu=" + processor, "-timeline", "-iterations=3"],
                 f"vsetvli a0, a1, {first}, ta, ma\n{line.format('zero')}\n"
                 f"vsetvli a0, a1, {then}, ta, ma\n{line.format('t4')}\nmul t4, t4, t4\n")


def test_other_assemblers():
    """The same is left out, whichever program assembles."""
    mode = ["mca", "-mcpu=sifive-u74", "-skip-unsupported-instructions=parse-failure", "-"]
    expected = run([PESA] + mode, BROKEN)
    for names in (["llvm-mc-22"], ["clang-22"], ["clang", "riscv64-linux-gnu-as"], ["riscv64-linux-gnu-as"]):
        programs = [shutil.which(name) for name in names]
        name = " or ".join(names)
        if not all(programs):
            skip(f"{name}: the rest is analysed",
                 needs({"llvm-mc-22": "llvm-22", "riscv64-linux-gnu-as": "binutils-riscv64-linux-gnu"}.get(names[-1], names[-1])))
            continue
        with tempfile.TemporaryDirectory() as directory:
            for program, link in zip(programs, names):
                os.symlink(program, os.path.join(directory, link))
            found = run([os.path.abspath(PESA)] + mode, BROKEN.replace("add a0, a0, a1 ; baz ;", "baz\n"),
                        PATH=directory)
        # Each instruction is in two views.
        rest = [found[1].count("\t" + operands) for operands in
                ("a0, a0, a0", "a1, a1, a1", "lbl", "a0, a1", "v1")]
        check(found[0] == 0 and rest == [2, 2, 2, 0, 0] and found[1].count("Code Region") == 2 and
              found[2].count("left out") == 9, f"{name}: the rest is analysed", f"{rest}\n{found[2]}")
    check(expected[0] == 0 and expected[2].count("left out") == 9, "a warning for each", expected[2])


if ORACLE:
    test_options()
    test_values()
    test_bottleneck()
    test_descriptions()
else:
    skip("options and views are those of llvm-mca", needs("llvm-22"))
if shutil.which("llvm-mc-22") or shutil.which("clang"):
    test_other_assemblers()
else:
    skip("other assemblers", needs("clang"))
end()
