#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What each stalled instruction really waited for on the virtual core, from its pipeline trace.

The oracle of `pesa annotate --why`.  It knows the cycles of every executed instruction (entry into the core, done, retirement)
from the Kanata log, and reads sources and destinations from the text of the instructions.  It shares no code with the estimate:
neither model nor paths nor the engine.

  tests/accuracy/why_oracle.py KANATA ANNOTATE.json     print how much of the waits agrees
  tests/accuracy/why_oracle.py --programs N [-o FILE]   the same for programs drawn at random, on all cores; with -o the table in
                                                        FILE (Documentation/why.md) is replaced
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from accuracy import PESA  # noqa: E402  pylint: disable=wrong-import-position

NAMES = (["zero", "ra", "sp", "gp", "tp"] + [f"t{i}" for i in range(7)] + [f"s{i}" for i in range(12)] + [f"a{i}" for i in range(8)] +
         [f"ft{i}" for i in range(12)] + [f"fs{i}" for i in range(12)] + [f"fa{i}" for i in range(8)])
REGISTER = re.compile(r"\b(" + "|".join(NAMES) + r")\b")
NO_RESULT = re.compile(r"(f?s[bhwd]|b(eq|ne|lt|ge|gt|le)(u|z)?|j|jr|ret|fence.*|ecall|ebreak|nop|tail|csrw.*)$")
KINDS = ("operand", "late", "latency", "miss", "store")  # late: behind a unit, or a store or fence that is not told
BEGIN, END = "<!-- oracle: begin -->\n", "<!-- oracle: end -->\n"
MISSES = ("dcache-miss", "dtlb-miss", "l2-miss", "llc-miss", "page-walk")


class Instruction:
    __slots__ = ("address", "text", "label", "entered", "done", "retired", "thrown")

    def __init__(self):
        self.address, self.text, self.label = 0, "", ""
        self.entered = self.done = self.retired = None
        self.thrown = False


def instructions(path):
    """The instructions of a log, in program order."""
    cycle, every = 0, []
    with open(path, encoding="ascii") as file:
        for line in file:
            field = line.rstrip("\n").split("\t")
            if field[0] == "C=":
                cycle = int(field[1])
            elif field[0] == "C":
                cycle += int(field[1])
            elif field[0] == "I":
                every.append(Instruction())
            elif field[0] == "L" and field[2] == "0":
                address, every[int(field[1])].text = field[3].split(": ", 1)
                every[int(field[1])].address = int(address, 16)
            elif field[0] == "L":
                every[int(field[1])].label = field[3]
            elif field[0] == "S" and field[3] == "Ds":
                every[int(field[1])].entered = cycle
            elif field[0] == "S" and field[3] == "Cm":
                every[int(field[1])].done = cycle
            elif field[0] == "S" and field[3] == "Rt":
                every[int(field[1])].retired = cycle
            elif field[0] == "R" and field[3] == "1":
                every[int(field[1])].thrown = True
    return [one for one in every if not one.thrown and one.entered is not None and one.done is not None and one.retired is not None]


def operands(text):
    """The registers that an instruction writes and reads."""
    mnemonic, _, rest = text.partition(" ")
    found = REGISTER.findall(rest)
    if mnemonic == "ret":
        return [], ["ra"]
    if NO_RESULT.match(mnemonic):
        return [], found
    if mnemonic in ("jal", "jalr", "call") and (not found or "," not in rest):
        return ["ra"], found
    return found[:1], found[1:]


def latencies(every, model, shortest):
    """By address: the latency of the processor model that the virtual core took, where one took more than `shortest` cycles."""
    if not model:
        return {}
    texts = {}
    for one in every:
        mnemonic = one.text.partition(" ")[0]
        if not NO_RESULT.match(mnemonic) and mnemonic[0] not in "vj" and "0x" not in one.text and one.done - one.entered > shortest:
            texts.setdefault(one.address, one.text)
    if not texts:
        return {}
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write("\n".join(texts.values()) + "\n")
        file.flush()
        done = subprocess.run([PESA, "mca", f"-mcpu={model}", "-instruction-info", "--json", file.name], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True)
    found = json.loads(done.stdout)["CodeRegions"][0]["InstructionInfoView"]["InstructionList"]
    return {address: one["Latency"] for address, one in zip(texts, found)}


