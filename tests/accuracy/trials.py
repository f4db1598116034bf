#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How often `pesa compare` is right on programs that nobody chose.

Each trial draws a program (random_program.py) and runs it on the virtual core: unmodified, where nothing must be found, and with
one to five deviations from the processor model, which must be found.  Seeds are drawn at run time: each run has new programs.

  tests/accuracy/trials.py [-o FILE] [--count N] [--cores NAMES] [--samples N] [--planted N] [--exact] [--jobs N] [--json FILE]
                           [--seeds FIRST-LAST|SEED,...] [--keep FOLDER] [--regressions]

--planted N makes N trials with deviations of each program; --exact compares exact profiles instead of samples.  With -o the tables
in FILE (Documentation/compare.md) are replaced.  An interrupt ends the trials: the tables are of those that ended before.  --seeds
repeats programs; --regressions runs those of random_seeds, where a finding was wrong once.
"""
import argparse
import contextlib
import json
import math
import os
import random
import shlex
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from accuracy import PESA  # noqa: E402  pylint: disable=wrong-import-position
from columns import replace_between, wrapped  # noqa: E402  pylint: disable=wrong-import-position
from compare import PERIOD, Model, classes_of, comparison_of, judge, key_of, names_none  # noqa: E402  pylint: disable=wrong-import-position
from pool import gather, run  # noqa: E402  pylint: disable=wrong-import-position
from random_program import Program  # noqa: E402  pylint: disable=wrong-import-position
from sysroot import sysroot  # noqa: E402  pylint: disable=wrong-import-position

BEGIN, END = "<!-- random programs: begin -->\n", "<!-- random programs: end -->\n"
SEEDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "random_seeds")
PATH_LENGTH = 120
ROUNDS = 4  # of the run that tells how long a round takes


def of_one_length(folder):
    """A folder in this one whose path is as long wherever this one is: the C library keeps the path of a program on its heap."""
    folder = os.path.abspath(folder)
    inner = os.path.join(folder, "_" * max(1, PATH_LENGTH - len(folder) - 1))
    os.makedirs(inner, exist_ok=True)
    return inner


class Trial:
    """One program in a folder; its recordings are kept there."""

    def __init__(self, seed, arguments, folder):
        self.seed, self.program, self.arguments = seed, Program(seed), arguments
        self.path, self.sysroot = os.path.join(of_one_length(folder), f"{seed}"), sysroot(folder)
        # Another thread may be about to build the same program for another core.
        if not os.path.exists(self.path):
            part = f"{self.path}.{threading.get_ident()}"
            self.program.build(part)
            os.rename(part, self.path)

    def record(self, core, changes, rounds):
        """The recording, and how many cycles it has."""
        name = "_".join([self.path, core, str(rounds)] + changes)
        if not os.path.exists(name + ".json"):
            words = [PESA, "record", "-q", "-c", str(PERIOD), "--core", core, "--cpu", "rv64,v=true", "--sysroot", self.sysroot, "-o", name + ".data",
                     f"--json={name}.part"] + (["--golden=" + name + ".golden"] if self.arguments.exact else [])
            for change in changes:
                words += ["--set", change]
            # Its path is on the program's stack, too.
            run(words + ["--", f"./{self.seed}", str(rounds)], folder=os.path.dirname(self.path))
            os.rename(name + ".part", name + ".json")
        with open(name + ".json", encoding="utf-8") as file:
            return name + (".golden" if self.arguments.exact else ".data"), json.load(file)["cycles"]

    def rounds(self, core):
        """As many as it takes for the number of samples."""
        short, longer = self.record(core, [], 1)[1], self.record(core, [], 1 + ROUNDS)[1]
        return max(1, math.ceil((self.arguments.samples * PERIOD - short) / max(1, (longer - short) / ROUNDS)))

    def compare(self, core, changes, rounds):
        data, cycles = self.record(core, changes, rounds)
        return comparison_of(data), cycles


def lower(generator, model, classes):
    """A latency below the model's."""
    name = generator.choice(classes)
    latency = model.classes[name]["latency"]
    return (f"{name}.latency={max(1, round(latency * generator.uniform(0.3, 0.8)))}", latency) if latency and latency > 1 else None


