#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time and memory of `pesa compare` on a million samples of sqlite3, and how many instructions of paths it executed.

The samples are those of a real run on the virtual core, repeated.  COMPARE_SAMPLES changes their number.  With a file as
argument that recording is repeated instead.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
from accuracy import O, PESA, program  # noqa: E402  pylint: disable=wrong-import-position

REPEAT = os.path.join(O, "tests/tools/repeat_recording")
SAMPLES = int(os.environ.get("COMPARE_SAMPLES", "1000000"))

subprocess.run(["make", "-s", "-C", TOP, f"O={O}", REPEAT], check=True)
with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    short, data = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(work, "short.data"), os.path.join(work, "long.data")
    if len(sys.argv) < 2:
        subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(O, "programs"), "sqlite3"], check=True)
        command, standard_input, _ = program("sqlite3", work, 0.2)
        subprocess.run([PESA, "record", "-q", "-c", "288", "-o", short, "--", os.path.join(O, "programs/sqlite3")] + command[1:],
                       check=True, input=standard_input, stdout=subprocess.DEVNULL)
    subprocess.run([REPEAT, short, data, str(SAMPLES), "3"], check=True)
    start = time.monotonic()
    with subprocess.Popen([PESA, "compare", "--json", "-i", data], stdout=subprocess.PIPE) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if process.returncode:
        sys.exit(f"pesa compare ended with status {process.returncode}")
    result = json.loads(output)
    print(f"pesa compare, {SAMPLES} samples: {wall:.2f} s, {usage.ru_utime + usage.ru_stime:.2f} s of processor, "
          f"{usage.ru_maxrss / 1024:.0f} MB; {result['totals']['walks']} paths, {result['totals']['executed'] / 1e6:.1f} million "
          f"instructions executed on models, {len(result['classes'])} findings")
