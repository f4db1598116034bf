#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What pesa compare says of timed branches of real programs: on cores as their models describe them, where no block should differ but
by what a scheduling model does not have, and on cores that differ in one entry.

By how much a block differs on such a core is known without the model: the median of its cycles there, less the median on the
core that is as described (pesa report --block); a pass through a loop, by what was measured of it on both.  Writes the part "compared" of Documentation/timed-branches.md.

  tests/accuracy/timed_compare.py [-o FILE] [--programs NAMES] [--cores NAMES] [--scale S]
"""
import argparse
import collections
import datetime
import json
import os
import subprocess
import sys
import tempfile

import accuracy
from columns import replace_between, wrapped

BEGIN, END = "<!-- compared: begin -->\n", "<!-- compared: end -->\n"
DEPTH, PERIOD = 32, 997
PROGRAMS = "bzip2,zstd,xz,lua,sqlite3,nettle-hash,cwebp,flac,nasm,tcc,sort"
CORES = "inorder-2,ooo-3,ooo-4,ooo-8"
PLANTED = ("WriteIALU.latency=3", "WriteShiftImm.latency=4", "WriteLDB.latency=9", "WriteLDD.latency=9")
SHARE_LEAST = 0.003  # of all cycles, of a block that is judged


def shown(command, *words):
    return json.loads(accuracy.run([accuracy.PESA, *command, "--json", *words]))


def record(name, core, scale, data, *words):
    with tempfile.TemporaryDirectory(prefix="pesa-accuracy-") as folder:
        command, standard_input, cpu = accuracy.program(name, folder, scale)
        done = subprocess.run([accuracy.PESA, "record", "-q", "--core", core, "--set", f"sample.ctr_depth={DEPTH}", "--sampler", "lcofi",
                               "-c", str(PERIOD), "-o", data, *words, *(["--cpu", cpu] if cpu else []), "--",
                               os.path.join(accuracy.O, "programs", name), *command[1:]],
                              input=standard_input or b"", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(f"{name} on {core}: {done.stderr.decode()}")


def by_place(rows):
    return {(one["dso"], one["start"], one["last"]): one for one in rows}


def is_off(one):
    return one["verdict"] in ("slower", "faster")


def kind(one):
    return f"{one['verdict']}{' (memory)' if one['memory'] and is_off(one) else ''}"


def shares(rows):
    """By verdict: of the cycles of blocks that have one, and how many blocks."""
    cycles, count = collections.Counter(), collections.Counter()
    for one in rows:
        cycles[kind(one)] += one["share"]
        count[kind(one)] += 1
    whole = sum(cycles.values())
    return {what: amount / whole for what, amount in cycles.items()} if whole else {}, count


def judge(described, changed, before, after):
    """Of rows on a core as described and on the changed one: those that the change makes 10 % slower or faster and more, and others;
    `before` and `after` have the cycles of each place."""
    result, sizes = collections.Counter(), []
    for place, one in by_place(changed).items():
        old = described.get(place)
        if one["share"] < SHARE_LEAST or not old or place not in before or place not in after:
            continue
        if is_off(old) or "too few" in (old["verdict"], one["verdict"]):
            continue
        change = after[place] - before[place]
        if abs(change) >= max(0.1 * before[place], 1):
            result["changed"] += 1
            result["found"] += is_off(one)
            result["right"] += is_off(one) and (one["difference"] > 0) == (change > 0)
            if is_off(one):
                sizes.append(abs(one["difference"] - change) / abs(change))
        elif abs(change) < max(0.01 * before[place], 0.1):
            result["not changed"] += 1
            result["wrong"] += is_off(one)
    return result, sizes


def values(rows, name):
    return {place: one[name] for place, one in by_place(rows).items()}


class Results:
    """Sums over runs."""

    def __init__(self):
        self.shares = {what: collections.defaultdict(list) for what in ("blocks", "loops")}
        self.counts = {what: collections.Counter() for what in ("blocks", "loops")}
        self.found = {what: collections.defaultdict(collections.Counter) for what in ("blocks", "loops")}
        self.sizes = {"blocks": [], "loops": []}
        self.compared = []

    def add(self, name, core, scale, path):
        record(name, core, scale, path)
        plain, document = shown(("report", "--block"), "-i", path)["blocks"], shown(("compare",), "-i", path)
        self.compared.append(document["timed"]["compared"] / document["timed"]["cycles"])
        for what in self.shares:
            each, count = shares(document[what])
            self.shares[what][core].append(each)
            self.counts[what].update(count)
        for change in PLANTED:
            record(name, core, scale, path, "--set", change)
            planted, changed = shown(("report", "--block"), "-i", path)["blocks"], shown(("compare",), "-i", path)
            for what in self.shares:
                before, after = (values(plain, "median"), values(planted, "median")) if what == "blocks" else \
                    (values(document[what], "measured"), values(changed[what], "measured"))
                result, off = judge(by_place(document[what]), changed[what], before, after)
                self.found[what][core].update(result)
                self.sizes[what] += off


def table_of_verdicts(results, what):
    kinds = ["agrees", "varies", "moved", "slower (memory)", "slower", "faster (memory)", "faster", "too few"]
    text = f"| {what} | runs | " + " | ".join(kinds).replace("memory", "m") + " |\n| --- |" + " ---: |" * (1 + len(kinds)) + "\n"
    for core, each in results.shares[what].items():
        text += f"| {core} | {len(each)} | " + " | ".join(f"{100 * sum(one.get(kind, 0) for one in each) / len(each):.1f}"
                                                           for kind in kinds) + " |\n"
    counts = results.counts[what]
    return text + f"| how many | {sum(counts.values())} | " + " | ".join(str(counts[kind]) for kind in kinds) + " |\n"


def table_of_planted(results):
    text = "| core | what | changed | said to differ | in that direction | not changed | said to differ |\n" \
           "| --- | --- |" + " ---: |" * 5 + "\n"
    for what, found in results.found.items():
        for core, each in found.items():
            text += f"| {core} | {what} | {each['changed']} | {each['found']} ({100 * each['found'] / max(each['changed'], 1):.0f} %) " \
                    f"| {each['right']} | {each['not changed']} | {each['wrong']} |\n"
    return text


def section(programs, results):
    runs = len(results.compared)
    sizes = {what: sorted(each) for what, each in results.sizes.items()}
    said = "; ".join(f"of {len(each)} {what} {100 * each[len(each) // 2]:.1f} % in the median, {100 * each[len(each) * 9 // 10]:.0f} % or "
                     "less in nine of ten" for what, each in sizes.items() if each)
    return wrapped(f"""
