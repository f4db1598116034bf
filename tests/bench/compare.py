#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time and memory of `pesa compare` on a million samples of sqlite3, and the number of instructions in its paths.

The recording is a run of sqlite3 on the virtual core, with its samples repeated.  COMPARE_SAMPLES is the number of samples.
If a file is given as argument, this recording is repeated instead.
"""
import json
import os
import sys
import tempfile

from recordings import PESA, cost, measured, sqlite3

SAMPLES = int(os.environ.get("COMPARE_SAMPLES", "1000000"))

with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    data = sqlite3(work, SAMPLES, os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None)
    output, wall, usage = measured(PESA, "compare", "--json", "-i", data)
    result = json.loads(output)
    print(f"pesa compare, {SAMPLES} samples: {cost(wall, usage)}; {result['totals']['walks']} paths, "
          f"{result['totals']['executed'] / 1e6:.1f} million instructions executed on models, {len(result['classes'])} findings")
