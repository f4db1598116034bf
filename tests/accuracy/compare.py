#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How well `pesa compare` finds what is wrong in a processor model.

Programs run on the virtual core with deviations from its processor model (`pesa record --set`), and are compared with the
model as it is.  Without a deviation nothing must be found; of each planted one it is known by how much it changes the program's
time alone, by how much beside those planted with it (the time with all of them over the time without this one), and whether it was
found, at which rank and with which value.

  tests/accuracy/compare.py [-o FILE] [--programs NAMES] [--cores NAMES] [--unmodified NAMES] [--single N] [--triple N]
                            [--quintuple N] [--scale S] [--seed N] [--jobs N] [--json FILE] [--keep FOLDER]
  tests/accuracy/compare.py --program lua --core ooo-4 --set c6.latency=5 [--set ...]

The first form draws deviations at random: for each program N single ones, and N times three and five of those together; and
runs the programs of --unmodified on all --cores without any.  With -o the tables in FILE (Documentation/compare.md) are
replaced.  The second form plants what it is told, and prints what was found.  Recordings in the folder of --keep are taken from
there, and others kept in it: a changed `pesa compare` is judged without running the programs again.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from accuracy import O, PESA, TOP, Failed, program, run  # noqa: E402  pylint: disable=wrong-import-position
from columns import wrapped  # noqa: E402  pylint: disable=wrong-import-position

PERIOD = 288
MODELS = {"inorder-2": "SiFive7VLEN512", "ooo-3": "SiFiveP500", "ooo-4": "SiFiveP600", "ooo-8": "TTAscalonD8"}
BEGIN, END = "<!-- trials: begin -->\n", "<!-- trials: end -->\n"


# ---- The model, and what can deviate from it -------------------------------------------------------------------------