Written by `tests/accuracy/timed_compare.py` on {datetime.date.today()}: {len(programs)} programs of accuracy.md, a sample every
{PERIOD} cycles, {DEPTH} records; {100 * sum(results.compared) / runs:.0f} % of the cycles of the stacks are compared. On {runs} runs
on cores as their models describe them: percent of the cycles of blocks, and of loops of several blocks, that have a prediction and at
least 0.1 % of all cycles, means over the runs; (m): with loads or stores.

""") + table_of_verdicts(results, "blocks") + "\n" + table_of_verdicts(results, "loops") + wrapped(f"""
So a verdict is not yet a fault of the model: these cores have none. It is what the model does not have (misses, mispredicted branches
in the midst of blocks, the front end), or where the engine differs from the core.

The same programs on cores of which one entry differs from the model ({', '.join(PLANTED)}, one at a time), blocks and loops with at
least {100 * SHARE_LEAST:g} % of all cycles that are not said to differ on the core as described. What a block should differ by is the
median of its cycles there less that on the core as described, without any model; it is changed if that is 10 % and a cycle at least,
and not changed below 1 % and 0.1 cycles.

""") + table_of_planted(results) + wrapped(f"""
Differences that are said are off from that change by: {said}.
""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", default="-", metavar="FILE", help="the document (default: print)")
    parser.add_argument("--programs", default=PROGRAMS)
    parser.add_argument("--cores", default=CORES)
    parser.add_argument("--scale", type=float, default=0.15, help="of the inputs")
    wanted = parser.parse_args()
    programs = wanted.programs.split(",")
    results = Results()
    for core in wanted.cores.split(","):
        for name in programs:
            with tempfile.TemporaryDirectory(prefix="pesa-accuracy-") as folder:
                results.add(name, core, wanted.scale, os.path.join(folder, "perf.data"))
            print(f"{name} on {core}", file=sys.stderr, flush=True)
    text = section(programs, results)
    if wanted.o == "-":
        print(text)
    else:
        replace_between(wanted.o, BEGIN, END, text)


main()
