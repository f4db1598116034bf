#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A 32-bit program on the 64-bit kernel: it opens events of the driver like a 64-bit program, gets the same errors, and pesa
records it."""
import re
import shutil
import tempfile

from board import FAULTS, TOP, board, compiled, events, only_samples, pesa_of_board, read, tap

# Error numbers that are expected, in RISC-V's numbering.
EINVAL = 22
EXPECTED = {"below-minimum": -EINVAL, "beyond-counter": -EINVAL, "unknown-config": -EINVAL, "id": 0, "period": -EINVAL,
            "mapped": 0, "enabled": 0}

with tempfile.TemporaryDirectory(prefix="pesa-narrow-") as share:
    shutil.copy(compiled("narrow", [f"{TOP}/tests/system/programs/narrow.c"], "-march=rv32ima", "-mabi=ilp32",
                         "-ffreestanding", "-nostdlib", "-nostartfiles", "-static", "-no-pie", "-fno-pic"), share)
    done = board("--share", share, "--also", f"pesa={pesa_of_board()}", "--console", f"{share}/console", "--", "sh",
                 "-c", "type=$(cat /sys/bus/event_source/devices/pesa/type); ./narrow $type && "
                 "/pesa/bin/pesa record -q -o narrow.data -c 10000 -- ./narrow > /dev/null")
    samples = only_samples(events(f"{share}/narrow.data"))
    console = read(f"{share}/console")
why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
reported = {name: int(number) for name, number in re.findall(r"^([a-z-]+) (-?\d+)$", done.stdout, re.M)}
tap.check(done.returncode == 0, "it runs, and is recorded", why)
for name, number in EXPECTED.items():
    tap.check(reported.get(name) == number, f"{name}: {number}", reported)
tap.check(reported.get("opened", -1) > 2, "it opens an event", reported)
tap.check(reported.get("samples", 0) > 20 and reported["inside"] == reported["records"] == reported["samples"],
          "and gets samples of itself, each with a record", reported)
work = [sample for sample in samples if (sample["symbol"] or "").startswith("work")]
tap.check(len(work) > 20, "pesa record samples it, and knows its function", f"{len(work)} of {len(samples)}")
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
