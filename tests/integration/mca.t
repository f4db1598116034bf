#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca without llvm-mca: results computed from the model by hand, and invalid input."""
import json
import os
import shutil
import subprocess
import tempfile

from tap import PESA, check, end, needs, skip_all

MODEL = """pesa-processor-model 1
name Example
processor example rv64imafdcv fast
processor slow rv64imafdcv
issue-width 2
micro-op-buffer 8
resource ALU units=1
resource MEM units=1
class add uops=1 latency=1 uses=ALU
\tADD C_ADD ADDI C_ADDI C_NOP
class multiply uops=1 latency=5 uses=ALU
\tMUL VCPOP_M
class big uops=2 latency=2 uses=ALU:3
variant if feature:fast add else big
\tSUB C_SUB
class vector uops=1 latency=2 uses=ALU:8
\tVADD_VV VSETVLI
class small uops=1 latency=2 uses=ALU:1
\tVADD_VV@M1 VADD_VV@M2/E8
end
"""


def mca(text, *options, model=None):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "example.model")
        with open(path, "w") as file:
            file.write(model or MODEL)
        options = [option.replace("MODEL", path) for option in options]
        result = subprocess.run([PESA, "mca", *options, "-"], input=text, capture_output=True, text=True)
        return result.returncode, result.stdout, result.stderr.replace(directory + "/", "")


def summary(text, *options):
    status, output, errors = mca(text, *options, "--json")
    if status:
        return {"error": errors}
    return json.loads(output)["CodeRegions"][0]["SummaryView"]


def fails(what, expected, status, text, *options, model=None):
    found, output, errors = mca(text, *options, model=model)
    lines = errors.splitlines()
    # One line says it; a marker is shown below that, with a caret.
    shown = len(lines) == 4 and lines[1].startswith("# LLVM-MCA-") and lines[2].strip() == "^"
    check(found == status and (len(lines) == 1 or shown) and expected in lines[0], what, f"{found}: {output}{errors}")


if not any(shutil.which(name) for name in ("llvm-mc", "llvm-mc-22", "clang", "riscv64-linux-gnu-as")):
    skip_all(needs("clang"))

# n dependent multiplications of 5 cycles: dispatched in cycle 0, issued from cycle 1, retired one cycle
# after the last has executed.
found = summary("mul a0, a0, a1\n", "-mcpu=MODEL", "-iterations=10")
check(found.get("TotalCycles") == 10 * 5 + 3, "dependent instructions take their latency", found)
found = summary("add a0, a1, a2\n", "-mcpu=MODEL", "-iterations=100")
check(found.get("TotalCycles") == 100 + 3, "independent instructions take turns on one unit", found)
found = summary("sub a0, a1, a2\n", "-mcpu=MODEL", "-iterations=50")
fast = found.get("BlockRThroughput")
found = summary("sub a0, a1, a2\n", "-mcpu=MODEL:slow", "-iterations=50")
check((fast, found.get("BlockRThroughput")) == (1, 3), "a variant is chosen by the processor's features", found)
found = summary("sub a0, a1, a2\n", "-mcpu=MODEL:slow", "-mattr=+fast", "-iterations=50")
check(found.get("BlockRThroughput") == 1, "-mattr switches a feature on", found)
found = [summary(f"{prefix}vadd.vv v8, v8, v8\n", "-mcpu=MODEL").get("BlockRThroughput") for prefix in (
    "", "# LLVM-MCA-RISCV-LMUL M1\n", "# LLVM-MCA-RISCV-LMUL M2\n",
    "# LLVM-MCA-RISCV-LMUL M2\n# LLVM-MCA-RISCV-SEW E8\n", "# LLVM-MCA-RISCV-LMUL M4\n")]
check(found == [8, 1, 8, 1, 8], "the most exact LMUL and SEW hold", found)
# What the first one of a scheduling class writes to zero, no other one of it writes late.
found = [summary(f"# LLVM-MCA-RISCV-LMUL M1\nvcpop.m zero, v0\n# LLVM-MCA-RISCV-LMUL {lmul}\nvcpop.m t4, v0\n"
                 "add t4, t4, t4\n", "-mcpu=MODEL", "-iterations=1").get("TotalCycles") for lmul in ("M1", "M2")]