def waits(every, model=None, in_order=False):
    """By address: stalled cycles, and of these what they were for: (kind, producer) -> cycles.

    In order, an instruction waits for its operands from when the one before it issued.  The log has no issue: an instruction
    that did not miss issued its latency before it was done."""
    last, earliest, issued = {}, [], 0
    latency = latencies(every, model, 0 if in_order else 3)
    shortest = {address: cycles + 1 for address, cycles in latency.items()}
    for one in every:
        writes, reads = operands(one.text)
        sources = [last[name] for name in reads if name in last and name != "zero"]
        producer = max(sources, key=lambda source: source.done, default=None)
        entry = max(one.entered + 1, issued) if in_order else one.entered + 1
        ready = max(entry, producer.done - 1) if producer else entry
        # A result may be forwarded before it is written: it was there when this instruction issued.
        if one.address in latency:
            ready = max(entry, min(ready, one.done - 1 - latency[one.address]))
        earliest.append((entry, ready, producer))
        missed = any(miss in one.label for miss in MISSES)
        if not missed:
            shortest[one.address] = min(shortest.get(one.address, 1 << 60), one.done - ready)
        issued = max(issued, ready if missed else one.done - shortest[one.address])
        for name in writes:
            last[name] = one
    result = collections.defaultdict(lambda: [0, collections.Counter()])
    before = every[0].entered
    for one, (entry, ready, producer) in zip(every, earliest):
        left = stalled = max(0, one.done - max(before + 1, one.entered))
        before = one.retired
        if not stalled:
            continue
        missed = any(miss in one.label for miss in MISSES)
        forwarded = "store-forward" in one.label
        late = min(left, max(0, one.done - ready - shortest.get(one.address, 2)))
        left -= late
        operand = min(left, ready - entry)
        left -= operand
        wait = result[one.address]
        wait[0] += stalled
        wait[1]["miss" if missed else "store" if forwarded else "late", one.address] += late
        if producer:
            wait[1]["operand", producer.address] += operand
        wait[1]["latency", one.address] += left
    return result


def estimated(row):
    """The causes of an instruction of `pesa annotate --why --json`, as those above."""
    causes = collections.Counter()
    for cause in row["wait"]["causes"]:
        producer = cause["producer"]["address"]
        if cause["kind"] == "store":
            key = ("store", row["address"])
        elif cause["steps"] and cause["register"]:
            key = ("operand", producer)
        elif cause["kind"] in ("unit", "fence"):
            key = ("late", row["address"])
        else:
            key = (cause["kind"], row["address"])
        causes[key] += cause["share"]
    return causes


def agreement(every, rows, model=None, in_order=False, verbose=False):
    """Cycles of waits that agree, and all of them; by kind of the truth."""
    real = waits(every, model, in_order)
    agrees, total = collections.Counter(), collections.Counter()
    by_address = {row["address"]: row for row in rows if row.get("wait")}
    for address, (stalled, causes) in sorted(real.items(), key=lambda item: -item[1][0]):
        row = by_address.get(address)
        said = estimated(row) if row else {}
        # A load that the emulated core forwards to is late without a miss, and so is one that waits for a unit.
        for (kind, producer), cycles in causes.items():
            share = said.get((kind, producer), 0)
            if kind in ("late", "store"):
                share = said.get(("late", producer), 0) + said.get(("store", producer), 0)
            agrees[kind] += min(cycles, share * stalled)
            total[kind] += cycles
        if verbose and row:
            print(f"{address:x} {row['text']}: {stalled} cycles", dict(causes), {key: round(share, 2) for key, share in said.items()})
    return agrees, total