def of_opcode(generator, model, opcodes):
    """A latency of one opcode alone."""
    name, line = generator.choice(opcodes)
    latency = model.classes[line]["latency"]
    return (f"{name}.latency={max(latency + 1, round(latency * (1 + generator.uniform(0.2, 3))))}", latency) if latency else None


def opcodes_of(found, model):
    """The opcodes with at least 1 % of the executions, and the class of each."""
    executed, line = {}, {}
    for one in [one for region in found["regions"] for one in region["instructions"] if one["class"] in model.classes]:
        executed[one["opcode"]] = executed.get(one["opcode"], 0) + one["executions"]
        line[one["opcode"]] = one["class"]
    return [(name, line[name]) for name, count in sorted(executed.items()) if count >= 0.01 * sum(executed.values())]


def draw(generator, model, classes, opcodes, count, in_order):
    drawn, tries = {}, 0
    while len(drawn) < count and tries < 200:
        tries += 1
        if opcodes and generator.random() < 0.25:
            one = of_opcode(generator, model, opcodes)
        elif in_order and generator.random() < 0.2:
            one = lower(generator, model, classes)
        else:
            one = model.draw(generator, classes)
        # Two units fewer may leave a group without any.
        if one and not (one[0].endswith(".units=0") and any(other[0].endswith(".units=0") for other in drawn.values())):
            drawn.setdefault(key_of(one[0]), one)
    return list(drawn.values())


def trials_of(seed, core, arguments):
    """All trials of a program on a core."""
    results = []
    context = contextlib.nullcontext(arguments.keep) if arguments.keep else tempfile.TemporaryDirectory(prefix="pesa-trials-")
    with context as folder:
        trial, generator, model = Trial(seed, arguments, folder), random.Random(f"{seed} {core}"), Model(core)
        rounds = trial.rounds(core)
        found, base = trial.compare(core, [], rounds)
        results.append({"seed": seed, "core": core, "planted": [], "moved": 0, "misfit": found["totals"].get("misfit_region"),
                        "findings": [{**one, "false": True} for one in found["classes"]]})
        classes = [name for name, share in sorted(classes_of(found).items()) if share >= 0.01 and name in model.classes]
        for _ in range(arguments.planted if classes else 0):
            planted = draw(generator, model, classes, opcodes_of(found, model), generator.choice([1, 1, 1, 2, 3, 5]), core.startswith("inorder"))
            changes = [change for change, _ in planted]
            found, cycles = trial.compare(core, changes, rounds)
            one = {"seed": seed, "core": core, "planted": [], "moved": cycles / base - 1,
                   "findings": [{**f, "false": names_none(f, changes, model)} for f in found["classes"]]}
            for change, value in planted:
                others = [other for other in changes if other != change]
                alone = trial.record(core, [change], rounds)[1] / base - 1
                result = {"change": change, "model": value, "moved": alone,
                          "beside": cycles / trial.record(core, others, rounds)[1] - 1 if others else alone,
                          **judge(change, found["classes"], len(planted) + 1, model)}
                if result["proposed"] is not None:
                    low, high = found["classes"][result["rank"] - 1]["interval"]
                    result["inside"] = low <= int(change.split("=")[1]) <= high
                result["is_right"] = result["proposed"] is not None and \
                    abs(result["proposed"] - int(change.split("=")[1])) <= 0.1 * int(change.split("=")[1])
                one["planted"].append(result)
            results.append(one)
    return results


def say(one):
    what = ", ".join(f"{p['change']} ({p['moved']:+.1%}, {p['beside']:+.1%}): "
                     + (f"row {p['rank']}, {'tie' if p['tie'] else p['proposed']}" if p["rank"] else "-") for p in one["planted"]) or "unmodified"
    wrong = [f"{f['change']} [{f['interval'][0]:.1f}, {f['interval'][1]:.1f}]" for f in one["findings"] if f["false"]]
    return f"{one['seed']} {one['core']}: {what}; false: {' '.join(wrong) or 'none'}"


