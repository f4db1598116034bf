#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa compare chooses by the measurement what is not in a profile: unmodified random programs in which one choice made up for another
one, or for none, are predicted as they were measured."""
import argparse
import os
import sys
import tempfile

from tap import TOP, PESA, check, end

os.environ["PESA"] = PESA
sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
import trials  # noqa: E402  pylint: disable=wrong-import-position

NEAR = 0.12
# Regions that were predicted 22 to 29 % too fast.  Each: seed of the program, core, function, least
# share of the cycles of its regions that are checked, and what is chosen there.
PROGRAMS = [
    (983913265887, "ooo-8", "k2", 0.2, "how long misses take whose stalls are hidden"),
    (324555331393, "ooo-3", "k0", 0.08, "even directions of branches, and units in program order"),
    (324555331393, "ooo-4", "k0", 0.08, "even directions of branches, and units in program order"),
]

with tempfile.TemporaryDirectory(prefix="pesa-chosen-") as folder:
    for seed, core, symbol, least, what in PROGRAMS:
        trial = trials.Trial(seed, argparse.Namespace(samples=20000, exact=False), folder)
        found = trial.compare(core, [], trial.rounds(core))[0]
        off = {f"{one['start']:#x}": one["predicted"] / one["measured"] - 1 for one in found["regions"]
               if (one["symbol"] or "").startswith(symbol) and one["measured"] >= least * found["cycles"]}
        check(off and all(abs(one) < NEAR for one in off.values()), f"{seed} on {core}: {symbol}() is near: {what}", off)
        check(not found["classes"], f"{seed} on {core}: no finding", found["classes"])
end()
