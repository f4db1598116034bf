#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording on the virtual core against plain QEMU: the same program, in one run."""
import json
import os
import resource
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("O", os.path.join(TOP, "build"))
PESA = os.environ.get("PESA", os.path.join(BUILD, "bin/pesa"))
PROGRAM = os.path.join(BUILD, "programs/bzip2-static")


def processor_seconds(words, **options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if not os.path.exists(PROGRAM):
    subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.dirname(PROGRAM), "bzip2-static"], check=True,
                   stdout=subprocess.DEVNULL)
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    with open("text", "wb") as out:
        for folder, _, names in sorted(os.walk(os.path.join(TOP, "decoder"))):
            for name in sorted(names):
                with open(os.path.join(folder, name), "rb") as file:
                    out.write(file.read())
        out.truncate(800000)
    guest = [PROGRAM, "-kc", "text"]
    plain = min(processor_seconds(["qemu-riscv64", *guest]) for _ in range(3))
    print(f"plain qemu-riscv64: {plain:.2f} s")
    for core in ("inorder-2", "ooo-4"):
        for golden in (False, True):
            words = [PESA, "record", "-q", "-c", "10000", "--core", core, "--json=summary"]
            if golden:
                words += ["--golden", "golden.data"]
            taken = processor_seconds([*words, "--", *guest])
            with open("summary", encoding="utf-8") as file:
                summary = json.load(file)
            size = os.path.getsize("perf.data")
            print(f"{core}{', golden reference' if golden else ''}: {taken:.2f} s, "
                  f"{summary['instructions'] / taken / 1e6:.1f} million instructions/s, {taken / plain:.0f} x plain QEMU, "
                  f"{size / summary['samples']:.1f} bytes of file a sample")
    # Children's peak: the emulator with the virtual core, guest included.
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
sys.exit(0)