check(found == [6 + 3, 6 + 3 + 1], "classes of the same cost are two", found)
found = summary("# LLVM-MCA-LATENCY 20\nadd a0, a0, a2\n", "-mcpu=MODEL", "-iterations=10")
check(found.get("TotalCycles") == 10 * 20 + 3, "a latency instrument replaces the model's", found)

status, output, errors = mca("add a0,a0,a1\n# LLVM-MCA-BEGIN one\nmul a0,a0,a1\n# LLVM-MCA-BEGIN two\n"
                             "add a1,a1,a1\n# LLVM-MCA-END one\nadd a2,a2,a2\n# LLVM-MCA-END two\n",
                             "-mcpu=MODEL", "--json")
regions = [(region["Name"], len(region["Instructions"])) for region in json.loads(output)["CodeRegions"]] \
    if status == 0 else errors
check(regions == [("one", 2), ("two", 2)], "regions overlap", regions)
status, output, errors = mca("call printf\nj 8\n.p2align 4\n.word 1\nret\n", "-mcpu=sifive-u74", "--json")
texts = json.loads(output)["CodeRegions"][0]["Instructions"] if status == 0 else errors
check(texts == ["call\tprintf", "j\t8", "ret"],
      "calls are one instruction; padding and data are none", texts)

fails("an unknown processor names the nearest", "the nearest name is 'sifive-u74'", 1, "nop\n", "-mcpu=sifive-u75")
fails("a missing processor says so", "-mcpu=NAME is needed", 2, "nop\n")
fails("an unknown option", "unknown option -no-such", 2, "nop\n", "-mcpu=MODEL", "-no-such")
fails("a bad number", "expected a number", 2, "nop\n", "-mcpu=MODEL", "-iterations=x")
fails("an unsupported instruction", "instruction 1 (fence) is not supported by the model of example", 1,
      "nop\nfence\n", "-mcpu=MODEL")
fails("bad assembly names the line", "<stdin>:2", 1, "nop\nno_such a0\n", "-mcpu=MODEL")
fails("no instructions", "no assembly instructions found", 1, "# nothing\n", "-mcpu=MODEL")
fails("an end marker without a begin marker", "<stdin>:2: error: found an invalid region end directive: there is no active region named x", 1,
      "nop\n# LLVM-MCA-END x\n", "-mcpu=MODEL")
fails("two anonymous regions", "<stdin>:3: error: found multiple overlapping anonymous regions", 1,
      "# LLVM-MCA-BEGIN\nnop\n# LLVM-MCA-BEGIN\nnop\n", "-mcpu=MODEL")
fails("a bad instrument", "<stdin>:1: error: Failed to create RISCV-LMUL instrument with data: M3; expected M1", 1, "# LLVM-MCA-RISCV-LMUL M3\nnop\n", "-mcpu=MODEL")
fails("an unknown file", "cannot open the processor model", 1, "nop\n", "-mcpu=./no-such.model")
fails("an unknown processor of a file", "no processor 'other'", 1, "nop\n", "-mcpu=MODEL:other")

for what, line, broken, expected in (
        ("an instruction set that is none", 3, "processor example rv65im", "instruction set 'rv65im': must start with rv32"),
        ("an instruction set of one letter", 3, "processor example x", "instruction set 'x': must start with rv32"),
        ("an unknown keyword", 5, "isue-width 2", "found 'isue-width'"),
        ("a number out of range", 5, "issue-width 0", "issue-width is 0"),
        ("an unknown resource", 9, "class add uops=1 latency=1 uses=FPU", "expected the name of a resource"),
        ("an unknown instruction", 10, "\tADD NOSUCH", "'NOSUCH' is no instruction"),
        ("a class that is there twice", 11, "class add uops=1 latency=5", "the class add is defined twice"),
        ("an instruction that has two classes", 12, "\tMUL ADD", "ADD has a class already"),
        ("resources without a micro-op", 11, "class multiply uops=0 latency=5 uses=ALU", "has no micro-op"),
        ("an unknown LMUL", 19, "\tVADD_VV@M3", "found 'M3'"),
        ("an in-order model with a retire width", 6, "micro-op-buffer 0\nretire-width 2", "contradict")):
    lines = MODEL.splitlines()
    lines[line - 1] = broken
    place = "example.model:" if "contradict" in expected else f"example.model:{line}: "
    found, output, errors = mca("nop\n", "-mcpu=MODEL", model="\n".join(lines) + "\n")
    check(found == 1 and place in errors and expected in errors, f"a model with {what}", errors)

