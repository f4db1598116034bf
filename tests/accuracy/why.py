#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How often `pesa annotate --what-if` is right on programs that nobody chose.

Each program is drawn (random_program.py), recorded on the virtual core, and asked what the hottest places would save.  Then the
change is made at each place (`pesa record --ideal`), and the cycles that it saves are compared with the estimate.  Seeds are
drawn at run time: each run has new programs.

  tests/accuracy/why.py [-o FILE] [--count N] [--cores NAMES] [--places N] [--samples N] [--changes NAMES] [--jobs N] [--seeds SEED,...] [--json FILE]

With -o the table in FILE (Documentation/why.md) is replaced.
"""
import argparse
import concurrent.futures
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from accuracy import PESA, Failed  # noqa: E402  pylint: disable=wrong-import-position
from columns import replace_between  # noqa: E402  pylint: disable=wrong-import-position
from pool import run  # noqa: E402  pylint: disable=wrong-import-position
from random_program import Program  # noqa: E402  pylint: disable=wrong-import-position
from sysroot import sysroot  # noqa: E402  pylint: disable=wrong-import-position
from trials import interval, seeds_of  # noqa: E402  pylint: disable=wrong-import-position

BEGIN, END = "<!-- what-if: begin -->\n", "<!-- what-if: end -->\n"
PERIOD = 500
ROUNDS = 4   # of the run that tells how long a round takes
LEAST = 0.005  # of the cycles: places that are estimated or measured to save less are not judged by ratio


def record(path, core, rounds, ideal=None, data=None):
    """The cycles of a run."""
    words = [PESA, "record", "-q", f"--json={path}.json", "-c", str(PERIOD), "--core", core, "--cpu", "rv64,v=true",
             "--sysroot", sysroot(os.path.dirname(path)), "-o", data or path + ".other"]
    run(words + (["--ideal", ideal] if ideal else []) + ["--", path, str(rounds)])
    with open(path + ".json", encoding="utf-8") as file:
        return json.load(file)["cycles"]


def rounds_of(path, core, samples):
    short, longer = record(path, core, 1), record(path, core, 1 + ROUNDS)
    return max(1, math.ceil((samples * PERIOD - short) / max(1, (longer - short) / ROUNDS)))


def judged(seed, core, arguments):
    """What was estimated for the places of a program, and what the change saved."""
    with tempfile.TemporaryDirectory(prefix="pesa-why-") as folder:
        path = os.path.join(folder, str(seed))
        program = Program(seed)
        # Addresses of a static program are those of its file.
        program.flags += [] if program.static else ["-static"]
        program.build(path)
        rounds = rounds_of(path, core, arguments.samples)
        base = record(path, core, rounds, data=path + ".data")
        gains = json.loads(run([PESA, "annotate", "--what-if", "--json", "-i", path + ".data"]))["what_if"]
        places = []
        for gain in [gain for gain in gains if gain["change"] in arguments.changes.split(",")][:arguments.places]:
            ideal = f"{gain['change']}@{gain['place']['address']:#x}"
            saved = base - record(path, core, rounds, ideal)
            places.append({"seed": seed, "core": core, "cycles": base, "change": gain["change"], "address": gain["place"]["address"],
                           "text": gain["place"]["text"], "waits": gain["waits"], "estimate": gain["saved"], "low": gain["low"],
                           "high": gain["high"], "saved": saved})
        return places


def is_near(one):
    return abs(one["estimate"] - one["saved"]) <= 0.2 * abs(one["saved"])


def is_inside(one):
    return one["low"] <= one["saved"] <= one["high"]


WIDEST = 100  # columns of a row


def say(one):
    def percent(key):
        value = 100 * one[key] / one["cycles"]
        return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
    verdict = "20 %" if is_near(one) else "interval" if is_inside(one) else "missed"
    text = one["text"]

    def row():
        return (f"| {one['seed']} | {one['core']} | {one['change']} | `{text}` | {percent('estimate')} "
                f"| {percent('low')} to {percent('high')} | {percent('saved')} | {verdict} |")
    if len(row()) > WIDEST:
        text = text[:WIDEST - len(row()) - 1] + "…"
    return row()


def table(results, command):
    lines = [f"Written by `{command}`; savings in percent of the\nprogram's cycles.\n\n"
             "| program | core | if | instruction | estimated | interval | saved | |\n| --- | --- | --- | --- | ---: | --- | ---: | --- |\n"]
    lines += [say(one) + "\n" for one in results]
    lines.append("\n")
    for change in [None] + sorted({one["change"] for one in results}):
        some = [one for one in results if change in (None, one["change"])]
        near = sum(map(is_near, some))
        good = sum(is_near(one) or is_inside(one) for one in some)
        lines.append(f"* {change or 'all'}: {near} of {len(some)} within 20 %; within 20 % or the interval "
                     f"{interval(good, len(some))}\n")
    return "".join(lines)


def that_matter(words):
    """The words of the command without what does not change its results: where they go, how many at a time."""
    passed = [i for i, word in enumerate(words) if word in ("-o", "--output", "--json", "--jobs")]
    return [word for i, word in enumerate(words) if i not in passed and i - 1 not in passed]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--cores", default="ooo-4,inorder-2,ooo-8,ooo-3")
    parser.add_argument("--places", type=int, default=4)
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--changes", default="hit,predict,latency,unit")
    parser.add_argument("--seeds")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    cores = arguments.cores.split(",")
    seeds = seeds_of(arguments)
    results = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = [pool.submit(judged, seed, cores[i % len(cores)], arguments) for i, seed in enumerate(seeds)]
        for future, seed in zip(futures, seeds):
            try:
                results += future.result()
            except Failed as failed:
                print(f"{seed}: {failed}", file=sys.stderr)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    words = " ".join(["tests/accuracy/why.py"] + that_matter(sys.argv[1:]))
    text = table(results, words)
    print(text, end="")
    if arguments.output:
        replace_between(arguments.output, BEGIN, END, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
