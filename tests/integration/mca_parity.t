#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca prints what llvm-mca-22 prints: random blocks, every processor, every view.

Most blocks are analysed as regions of one input, 15 at a time, because starting llvm-mca takes longer
than an analysis; every 16th stands alone and may have regions and latency instruments of its own.

A block is not comparable if llvm-mca crashes on it, or if both programs refuse it.  The test prints how
often that was so; a block that only one of the two refuses is a difference.

Environment: PESA, PARITY_BLOCKS (blocks per processor, default 200), PARITY_SEED (default 1),
PARITY_PROCESSORS (names, default all), PARITY_SHOW (differences shown per processor, default 1).
`make parity N=... SEED=...` sets them.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tap import needs, skip_all

ORACLE = shutil.which("llvm-mca-22")
PESA = os.environ.get("PESA", "build/bin/pesa")
BLOCKS = int(os.environ.get("PARITY_BLOCKS", "200"))
BATCH = 16
SEED = int(os.environ.get("PARITY_SEED", "1"))

X = ["zero", "ra", "sp", "gp", "tp"] + [f"t{i}" for i in range(7)] + \
    [f"s{i}" for i in range(12)] + [f"a{i}" for i in range(8)]
F = [f"ft{i}" for i in range(12)] + [f"fs{i}" for i in range(12)] + [f"fa{i}" for i in range(8)]


# Differences that remain: processor, what the source has, why.
KNOWN = []