class Model:
    """Classes, by the name of their line and of their SchedWrites, and resources of a model's text."""

    def __init__(self, core):
        self.classes, self.units, self.groups, self.named = {}, {}, {}, set()
        self.lines = {}  # of a SchedWrite: the names of the lines that have it
        with open(os.path.join(TOP, "decoder/mca/generated/models", MODELS[core] + ".model"), encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if line.startswith("resource "):
                    self.units[words[1]] = int(next((w[6:] for w in words if w.startswith("units=")), "1"))
                elif line.startswith("group "):
                    self.groups[words[1]] = [word for word in words[2:] if "=" not in word]
                elif line.startswith("class "):
                    latency = next((w[8:] for w in words if w.startswith("latency=")), "")
                    uses = next((w[5:] for w in words if w.startswith("uses=")), "")
                    one = {"latency": max([int(w.split(":")[0]) for w in latency.split(",") if w], default=None), "uses": {},
                           "advance": any(w.startswith("advance=") and int(w.split(":")[1]) > 0 for w in words)}
                    for use in uses.split(",") if uses else []:
                        name, _, cycles = use.partition(":")
                        one["uses"][name] = int((cycles or "1").split("-")[-1])
                        self.named.add(name)
                    self.classes[words[1]] = one
                    line_name = words[1]
                elif line.startswith("write "):
                    self.classes[words[1]] = one
                    self.lines.setdefault(words[1], set()).add(line_name)

    def draw(self, generator, classes):
        """A deviation: its change, and the model's value."""
        name = generator.choice(classes)
        one = self.classes[name]
        # Alone, or with all that has its numbers.
        if name in self.lines and generator.random() < 0.5:
            name = generator.choice(sorted(self.lines[name]))
            one = self.classes[name]
        kinds = [kind for kind, possible in (
            ("latency", one["latency"]), ("latency", one["latency"]), ("advance", one["advance"]),
            ("pipelined", one["latency"] and one["latency"] > 1 and one["uses"]),
            ("units", any(self.removable(use) for use in one["uses"]))) if possible]
        if not kinds:
            return None
        kind = generator.choice(kinds)
        if kind == "latency":
            value = max(one["latency"] + 1, round(one["latency"] * (1 + generator.uniform(0.2, 3))))
            return f"{name}.latency={value}", one["latency"]
        if kind == "advance":  # of the SchedReads
            name = min(line for line in self.lines[name] if self.classes[line]["advance"]) if name in self.lines else name
            return f"{name}.advance=0", 2
        if kind == "pipelined":
            resource = generator.choice(sorted(one["uses"]))
            value = max(one["latency"], 2)
            return (f"{name}.{resource}={value}", one["uses"][resource]) if value > one["uses"][resource] else None
        resource = generator.choice([unit for use in one["uses"] for unit in self.removable(use)])
        return f"{resource}.units={self.units[resource] - 1}", self.units[resource]

    def removable(self, use):
        members = self.groups.get(use, [use])
        return [unit for unit in members if unit in self.units and
                (self.units[unit] > 1 or (use in self.groups and len(members) > 1 and unit not in self.named))]


# ---- Running ---------------------------------------------------------------------------------------------------------


def record(name, core, scale, changes, seed, folder):
    """A recording of a program on a core with these changes, and its summary; one that is there already is taken."""
    key = "_".join([name, core, f"{scale:g}", str(seed or 0)] + changes)
    data, summary = os.path.join(folder, key + ".data"), os.path.join(folder, key + ".json")
    if not os.path.exists(summary):
        with tempfile.TemporaryDirectory(prefix="pesa-compare-") as scratch:
            command, standard_input, cpu = program(name, scratch, scale)
            words = [PESA, "record", "-q", "-c", str(PERIOD + (seed or 0)), "--core", core, "-o", data, f"--json={summary}.part"]
            for change in changes:
                words += ["--set", change]
            words += (["--cpu", cpu] if cpu else []) + ["--", os.path.join(O, "programs", name)] + command[1:]
            run(words, input=standard_input)
        os.rename(summary + ".part", summary)
    return data, summary


def folder_of(arguments):
    """Where recordings are: kept ones, or for this time only."""
    return contextlib.nullcontext(arguments.keep) if arguments.keep else tempfile.TemporaryDirectory(prefix="pesa-compare-")


def comparison_of(data):
    """What `pesa compare` finds in a recording.  Of a number that depends on the data it proposes none: the change says only which."""
    found = json.loads(run([PESA, "compare", "--json", "--min-share", "0", "-i", data]))
    for one in found["classes"]:
        one["change"] = one["change"] or f"{one['class']}.{one['resource'] or 'latency'}"
    return found


def measure(name, core, arguments, changes, seed=None):
    """What is found in a recording with these changes; its cycles."""
    with folder_of(arguments) as folder:
        data, summary = record(name, core, arguments.scale, changes, seed, folder)
        with open(summary, encoding="utf-8") as file:
            cycles = json.load(file)["cycles"]
        return comparison_of(data), cycles


def cycles_with(name, core, arguments, changes):
    with folder_of(arguments) as folder, open(record(name, core, arguments.scale, changes, None, folder)[1], encoding="utf-8") as file:
        return json.load(file)["cycles"]


def classes_of(found):
    """Classes of the model by their share of the core time."""
    time = {}
    for region in found["regions"]:
        for one in region["instructions"]:
            if one["class"]:
                time[one["class"]] = time.get(one["class"], 0) + one["cycles"]["core"]
    total = sum(time.values()) or 1
    return {name: cycles / total for name, cycles in time.items()}


def key_of(change):
    return change.split("=")[0]


def with_lines(keys, model):
    """These names, and for SchedWrites those of the lines of the model that they are of."""
    return keys + [f"{line}.{what}" for name, _, what in (key.rpartition(".") for key in keys) for line in model.lines.get(name, ())]


def ties_of(finding, model):
    return with_lines([key_of(change) for text in finding["ties"] for change in text.split()], model)


def names_of(finding, model):
    """What a finding says is wrong: one number, of one of several units that the model does not tell apart.  One opcode is a part of
    its SchedWrite, and one SchedWrite of what has its numbers, so they are right where these all deviate; the reverse is wrong,
    unless the finding says that it was seen at that opcode alone."""
    keys = [key_of(change) for text in [finding["change"]] + finding["equivalents"] for change in text.split()]
    what, moved = keys[0].rpartition(".")[2], [one["name"] for one in finding["opcodes"] if one["evidence"] == "moved"]
    keys += [f"{finding['class']}.{what}"] if finding["some_opcodes"] else [f"{name}.{what}" for name in moved if len(moved) == 1]
    return with_lines(keys, model)


def names_none(finding, changes, model):
    """Whether a finding and its ties are about none of the planted changes."""
    return not set(map(key_of, changes)) & set(names_of(finding, model) + ties_of(finding, model))


def judge(change, findings, limit, model):
    """How a deviation was found: its rank (from 1), the value that was proposed, and as what."""
    for rank, finding in enumerate(findings[:limit], 1):
        if key_of(change) in names_of(finding, model):
            return {"rank": rank, "proposed": finding["measured"], "tie": False,
                    "equivalent": key_of(finding["change"]) != key_of(change)}
    for rank, finding in enumerate(findings[:limit], 1):
        if key_of(change) in ties_of(finding, model):
            return {"rank": rank, "proposed": None, "tie": True, "equivalent": False}
    return {"rank": None, "proposed": None, "tie": False, "equivalent": False}


def trial(name, core, arguments, planted, base):
    changes = [change for change, _ in planted]
    found, cycles = measure(name, core, arguments, changes)
    result = {"program": name, "core": core, "planted": [], "moved": cycles / base - 1,
              "findings": [{"change": one["change"], "false": names_none(one, changes, Model(core))} for one in found["classes"]]}
    for change, model in planted:
        result["planted"].append({"change": change, "model": model, **judge(change, found["classes"], len(planted) + 1, Model(core))})
    return result


def trials_of(name, core, arguments, seed):
    """Single deviations, then several of them together; each knows by how much it moves the program alone, and beside the others."""
    generator, model = random.Random(seed), Model(core)
    found, base = measure(name, core, arguments, [])
    shares = classes_of(found)
    classes = [one for one, share in sorted(shares.items()) if share >= 0.01 and one in model.classes]
    results = [{"program": name, "core": core, "planted": [], "moved": 0,
                "findings": [{"change": one["change"], "false": True} for one in found["classes"]]}]
    pool, keys, tries = [], set(), 0
    while len(pool) < arguments.single and tries < 50 * arguments.single:
        tries += 1
        drawn = model.draw(generator, classes)
        if not drawn or key_of(drawn[0]) in keys:
            continue
        keys.add(key_of(drawn[0]))
        try:
            one = trial(name, core, arguments, [drawn], base)
        except Failed as failure:
            print(f"compare: {failure}", file=sys.stderr)
            continue
        pool.append((drawn, one["moved"]))
        one["planted"][0]["moved"] = one["moved"]
        results.append(one)
        report(one)
    for count, number in ((3, arguments.triple), (5, arguments.quintuple)):
        for _ in range(number if len(pool) >= count else 0):
            chosen = generator.sample(pool, count)
            try:
                one = trial(name, core, arguments, [drawn for drawn, _ in chosen], base)
            except Failed as failure:
                print(f"compare: {failure}", file=sys.stderr)
                continue
            for planted, (_, moved) in zip(one["planted"], chosen):
                others = [change for (change, _), _ in chosen if change != planted["change"]]
                planted["moved"] = moved
                planted["beside"] = (1 + one["moved"]) * base / cycles_with(name, core, arguments, others) - 1
            results.append(one)
            report(one)
    return results


def report(one):
    print(f"{one['program']} on {one['core']}: " + ", ".join(
        f"{p['change']} ({p['moved']:+.1%}): " + (f"row {p['rank']}, {'tie' if p['tie'] else p['proposed']}" if p["rank"] else "-")
        for p in one["planted"]) + "; false: " + (" ".join(f["change"] for f in one["findings"] if f["false"]) or "none"),
        file=sys.stderr, flush=True)


# ---- The tables ------------------------------------------------------------------------------------------------------


def ratio(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def right(one):
    value = int(one["change"].split("=")[1])
    return one["rank"] and one["proposed"] is not None and abs(one["proposed"] - value) <= max(0.1 * value, 0)


def found_of(those):
    return (f"found {ratio(sum(bool(p['rank']) for p in those), len(those))}, "
            f"found and right {ratio(sum(bool(right(p)) for p in those), len(those))}")


def missed_one(trial, planted):
    others = ", ".join(one["change"] for one in trial["planted"] if one is not planted)
    false = " ".join(one["change"] for one in trial["findings"] if one["false"])
    found = "tie" if planted["tie"] else \
        f"found {key_of(planted['change'])}={planted['proposed']}" if planted["rank"] else \
        "not found" + (f", instead {false}" if false else "")
    return (f"* {trial['program']} on {trial['core']}: **{planted['change']}**" + (f" [{others}]" if others else "")
            + f"; the model says {planted['model']}; moves the program {100 * planted['moved']:+.1f} % alone"
            + (f", {100 * planted['beside']:+.1f} % beside the others" if "beside" in planted else "") + f"; {found}\n")


def tables(results, unmodified, command):
    planted = [(len(r["planted"]), p) for r in results for p in r["planted"]]
    trials = [r for r in results if r["planted"]]
    bare = unmodified + [r for r in results if not r["planted"]]
    wrong = [r for r in bare if r["findings"]]
    lines = [f"Written by `{command}`.\n\n",
             f"Unmodified: {len(bare)} runs ({', '.join(sorted({r['program'] for r in bare}))} on "
             f"{', '.join(sorted({r['core'] for r in bare}))}), findings in {len(wrong)} of them"
             + (": " + ", ".join(f"{r['program']} on {r['core']} {r['findings'][0]['change']}" for r in wrong) if wrong else "")
             + ".\n\n",
             f"Planted: {len(trials)} trials on {len({r['program'] for r in trials})} programs. Found: within the first k+1 rows; a "
             "tie counts as found, not as right. Right: proposed value within 10 %; one of several units that the model does not tell "
             "apart is right as a set, and counted beside.\n\n",
             "| the deviation alone moves the program by | k | planted | found | right, of those found |\n"
             "| --- | ---: | ---: | ---: | ---: |\n"]
    for low, high, text in ((0.1, 9, "10 % and more"), (0.03, 0.1, "3 to 10 %"), (0.01, 0.03, "1 to 3 %"),
                            (0.003, 0.01, "0.3 to 1 %"), (0, 0.003, "less")):
        for k in (1, 3, 5):
            those = [p for count, p in planted if count == k and low <= abs(p["moved"]) < high]
            hits = [p for p in those if p["rank"]]
            if those:
                lines.append(f"| {text} | {k} | {len(those)} | {ratio(len(hits), len(those))} | "
                             f"{ratio(sum(bool(right(p)) for p in hits), len(hits))} |\n")
    large = [p for _, p in planted if abs(p["moved"]) >= 0.01]
    every = [f for r in trials for f in r["findings"]]
    errors = sorted(abs(p["proposed"] - int(p["change"].split("=")[1])) / max(1, int(p["change"].split("=")[1]))
                    for p in large if p["rank"] and p["proposed"] is not None)
    both = [p for p in large if abs(p.get("beside", p["moved"])) >= 0.01]
    lines.append(f"\nOf deviations that move the program by 1 % or more alone: {found_of(large)}, "
                 f"{sum(bool(right(p)) and p['equivalent'] for p in large)} of these as one of the units that the finding names as the same. "
                 f"Of those that move it by 1 % or more both alone and beside the others of their trial: {found_of(both)}. ")
    if errors:
        lines.append(f"Error of the proposed value: median {100 * errors[len(errors) // 2]:.0f} %, "
                     f"90 % of them within {100 * errors[int(0.9 * (len(errors) - 1))]:.0f} %. ")
    lines.append(f"Precision: {ratio(sum(not f['false'] for f in every), len(every))} findings name a planted deviation.\n\n")
    missed = [(r, p) for r in trials for p in r["planted"] if abs(p["moved"]) >= 0.01 and not right(p)]
    if missed:
        lines.append("Not found, or with another value, of those of 1 % or more (planted beside it in brackets):\n\n")
        lines += [missed_one(r, p) for r, p in missed]
    return wrapped("".join(lines))


# ---- All of it -------------------------------------------------------------------------------------------------------


def build(names):
    subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(O, "programs"), *sorted(set(names))], check=True,
                   cwd=TOP)


