# SPDX-License-Identifier: GPL-2.0-or-later
"""accuracy.py --timed: timed branches alone (Documentation/timed-branches.md) against the exact profile of the same run.

Each program runs once on each core, with control transfer records and the samplers `shpms` and `lcofi`.  Of `lcofi` the branch stacks
alone are used for `timed`: the cycles of a block (pesa report --block) go to its instructions, an equal share to each.

By block: the code is cut where a block of the branch stacks begins, and behind where one ends; cycles are summed between these cuts.
"""
import bisect
import collections
import datetime
import io
import json
import os
import sys
import tempfile

import accuracy
from columns import put_section, wrapped

DEPTH = 32
HEADING = "## Timed branches"
NEXT = "## Programs"
EVENTS = {"shpms": "pesa/cycles/", "lcofi": "pesa/lcofi/"}


def instructions(path, *words):
    """{(binary, address): cycles}, and the length of each instruction."""
    document = json.loads(accuracy.run([accuracy.PESA, "report", "--json", "--sort", "insn", "--raw", *words, "-i", path]))
    return ({(one["dso"], one["address"]): one["cycles"] for one in document["instructions"]},
            {(one["dso"], one["address"]): one["length"] for one in document["instructions"]})


def shared_evenly(blocks, addresses):
    """The cycles of instructions: an equal share of a block for each."""
    cycles = collections.defaultdict(float)
    for block in blocks:
        known = addresses.get(block["dso"], [])
        inside = known[bisect.bisect_left(known, block["start"]):bisect.bisect_right(known, block["last"])]
        for address in inside:
            cycles[block["dso"], address] += block["cycles"] / len(inside)
        if not inside:
            cycles[block["dso"], block["start"]] += block["cycles"]
    return cycles


def distance(one, other):
    """Half the sum of the differences of shares."""
    whole, others = sum(one.values()), sum(other.values())
    return sum(abs(one.get(key, 0) / whole - other.get(key, 0) / others) for key in one.keys() | other.keys()) / 2


def by_block(cycles, cuts):
    summed = collections.defaultdict(float)
    for (dso, address), value in cycles.items():
        own = cuts.get(dso, [])
        summed[dso, bisect.bisect_right(own, address)] += value
    return summed


def compare(data, golden):
    """The errors of each sampler and of timed branches, by instruction and by block."""
    exact, lengths = instructions(golden)
    report = json.loads(accuracy.run([accuracy.PESA, "report", "--block", "--json", "--event", EVENTS["lcofi"], "-i", data]))
    addresses, cuts = collections.defaultdict(list), collections.defaultdict(set)
    for dso, address in exact:
        addresses[dso].append(address)
    for block in report["blocks"]:
        cuts[block["dso"]] |= {block["start"], block["last"] + lengths.get((block["dso"], block["last"]), 2)}
    addresses = {dso: sorted(each) for dso, each in addresses.items()}
    cuts = {dso: sorted(each) for dso, each in cuts.items()}
    profiles = {name: instructions(data, "--event", event)[0] for name, event in EVENTS.items()}
    profiles["timed"] = shared_evenly(report["blocks"], addresses)
    cut = by_block(exact, cuts)
    return {"samples": report["samples"], "blocks": len(report["blocks"]),
            "instruction": {name: distance(profile, exact) for name, profile in profiles.items()},
            "block": {name: distance(by_block(profile, cuts), cut) for name, profile in profiles.items()}}


def measure(name, core, wanted, known):
    """Figures of a program on a core; `known`: scale and cycles of an earlier run, None: none was."""
    with tempfile.TemporaryDirectory(prefix="pesa-accuracy-") as folder:
        data, golden = os.path.join(folder, "perf.data"), os.path.join(folder, "golden.data")
        points = [known] if known else []
        while len(points) < 2:
            scale = accuracy.next_scale(points, 1.03 * wanted * accuracy.PERIOD)
            command, standard_input, cpu = accuracy.program(name, folder, scale)
            common = ["--core", core] + (["--cpu", cpu] if cpu else []) \
                + ["--", os.path.join(accuracy.O, "programs", name)] + command[1:]
            # A small first run tells how large the input has to be.
            summary = accuracy.record(["--set", f"sample.ctr_depth={DEPTH}"] + common, accuracy.PERIOD, folder, standard_input,
                                      tuple(EVENTS))
            points.append((scale, summary["cycles"]))
        return {"program": name, "core": core, "cycles": summary["cycles"], "scale": scale, **compare(data, golden)}


def mean(results, level, name):
    return sum(one[level][name] for one in results) / len(results)


def section(results, command):
    names = ("shpms", "lcofi", "timed")
    rows = {}
    for one in results:
        rows.setdefault(one["core"], []).append(
            f"| {one['program']} | {one['samples']} | {one['blocks']} | "
            + " | ".join(accuracy.percent(one[level][name]) for level in ("instruction", "block") for name in names) + " |\n")
    worst = max(results, key=lambda one: one["block"]["timed"])
    out = io.StringIO()
    out.write(f"""{HEADING}

What hardware with Ssctr alone tells ([timed-branches](timed-branches.md)), against the exact profile of the same run: branch stacks
of {DEPTH} control transfer records with cycle counts, at the interrupts of `lcofi`, a sample every {accuracy.PERIOD} cycles. The
cycles of a block go to its instructions in equal shares. By block, code is cut where a block of the stacks begins or ends. Written
by `{command}`; machine: {accuracy.machine()}; {datetime.date.today()}. Figures are percent but for counts.

| averages over {len(results)} runs | instruction | block |
| --- | ---: | ---: |
| shpms | {accuracy.percent(mean(results, "instruction", "shpms"))} | {accuracy.percent(mean(results, "block", "shpms"))} |
| lcofi | {accuracy.percent(mean(results, "instruction", "lcofi"))} | {accuracy.percent(mean(results, "block", "lcofi"))} |
| timed branches | {accuracy.percent(mean(results, "instruction", "timed"))} | {accuracy.percent(mean(results, "block", "timed"))} |

* By block, timed branches are {accuracy.percent(worst["block"]["timed"])} % off at most ({worst["program"]} on {worst["core"]}).

shpms has no more error than random sampling (above). By instruction (first three columns of errors) and by block:
""")
    for core, each in rows.items():
        out.write(f"\n### Timed branches on {core}\n\n| program | samples | blocks | " + " | ".join(names * 2) + " |\n| --- |"
                  + " ---: |" * (2 + 2 * len(names)) + "\n" + "".join(each))
    out.write("\n")
    return wrapped(out.getvalue())


def main(jobs, path, wanted, known, command):
    """Measure, and write the section into the document, or to standard output."""
    results = []
    for name, core in jobs:
        results.append(measure(name, core, wanted, known.get(f"{name} {core}")))
        one = results[-1]
        print(f"{name:<14}{core:<11}{one['cycles']:>12} cycles  by instruction: timed {accuracy.percent(one['instruction']['timed'])} %  "
              f"lcofi {accuracy.percent(one['instruction']['lcofi'])} %  by block: timed {accuracy.percent(one['block']['timed'])} %  "
              f"lcofi {accuracy.percent(one['block']['lcofi'])} %", file=sys.stderr, flush=True)
    put_section(path, HEADING, section(results, command), NEXT)
