#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many overflows the sampling unit discards because records wait for what is known later, by period and room for records.

  tests/rtl/discarded.py [-o FILE]     the table; with -o into a document, between <!-- discarded --> and <!-- end of discarded -->

Each core runs the beginning of bzip2; records leave at once (AutoRun), so nothing else is in their way.
"""
import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../accuracy")]
import unit
import vectors
from columns import replace_between, wrapped

CORES = ["inorder-2", "ooo-3", "ooo-4", "ooo-8"]
PERIODS, ROOM, COUNT = (32, 64, 128, 256, 512), (1, 2, 4), 120000


def measure(folder, core):
    """Share of the overflows that are discarded, by room and period; cycles."""
    elf, log, vector_file = (os.path.join(unit.BUILD, "programs/bzip2-static"), os.path.join(folder, "log"),
                             os.path.join(folder, "vectors"))
    if os.path.exists(log):
        os.unlink(log)
    unit.run(unit.PESA, "record", "-q", "--core", core, "-c", "100000", "--pipeline-trace", f"{log}:1-{COUNT}", "-o",
             os.path.join(folder, "data"), "--", elf, "-kc", os.path.join(unit.TOP, "Documentation/design.md"))
    causes = vectors.causes_of_core(unit.core_file(core))
    with open(log, encoding="utf-8") as file, open(vector_file, "w", encoding="ascii") as out:
        parameters = unit.of_core(core)
        vectors.make(vectors.read_trace(file, causes, "virtual-core"), vectors.Text(elf), causes, parameters["RefillCycles"], out)
    shares = {}
    for room in ROOM:
        program = unit.build(folder, {**parameters, "Depth": room})
        for period in PERIODS:
            _, (cycles, samples, _, discarded, _) = unit.simulate(program, vector_file, os.path.join(folder, "records"), period)
            shares[room, period] = discarded / (samples + discarded)
    return shares, cycles


def main():
    parser = argparse.ArgumentParser(description="overflows that are discarded because records wait")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pesa-rtl-") as folder:
        found = {core: measure(folder, core) for core in CORES}
    text = ("Written by `tests/rtl/discarded.py -o Documentation/ablation.md`: percent of the overflows that are discarded, in the first "
            + ", ".join(f"{cycles}" for _, cycles in found.values()) + f" cycles of bzip2 on {', '.join(CORES)}; averages of the four "
            "and, behind, the largest.\n\n| records may wait | " + " | ".join(f"period {period}" for period in PERIODS)
            + " |\n| --- |" + " ---: |" * len(PERIODS) + "\n")
    for room in ROOM:
        row = [[100 * shares[room, period] for shares, _ in found.values()] for period in PERIODS]
        text += f"| {room} | " + " | ".join(f"{sum(one) / len(one):.2f} {max(one):.2f}" for one in row) + " |\n"
    text = wrapped("\n" + text)
    if options.output:
        replace_between(options.output, "<!-- discarded -->\n", "<!-- end of discarded -->", text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
