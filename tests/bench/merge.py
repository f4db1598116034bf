#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `pesa merge` costs: processor time and memory by samples, of more files and of larger ones, and of a merged file that one
recording is added to.

The recordings are a real one (bzip2 on the virtual core), its samples repeated as often as makes each another.  MERGE_SAMPLES and
MERGE_FILES change the sizes.
"""
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("O", os.path.join(TOP, "build"))
PESA = os.environ.get("PESA", os.path.join(BUILD, "bin/pesa"))
REPEAT = os.path.join(BUILD, "tests/tools/repeat_recording")
SAMPLES = int(os.environ.get("MERGE_SAMPLES", "100000"))
FILES = int(os.environ.get("MERGE_FILES", "30"))


def measure(*command):
    """Wall seconds, processor seconds, peak MB."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def show(what, samples, *command):
    wall, processor, memory = measure(PESA, "merge", "-q", "-o", "out.data", *command)
    print(f"  {what:44} {samples / 1e6:8.2f} million samples  {wall:7.2f} s, {processor:7.2f} s of processor, "
          f"{processor / samples * 1e9:5.0f} ns a sample, {memory:4.0f} MB")


subprocess.run(["make", "-s", "-C", TOP, f"O={BUILD}", REPEAT], check=True)
subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(BUILD, "programs"), "bzip2"], check=True,
               stdout=subprocess.DEVNULL)
with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    os.chdir(work)
    with open(PESA, "rb") as file, open("input", "wb") as out:
        out.write(file.read(200000))
    subprocess.run([PESA, "record", "-q", "-c", "300", "-o", "short.data", "--", os.path.join(BUILD, "programs/bzip2"),
                    "-kf9", "input"], check=True)
    names = [f"{i:04}.data" for i in range(FILES)]
    for i, name in enumerate(names):
        subprocess.run([REPEAT, "short.data", name, str(SAMPLES + i), "3"], check=True)
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
    subprocess.run([REPEAT, "short.data", "large.data", str(FILES * SAMPLES), "3"], check=True)
    show("one as large as all", FILES * SAMPLES, "large.data")
    show("the same without compression", FILES * SAMPLES, "-z", "0", "large.data")
    subprocess.run([REPEAT, "short.data", "unsorted.data", str(FILES * SAMPLES), "0"], check=True)
    show("an uncompressed one", FILES * SAMPLES, "unsorted.data")