def trial(seed, core, arguments):
    from random_program import Program  # pylint: disable=import-outside-toplevel
    from pool import Failed, run  # pylint: disable=import-outside-toplevel
    from why import rounds_of  # pylint: disable=import-outside-toplevel
    with tempfile.TemporaryDirectory(prefix="pesa-why-") as folder:
        path = os.path.join(folder, str(seed))
        program = Program(seed)
        program.flags += [] if program.static else ["-static"]
        program.build(path)
        rounds = rounds_of(path, core, arguments.samples)
        run([PESA, "record", "-q", "-c", "500", "--core", core, "--cpu", "rv64,v=true", "-o", path + ".data", "--pipeline-trace",
             f"{path}.log:{arguments.first}-{arguments.first + arguments.instructions}", "--", path, str(rounds)])
        rows = []
        # All of the program: of each function that was sampled.
        report = json.loads(run([PESA, "report", "--json", "-i", path + ".data"]))
        for one in report["functions"]:
            if one["share"] < 0.002 or not one.get("symbol"):
                continue
            rows += json.loads(run([PESA, "annotate", "--why", "--no-source", "--json", "-i", path + ".data", one["symbol"]]))["instructions"]
        every = instructions(path + ".log")
        if not every:  # some programs wait so long for each instruction
            raise Failed(f"it executes less than {arguments.first} instructions in its {arguments.samples} samples")
        return agreement(every, rows, report["model"], core.startswith("inorder"), arguments.verbose)


def row_of(name, agrees, total):
    def share(kind):
        return f"{100 * agrees[kind] / total[kind]:.0f} %" if total[kind] else "-"
    return (f"| {name} | {total.total()} | {100 * agrees.total() / max(1, total.total()):.0f} % | " +
            " | ".join(share(kind) for kind in KINDS) + " |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="KANATA ANNOTATE.json")
    parser.add_argument("--programs", type=int, default=4, dest="count")
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--seeds")
    parser.add_argument("--cores", default="ooo-4,inorder-2,ooo-8,ooo-3")
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--first", type=int, default=300000)
    parser.add_argument("--instructions", type=int, default=200000)
    parser.add_argument("--in-order", action="store_true", help="the KANATA file is of a core that issues in order")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.files:
        with open(arguments.files[1], encoding="utf-8") as file:
            found = json.load(file)
        agrees, total = agreement(instructions(arguments.files[0]), found["instructions"], found["model"], arguments.in_order, arguments.verbose)
        print(f"{100 * agrees.total() / max(1, total.total()):.1f} % of {total.total()} stalled cycles agree")
        return 0
    cores = arguments.cores.split(",")
    from columns import replace_between  # pylint: disable=import-outside-toplevel
    from trials import seeds_of  # pylint: disable=import-outside-toplevel
    seeds = seeds_of(arguments)
    sums = {}
    words = " ".join(["tests/accuracy/why_oracle.py"] + [word for word in sys.argv[1:] if word not in ("-o", arguments.output)])
    lines = [f"Written by `{words}`: stalled cycles, and the\nshare of them that agrees, by what the oracle says.\n\n",
             "| program | core | stalled | agree | " + " | ".join(KINDS) + " |\n| --- | --- | ---: | ---: |" + " ---: |" * len(KINDS) + "\n"]
    for i, seed in enumerate(seeds):
        part, whole = trial(seed, cores[i % len(cores)], arguments)
        lines.append(row_of(f"{seed} | {cores[i % len(cores)]}", part, whole))
        print(lines[-1], end="", flush=True)
        agrees, total = sums.setdefault(cores[i % len(cores)], (collections.Counter(), collections.Counter()))
        agrees.update(part)
        total.update(whole)
    lines += [row_of(f"all | {core}", *sums[core]) for core in sorted(sums)]
    print("".join(lines), end="")
    if arguments.output:
        replace_between(arguments.output, BEGIN, END, "".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
