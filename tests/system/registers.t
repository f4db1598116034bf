#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Access rules and valid values of the board's registers, tested with a bare-metal program."""
from board import bare, tap

for bits, autorun, depth in ((31, 1, 32), (20, 0, 0)):
    done, _ = bare("registers", "--without-timing", "--property", f"pesa-counter-bits={bits}",
                   "--property", f"pesa-autorun={'on' if autorun else 'off'}",
                   "--property", f"pesa-ctr-depth={depth}",
                   options=[f"-DCOUNTER_BITS={bits}", f"-DAUTORUN={autorun}", f"-DCTR_DEPTH={depth}"])
    print(f"# a counter of {bits} bits, AutoRun {autorun}, {depth} control transfer records")
    tap.adopt(done.stdout)
    tap.check(done.returncode == 0, "its status is 0", done.stderr)
tap.end()
