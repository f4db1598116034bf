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


def build(*programs):
    """Test programs, by their paths."""
    subprocess.run(["make", "-s", "-C", TOP, f"O={O}", *programs], check=True)


def guest(name):
    """A program for the virtual core: its path."""
    subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(O, "programs"), name], check=True,
                   stdout=subprocess.DEVNULL)
    return os.path.join(O, "programs", name)


def repeat(short, data, samples, compression=3):
    """The samples of a recording, so often that there are so many."""
    subprocess.run([REPEAT, short, data, str(samples), str(compression)], check=True)


def short_sqlite3(work):
    """A run of sqlite3 on the virtual core: its path."""
    short = os.path.join(work, "short.data")
    command, standard_input, _ = program("sqlite3", work, 0.2)
    subprocess.run([PESA, "record", "-q", "-c", "288", "-o", short, "--", guest("sqlite3")] + command[1:],
                   check=True, input=standard_input, stdout=subprocess.DEVNULL)
    return short


def short_bzip2(work):
    """A run of bzip2 on the virtual core: its path."""
    short, data = os.path.join(work, "short.data"), os.path.join(work, "input")
    with open(PESA, "rb") as file, open(data, "wb") as out:
        out.write(file.read(200000))
    subprocess.run([PESA, "record", "-q", "-c", "300", "-o", short, "--", guest("bzip2"), "-kf9", data], check=True)
    return short


def sqlite3(work, samples, short=None):
    """A run of sqlite3 on the virtual core (or the recording `short`), repeated to so many samples: its path."""
    data = os.path.join(work, "long.data")
    build(REPEAT)
    repeat(short or short_sqlite3(work), data, samples)
    return data


def measured(*words, quiet=False):
    """What a program prints (`quiet`: to nobody), its seconds and what the kernel says it used."""
    start = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL if quiet else subprocess.PIPE,
                          stderr=subprocess.DEVNULL if quiet else None) as process:
        output = b"" if quiet else process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} ended with status {process.returncode}")
    return output, time.monotonic() - start, usage


def figures(*words):
    """Of a program without listeners: wall seconds, processor seconds, peak MB (the kernel counts this script's own, 17,
    from before the program was executed)."""
    _, wall, usage = measured(*words, quiet=True)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cost(seconds, usage):
    """In words."""
    return f"{seconds:.2f} s, {usage.ru_utime + usage.ru_stime:.2f} s of processor, {usage.ru_maxrss / 1024:.0f} MB"
