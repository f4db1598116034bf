#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Resources shared by the board's harts (memory, caches) have one time, independent of the number of cycles that each hart
has counted.  Tested with a bare-metal program on two harts."""
from board import bare, tap

LINES, LATENCY = 256, 500  # an access to memory is faster than that

done, device = bare("harts", "--harts", "2")
tap.adopt(done.stdout)
tap.check(done.returncode == 0, "its status is 0", done.stderr)
if tap.check(device and len(device["harts"]) == 2, "the device tells what it counted", device):
    first, second = (hart["cycles"] for hart in device["harts"])
    print(f"# cycles: {first} and {second}")
    tap.check(first > 1000000, "the first hart counts many cycles", device)
    tap.check(0 < second < LINES * LATENCY, "the second one waits for memory and not for the time of the first", device)
tap.end()