class Block:
    """Random instructions over few registers, so that they depend on each other."""

    def __init__(self, random_source, xlen, extensions):
        self.r = random_source
        self.xlen = xlen
        self.extensions = extensions
        self.registers = self.r.sample(X[5:], self.r.randint(2, 9)) + \
            (["zero"] if self.r.random() < 0.3 else [])
        self.floats = self.r.sample(F, self.r.randint(2, 8))
        self.vectors = [f"v{i}" for i in range(8, 32, 8)]
        self.marked = False
        self.label = f"label{self.r.randrange(10 ** 9)}"

    def x(self):
        return self.r.choice(self.registers)

    def f(self):
        return self.r.choice(self.floats)

    def v(self):
        return self.r.choice(self.vectors)

    def integer(self):
        w = "w" if self.xlen == 64 and self.r.random() < 0.3 else ""
        kind = self.r.randrange(5)
        if kind == 0:
            op = self.r.choice(["add", "sub", "sll", "srl", "sra"]) + w
            return f"{op} {self.x()}, {self.x()}, {self.x()}"
        if kind == 1:
            op = self.r.choice(["and", "or", "xor", "slt", "sltu"])
            return f"{op} {self.x()}, {self.x()}, {self.x()}"
        if kind == 2:
            return f"addi{w} {self.x()}, {self.x()}, {self.r.randint(-2048, 2047)}"
        if kind == 3:
            op = self.r.choice(["slli", "srli", "srai"])
            return f"{op} {self.x()}, {self.x()}, {self.r.randint(1, 31)}"
        op = self.r.choice(["lui", "auipc"])
        return f"{op} {self.r.choice([r for r in self.registers if r != 'zero'])}, " \
               f"{self.r.randint(1, 0xfffff)}"

    def multiply(self):
        op = self.r.choice(["mul", "mulh", "mulhu", "div", "rem", "divu"] +
                           (["mulw", "divw", "remuw"] if self.xlen == 64 else []))
        return f"{op} {self.x()}, {self.x()}, {self.x()}"

    def memory(self):
        size = self.r.choice("bhw" + ("d" if self.xlen == 64 else ""))
        if self.r.random() < 0.55:
            return f"l{size} {self.x()}, {self.r.randrange(0, 256, 8)}({self.x()})"
        return f"s{size} {self.x()}, {self.r.randrange(0, 256, 8)}({self.x()})"

    def floating(self):
        s = self.r.choice(["s", "d"] if "d" in self.extensions else ["s"])
        kind = self.r.randrange(6)
        if kind == 0:
            op = self.r.choice(["fadd", "fsub", "fmul", "fdiv", "fmin", "fsgnj"])
            return f"{op}.{s} {self.f()}, {self.f()}, {self.f()}"
        if kind == 1:
            op = self.r.choice(["fmadd", "fnmsub"])
            return f"{op}.{s} {self.f()}, {self.f()}, {self.f()}, {self.f()}"
        if kind == 2:
            width = "w" if s == "s" else "d"
            op = self.r.choice(["fl", "fs"])
            return f"{op}{width} {self.f()}, {self.r.randrange(0, 256, 8)}({self.x()})"
        if kind == 3:
            return f"fcvt.w.{s} {self.x()}, {self.f()}, rtz"
        if kind == 4:
            return self.r.choice([f"feq.{s} {self.x()}, {self.f()}, {self.f()}",
                                  f"fsqrt.{s} {self.f()}, {self.f()}",
                                  f"fclass.{s} {self.x()}, {self.f()}"])
        return f"fcvt.{s}.w {self.f()}, {self.x()}"

    def atomic(self):
        return self.r.choice([
            f"amoadd.w {self.x()}, {self.x()}, ({self.x()})",
            f"amoswap.w.aqrl {self.x()}, {self.x()}, ({self.x()})",
            f"lr.w {self.x()}, ({self.x()})",
            f"sc.w {self.x()}, {self.x()}, ({self.x()})",
            "fence rw, rw", "fence r, rw"])

    def bits(self):
        return self.r.choice([
            f"sh1add {self.x()}, {self.x()}, {self.x()}",
            f"andn {self.x()}, {self.x()}, {self.x()}",
            f"cpop {self.x()}, {self.x()}",
            f"clz {self.x()}, {self.x()}",
            f"max {self.x()}, {self.x()}, {self.x()}",
            f"rev8 {self.x()}, {self.x()}"])

    def control(self):
        return self.r.choice([
            f"beq {self.x()}, {self.x()}, 256",
            f"bne {self.x()}, {self.x()}, {self.label}_end", f"bgeu {self.x()}, zero, {self.label}",
            f"j {self.label}", f"bne {self.x()}, zero, 64",
            f"bltu {self.x()}, {self.x()}, 256", "j 512", "jal ra, 1024", "jr t0",
            "jalr ra, 0(t1)", "csrr a0, fflags", "ecall"])

    def vsetvli(self):
        """Only types under which 8 and 32 bit memory accesses exist: others crash the oracle."""
        if not self.marked and self.r.random() < 0.4:
            kind = self.r.choice(["e32, m4", "e32, m8", "e16, m4"])
        else:
            kind = self.r.choice(["e8", "e16", "e32"]) + ", " + self.r.choice(["m1", "m2", "mf2"])
        return f"vsetvli {self.x()}, {self.x()}, {kind}, ta, ma"

    def vector(self):
        kind = self.r.randrange(8)
        mask = ", v0.t" if self.r.random() < 0.2 else ""
        if kind == 0:
            op = self.r.choice(["vadd.vv", "vsub.vv", "vand.vv", "vmul.vv", "vmin.vv", "vsll.vv"])
            return f"{op} {self.v()}, {self.v()}, {self.v()}{mask}"
        if kind == 1:
            op = self.r.choice(["vadd.vx", "vmul.vx", "vdivu.vx", "vmacc.vx", "vslide1up.vx"])
            if op == "vmacc.vx":
                return f"{op} {self.v()}, {self.x()}, {self.v()}{mask}"
            a, b = self.r.sample(self.vectors, 2)
            return f"{op} {a}, {b}, {self.x()}{mask}"
        if kind == 2:
            op = self.r.choice(["vfadd.vv", "vfmul.vv", "vfdiv.vv", "vfmin.vv"])
            return f"{op} {self.v()}, {self.v()}, {self.v()}{mask}"
        if kind == 3:
            op = self.r.choice(["vredsum.vs", "vredmax.vs", "vfredusum.vs"])
            return f"{op} {self.v()}, {self.v()}, {self.v()}"
        if kind == 4:
            return self.r.choice([f"vle32.v {self.v()}, ({self.x()})",
                                  f"vse32.v {self.v()}, ({self.x()})",
                                  f"vlse32.v {self.v()}, ({self.x()}), {self.x()}",
                                  f"vle8.v {self.v()}, ({self.x()})"])
        if kind == 5:
            return self.r.choice([f"vmv.x.s {self.x()}, {self.v()}",
                                  f"vmv.v.x {self.v()}, {self.x()}",
                                  f"vmv.v.i {self.v()}, 3",
                                  f"vid.v {self.v()}"])
        if kind == 6:
            a, b = self.r.sample(self.vectors, 2)
            return self.r.choice([f"vrgather.vv {a}, {b}, {b}", f"vmseq.vv v0, {a}, {b}",
                                  f"vmerge.vvm {a}, {b}, {b}, v0", f"vcpop.m {self.x()}, v0"])
        return self.r.choice([f"vmv2r.v v{self.r.choice([8, 16])}, v24",
                              f"vl2re32.v {self.v()}, ({self.x()})",
                              f"vs1r.v {self.v()}, ({self.x()})"])

    def lines(self, alone):
        kinds = [(self.integer, 6), (self.memory, 4), (self.control, 0.5)]
        if "m" in self.extensions:
            kinds.append((self.multiply, 2))
        if "f" in self.extensions:
            kinds.append((self.floating, 3))
        if "a" in self.extensions:
            kinds.append((self.atomic, 0.7))
        if "zbb" in self.extensions and "zba" in self.extensions:
            kinds.append((self.bits, 2))
        lines = []
        vector = "v" in self.extensions and self.r.random() < 0.6
        if vector:
            kinds += [(self.vector, 8), (self.vsetvli, 0.7)]
            self.marked = self.r.random() < 0.4
            if self.r.random() < 0.7:
                lines.append(self.vsetvli())
            if self.marked:
                lines.append("# LLVM-MCA-RISCV-LMUL " + self.r.choice(["M1", "M2", "MF2"]))
                lines.append("# LLVM-MCA-RISCV-SEW " + self.r.choice(["E8", "E16", "E32"]))
        makers, weights = zip(*kinds)
        body = [maker() for maker in self.r.choices(makers, weights, k=self.r.randint(1, 24))]
        if vector:
            # Vector memory instructions without a known SEW crash the oracle.
            known = False
            for line in lines + body:
                if line.startswith("vset") or "RISCV-SEW" in line:
                    known = True
                elif re.match(r"v[ls]s?e\d+\.v", line) and not known:
                    lines.insert(0, "vsetvli a0, a1, e32, m1, ta, ma")
                    break
        if alone and self.r.random() < 0.3:
            body.insert(self.r.randint(0, len(body)), "# LLVM-MCA-LATENCY 7")
        if alone and self.r.random() < 0.3:
            middle = self.r.randint(1, len(body))
            body = ["# LLVM-MCA-BEGIN first"] + body[:middle] + ["# LLVM-MCA-END first"] + \
                body[middle:]
        # Branches go to the first instruction and to the end; and one to itself.
        if self.r.random() < 0.05:
            body.append(f"{self.label}_self: j {self.label}_self")
        return [self.label + ":"] + lines + body + [self.label + "_end:"]


