#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples and interrupts of the board's device, compared with a loop of known costs and with the device's
counts.  Tested with a bare-metal program."""
import re
import tempfile

from board import bare, core_with_transfers, tap

with tempfile.TemporaryDirectory(prefix="pesa-sampling-") as directory:
    done, device = bare("sampling", "--core", core_with_transfers(directory))
tap.adopt(done.stdout)
tap.check(done.returncode == 0, "its status is 0", done.stderr)
if tap.check(device and len(device["harts"]) == 1, "the device tells what it counted", device):
    hart = device["harts"][0]
    handled = int(re.search(r"# handled (\d+)", done.stdout)[1])
    discarded = int(re.search(r"# discarded (\d+)", done.stdout)[1])
    # Samples that were read without an interrupt: four more, and those of the part with a call stack.
    polled = 4 + int(re.search(r"# taken with a call stack (\d+)", done.stdout)[1])
    tap.check(hart["taken"] == handled + polled, "software read every sample that the device took", device)
    # Those that the last sample with a call stack kept out are not read, and some of the samples of that part were not either.
    tap.check(discarded <= hart["discarded"] <= discarded + 4 + polled, "what was discarded is what software was reported",
              device)
    # The counter ran for the periods of all overflows.  Each time that it was stopped, it had run for less than
    # one more period; once, this was a long period.
    counted = handled * 1009 + (polled + hart["discarded"]) * 256
    tap.check(counted <= hart["cycles"] <= counted + 1009 + 5 * 256 + 10000, "the overflows are a period of cycles apart",
              f"{counted} cycles in {device}")
tap.end()
