# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions shared by the tests: paths, the Test Anything Protocol, and runs of guests on the virtual core."""
import json
import os
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("O", os.path.join(TOP, "build"))
PESA = os.path.abspath(os.environ.get("PESA", os.path.join(BUILD, "bin/pesa")))
# As pesa finds it: the one that `make emulator` linked comes before the distribution's.
QEMU = (shutil.which(os.environ["PESA_QEMU"]) if os.environ.get("PESA_QEMU") else
        shutil.which(os.path.join(BUILD, "libexec/qemu-riscv64")) or shutil.which("qemu-riscv64"))
NATIVE = os.uname().machine == "riscv64"
CROSS = "" if NATIVE else "riscv64-linux-gnu-"
GUEST_CC = CROSS + "gcc"
number = 0
bad = 0


def check(holds, what, why=""):
    """Report a test; `why` is printed if it fails.  Returns whether it passed."""
    global number, bad
    number += 1
    print("ok" if holds else "not ok", number, "-", what, flush=True)
    if not holds:
        bad += 1
        for line in str(why).splitlines()[:100]:
            print("#", line[:2000], flush=True)
    return bool(holds)


def skip(what, why):
    """Report a skipped test; `why` is needs(PACKAGE) if a program is missing."""
    check(True, f"{what} # SKIP {' '.join(why.split())}")


def skip_all(why):
    """Skip all tests of a file, and exit."""
    print("1..0 # SKIP", " ".join(why.split()), flush=True)
    sys.exit(0)


def needs(package):
    """Why a test is skipped: tests/run knows these words, and takes them for a failure where the package was promised."""
    return f"needs the package {package}"


def copy_of_pesa(folder):
    """A copy of pesa in folder/bin, with its subcommands, but without the programs and data that it comes with."""
    for place in ("bin", "libexec"):
        os.makedirs(os.path.join(folder, place), exist_ok=True)
    shutil.copy(os.path.join(BUILD, "libexec/pesa-commands.so"), os.path.join(folder, "libexec"))
    return shutil.copy(PESA, os.path.join(folder, "bin/pesa"))


def adopt(text):
    """Add the tests and the plan in the output of another program."""
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
    """Abort the test file."""
    print("Bail out!", *why, flush=True)
    sys.exit(1)


def failed():
    """Return whether a test has failed."""
    return bad > 0


def end(why=""):
    """Print the plan, and exit with the status.  `why` says why the tests that would follow are skipped."""
    if why and not number:
        skip_all(why)
    if why:
        skip("the rest", why)
    print(f"1..{number}", flush=True)
    sys.exit(1 if bad else 0)


def run(*words, **options):
    """What a command prints; the test ends if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        bail_out(" ".join(words), done.stderr)
    return done.stdout


def command(*words, **options):
    """Run a program and return its output as bytes."""
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
