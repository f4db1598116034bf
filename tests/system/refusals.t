#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver refuses invalid event attributes and module parameters, each with the errno that fits."""
import re
import shutil
import tempfile

from board import IN_TREE, TOP, board, compiled, tap

# A driver in the kernel's tree has no parameters, and is there from the start.
LOADED = r"""
load() { # NAME
    echo "== $1: status 0"; dmesg | grep 'pesa pesa: '
    [ ! -d /sys/bus/event_source/devices/pesa ] || echo "there is a PMU"
}
"""
LOADS = LOADED if IN_TREE else r"""
load() { # NAME PARAMETER...
    name=$1; shift
    insmod /board/pesa.ko "$@" 2> error; echo "== $name: status $? $(cat error)"; dmesg | tail -n 3
    [ ! -d /sys/bus/event_source/devices/pesa ] || echo "there is a PMU"
    rmmod pesa 2> /dev/null
}
"""
BOARDS = (
    ("the board as it is", ["--property", "pesa-ctr-depth=32"], "load node; load lcofi interrupt=13; load twice interrupt=17", (
        ("node", "status 0", "there is a PMU"), ("lcofi", "busy", "local interrupt 13 is taken"),
        ("twice", "busy", "local interrupt 17 is taken"))),
    ("harts without the registers", ["--without-device"], "load none; load made interrupt=17; load far interrupt=64", (
        ("none", "status 0", ""), ("made", "No such device", "menvcfg.CDE"), ("far", "No such device", ""))),
    ("a node that says too much", ["--property", "pesa-retire-width=99"], "load width",
     (("width", "status 0", "retire-width is 99: at most 15"),)),
    ("and one with too many causes", ["--property", "pesa-cause-names=a:b:c:d:e:f:g:h:i:j:k"], "load causes",
     (("causes", "status 0", "cause-names has 11 strings, there are 10 bits"),)),
    ("harts with short counters", ["--property", "pesa-counter-bits=8"], "load short",
     (("short", "status 0", "the period counter has 8 bits: at least 9 are needed"),)),
    ("and with the shortest", ["--property", "pesa-counter-bits=9"], "load shortest",
     (("shortest", "status 0", "there is a PMU"),)),
)

with tempfile.TemporaryDirectory(prefix="pesa-refusals-") as share:
    shutil.copy(compiled("refusals", [f"{TOP}/tests/system/programs/refusals.c"], "-static", "-D_GNU_SOURCE"), share)
    for name, words, script, expected in BOARDS:
        if IN_TREE:
            script = "; ".join(load for load in script.split("; ") if "=" not in load)
            expected = [one for one in expected if f"load {one[0]}" in script.split("; ")]
        first = "" if name != BOARDS[0][0] else "./refusals\n" if IN_TREE else "insmod /board/pesa.ko && ./refusals; rmmod pesa\n"
        done = board("--share", share, "--console", f"{share}/console", "--without-driver", "--without-timing", *words,
                     "--", "sh", "-c", LOADS + first + script, limit=600)
        with open(f"{share}/console", encoding="utf-8", errors="replace") as file:
            console = file.read()
        why = f"status {done.returncode}\n{done.stdout}{done.stderr}"
        if first:
            lines = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "not ok "))]
            tap.check(len(lines) >= 30, "the events are asked for", why)
            for line in lines:
                tap.check(line.startswith("ok "), f"perf_event_open: {line.removeprefix('not ').removeprefix('ok ')}",
                          line)
        parts = dict(re.findall(r"^== (\w+): (.*?)(?=^== |\Z)", done.stdout, re.M | re.S))
        for part, status, message in expected:
            text = parts.get(part, "")
            refused = "there is a PMU" not in text or message == "there is a PMU"
            tap.check(status in text and message in text and refused, f"{name}: insmod, {part}: {message or status}",
                      text or why)
        tap.check(not re.search(r"BUG:|WARNING:|Oops|Call Trace", console), f"{name}: the kernel complains of nothing",
                  console)
tap.end()
