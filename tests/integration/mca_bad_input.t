#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Invalid input of pesa mca: one clear line, or llvm-mca's message and status if it has one."""
import os
import shutil
import subprocess
import tempfile

from tap import PESA, check, end, needs, skip, skip_all

ORACLE = shutil.which("llvm-mca-22")

# What, options, text, status, what the message says, what llvm-mca's says ("" : it accepts the input).
CASES = [
    ("an unknown processor", ["-mcpu=sifive-u75"], "nop\n", 1, "the nearest name is 'sifive-u74'",
     "'sifive-u75' is not a recognized processor"),
    ("an unknown processor, letters swapped", ["-mcpu=roc-ket"], "nop\n", 1, "the nearest name is 'rocket'",
     "'roc-ket' is not a recognized processor"),
    ("an unknown processor, nothing like it", ["-mcpu=qqqqqqqq"], "nop\n", 1, "-mcpu=help lists them all",
     "'qqqqqqqq' is not a recognized processor"),
    ("an unknown extension", ["-mcpu=sifive-u74", "-mattr=+zfoo"], "nop\n", 1, "extension 'zfoo' is not known", None),
    ("a negative number of iterations", ["-mcpu=sifive-u74", "-iterations=-1"], "nop\n", 2,
     "-iterations=-1: expected a number", "'-1' value invalid for uint argument"),
    ("a number of iterations that is none", ["-mcpu=sifive-u74", "-iterations=many"], "nop\n", 2,
     "-iterations=many: expected a number", "'many' value invalid for uint argument"),
    ("a number of iterations beyond 32 bits", ["-mcpu=sifive-u74", "-iterations=4294967296"], "nop\n", 2,
     "-iterations=4294967296: expected a number", "'4294967296' value invalid for uint argument"),
    ("more instructions than can be counted", ["-mcpu=sifive-u74", "-iterations=2147483647"], "nop\nnop\n", 1,
     "2147483647 iterations of 2 instructions are too many", None),
    ("no instructions", ["-mcpu=sifive-u74"], "# nothing\n", 1, "<stdin>: no assembly instructions found",
     "no assembly instructions found"),
    ("nothing but an empty region", ["-mcpu=sifive-u74"], "nop\n# LLVM-MCA-BEGIN a\n# LLVM-MCA-END a\n", 1,
     "the region a has no instructions", "no assembly instructions found"),
    ("an end marker too many", ["-mcpu=sifive-u74"], "nop\n# LLVM-MCA-END\nnop\n# LLVM-MCA-END b\n", 1,
     "<stdin>:4: error: found an invalid region end directive", "found an invalid region end directive"),
    ("the end of a region of another name", ["-mcpu=sifive-u74"], "# LLVM-MCA-BEGIN a\nnop\n# LLVM-MCA-END b\n",
     1, "<stdin>:3: error: found an invalid region end directive: there is no active region named b",
     "unable to find an active region named b"),
    ("a region within one of the same name", ["-mcpu=sifive-u74"],
     "# LLVM-MCA-BEGIN a\nnop\n# LLVM-MCA-BEGIN a\nnop\n", 1,
     "<stdin>:3: error: overlapping regions cannot have the same name", "overlapping regions cannot have the same name"),
    ("an anonymous region within another", ["-mcpu=sifive-u74"], "# LLVM-MCA-BEGIN\nnop\n# LLVM-MCA-BEGIN\nnop\n", 1,
     "<stdin>:3: error: found multiple overlapping anonymous regions",
     "found multiple overlapping anonymous regions"),
    ("a region that nothing ends", ["-mcpu=sifive-u74"], "# LLVM-MCA-BEGIN a\nnop\n", 0,
     "the region a has no end marker", ""),
    ("an empty region among others", ["-mcpu=sifive-u74"],
     "# LLVM-MCA-BEGIN a\n# LLVM-MCA-END a\n# LLVM-MCA-BEGIN b\nnop\n# LLVM-MCA-END b\n", 0,
     "the region a has no instructions; left out", ""),
    ("an LMUL that does not exist", ["-mcpu=sifive-x280"], "# LLVM-MCA-RISCV-LMUL M3\nnop\n", 1,
     "<stdin>:1: error: Failed to create RISCV-LMUL instrument with data: M3",
     "Failed to create RISCV-LMUL instrument with data: M3"),
    ("an SEW without a value", ["-mcpu=sifive-x280"], "# LLVM-MCA-RISCV-SEW\nnop\n", 1,
     "<stdin>:1: error: Failed to create RISCV-SEW instrument with no data",
     "Failed to create RISCV-SEW instrument with no data"),
    ("an unknown instrument", ["-mcpu=sifive-x280"], "# LLVM-MCA-FOO 1\nnop\n", 1,
     "<stdin>:1: error: Unknown instrumentation type in LLVM-MCA comment: FOO",
     "Unknown instrumentation type in LLVM-MCA comment: FOO"),
    ("an unknown mnemonic", ["-mcpu=sifive-u74"], "nop\nfrobnicate a0\n", 1,
     "-skip-unsupported-instructions=parse-failure leaves it out", "unrecognized instruction mnemonic"),
    ("an extension that the processor lacks", ["-mcpu=sifive-u74"], "vadd.vv v1, v1, v1\n", 1, "<stdin>:1",
     "instruction requires the following: 'V'"),
    ("an instruction that the model lacks", ["-mcpu=sifive-p670"], "nop\nfence.i\n", 1,
     "instruction 1 (fence.i) is not supported by the model of sifive-p670; -skip-unsupported-instructions=lack-sched",
     "-skip-unsupported-instructions=lack-sched"),
    ("the other width", ["-mcpu=sifive-e20"], "ld a0, 0(a1)\n", 1, "<stdin>:1", None),
]

