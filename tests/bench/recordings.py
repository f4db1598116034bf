# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions shared by the benchmarks: make recordings, run a program and measure its cost."""
import os
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
from accuracy import O, PESA, program  # noqa: E402  pylint: disable=wrong-import-position

REPEAT = os.path.join(O, "tests/tools/repeat_recording")


def build(*programs):
    """Build test programs, given by their paths."""
    subprocess.run(["make", "-s", "-C", TOP, f"O={O}", *programs], check=True)


def guest(name):
    """Build a program for the virtual core, and return its path."""
    subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(O, "programs"), name], check=True,
                   stdout=subprocess.DEVNULL)
    return os.path.join(O, "programs", name)


def repeat(short, data, samples, compression=3):
    """Repeat the samples of a recording until there are `samples` of them."""
    subprocess.run([REPEAT, short, data, str(samples), str(compression)], check=True)


def short_sqlite3(work):
    """Record a run of sqlite3 on the virtual core, and return the path of the recording."""
    short = os.path.join(work, "short.data")
    command, standard_input, _ = program("sqlite3", work, 0.2)
    subprocess.run([PESA, "record", "-q", "-c", "288", "-o", short, "--", guest("sqlite3")] + command[1:],
                   check=True, input=standard_input, stdout=subprocess.DEVNULL)
    return short


def short_bzip2(work):
    """Record a run of bzip2 on the virtual core, and return the path of the recording."""
    short, data = os.path.join(work, "short.data"), os.path.join(work, "input")
    with open(PESA, "rb") as file, open(data, "wb") as out:
        out.write(file.read(200000))
    subprocess.run([PESA, "record", "-q", "-c", "300", "-o", short, "--", guest("bzip2"), "-kf9", data], check=True)
    return short


def sqlite3(work, samples, short=None):
    """Repeat a run of sqlite3 on the virtual core (or the recording `short`) to this number of samples; return its path."""
    data = os.path.join(work, "long.data")
    build(REPEAT)
    repeat(short or short_sqlite3(work), data, samples)
    return data


def measured(*words, quiet=False):
    """Run a program.  Returns its output (`quiet`: none), the elapsed seconds, and its resource usage."""
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
    """Run a program without reading its output.  Returns elapsed seconds, CPU seconds, and peak MB, which includes 17 MB of this
    script: the kernel counts the memory before exec too."""
    _, wall, usage = measured(*words, quiet=True)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cost(seconds, usage):
    """The figures as text."""
    return f"{seconds:.2f} s, {usage.ru_utime + usage.ru_stime:.2f} s of processor, {usage.ru_maxrss / 1024:.0f} MB"
