#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time and memory of `pesa merge`, by the number of samples: for more files, for larger files, and for adding a recording to
a merged file.

The recordings are a run of bzip2 on the virtual core, with its samples repeated; the number of repetitions differs, so that
no two files are equal.  MERGE_SAMPLES and MERGE_FILES change the sizes.
"""
import os
import tempfile

from recordings import PESA, REPEAT, build, figures, repeat, short_bzip2

SAMPLES = int(os.environ.get("MERGE_SAMPLES", "100000"))
FILES = int(os.environ.get("MERGE_FILES", "30"))


def show(what, samples, *command):
    wall, processor, memory = figures(PESA, "merge", "-q", "-o", "out.data", *command)
    print(f"  {what:44} {samples / 1e6:8.2f} million samples  {wall:7.2f} s, {processor:7.2f} s of processor, "
          f"{processor / samples * 1e9:5.0f} ns a sample, {memory:4.0f} MB")


build(REPEAT)
with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    os.chdir(work)
    short = short_bzip2(work)
    names = [f"{i:04}.data" for i in range(FILES)]
    for i, name in enumerate(names):
        repeat(short, name, SAMPLES + i)
    size = os.path.getsize(names[0]) / SAMPLES
    print(f"recordings of {SAMPLES} samples, {size:.1f} bytes each:")
    count = 1
    while count < FILES:
        show(f"{count} of them", count * SAMPLES, *names[:count])
        count *= 3
    show(f"{FILES} of them", FILES * SAMPLES, *names)
    print(f"  written: {os.path.getsize('out.data') / FILES / SAMPLES:.1f} bytes a sample")
    os.rename("out.data", "all.data")
    show("the merged one again", FILES * SAMPLES, "all.data")
    show("the merged one, which has it, and one of them", (FILES + 1) * SAMPLES, "all.data", names[0])
    repeat(short, "large.data", FILES * SAMPLES)
    show("one as large as all", FILES * SAMPLES, "large.data")
    show("the same without compression", FILES * SAMPLES, "-z", "0", "large.data")
    repeat(short, "unsorted.data", FILES * SAMPLES, 0)
    show("an uncompressed one", FILES * SAMPLES, "unsorted.data")