def options(random_source):
    chosen = ["-timeline", "-all-stats"]
    if random_source.random() < 0.4:
        chosen = ["-all-views"]
    chosen.append(f"-iterations={random_source.choice([1, 2, 3, 10, 37])}")
    if random_source.random() < 0.2:
        chosen.append(f"-dispatch={random_source.randint(1, 5)}")
    if random_source.random() < 0.2:
        chosen.append("-noalias=false")
    if random_source.random() < 0.1:
        chosen.append(f"-lqueue={random_source.randint(1, 4)}")
    if random_source.random() < 0.1:
        chosen.append(f"-squeue={random_source.randint(1, 4)}")
    if random_source.random() < 0.1:
        chosen.append(f"-register-file-size={random_source.randint(4, 30)}")
    if random_source.random() < 0.3:
        chosen.append("-show-encoding")
    if random_source.random() < 0.1:
        chosen = ["-instruction-tables=" + random_source.choice(["normal", "full"])]
    if random_source.random() < 0.1:
        chosen = [option for option in chosen if option != "-all-views"] + ["-json"]
    return chosen


def run(command, text):
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


ASSEMBLED = Counter()  # runs of pesa mca, by whether it assembled the source itself


def run_pesa(arguments, text):
    """As run().  Without PATH no other assembler is found: what succeeds was assembled by pesa."""
    command = [os.path.abspath(PESA), "mca"] + arguments + ["-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True,
                            env=dict(os.environ, PATH="/nonexistent"))
    alone = "no assembler found" not in result.stderr
    ASSEMBLED[alone] += 1
    return (result.returncode, result.stdout, result.stderr) if alone else run(command, text)


