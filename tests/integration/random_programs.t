#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa compare on random programs with deviations that it missed once (tests/accuracy/missed_deviations): it finds all of them, with
their values, and names nothing else.

tests/accuracy/trials.py draws new programs.
"""
import argparse
import os
import sys
import tempfile

from tap import TOP, PESA, check, end

os.environ["PESA"] = PESA
sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
import trials  # noqa: E402  pylint: disable=wrong-import-position

ARGUMENTS = argparse.Namespace(samples=20000, exact=False)


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                yield int(words[0]), words[1], words[2:]


def is_right(judged, change):
    value = int(change.split("=")[1])
    return judged["proposed"] is not None and abs(judged["proposed"] - value) <= 0.15 * value


with tempfile.TemporaryDirectory(prefix="pesa-random-") as folder:
    for seed, core, changes in lines_of(os.path.join(TOP, "tests/accuracy/missed_deviations")):
        trial, model = trials.Trial(seed, ARGUMENTS, folder), trials.Model(core)
        found = trial.compare(core, changes, trial.rounds(core))[0]["classes"]
        said = ", ".join(f"{one['change']} {one['interval']}" for one in found)
        for change in changes:
            judged = trials.judge(change, found, len(changes) + 1, model)
            check(judged["rank"] and is_right(judged, change), f"{seed} on {core}: {change} is found", said)
        keys = set(map(trials.key_of, changes))
        wrong = [one["change"] for one in found if not keys & set(trials.names_of(one, model) + [trials.key_of(tie) for tie in one["ties"]])]
        check(not wrong, f"{seed} on {core}: nothing else is", f"{wrong}; {said}")
end()
