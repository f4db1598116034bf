#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca on programs: parts, bytes, branch traces and measured paths."""
import json
import os
import shutil
import subprocess
import tempfile

from tap import PESA, QEMU, check, end, needs, skip, skip_all

# The loop is 1 more than a power of two long, so that its branch is taken 64 times in 65.
PROGRAM = """
	.globl _start, work, leaf
	.text
	.type work,@function
work:
	li t0, 0
1:	andi t1, t0, 3
	bnez t1, 2f
	mul a0, a0, a1
2:	addi t0, t0, 1
	bne t0, a2, 1b
	ret
	.size work, .-work
	.type leaf,@function
leaf:
	add a3, a3, a0
	ret
	.size leaf, .-leaf
	.type never,@function
never:
	bnez a0, never
	ret
	.size never, .-never
	.type _start,@function
_start:
	li a1, 5
	li a2, 65
	li s0, 400
3:	jal work
	jal leaf
	addi s0, s0, -1
	bnez s0, 3b
	li a0, 0
	li a7, 93
	ecall
	.size _start, .-_start
"""


def run(*arguments, text=""):
    result = subprocess.run([PESA, *arguments], input=text, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def mca(*options, text="", cpu="sifive-u74"):
    status, output, errors = run("mca", "-mcpu=" + cpu, "--cycle-stack", "--json", *options, text=text)
    if status:
        return {"Instructions": [], "SummaryView": {"TotalCycles": errors}, "CycleStackView": {"Instructions": []}}
    region = json.loads(output)["CodeRegions"][0]
    region["warnings"] = errors
    return region


def cycles(region):
    return region["SummaryView"]["TotalCycles"]


def executions(region):
    return {entry["Address"]: entry["Executions"] for entry in region["CycleStackView"]["Instructions"]}


def fails(what, expected, status, *arguments):
    found, output, errors = run("mca", "-mcpu=sifive-u74", *arguments)
    check(found == status and errors.count("\n") == 1 and expected in errors, what, f"{found}: {output}{errors}")


def place(name):
    for line in subprocess.run(["riscv64-linux-gnu-nm", "prog"], capture_output=True, text=True).stdout.splitlines():
        if line.split()[2] == name:
            return int(line.split()[0], 16)
    return None


def write_trace(addresses):
    with open("trace", "w") as file:
        file.write("# entry, then successors\n" + "".join(f"{address:#x}\n" for address in addresses))


if not all(shutil.which(name) for name in ("riscv64-linux-gnu-gcc", "riscv64-linux-gnu-nm")):
    skip_all(needs("gcc-riscv64-linux-gnu"))
directory = tempfile.TemporaryDirectory()
os.chdir(directory.name)
with open("prog.s", "w") as file:
    file.write(PROGRAM)
subprocess.run("riscv64-linux-gnu-gcc -nostdlib -static -march=rv64im -mabi=lp64 -o prog prog.s".split(), check=True)
work, leaf, start = place("work"), place("leaf"), place("_start")
loop, stop = work + 4, work + 24  # behind li; ret

# Parts and bytes cost what the same assembly costs.
assembly = "li t0, 0\nandi t1, t0, 3\nbnez t1, 8\nmul a0, a0, a1\naddi t0, t0, 1\nbne t0, a2, -16\nret\n"
expected = mca("-", text=assembly)
found = mca("prog", "--symbol=work")
check(cycles(found) == cycles(expected) and len(found["Instructions"]) == 7, "--symbol is the function",
      (cycles(found), cycles(expected), found["Instructions"]))
found = mca("prog", f"--range={loop:#x}-{stop:x}")
expected = mca("-", text="".join(assembly.splitlines(True)[1:-1]))
check(cycles(found) == cycles(expected) and len(found["Instructions"]) == 5, "--range is a part",
      (cycles(found), cycles(expected)))
found = mca("--hex", "33 05 b5 02 13850500")
expected = mca("-", text="mul a0, a0, a1\nmv a0, a1\n")
check(cycles(found) == cycles(expected) and [text.split()[0] for text in found["Instructions"]] == ["mul", "mv"],
      "--hex is bytes in the order of memory", found["Instructions"])

fails("an ELF file needs a part", "choose a part", 1, "prog")
fails("an unknown function", "prog: no function 'nothing'", 1, "prog", "--symbol=nothing")
fails("a bad range", "--range=20-10: expected A-B", 1, "prog", "--range=20-10")
fails("a range without text", "there is no text at 0x10", 1, "prog", "--range=10-20")
fails("bad digits", "two hexadecimal digits at character 3, found 'x1'", 1, "--hex=13x1")
fails("bytes that are no instruction", "begins at byte 4", 1, "--hex=130505000b000000")
fails("two parts", "only one of", 2, "prog", "--symbol=work", "--range=1-2")
fails("bytes and a file", "no input file prog", 2, "prog", "--hex=1300")
fails("a program is missing", "name of the program", 2, "--symbol=work")
fails("a program for something else", "not for RISC-V", 1, "/bin/sh", "--symbol=main")

# A path that stays in a loop is the block with as many iterations.
block = "andi t1, t0, 3\nbnez t1, 8\nmul a0, a0, a1\naddi t0, t0, 1\nbne t0, a2, -16\n"
for cpu in ("sifive-u74", "sifive-p670", "spacemit-x60", "xiangshan-nanhu"):
    write_trace([loop] + 39 * [loop + 8, loop] + [loop + 8])
    found, expected = mca("prog", "--branch-trace=trace", cpu=cpu), mca("-", "-iterations=40", text=block, cpu=cpu)
    check(cycles(found) == cycles(expected) and len(found["Instructions"]) == 200,
          f"{cpu}: a trace of 40 rounds is 40 iterations", (cycles(found), cycles(expected)))
    check(sum(entry["Weight"] for entry in found["CycleStackView"]["Instructions"]) == cycles(found) * 360360 and
          executions(found) == {loop + 4 * i: 40 for i in range(5)},
          f"{cpu}: its cycle stack is by address", executions(found))
write_trace([loop, loop + 12, loop, loop + 8, loop + 20, start + 16, leaf])
found = mca("prog", "--branch-trace=trace")
check(executions(found) == {loop: 2, loop + 4: 2, loop + 8: 1, loop + 12: 2, loop + 16: 2, loop + 20: 1,
                            start + 16: 1, leaf: 1, leaf + 4: 1},
      "a trace goes through branches, returns and calls", executions(found))
write_trace([loop, loop + 16])
fails("a successor that is none", f"trace:3: {loop + 16:#x} cannot follow 'bnez", 1, "prog", "--branch-trace=trace")
write_trace([])
fails("an empty trace", "trace: there is no address in it", 1, "prog", "--branch-trace=trace")
with open("trace", "w") as file:
    file.write("10\nloop\n")
fails("a bad address", "trace:2: expected a hexadecimal address, found 'loop'", 1, "prog", "--branch-trace=trace")
fails("no trace", "none: cannot open the branch trace", 1, "prog", "--branch-trace=none")
fails("a trace and a profile", "--path-from only with", 2, "prog", "--branch-trace=trace", "--path-from=p")
fails("a path of length 0", "between 1 and", 2, "prog", "--path-from=p", "--path-length=0")

# Measured paths: the exact profile knows every probability.
status, output, errors = run("record", "-q", "-c", "1000", "-o", "sampled", "--golden", "exact", "--", "./prog")
if status:
    skip("measured paths", "nothing can be recorded here" if QEMU else needs("qemu-user"))
else:
    found = mca("prog", "--path-from=exact", "--symbol=work", "--path-length=50000")
    times = executions(found)
    rounds, multiplied, calls = times.get(loop, 0), times.get(loop + 8, 0), times.get(leaf, 0)
    # 17 of 65 rounds multiply; a call has 65 rounds of 4 and 17 multiplications and 8 instructions around it.
    check(abs(multiplied - rounds * 17 / 65) <= 1, "branches are taken as measured", times)
    check(abs(calls - rounds / 65) <= 2 and sum(times.values()) == 50000,
          "calls and returns go where they went", times)
    check(abs(rounds - 50000 * 65 / (65 * 4 + 17 + 8)) <= 65, "the path is as long as asked for", rounds)
    again = mca("prog", "--path-from=exact", "--symbol=work", "--path-length=50000")
    check(again == found, "the same profile gives the same path")
    found = mca("prog", "--path-from=sampled", "--path-length=2000")
    times = executions(found)
    check(times.get(loop, 0) and 0.15 < times.get(loop + 8, 0) / times[loop] < 0.4,
          "a sampled profile gives about the same", times)
    found = mca("prog", "--path-from=exact", "--symbol=never", "--path-length=10")
    never = place("never")
    check(executions(found) == {never: 10} and "was restarted at its entry 9 times" in found.get("warnings", "") and
          f"ends at {never:#x}: the profile has no successor of this instruction" in found["warnings"],
          "a path that cannot continue restarts at its entry", found)
    subprocess.run("riscv64-linux-gnu-gcc -nostdlib -static -march=rv64imc -mabi=lp64 -Wl,--build-id -o other prog.s"
                   .split(), check=True)
    fails("another program", "other was not measured", 1, "other", "--path-from=exact")
    fails("no profile", "none", 1, "prog", "--path-from=none")
end()
