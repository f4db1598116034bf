# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests share: where things are, the Test Anything Protocol, and how the virtual core's guests are run."""
import json
import os
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("O", os.path.join(TOP, "build"))
PESA = os.path.abspath(os.environ.get("PESA", os.path.join(BUILD, "bin/pesa")))
QEMU = shutil.which(os.environ.get("PESA_QEMU", "qemu-riscv64"))
NATIVE = os.uname().machine == "riscv64"
CROSS = "" if NATIVE else "riscv64-linux-gnu-"
GUEST_CC = CROSS + "gcc"
number = 0
bad = 0


def check(holds, what, why=""):
    """A test: `why` is shown where it does not hold.  Returns whether it does."""
    global number, bad
    number += 1
    print("ok" if holds else "not ok", number, "-", what, flush=True)
    if not holds:
        bad += 1
        for line in str(why).splitlines()[:100]:
            print("#", line[:2000], flush=True)
    return bool(holds)


def skip(what, why):
    """A test that cannot be made here; `why` is needs(PACKAGE) where a program is missing."""
    check(True, f"{what} # SKIP {' '.join(why.split())}")


def skip_all(why):
    """Ends a file of which nothing can be tested here."""
    print("1..0 # SKIP", " ".join(why.split()), flush=True)
    sys.exit(0)


def needs(package):
    """Why a test is skipped: tests/run knows these words, and takes them for a failure where the package was promised."""
    return f"needs the package {package}"


def adopt(text):
    """Take over the tests that another program printed, and its plan."""
    planned = None
    seen = 0
    for line in text.splitlines():
        if line.startswith("1.."):
            planned = int(line[3:])
        elif line.startswith(("ok ", "not ok ")):
            seen += 1
            check(line.startswith("ok "), line.split(" - ", 1)[-1], line)
        elif line.startswith("#"):
            print(line)
    check(planned == seen and seen, "the program ran to its end", text)


def bail_out(*why):
    """Nothing more can be tested."""
    print("Bail out!", *why, flush=True)
    sys.exit(1)


def failed():
    """Whether a test did not hold so far."""
    return bad > 0


def end(nothing=""):
    """The plan, and the exit status.  `nothing` says why there may have been no test at all."""
    if nothing and not number:
        skip_all(nothing)
    print(f"1..{number}", flush=True)
    sys.exit(1 if bad else 0)


def command(*words, **options):
    """Run a program and keep what it prints, as bytes."""
    return subprocess.run(words, capture_output=True, timeout=120, **options)


def plain_environment(work):
    """The same small environment for every run: a guest's start-up loops over its environment."""
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C", "TMPDIR": work}
    for name in ("PESA_QEMU", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            plain[name] = os.environ[name]
    return plain


def core_description(core):
    """The keys of a core description and their values, sizes in bytes."""
    keys = {}
    with open(os.path.join(BUILD, "share/pesa/cores", core), encoding="utf-8") as file:
        for line in file:
            key, equals, value = line.partition("#")[0].partition("=")
            if equals:
                value = value.strip()
                scale = {"K": 1 << 10, "M": 1 << 20}.get(value[-1:], 0)
                keys[key.strip()] = int(value[:-1]) * scale if scale else int(value) if value.isdigit() else value
    return keys


def records(path):
    """All that a recording says, without the numbers that the host gives processes and threads."""
    shown = command(PESA, "script", "--json", "-i", path)
    return [{key: value for key, value in json.loads(line).items()
             if key not in ("pid", "tid", "parent_pid", "parent_tid")}
            for line in shown.stdout.splitlines()]