def compare(processor, first, count):
    """Blocks `first` and the `count` - 1 after it: a list of (kind, description or None) for each.

    kind: same, crash (of llvm-mca), refused (by both), known (see KNOWN), different (described).
    """
    source = random.Random(f"{SEED} {processor} {first}")
    narrow = processor in NARROW
    xlen = 32 if narrow else 64
    extensions = EXTENSIONS[processor]
    attributes = []
    if processor in OPEN:
        attributes = ["-mattr=" + ",".join("+" + e for e in ("m", "a", "f", "d", "c"))]
        if not narrow and not FACTS[processor].startswith("rv"):
            attributes[0] += ",+64bit"
        extensions = {"m", "a", "f", "d"}
    blocks = [Block(source, xlen, extensions).lines(alone=count == 1) for _ in range(count)]
    common = ["-mcpu=" + processor, f"-mtriple=riscv{xlen}"] + attributes + options(source)
    for known, pattern, why in KNOWN:
        if known == processor and any(re.match(pattern, line) for lines in blocks for line in lines):
            return [("known", why)] * count
    if count == 1:
        return [compare_text(common, "\n".join(blocks[0]) + "\n")]
    result = compare_text(common, as_regions(blocks))
    if result[0] == "same":
        return [result] * count
    # Something is the matter with one of them, or only with all of them together.
    results = [compare_text(common, as_regions([block])) for block in blocks]
    if result[0] == "different" and all(kind == "same" for kind, _ in results):
        results[0] = result
    return results


def as_regions(blocks):
    return "".join(f"# LLVM-MCA-BEGIN block{i}\n" + "\n".join(lines) + f"\n# LLVM-MCA-END block{i}\n"
                   for i, lines in enumerate(blocks))


# By -mcpu: mnemonics that its model lacks, as far as they were met.
MISSING = {}
ALIASES = {"fmv.s": "fsgnj.s", "fmv.d": "fsgnj.d"}


def without(text, mnemonics):
    text = "".join(line + "\n" for line in text.splitlines()
                   if re.sub(r"^\w+: ", "", line).split()[0] not in mnemonics)
    return "nop\n" if all(line.startswith("#") or line.endswith(":") for line in text.splitlines()) else text