if not any(shutil.which(name) for name in ("llvm-mc-22", "llvm-mc", "clang", "riscv64-linux-gnu-as")):
    skip_all(needs("clang"))


for what, options, text, status, says, oracle_says in CASES:
    found = subprocess.run([PESA, "mca", *options, "-"], input=text, capture_output=True, text=True)
    first = found.stderr.splitlines()[0] if found.stderr else ""
    check(found.returncode == status and says in first, what, f"status {found.returncode}: {found.stderr}")
    if ORACLE and oracle_says is not None:
        oracle = subprocess.run([ORACLE, "-mtriple=riscv64", *options], input=text, capture_output=True, text=True)
        check((oracle.returncode == 0) == (status == 0) and oracle_says in oracle.stderr and
              (status or oracle.stdout == found.stdout), f"{what}: llvm-mca, too",
              f"status {oracle.returncode}: {oracle.stderr}")
if not ORACLE:
    skip("llvm-mca, too", needs("llvm-22"))

for value in ("0", "1"):
    found = subprocess.run([PESA, "mca", "-mcpu=sifive-u74", "-iterations=" + value, "-"], input="nop\n",
                           capture_output=True, text=True)
    check(found.returncode == 0 and f"Iterations:        {'100' if value == '0' else value}\n" in found.stdout,
          f"-iterations={value}" + (" is the default, 100" if value == "0" else ""), found.stdout)
# One instruction a cycle, so that the limit is met exactly: it ends, and soon, because iterations repeat.
found = subprocess.run([PESA, "mca", "-mcpu=rocket-rv64", "-iterations=2147483647", "-resource-pressure=false",
                        "-instruction-info=false", "-"], input="nop\n", capture_output=True, text=True, timeout=300)
check(found.returncode == 0 and "Total Cycles:      2147483648\n" in found.stdout, "the most iterations there can be",
      found.stdout + found.stderr)

with tempfile.TemporaryDirectory() as directory:
    kept, link, model = (os.path.join(directory, name) for name in ("kept.s", "link.s", "some.model"))
    for path in (kept, model):
        with open(path, "w") as file:
            file.write("# nothing\n")
    os.symlink(kept, link)
    for what, arguments, says in (
            ("the input", ["-mcpu=rocket-rv64", kept, "-o", kept], "the report and the input cannot both be " + kept),
            ("the input, by another name", ["-mcpu=rocket-rv64", kept, "-o", link],
             "the report and the input cannot both be " + kept),
            ("the branch trace", ["-mcpu=rocket-rv64", PESA, "--branch-trace=" + kept, "-o", kept],
             "the report and the branch trace"),
            ("the processor model", [f"-mcpu={model}:x", kept, "-o", model], "the report and the processor model")):
        found = subprocess.run([PESA, "mca", *arguments], capture_output=True, text=True)
        with open(kept) as one, open(model) as other:
            contents = one.read() + other.read()
        check(found.returncode == 1 and len(found.stderr.splitlines()) == 1 and says in found.stderr and
              contents == "# nothing\n" * 2, f"no report over what is read: {what}", found.stderr)
    for what, path, says in (("a directory", directory, "is a directory"),
                             ("a file that is not there", directory + "/no.s", "No such file"),
                             ("an ELF file", os.path.abspath(PESA), "--symbol")):
        found = subprocess.run([PESA, "mca", "-mcpu=sifive-u74", path], capture_output=True, text=True)
        check(found.returncode == 1 and len(found.stderr.splitlines()) == 1 and says in found.stderr,
              f"{what} as input", found.stderr)

end()
