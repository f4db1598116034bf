#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What pesa compare says of timed branches of real programs: on cores as their models describe them, where no block should differ but
by what a scheduling model does not have, and on cores that differ in one entry.

By how much a block differs on such a core is known without the model: the median of its cycles there, less the median on the core
that is as described (pesa report --block).  Writes the part "compared" of Documentation/timed-branches.md.

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


def blocks(document):
    return {(one["dso"], one["start"], one["last"]): one for one in document["blocks"]}


def is_off(one):
    return one["verdict"] in ("slower", "faster")


def kind(one):
    return f"{one['verdict']}{' (memory)' if one['memory'] and is_off(one) else ''}"


def shares(document):
    """By verdict: of the cycles of blocks that have one, and how many blocks."""
    cycles, count = collections.Counter(), collections.Counter()
    for one in document["blocks"]:
        cycles[kind(one)] += one["cycles"]
        count[kind(one)] += 1
    whole = sum(cycles.values())
    return {what: amount / whole for what, amount in cycles.items()}, count


def judge(plain, planted, compared, document):
    """Blocks whose cycles the deviation changes by 10 % and more: found or not, and by how much; and others."""
    result = collections.Counter()
    sizes = []
    for place, one in blocks(document).items():
        if one["share"] < SHARE_LEAST or place not in plain or place not in planted or place not in compared:
            continue
        before, after = plain[place]["median"], planted[place]["median"]
        if is_off(compared[place]) or one["verdict"] == "too few":
            continue
        if abs(after - before) >= max(0.1 * before, 1):
            result["changed"] += 1
            result["changed and off"] += is_off(one)
            result["wrong direction"] += is_off(one) and (one["difference"] > 0) != (after > before)
            if is_off(one):
                sizes.append(abs(one["difference"] - (after - before)) / abs(after - before))
        elif after == before:
            result["not changed"] += 1
            result["not changed and off"] += is_off(one)
    return result, sizes


def measure(programs, cores, scale):
    plain_shares, counts, found, sizes, rest = collections.defaultdict(list), collections.Counter(), collections.defaultdict(collections.Counter), [], []
    for core in cores:
        for name in programs:
            with tempfile.TemporaryDirectory(prefix="pesa-accuracy-") as folder:
                path = os.path.join(folder, "perf.data")
                record(name, core, scale, path)
                plain, document = blocks(shown(("report", "--block"), "-i", path)), shown(("compare",), "-i", path)
                compared = blocks(document)
                each, count = shares(document)
                plain_shares[core].append(each)
                counts.update(count)
                rest.append(1 - document["timed"]["compared"] / document["timed"]["cycles"])
                for change in PLANTED:
                    record(name, core, scale, path, "--set", change)
                    result, off = judge(plain, blocks(shown(("report", "--block"), "-i", path)), compared, shown(("compare",), "-i", path))
                    found[core].update(result)
                    sizes += off
                print(f"{name} on {core}: {each}", file=sys.stderr, flush=True)
    return plain_shares, counts, found, sizes, rest


def section(programs, results):
    plain_shares, counts, found, sizes, rest = results
    runs = sum(map(len, plain_shares.values()))
    kinds = ["agrees", "varies", "moved", "slower (memory)", "slower", "faster (memory)", "faster", "too few"]
    table = "| cores as described | runs | " + " | ".join(kinds) + " |\n| --- |" + " ---: |" * (1 + len(kinds)) + "\n"
    for core, each in plain_shares.items():
        table += f"| {core} | {len(each)} | " + " | ".join(f"{100 * sum(one.get(what, 0) for one in each) / len(each):.1f} %"
                                                        for what in kinds) + " |\n"
    table += f"| blocks | {sum(counts.values())} | " + " | ".join(str(counts[what]) for what in kinds) + " |\n"
    planted = "| one entry changed | blocks that it changes | said to differ | in the right direction | blocks that it does not change " \
              "| said to differ |\n| --- |" + " ---: |" * 5 + "\n"
    for core, each in found.items():
        planted += f"| {core} | {each['changed']} | {each['changed and off']} ({100 * each['changed and off'] / max(each['changed'], 1):.0f} %) " \
                   f"| {each['changed and off'] - each['wrong direction']} | {each['not changed']} | {each['not changed and off']} |\n"
    sizes.sort()
    return wrapped(f"""
Written by `tests/accuracy/timed_compare.py` on {datetime.date.today()}: {len(programs)} programs of accuracy.md, a sample every
{PERIOD} cycles, {DEPTH} records; {100 * (1 - sum(rest) / len(rest)):.0f} % of the cycles of the stacks compared. On {runs} runs on
cores as their models describe them, shares of the cycles of blocks with a prediction and at least 0.1 % of all cycles, means over
the runs:

""") + table + wrapped(f"""
So a verdict is not yet a fault of the model: on these cores all of them are misses, mispredicted branches in the midst of blocks, and
the front end.

The same programs on cores of which one entry differs from the model ({', '.join(PLANTED)}, one at a time), blocks of at least
{100 * SHARE_LEAST:g} % of all cycles that are said to differ on no core as described. What a block should differ by is the median of
its cycles there less that on the core as described; a block is changed if that is 10 % and a cycle at least.

""") + planted + wrapped(f"""
Of the {len(sizes)} that are said to differ the difference is off by {100 * sizes[len(sizes) // 2]:.1f} % of the change in the median,
{100 * sizes[len(sizes) * 9 // 10]:.0f} % or less in nine of ten.
""" if sizes else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", default="-", metavar="FILE", help="the document (default: print)")
    parser.add_argument("--programs", default=PROGRAMS)
    parser.add_argument("--cores", default=CORES)
    parser.add_argument("--scale", type=float, default=0.15, help="of the inputs")
    wanted = parser.parse_args()
    programs = wanted.programs.split(",")
    text = section(programs, measure(programs, wanted.cores.split(","), wanted.scale))
    if wanted.o == "-":
        print(text)
    else:
        replace_between(wanted.o, BEGIN, END, text)


main()