def explicit(arguments):
    build([arguments.program])
    found, cycles = measure(arguments.program, arguments.core, arguments, arguments.set)
    print(f"{arguments.program} on {arguments.core}, {cycles} cycles, planted: {', '.join(arguments.set) or 'nothing'}")
    for rank, one in enumerate(found["classes"], 1):
        print(f"{rank}. {one['change']} (the model says {one['predicted']}) {one['interval']}"
              + "".join(f" or {other}" for other in one["equivalents"] + one["ties"]))
    missed = [change for change in arguments.set if not judge(change, found["classes"], len(arguments.set) + 1, Model(arguments.core))["rank"]]
    for change in missed:
        print(f"not found: {change}")
    return 1 if missed or (not arguments.set and found["classes"]) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="-")
    parser.add_argument("--programs", default="lua:ooo-4,cwebp:ooo-4,flac:inorder-2,nasm:inorder-2,nettle-hash:ooo-4")
    parser.add_argument("--unmodified", default="bzip2,zstd,xz,lua,sqlite3,nettle-hash,cwebp,flac,nasm,tcc,sort")
    parser.add_argument("--cores", default="inorder-2,ooo-4")
    parser.add_argument("--single", type=int, default=6)
    parser.add_argument("--triple", type=int, default=2)
    parser.add_argument("--quintuple", type=int, default=2)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--program")
    parser.add_argument("--core", default="ooo-4")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    if arguments.program:
        return explicit(arguments)
    pairs = [one.split(":") for one in arguments.programs.split(",") if one]
    bare = [name for name in arguments.unmodified.split(",") if name]
    build([name for name, _ in pairs] + bare)
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    results, unmodified = [], []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = [pool.submit(trials_of, name, core, arguments, f"{arguments.seed} {name} {core}") for name, core in pairs]
        alone = [pool.submit(measure, name, core, arguments, [], 1) for name in bare for core in arguments.cores.split(",")]
        for one in running:
            results += one.result()
        for (name, core), one in zip([(name, core) for name in bare for core in arguments.cores.split(",")], alone):
            found, _ = one.result()
            unmodified.append({"program": name, "core": core, "planted": [],
                               "findings": [{"change": finding["change"], "false": True} for finding in found["classes"]]})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump({"trials": results, "unmodified": unmodified}, out, indent=1)
    words = [word for word in sys.argv[1:] if word not in ("-o", arguments.output, "--json", arguments.json, "--keep", arguments.keep)]
    text = tables(results, unmodified, shlex.join(["tests/accuracy/compare.py"] + words))
    if arguments.output == "-":
        print(text)
        return 0
    with open(arguments.output, encoding="utf-8") as file:
        document = file.read()
    head, tail = document.split(BEGIN)[0], document.split(END)[1]
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write(head + BEGIN + text + END + tail)
    return 0


if __name__ == "__main__":
    sys.exit(main())
