#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A user who is not allowed to profile the kernel never gets a kernel address, for any event attributes.

FUZZ_SECONDS: how long random events are tried, in seconds (60); FUZZ_SEED: the first random seed.
"""
import os
import random
import re
import shutil
import subprocess
import tempfile
import time

from board import RUN, TOP, compiled, core_with_transfers, tap

SECONDS = float(os.environ.get("FUZZ_SECONDS", "60"))
SEED = int(os.environ.get("FUZZ_SEED", random.randrange(1 << 31)))
SCRIPT = f"""
cat /proc/sys/kernel/perf_event_paranoid
./fuzz_attributes 1 control
echo fuzzing
./fuzz_attributes {SEED} /share/end
echo status $?
"""
COUNTS = re.compile(r"^opened (\d+) refused (\d+) privileged (\d+) samples (\d+) raw (\d+) branches (\d+) aux (\d+) "
                    r"leaks (\d+)$", re.M)
NAMES = ("opened", "refused", "privileged", "samples", "raw", "branches", "aux", "leaks")


with tempfile.TemporaryDirectory(prefix="pesa-isolation-") as share:
    shutil.copy(compiled("fuzz_attributes", [f"{TOP}/tests/system/programs/fuzz_attributes.c"], "-static",
                         "-D_GNU_SOURCE"), share)
    os.chmod(share, 0o755)
    running = subprocess.Popen([RUN, "--share", share, "--console", f"{share}/console", "--core",
                                core_with_transfers(share), "--time", str(SECONDS + 600), "--", "sh", "-c", SCRIPT],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
    output = ""
    for line in running.stdout:
        output += line
        if line == "fuzzing\n":
            break
    time.sleep(SECONDS)
    with open(f"{share}/end", "w", encoding="utf-8"):
        pass
    output += running.communicate()[0]
    with open(f"{share}/console", encoding="utf-8", errors="replace") as file:
        console = file.read()

before, _, after = output.partition("fuzzing\n")
why = f"seed {SEED}\n{output}"
found = COUNTS.findall(before)
if tap.check(found, "a user who may see the kernel records it", why):
    control = dict(zip(NAMES, map(int, found[-1])))
    tap.check(control["leaks"] > 0 and control["raw"] > 0 and control["branches"] > 0 and control["aux"] > 0,
              "and then its addresses are found in all that there is", before)
tap.check(running.returncode == 0 and after.endswith("status 0\n"), "random events are tried to the end", why)
found = COUNTS.findall(after)
if tap.check(found, "what came of them is reported", why):
    counted = dict(zip(NAMES, map(int, found[-1])))
    print(f"# seed {SEED}, {SECONDS:g} s: " + ", ".join(f"{count} {name}" for name, count in counted.items()))
    tap.check(min(counted[name] for name in ("opened", "refused", "samples", "raw", "branches", "aux")) > 0,
              "there are samples, with raw records, branches and AUX buffers", why)
    tap.check(counted["privileged"] == 0, "none is opened that sees the kernel", why)
    tap.check(counted["leaks"] == 0, "no address of the kernel arrives", why)
tap.check(not re.search(r"BUG:|WARNING:|Oops|Call Trace|unable to handle", console, re.I), "the kernel complains of nothing",
          console)
tap.end()
