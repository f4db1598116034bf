#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may use the board's registers, and which values they take: by a program without a system."""
from board import bare, tap

for bits in (31, 20):
    done, _ = bare("registers", "--without-timing", "--property", f"pesa-counter-bits={bits}",
                   options=[f"-DCOUNTER_BITS={bits}"])
    print(f"# a counter of {bits} bits")
    tap.adopt(done.stdout)
    tap.check(done.returncode == 0, "its status is 0", done.stderr)
tap.end()
