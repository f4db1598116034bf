#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The sampling unit and `pesa import` on many cycles of each core: pieces of programs' runs, one after the other, until there are enough.

  tests/rtl/long.py [--cycles N] [--cores NAMES] [--programs NAMES] [--period N]

Prints a line for each piece that differs, and a table at the end.  The programs are those of tests/accuracy, linked statically.
"""
import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../accuracy")]
import unit
import vectors
from accuracy import program as program_of

PIECE = 500000  # instructions


def pieces(folder, core, names, piece):
    """Traces of the runs of all programs, in turn, each a piece further on."""
    for number in range(1000):
        for name in names:
            elf = os.path.join(unit.BUILD, "programs", name + "-static")
            command, standard_input, cpu = program_of(name, folder, 0.3)
            log = os.path.join(folder, "piece.kanata")
            first = 1 + number * piece
            unit.run(unit.PESA, "record", "-q", "--core", core, "-c", "1000000", "--pipeline-trace",
                     f"{log}:{first}-{first + piece - 1}", "-o", os.path.join(folder, "recording"),
                     *(["--cpu", cpu] if cpu else []), "--", elf, *command[1:], input=(standard_input or b"").decode())
            if os.path.getsize(log) > 100000:
                yield name, number, elf, log


def main():
    parser = argparse.ArgumentParser(description="unit and import on many cycles")
    parser.add_argument("--cycles", type=int, default=10000000)
    parser.add_argument("--cores", default="inorder-2,ooo-3,ooo-4,ooo-8")
    parser.add_argument("--programs", default="bzip2,lua,zstd,sqlite3")
    parser.add_argument("--period", type=int, default=257)
    parser.add_argument("--piece", type=int, default=PIECE)
    options = parser.parse_args()
    rows, bad = [], 0
    with tempfile.TemporaryDirectory(prefix="pesa-rtl-") as folder:
        for core in options.cores.split(","):
            parameters = unit.of_core(core, Depth=8)
            bench = unit.build(folder, parameters)
            causes = vectors.causes_of_core(unit.core_file(core))
            total = written = lost = count = 0
            for name, number, elf, log in pieces(folder, core, options.programs.split(","), options.piece):
                with open(log, encoding="utf-8") as file:
                    found = vectors.read_trace(file, causes, "virtual-core")
                vector_file = os.path.join(folder, "vectors")
                with open(vector_file, "w", encoding="ascii") as out:
                    cycles = vectors.make(found, vectors.Text(elf), causes, parameters["RefillCycles"], out)
                del found
                expected = unit.imported(log, elf, options.period, os.path.join(folder, "import.data"))
                got, numbers = unit.simulate(bench, vector_file, os.path.join(folder, "records"), options.period)
                why = unit.verdict(expected, got, numbers, options.period - 1, options.period)
                if why:
                    bad += 1
                    print(f"{core}, {name}, piece {number}: {why}", flush=True)
                total, written, lost, count = total + cycles, written + numbers[2], lost + numbers[3], count + 1
                print(f"{core}: {total} cycles", file=sys.stderr, flush=True)
                if total >= options.cycles:
                    break
            rows.append((core, count, total, written, lost))
            print(f"| {core} | {count} | {total} | {written} | {lost} | {bad} |", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
