#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca highlights its output on a terminal exactly as llvm-mca-22 does, and does not highlight elsewhere."""
import os
import pty
import select
import shutil
import subprocess

from tap import PESA, check, end, needs, skip

ORACLE = shutil.which("llvm-mca-22")
ESCAPE = b"\033["
END = b"\0end of output\0"

BLOCKS = {
    "a dependency through memory": "mul a0, a1, a1\nsd a0, 0(a1)\nld a2, 0(a3)\ndiv a4, a2, a2\nsd a4, 8(a1)\n"
                                   "ld a5, 0(a1)\nmul a1, a1, a5\n",
    "a chain and idle instructions": "ld a0, 0(a1)\naddi a0, a0, 1\nmul a2, a0, a0\nsd a2, 8(a1)\n"
                                     "ld a3, 8(a1)\ndiv a4, a3, a2\nadd a1, a1, a4\nfadd.d fa0, fa0, fa1\n",
    "competition for a unit": "fdiv.d fa0, fa1, fa1\nfdiv.d fa2, fa1, fa1\nadd a0, a0, a0\nrem a1, a2, a2\n",
    "two regions": "# LLVM-MCA-BEGIN one\nadd a0, a0, a0\n# LLVM-MCA-END one\n"
                   "# LLVM-MCA-BEGIN two\ndiv a0, a0, a0\n# LLVM-MCA-END two\n",
    "one instruction": "add a0, a0, a0\n",
}
# Buffers of every kind: none of their own, some, and in-order.
PROCESSORS = ["sifive-p670", "xiangshan-nanhu", "mips-p8700", "sifive-u74"]
OPTIONS = [["-all-views", "-iterations=3"], ["-all-views"], ["-all-views", "-noalias=false", "-iterations=37"],
           ["-bottleneck-analysis", "-scheduler-stats"], ["-timeline", "-timeline-max-cycles=12"]]


def on_terminal(command, text, **environment):
    """What the command prints on a terminal; `text` is its input."""
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    terminal, end_of_program = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=end_of_program, stderr=subprocess.DEVNULL,
                               env={**kept, "TERM": "xterm", **environment})
    process.stdin.write(text.encode())
    process.stdin.close()
    output = b""
    # Our own end stays open: what is on its way when the last one is closed may be lost.
    ended = False
    while not (ended and output.endswith(END)):
        if select.select([terminal], [], [], 0 if ended else 0.02)[0]:
            output += os.read(terminal, 65536)
        elif not ended and process.poll() is not None:
            ended = True
            os.write(end_of_program, END)
    os.close(end_of_program)
    os.close(terminal)
    return output[:-len(END)]


mca = [PESA, "mca", "-mcpu=xiangshan-nanhu", "-mtriple=riscv64", "-all-views", "-"]
text = BLOCKS["a chain and idle instructions"]
coloured = on_terminal(mca, text)
check(coloured.count(ESCAPE + b"0;1;36m") > 3, "the critical sequence stands out on a terminal", coloured)
piped = subprocess.run(mca, input=text.encode(), capture_output=True).stdout
check(piped and ESCAPE not in piped, "no escape sequence in a pipe")
for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
    found = on_terminal(mca, text, **{name: value}).replace(b"\r\n", b"\n")
    check(found == piped, f"no escape sequence with {name}={value}", found)
found = on_terminal(mca + ["-json"], text)
check(found and ESCAPE not in found, "no escape sequence in JSON")

if ORACLE:
    for processor in PROCESSORS:
        wrong = ""
        for what, text in BLOCKS.items():
            for options in OPTIONS:
                common = ["-mcpu=" + processor, "-mtriple=riscv64"] + options + ["-"]
                expected = on_terminal([ORACLE] + common, text)
                actual = on_terminal([PESA, "mca"] + common, text)
                for left, right in zip(expected.split(b"\n"), actual.split(b"\n")):
                    if left != right and not wrong:
                        wrong = f"{what}, {' '.join(common)}\nexpected: {left}\n   found: {right}"
                if len(expected) != len(actual) and not wrong:
                    wrong = f"{what}, {' '.join(common)}: one output is longer"
        check(not wrong, f"{processor}: highlights are llvm-mca's", wrong)
else:
    skip("highlights are llvm-mca's", needs("llvm-22"))

end()