def compare_text(common, text):
    # Instructions that the model lacks go first: when the oracle skips some, its views mix up the
    # instruments of the others.
    lacking = MISSING.setdefault(common[0], set())
    text = without(text, lacking)
    while True:
        oracle, expected, messages = run([ORACLE] + common, text)
        missing = re.search(r"instruction: \s*(\S+)", messages) if oracle else None
        if not missing:
            break
        status, _, errors = run_pesa(common, text)
        if status == 0:
            return ("different", f"accepted: {missing[1]}\n{' '.join(common)}\n{text}")
        found = {missing[1], ALIASES.get(missing[1], missing[1])}
        if not missing[1].startswith("v"):  # of a vector instruction it may depend on LMUL and SEW
            lacking |= found
        rest = without(text, found)
        if rest == text:
            break
        text = rest
    if "Stack dump" in messages:
        return ("crash", None)
    status, actual, errors = run_pesa(common, text)
    if (oracle == 0) != (status == 0):
        return ("different", f"only one refuses, status {oracle} and {status}: {messages[:200]} | "
                f"{errors[:200]}\n{' '.join(common)}\n{text}")
    if oracle:
        return ("refused", messages.partition("\n")[0] + (f" ({missing[1]})" if missing else ""))
    if "-json" in common:
        expected, actual = (json.dumps(json.loads(re.sub(r'\.\\u000(\d)"', r'.\1"', text)), indent=1)
                            for text in (expected, actual))
    if expected == actual:
        return ("same", None)
    for left, right in zip(expected.splitlines(), actual.splitlines()):
        if left != right:
            return ("different", f"expected: {left}\n   found: {right}\n{' '.join(common)}\n{text}")
    return ("different", f"one output is longer\n{' '.join(common)}\n{text}")


def processor_facts():
    """Extensions by processor, from the model files' own lines."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../decoder/mca/generated/models")
    facts = {}
    for name in sorted(os.listdir(top)):
        with open(os.path.join(top, name)) as file:
            for line in file:
                if line.startswith("processor "):
                    _, processor, isa, *_ = line.split()
                    facts[processor] = isa
                elif line.startswith("class"):
                    break
    return facts


FACTS = processor_facts()
OPEN = {p for p, isa in FACTS.items() if isa == "-" or
        not set("ma") & set(isa[4:].split("_")[0])}
NARROW = {p for p, isa in FACTS.items() if isa.startswith("rv32")}
EXTENSIONS = {p: set(isa[4:].split("_")[0]) | set(isa.split("_")[1:]) for p, isa in FACTS.items()}


def main():
    if not ORACLE:
        skip_all(needs("llvm-22"))
    processors = os.environ.get("PARITY_PROCESSORS", " ".join(sorted(FACTS))).split()
    print(f"1..{len(processors)}")
    total = Counter()
    refusals = Counter()
    with ThreadPoolExecutor(2) as pool:
        for number, processor in enumerate(processors, 1):
            parts = []
            while sum(parts) < BLOCKS:
                parts.append(min(1 if len(parts) % 2 == 0 else BATCH - 1, BLOCKS - sum(parts)))
            firsts = [sum(parts[:i]) for i in range(len(parts))]
            results = [result for part in pool.map(
                lambda first, count: compare(processor, first, count), firsts, parts)
                for result in part]
            bad = [text for kind, text in results if kind == "different"]
            kinds = Counter(kind for kind, _ in results)
            total += kinds
            refusals += Counter(text for kind, text in results if kind == "refused")
            print(f"{'not ok' if bad or not kinds['same'] else 'ok'} {number} - {processor}: "
                  f"{describe(kinds)}")
            for text in bad[:int(os.environ.get("PARITY_SHOW", "1"))]:
                print("\n".join("# " + line for line in text.splitlines()))
            sys.stdout.flush()
    print(f"# {len(processors)} processors, seed {SEED}: {describe(total)}")
    print(f"# {ASSEMBLED[True]} of {ASSEMBLED.total()} sources assembled by pesa itself")
    for processor, pattern, why in KNOWN:
        print(f"#   known difference: {processor}, '{pattern}': {why}")
    for message, count in refusals.most_common(10):
        print(f"#   refused by both, {count} times: {message}")


def describe(kinds):
    names = (("crash", "not comparable because llvm-mca crashes"),
             ("refused", "not comparable because both refuse"),
             ("known", "with a known difference"), ("different", "different"))
    return ", ".join([f"{kinds['same']} of {sum(kinds.values())} blocks identical"] +
                     [f"{kinds[kind]} {what}" for kind, what in names if kinds[kind]])


main()