# ---- Tables ----------------------------------------------------------------------------------------------------------


def interval(part, whole):
    """Wilson's interval of a share, 95 %."""
    if not whole:
        return "-"
    z, share = 1.96, part / whole
    middle, half = share + z * z / (2 * whole), z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    low, high = max(0, (middle - half) / (1 + z * z / whole)), min(1, (middle + half) / (1 + z * z / whole))
    return f"{part} of {whole} ({100 * low:.0f} to {100 * high:.0f} %)"


def tables(results, command):
    lines = [f"Written by `{command}`; in brackets the 95 % interval of the rate (Wilson).\n\n",
             "| core | programs | unmodified, with a finding |\n| --- | ---: | ---: |\n"]
    bare = [r for r in results if not r["planted"]]
    for core in sorted({r["core"] for r in bare}):
        those = [r for r in bare if r["core"] == core]
        lines.append(f"| {core} | {len(those)} | {interval(sum(bool(r['findings']) for r in those), len(those))} |\n")
    planted = [(r, p) for r in results for p in r["planted"]]
    if planted:
        lines.append("\nPlanted: the deviation moves the program by this much alone and beside the others of its trial.\n\n"
                     "Found: in one of the first k+1 rows. Right: its value within 10 %. Inside: the planted value is in the interval.\n\n"
                     "| core | moves by | found | right | inside |\n| --- | --- | ---: | ---: | ---: |\n")
        for core in sorted({r["core"] for r in bare}):
            for low, high, text in ((0.03, 99, "3 % up"), (0.01, 0.03, "1 to 3 %"), (0.003, 0.01, "0.3 to 1 %")):
                those = [p for r, p in planted if r["core"] == core and low <= min(abs(p["moved"]), abs(p["beside"])) < high]
                inside = [p["inside"] for p in those if "inside" in p]
                lines.append(f"| {core} | {text} | {interval(sum(bool(p['rank']) for p in those), len(those))} | "
                             f"{interval(sum(p['is_right'] for p in those), len(those))} | {interval(sum(inside), len(inside))} |\n")
        every = [f for r in results if r["planted"] for f in r["findings"]]
        lines.append(f"\nFindings beside planted deviations that name none of them: {interval(sum(f['false'] for f in every), len(every))}.\n")
    return wrapped("".join(lines))


# ---- All of it -------------------------------------------------------------------------------------------------------


def seeds_of(arguments):
    if arguments.seeds and "-" in arguments.seeds:
        first, last = map(int, arguments.seeds.split("-"))
        return list(range(first, last + 1))
    if arguments.seeds:
        return [int(one) for one in arguments.seeds.split(",")]
    return [random.SystemRandom().randrange(1 << 40) for _ in range(arguments.count)]


def kept(path):
    """Of each line of a file of seeds: the seed, the core, and the changes that are planted."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    return [(int(words[0]), words[1], words[2:]) for words in lines if words]


def pairs_of(arguments):
    cores = arguments.cores.split(",")
    if arguments.regressions:
        return [(seed, core) for seed, core, _ in kept(SEEDS) if core in cores]
    return [(seed, core) for seed in seeds_of(arguments) for core in cores]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--cores", default="inorder-2,ooo-3,ooo-4,ooo-8")
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--planted", type=int, default=1)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--seeds")
    parser.add_argument("--regressions", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    results, failed = gather(arguments.jobs, {f"{seed} {core}": (trials_of, seed, core, arguments) for seed, core in pairs_of(arguments)},
                             lambda ended: print("\n".join(map(say, ended)), file=sys.stderr, flush=True))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)
    words = [word for word in sys.argv[1:] if word not in ("-o", arguments.output, "--json", arguments.json, "--keep", arguments.keep)]
    text = tables(results, shlex.join(["tests/accuracy/trials.py"] + words))
    if not arguments.output:
        print(text)
    else:
        replace_between(arguments.output, BEGIN, END, text)
    wrong = sum(bool(r["findings"]) for r in results if not r["planted"])
    print(f"{failed} programs could not be run, {wrong} unmodified ones have a finding", file=sys.stderr)
    return 1 if failed or (arguments.regressions and wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
