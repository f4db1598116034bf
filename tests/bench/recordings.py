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


# What a script does all day: words, a dictionary, JSON, regular expressions, objects.
SCRIPT = r"""
import json, re
state = 1
def draw(below):
    global state
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return state % below
class Node:
    def __init__(self, value):
        self.value, self.less, self.more = value, None, None
    def add(self, value):
        at = self
        while True:
            side = "less" if value < at.value else "more"
            child = getattr(at, side)
            if child is None:
                setattr(at, side, Node(value))
                return
            at = child
words = [chr(97 + draw(26)) * (1 + draw(4)) + str(draw(100)) for _ in range(3000)]
count = {}
for word in words:
    count[word] = count.get(word, 0) + 1
back = json.loads(json.dumps([{"word": w, "times": n, "share": n / 3} for w, n in count.items()]))
back.sort(key=lambda one: (-one["times"], one["word"]))
pattern = re.compile(r"([a-f]+)(\d+)")
root = Node("m")
for word in words[:800]:
    root.add(word)
print(len(back), sum(1 for word in words if pattern.match(word)))
"""


def cpython(work, period):
    """Record the distribution's CPython for riscv64, which is stripped, on ooo-4; return the path of the recording."""
    from distribution import sysroot  # pylint: disable=import-outside-toplevel
    root = sysroot("trixie", {"python3.13-minimal", "libpython3.13-stdlib"})
    data = os.path.join(work, f"cpython-{period}.data")
    subprocess.run([PESA, "record", "-q", "--core", "ooo-4", "-c", str(period), "--sysroot", root, "-o", data, "--",
                    os.path.join(root, "usr/bin/python3.13"), "-S", "-c", SCRIPT], check=True, stdout=subprocess.DEVNULL)
    return data
