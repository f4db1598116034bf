#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each overflow that the hardware discarded and counted is reported in the file of the event that lost it, and in no other.
This includes overflows in modes that the event excludes, more than 2^32 of them, those of a time slice that has
ended, and those that a record reports for which the ring has no room."""
import json
import re
import tempfile

from board import FAULTS, board, guest_program, pesa_of_board, read, script_parts, tap

STATISTICS = ("recorded", "excluded", "unclaimed", "discarded", "discarded_idle", "unreported", "back_to_back")
PESA = "/pesa/bin/pesa record -q"
SCRIPT = """
statistics() { for name in %s; do read value < /sys/bus/event_source/devices/pesa/statistics/$name; echo "$name $value"; done; }
""" % " ".join(STATISTICS) + f"""
echo "== begin"; statistics
echo "== with the kernel"; {PESA} --json=kernel.json -o /tmp/data -c 256 -- ./hot 3000; statistics
echo "== with little room"; {PESA} -m 1 --json=narrow.json -o /tmp/data -c 256 -- ./hot 3000; statistics
echo "== without it"; {PESA} --json=user.json -o /tmp/data -e pesa/cycles/u -c 256 -- ./hot 3000; statistics
echo "== in turns"
taskset -c 0 {PESA} --json=turns.json -o /tmp/short -c 400 -- ./hot 30000 &
taskset -c 0 {PESA} --json=patient.json -o /tmp/long -c 100003 -- ./hot 200000
wait; statistics
"""
# How much one discarded overflow counts: a million real ones would take too long.
STEP = 1 << 28

with tempfile.TemporaryDirectory(prefix="pesa-losses-") as share:
    guest_program("hot", share)
    with open(f"{share}/script", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    done = board("--harts", "1", "--property", f"pesa-discarded-step={STEP}", "--share", share, "--also",
                 f"pesa={pesa_of_board()}", "--console", f"{share}/console", "--", "sh", "script", limit=300)
    console = read(f"{share}/console")
    reported = {name: json.loads(read(f"{share}/{name}.json") or "{}") for name in ("kernel", "narrow", "user", "turns", "patient")}
parts = script_parts(done.stdout)
why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"


def numbers(part):
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", parts.get(part, ""), re.M)}


def losses(*names):
    return sum(reported[name].get("discarded", 0) + reported[name].get("lost", 0) for name in names)


def unwritten(recorded, names):
    """Records that found no room in the ring: each counts as one lost sample."""
    return recorded - sum(reported[name].get("samples", 0) for name in names)


tap.check(done.returncode == 0 and all(reported.values()), "recordings are made", why)
before = numbers("begin")
for part, names in (("with the kernel", ("kernel",)), ("with little room", ("narrow",)), ("without it", ("user",)),
                    ("in turns", ("turns", "patient"))):
    after = numbers(part)
    grown = {name: after.get(name, 0) - before.get(name, 0) for name in STATISTICS}
    dropped = unwritten(grown["recorded"], names)
    print(f"# {part}: reported {losses(*names)}, {dropped} found no room; driver: {grown}")
    # Where samples find no room, records of the task may find none either: perf counts these as well.
    others = losses(*names) - grown["discarded"] - dropped
    tap.check(grown["discarded"] > 1 << 32 and 0 <= others <= (64 if dropped else 0),
              f"{part}: each overflow that the driver knows to be discarded is reported", f"{losses(*names)} {grown}")
    if part == "with little room":
        tap.check(dropped > 0, f"{part}: some records find no room", reported[names[0]])
    before = after
tap.check(reported["user"].get("samples", 0) < numbers("without it").get("excluded", 0), "most samples were excluded there", why)
tap.check(losses("patient") == 0 and losses("turns") > 0, "a task is not informed of the losses of the one before it", reported)
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