# ---- LLVM's names, and opcodes apart from their class ----------------------------------------------

NAMED = """pesa-processor-model 1
name Named
processor named rv64i fast
issue-width 2
micro-op-buffer 16
resource ALU units=2 from=Named.td:3
read ReadA from=Named.td:9
class one uops=1 latency=3 uses=ALU advance=0:1
write WriteA from=Named.td:4 reads=ReadA,ReadB
\tADD
write WriteB from=Named.td:5,Named.td:7 reads=ReadB,ReadB
\tXOR OR
class two uops=1 latency=3 uses=ALU
write WriteB
\tAND
variant if feature:fast one/WriteB else one
\tSUB
end
"""


def cycles(instructions, *changes):
    status, output, errors = mca("\n".join(f"{name} a0, a0, a0" for name in instructions.split()) + "\n", "-mcpu=MODEL",
                                 "-iterations=100", "--json", *(f"--set={change}" for change in changes), model=NAMED)
    return errors if status else json.loads(output)["CodeRegions"][0]["SummaryView"]["TotalCycles"]


def slower(instructions, *changes):
    """By how many cycles an iteration of this chain is slower; the first and the last may differ."""
    changed, plain = cycles(instructions, *changes), cycles(instructions)
    return changed if isinstance(changed, str) else round((changed - plain) / 100)


for what, instructions, change, more in (
        ("a SchedWrite", "add xor", "WriteB.latency=7", 4),
        ("a SchedWrite in two classes", "xor and or", "WriteB.latency=7", 12),
        ("a SchedWrite in an alternative of a variant", "sub", "WriteB.latency=7", 4),
        ("an opcode, not the others of its SchedWrite", "xor or", "xor.latency=7", 4),
        ("an opcode by LLVM's name", "add or", "OR.latency=7", 4),
        ("an opcode that has a variant", "sub xor", "sub.latency=7", 4),
        ("a whole class", "add xor and", "one.latency=7", 8),
        ("a SchedRead, of the operands that it is of", "add xor", "ReadA.advance=-2", 2)):
    check(slower(instructions, change) == more, f"a change of {what}", slower(instructions, change))
check(slower("xor or and", "xor.latency=7", "one.latency=9") == 12, "a later change of the class holds",
      slower("xor or and", "xor.latency=7", "one.latency=9"))
check("'WriteC'" in str(cycles("add", "WriteC.latency=7")), "a SchedWrite that the model lacks is named", cycles("add", "WriteC.latency=7"))
for what, line, broken, expected in (
        ("a write before the first class", 8, "write WriteA", "'write' before the first class"),
        ("a write without a name", 9, "write", "expected the name of a SchedWrite"),
        ("an unknown word of a write", 9, "write WriteA at=Named.td:4", "expected from= or reads="),
        ("a read that is defined nowhere", 7, "read ReadA", "expected 'read NAME from=FILE:LINE'"),
        ("an alternative that its class has not", 16, "variant if feature:fast two/WriteA else one", "found 'two/WriteA'")):
    lines = NAMED.splitlines()
    lines[line - 1] = broken
    found, output, errors = mca("nop\n", "-mcpu=MODEL", model="\n".join(lines) + "\n")
    check(found == 1 and f"example.model:{line}: " in errors and expected in errors, f"a model with {what}", errors)

# A pipe can be read only once.
piped = subprocess.run([PESA, "mca", "-mcpu=sifive-u74", "/dev/stdin"], input="add a0, a0, a1\n", capture_output=True, text=True)
check(piped.returncode == 0 and piped.stdout == mca("add a0, a0, a1\n", "-mcpu=sifive-u74")[1], "a pipe that is named as a file", piped)

end()
