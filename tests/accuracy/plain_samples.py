#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How near the cycles of instructions that pesa estimates from samples with a skidding PC are to the exact ones.

Programs run on the virtual core with the sampler lcofi and the exact profile, and `pesa error --estimate` compares: the PC as
sampled, what control flow and the processor's model alone say, and the estimate.  The skid is that of the front end, or drawn for
each sample, which the estimate is not told.

  tests/accuracy/plain_samples.py [-o FILE] [--samples N] [--programs NAMES] [--random COUNT | --seeds LIST] [--cores NAMES]
                                  [--skids NAMES] [--mcpu NAME] [--calibrate] [--jobs N] [--json FILE]

A skid is "front", or what pesa record --skid takes.  --calibrate: also with what pesa calibrate learns of each core and skid.
-o writes between two lines of the document.
"""
import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from accuracy import KINDS, O, PERIOD, PESA, next_scale, program, run  # noqa: E402  pylint: disable=wrong-import-position
from columns import replace_between, wrapped  # noqa: E402  pylint: disable=wrong-import-position
from pool import gather  # noqa: E402  pylint: disable=wrong-import-position
from random_program import Program  # noqa: E402  pylint: disable=wrong-import-position
from sysroot import sysroot  # noqa: E402  pylint: disable=wrong-import-position

BEGIN, END = "<!-- plain samples: begin -->\n", "<!-- plain samples: end -->\n"
TRIES = 6


def record(words, skid, folder, standard_input):
    """Record; returns the cycles."""
    data, golden, summary = (os.path.join(folder, what) for what in ("perf.data", "golden.data", "summary"))
    run([PESA, "record", "-q", "-c", str(PERIOD), "--sampler", "lcofi", *skid_options(skid), "-o", data, "--golden", golden, "--json=" + summary]
        + words, input=standard_input)
    with open(summary, encoding="utf-8") as file:
        return json.load(file)["cycles"]


def chosen(name, folder, scale):
    command, standard_input, cpu = program(name, folder, scale)
    return (["--cpu", cpu] if cpu else []) + ["--", os.path.join(O, "programs", name)] + command[1:], standard_input


def drawn(seed, folder, rounds):
    path = os.path.join(folder, "program")
    if not os.path.exists(path):
        Program(int(seed)).build(path)
    return ["--cpu", "rv64,v=true", "--sysroot", sysroot(folder), "--", path, str(max(1, int(rounds)))], None


def skid_options(skid):
    return [] if skid == "front" else ["--skid", skid]


def calibrate(folder, core, skid):
    path = os.path.join(folder, f"calibration-{core}-{skid}")
    run([PESA, "calibrate", "--core", core, *skid_options(skid), "-o", path, "--json=" + path + ".json"])
    return path


def errors(folder, options):
    return json.loads(run([PESA, "error", "--json", "--estimate", "-i", os.path.join(folder, "perf.data"), "--golden",
                           os.path.join(folder, "golden.data")] + options))


def measure(name, core, skids, wanted, mcpu, calibrations):
    """One program on one core, with each skid."""
    results = []
    with tempfile.TemporaryDirectory(prefix="pesa-plain-") as folder:
        make = chosen if name in KINDS else drawn
        points = []
        if make is drawn:
            for rounds in (1, 5):
                points.append((rounds, record(["--core", core] + make(name, folder, rounds)[0], skids[0], folder, None)))
        for skid in skids:
            for _ in range(TRIES):
                scale = next_scale(points, 1.03 * wanted * PERIOD)
                words, standard_input = make(name, folder, scale)
                cycles = record(["--core", core] + words, skid, folder, standard_input)
                points.append((scale, cycles))
                if 0.8 * wanted * PERIOD <= cycles <= 1.5 * wanted * PERIOD or (make is drawn and scale <= 1):
                    break
            model = ["-mcpu=" + mcpu] if mcpu else []
            found = errors(folder, model)
            row = {"program": name, "core": core, "skid": skid, "cycles": cycles, "samples": found["samples"],
                   "raw": found["error"], "floor": found["floor"], "flow": found["estimate"]["flow"],
                   "estimate": found["estimate"]["error"], "held": found["estimate"]["held"]}
            if calibrations:
                row["calibrated"] = errors(folder, model + ["--calibration", calibrations[core, skid]])["estimate"]["error"]
            results.append(row)
    return results


# ---- Tables ----------------------------------------------------------------------------------------------------------

COLUMNS = ["raw", "flow", "estimate", "calibrated", "held", "floor"]


def columns_of(rows):
    return [column for column in COLUMNS if all(column in row for row in rows)]


def percent(value):
    return f"{100 * value:.1f}"


def mean(rows):
    return [sum(row[column] for row in rows) / len(rows) for column in columns_of(rows)]


def table(head, rows):
    columns = columns_of([row for _, those in rows for row in those])
    lines = ["| " + " | ".join([head, "runs"] + columns + ["worse than raw"]) + " |\n", "| --- |" + " ---: |" * (len(columns) + 2) + "\n"]
    for name, those in rows:
        lines.append(f"| {name} | {len(those)} | " + " | ".join(map(percent, mean(those)))
                     + f" | {sum(one['estimate'] > one['raw'] for one in those)} |\n")
    return "".join(lines)


def population(results, title):
    lines = [f"### {title}\n\nMeans; raw: the PC as sampled; flow: control flow and model alone"
             + ("; calibrated: with `pesa calibrate`" if "calibrated" in results[0] else "") + ".\n\n"]
    cores, skids = sorted({one["core"] for one in results}), sorted({one["skid"] for one in results}, reverse=True)
    lines.append(table("skid, core", [(f"{skid}, {core}", those) for skid in skids for core in cores
                                      if (those := [one for one in results if (one["skid"], one["core"]) == (skid, core)])]
                       + [(f"**{skid}, all**", [one for one in results if one["skid"] == skid]) for skid in skids]))
    lines.append("\nBy program: raw, estimate.\n\n| program | skid | " + " | ".join(cores) + " |\n| --- | --- |" + " ---: |" * len(cores) + "\n")
    for name in dict.fromkeys(one["program"] for one in results):
        for skid in skids:
            cells = {one["core"]: f"{percent(one['raw'])} {percent(one['estimate'])}" for one in results
                     if (one["program"], one["skid"]) == (name, skid)}
            lines.append(f"| {name} | {skid} | " + " | ".join(cells.get(core, "") for core in cores) + " |\n")
    return "".join(lines) + "\n"


def document(results, command):
    text = f"Written by `{command}`; all figures but the counts are percent.\n\n"
    mine = [one for one in results if one["program"] in KINDS]
    others = [one for one in results if one["program"] not in KINDS]
    if mine:
        text += population(mine, "Programs that we chose")
    if others:
        text += population(others, "Programs drawn at random")
    return wrapped(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--samples", type=int, default=100000)
    parser.add_argument("--programs", default=",".join(KINDS))
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seeds", default="")
    parser.add_argument("--cores", default="inorder-2,ooo-3,ooo-4,ooo-8")
    parser.add_argument("--skids", default="front,0-20,1")
    parser.add_argument("--mcpu")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    names = [name for name in arguments.programs.split(",") if name]
    seeds = arguments.seeds.split(",") if arguments.seeds else [str(random.SystemRandom().randrange(1 << 40)) for _ in range(arguments.random)]
    pairs = [(name, core) for name in names + seeds for core in arguments.cores.split(",")]
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    missing = [name for name in names if not os.path.exists(os.path.join(O, "programs", name))]
    if missing:
        subprocess.run([os.path.join(here, "tools/programs"), "-o", os.path.join(O, "programs")] + missing, check=True)

    def tell(rows):
        for row in rows:
            print(f"{row['program']} {row['core']} {row['skid']}: " + " ".join(f"{column} {percent(row[column])}" for column in columns_of(rows)),
                  file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="pesa-calibrations-") as folder:
        calibrations = {(core, skid): calibrate(folder, core, skid) for core in arguments.cores.split(",")
                        for skid in arguments.skids.split(",") if arguments.calibrate}
        results, failed = gather(arguments.jobs, {f"{name} {core}": (measure, name, core, arguments.skids.split(","), arguments.samples,
                                                                     arguments.mcpu, calibrations) for name, core in pairs}, tell)
    order = {pair: number for number, pair in enumerate(pairs)}
    results.sort(key=lambda one: order[one["program"], one["core"]])
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)
    if results:
        words = [word for word in sys.argv[1:] if word not in ("-o", arguments.output, "--json", arguments.json)]
        text = document(results, shlex.join(["tests/accuracy/plain_samples.py"] + words))
        if arguments.output:
            replace_between(arguments.output, BEGIN, END, text)
        else:
            print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
