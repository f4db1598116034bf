#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `pesa compare` finds, and what clang wins by profiles, on records that lack a field of shpmsdetails.

For compare, programs run on the virtual core with a deviation from its processor model (`pesa record --set`) that takes 3 % or more
cycles, and without one; each field is dropped from the records of these recordings.  For compilers, the programs of tests/pgo are built
with the profile that `pesa export` makes of 200,000 samples without the field, and run with another input.

  tests/accuracy/ablation_use.py [-o FILE] [--programs NAMES] [--cores NAMES] [--planted N] [--samples N] [--built NAMES] [--jobs N]

-o: into a document, between <!-- used --> and <!-- end of used -->; without it to standard output.

What was measured stands in O/ablation_use.partial: a run that was interrupted goes on where it was.
"""
import argparse
import concurrent.futures
import datetime
import io
import json
import os
import random
import sys
import tempfile

from accuracy import O, PESA, Failed, machine, program, run
from columns import replace_between, wrapped
from compare import PERIOD, Model, classes_of, comparison_of, judge, key_of, names_none
from perf_samples import Recording
from variants import VARIANTS

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../pgo"))
import pgo
import report

DISTANCE = os.path.join(O, "tests/tools/flow_distance")
# Variants with other executions or directions of branches: a compiler's profile has no states and no causes.
EXECUTIONS = ["full record", "1 target", "0 targets", "0 targets, no CTOFFSET", "no CTs either",
              "0 targets, 2 transfer records", "no INSTRET, no CTs"]
# More records than a cycle has transfers change nothing (ablation.py).
COMPARED = [one for one in VARIANTS if one[0] not in {f"0 targets, {number} transfer records" for number in (4, 8, 16, 32)}]
LEAST, SEED = 0.03, 30


# ---- What compare finds ----------------------------------------------------------------------------------------------


def recorded(name, core, folder, scale, changes):
    """A recording that can be changed, and its cycles."""
    data, summary = (os.path.join(folder, one) for one in ("data", "summary"))
    command, standard_input, cpu = program(name, folder, scale)
    words = [PESA, "record", "-q", "-z", "0", "-c", str(PERIOD), "--core", core, "-o", data, f"--json={summary}",
             "--set", "sample.ctr_depth=2"]
    for change in changes:
        words += ["--set", change]
    words += (["--cpu", cpu] if cpu else []) + ["--", os.path.join(O, "programs", name)] + command[1:]
    run(words, input=standard_input)
    with open(summary, encoding="utf-8") as file:
        return data, json.load(file)["cycles"]


def compared(data, folder, changes, model):
    """By variant: whether the planted deviation is among the first two rows, with its value, and findings that are about no change."""
    recording, found = Recording(data), {}
    changed = os.path.join(folder, "changed.data")
    for variant, _, _, change in COMPARED:
        recording.write(changed, change)
        rows = comparison_of(changed)["classes"]
        one = {"false": sum(names_none(row, changes, model) for row in rows)}
        if changes:
            judged, value = judge(changes[0], rows, 2, model), int(changes[0].split("=")[1])
            one["found"] = bool(judged["rank"])
            one["right"] = judged["proposed"] is not None and abs(judged["proposed"] - value) <= 0.1 * value
        found[variant] = one
    return found


def measure_compare(name, core, options):
    """A program without a deviation, and with some, one at a time."""
    generator, model = random.Random(f"{SEED} {name} {core}"), Model(core)
    trials = []
    with tempfile.TemporaryDirectory(prefix="pesa-ablation-") as folder:
        scale = 0.02
        data, cycles = recorded(name, core, folder, scale, [])
        scale *= min(20, options.samples * PERIOD / cycles)
        data, base = recorded(name, core, folder, scale, [])
        classes = [one for one, share in sorted(classes_of(comparison_of(data)).items()) if share >= 0.01 and one in model.classes]
        trials.append({"change": None, "variants": compared(data, folder, [], model)})
        tries, keys = 0, set()
        while sum(bool(one["change"]) for one in trials) < options.planted and tries < 40:
            tries += 1
            drawn = model.draw(generator, classes)
            if not drawn or key_of(drawn[0]) in keys:
                continue
            keys.add(key_of(drawn[0]))
            data, cycles = recorded(name, core, folder, scale, [drawn[0]])
            if cycles / base - 1 >= LEAST:
                trials.append({"change": drawn[0], "moved": cycles / base - 1, "variants": compared(data, folder, [drawn[0]], model)})
    return {"trials": trials}


# ---- What a compiler wins --------------------------------------------------------------------------------------------


def measure_builds(name, core, _):
    """Cycles of clang's builds by variant, and the distance of the executions from the exact ones."""
    one = pgo.Program(name, "clang", os.path.join(pgo.CACHE, "inputs"))
    base = one.build()
    result = {"cycles": {"none": one.cycles(base, core, one.other), "own": one.cycles(one.instrumented(), core, one.other)},
              "distance": {}}
    period = max(one.cycles(base, core, one.train) // pgo.SAMPLES["200k"], 50)
    with tempfile.TemporaryDirectory(prefix="pesa-ablation-") as folder:
        data, golden, changed = (os.path.join(folder, file) for file in ("data", "golden", "changed.data"))
        run([PESA, "record", "-q", "-z", "0", "--core", core, *pgo.SYSROOT, "-c", str(period), "--set", "sample.ctr_depth=2", "-o", data,
             f"--golden={golden}", "--", base] + one.train.arguments, input=one.train.standard_input)
        recording = Recording(data)
        for variant, _, _, change in VARIANTS:
            if variant in EXECUTIONS:
                recording.write(changed, change)
                words = run([DISTANCE, changed, golden]).decode().split()
                result["distance"][variant] = [float(words[1]), float(words[3])]
                profile = os.path.join(folder, "profile")
                run([PESA, "export", "--format", "llvm-sample", "-i", changed, "-o", profile])
                # By contents, so that what is equal is built once.
                result["cycles"][variant] = one.cycles(one.optimised(pgo.kept_profile(profile)), core, one.other)
    return result


# ---- The document ----------------------------------------------------------------------------------------------------


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def write_compare(out, compares, options):
    trials = [(one["core"], trial) for one in compares for trial in one["trials"]]
    planted = [(core, trial) for core, trial in trials if trial["change"]]
    bare = [trial for _, trial in trials if not trial["change"]]
    cores = [core for core in options.cores.split(",") if any(core == one for one, _ in planted)]
    out.write(f"""
{len(planted)} deviations, one in each run, each of which takes {100 * LEAST:.0f} % or more cycles in its program, and {len(bare)} runs
without one: {', '.join(sorted({one['program'] for one in compares}))} on {', '.join(cores)}, some {options.samples} samples each. Found: in
one of the first two rows. Right: its value within 10 %. Wrong: runs, with and without a deviation, in which something else is found.

| variant | {' | '.join(f'found, {core}' for core in cores)} | found | right | wrong |
| --- |{' ---: |' * (len(cores) + 3)}
""")
    for variant, *_ in COMPARED:
        rows = [(core, trial["variants"][variant]) for core, trial in planted]
        line = [share(sum(one["found"] for at, one in rows if at == core), sum(at == core for at, _ in rows)) for core in cores]
        line += [share(sum(one[key] for _, one in rows), len(rows)) for key in ("found", "right")]
        line += [f"{sum(bool(trial['variants'][variant]['false']) for _, trial in trials)} of {len(trials)}"]
        out.write(f"| {variant} | {' | '.join(line)} |\n")


def write_builds(out, builds):
    names = ", ".join(sorted({one["program"] for one in builds}))
    out.write(f"""
clang's builds of {names} by the profile of 200,000 samples on {builds[0]['core']} ([method](pgo.md#what-compilers-win)): the geometric
mean of what it does to the cycles of another input, and the mean distance of the executions of all instructions from the exact ones, as
measured and as the flow has them. States and causes are not in such a profile. Without a field that changes one percent of the executions
code lies elsewhere, which by itself moves single programs by percents.

| variant | cycles | of the gain of instrumentation | distance, measured | distance, flow |
| --- | ---: | ---: | ---: | ---: |
""")
    cycles = [one["cycles"] for one in builds]
    own = report.mean(cycles, "own")
    for variant in EXECUTIONS:
        gain = report.mean(cycles, variant)
        measured, flow = (sum(one["distance"][variant][i] for one in builds) / len(builds) for i in (0, 1))
        out.write(f"| {variant} | {100 * gain:+.2f}% | {share(gain, own)} | {100 * measured:.2f}% | {100 * flow:.2f}% |\n")
    out.write(f"| instrumentation | {100 * own:+.2f}% | 100 % | | |\n")


def main():
    parser = argparse.ArgumentParser(description="what fields of shpmsdetails are worth to compare and to compilers")
    parser.add_argument("-o", "--output")
    parser.add_argument("--programs", default="bzip2,lua,nettle-hash,sort")
    parser.add_argument("--cores", default="inorder-2,ooo-4")
    parser.add_argument("--planted", type=int, default=2)
    parser.add_argument("--samples", type=int, default=30000)
    parser.add_argument("--built", default=",".join(pgo.inputs.PROGRAMS))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    run([os.path.join(HERE, "../../tools/programs"), "-o", os.path.join(O, "programs"), *options.programs.split(",")])
    partial = os.path.join(O, "ablation_use.partial")
    key, done = [options.samples, options.planted, os.stat(PESA).st_mtime], []
    if os.path.exists(partial):
        with open(partial, encoding="utf-8") as file:
            done = [one for one in map(json.loads, file) if one["key"] == key]
    known = {(one["kind"], one["program"], one["core"]) for one in done}
    tasks = [(measure_compare, name, core) for name in options.programs.split(",") for core in options.cores.split(",")]
    tasks += [(measure_builds, name, "ooo-4") for name in options.built.split(",") if name]
    tasks = [task for task in tasks if (task[0].__name__, *task[1:]) not in known]
    for name in options.built.split(","):  # inputs are made by one process
        if name:
            pgo.Program(name, "clang", os.path.join(pgo.CACHE, "inputs"))
    # Processes: changing the records is work in Python.
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool, open(partial, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in done)
        running = {pool.submit(*task, options): (task[0].__name__, *task[1:]) for task in tasks}
        for one in concurrent.futures.as_completed(running):
            kind, name, core = running[one]
            result = {**one.result(), "kind": kind, "program": name, "core": core, "key": key}
            done.append(result)
            file.write(json.dumps(result) + "\n")
            file.flush()
            print(kind, name, core, flush=True, file=sys.stderr)
    compares = [one for one in done if one["kind"] == "measure_compare" and one["core"] in options.cores.split(",")
                and one["program"] in options.programs.split(",")]
    builds = [one for one in done if one["kind"] == "measure_builds" and one["program"] in options.built.split(",")]
    text = io.StringIO()
    text.write(f"\nWritten by `{'make ablation' if options.output else ' '.join(sys.argv)}`; machine: {machine()}; "
               f"{datetime.date.today()}.\n")
    if compares:
        write_compare(text, compares, options)
    if builds:
        write_builds(text, builds)
    if options.output:
        replace_between(options.output, "<!-- used -->\n", "<!-- end of used -->", wrapped(text.getvalue()))
    else:
        print(wrapped(text.getvalue()), end="")


if __name__ == "__main__":
    try:
        main()
    except (Failed, pgo.Failed) as error:
        sys.exit(f"ablation_use: {error}")
