# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that several benchmarks read, and a program whose cost is measured."""
import os
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
from accuracy import O, PESA, program  # noqa: E402  pylint: disable=wrong-import-position

REPEAT = os.path.join(O, "tests/tools/repeat_recording")


def sqlite3(work, samples, short=None):
    """A run of sqlite3 on the virtual core (or the recording `short`), repeated to so many samples: its path."""
    data = os.path.join(work, "long.data")
    subprocess.run(["make", "-s", "-C", TOP, f"O={O}", REPEAT], check=True)
    if not short:
        short = os.path.join(work, "short.data")
        subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(O, "programs"), "sqlite3"], check=True)
        command, standard_input, _ = program("sqlite3", work, 0.2)
        subprocess.run([PESA, "record", "-q", "-c", "288", "-o", short, "--", os.path.join(O, "programs/sqlite3")] + command[1:],
                       check=True, input=standard_input, stdout=subprocess.DEVNULL)
    subprocess.run([REPEAT, short, data, str(samples), "3"], check=True)
    return data


def measured(*words):
    """What a program prints, its seconds and what the kernel says it used."""
    start = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} ended with status {process.returncode}")
    return output, time.monotonic() - start, usage


def cost(seconds, usage):
    """In words."""
    return f"{seconds:.2f} s, {usage.ru_utime + usage.ru_stime:.2f} s of processor, {usage.ru_maxrss / 1024:.0f} MB"
