#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa compare on random programs with deviations that it missed once (tests/accuracy/missed_deviations): it finds all of them, with
their values but where that file says otherwise, and names nothing else.

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


def is_right(judged, change):
    value = int(change.split("=")[1])
    return judged["proposed"] is not None and abs(judged["proposed"] - value) <= 0.15 * value


with tempfile.TemporaryDirectory(prefix="pesa-random-") as folder:
    for seed, core, planted in trials.kept(os.path.join(TOP, "tests/accuracy/missed_deviations")):
        arguments = argparse.Namespace(samples=20000, exact="exact" in planted)
        planted = [change for change in planted if change != "exact"]
        changes, visible = [change.strip("()~") for change in planted], [change for change in planted if not change.startswith("(")]
        trial, model = trials.Trial(seed, arguments, folder), trials.Model(core)
        found = trial.compare(core, changes, trial.rounds(core))[0]["classes"]
        said = ", ".join(f"{one['change']} {one['interval']}" for one in found)
        for change in visible:
            judged = trials.judge(change.strip("~"), found, len(changes) + 1, model)
            check(judged["rank"] and (change.startswith("~") or is_right(judged, change)), f"{seed} on {core}: {change} is found", said)
        wrong = [one["change"] for one in found if trials.names_none(one, changes, model)]
        check(not wrong, f"{seed} on {core}: nothing else is", f"{wrong}; {said}")
end()
