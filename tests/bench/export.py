#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time and memory of `pesa export` in each format on a million samples of sqlite3, and on ten million; and on samples that
all differ: random addresses of a library, with random call chains of eight entries.

The recording of sqlite3 is a run on the virtual core, with its samples repeated.  EXPORT_SAMPLES is the number of samples.
If a file is given as argument, this recording is repeated instead.
"""
import glob
import os
import random
import subprocess
import sys
import tempfile

from recordings import O, PESA, REPEAT, build, figures, repeat, short_sqlite3

SAMPLES = int(os.environ.get("EXPORT_SAMPLES", "1000000"))
MAKE = os.path.join(O, "tests/tools/make_profile")
LIBRARY = (glob.glob("/usr/riscv64-linux-gnu/lib/libc.so.6") + glob.glob("/lib/riscv64-linux-gnu/libc.so.6"))[0]
TEXT, SIZE = 0x30000, 0x90000  # a range of code in the library: offset and size in bytes
FORMATS = ("pprof", "folded", "speedscope", "firefox", "csv")


def distinct(samples):
    """A description for make_profile."""
    place = lambda: f"{0x400000 + TEXT + 2 * random.randrange(SIZE // 2):#x}"
    yield f"command x\nperiod 1000\nchains\nmap 7 0x400000 0x200000 0 {LIBRARY}\n"
    for number in range(samples):
        if number % 4 == 0:
            yield "chain 0xffffffffffffff80 0xfffffffffffffe00 0 " + " ".join(place() for _ in range(8)) + "\n"
        yield f"sample 1 7 7 {place()} 1 0 0 0 0 0 0 1 {random.choice((1, 8, 24))}\n"


def export_all(data, out, what):
    for form in FORMATS:
        wall, processor, memory = figures(PESA, "export", "--format", form, "-i", data, "-o", out)
        print(f"export {form}, {what}: {wall:.2f} s, {processor:.2f} s of processor, {memory:.0f} MB; "
              f"{os.path.getsize(out) / 1e6:.1f} MB written", flush=True)


build(REPEAT, MAKE)
with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    short = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else short_sqlite3(work)
    data, out = os.path.join(work, "long.data"), os.path.join(work, "out")
    for samples in (SAMPLES, SAMPLES * 10):
        repeat(short, data, samples)
        export_all(data, out, f"{samples} samples")
    random.seed(1)
    for samples in (SAMPLES // 10, SAMPLES * 4 // 10):
        subprocess.run([MAKE, data], input="".join(distinct(samples)).encode(), check=True)
        export_all(data, out, f"{samples} samples, all distinct")
