#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Several processes at once on the virtual core: the recording of each does not depend on the machine."""
import json
import os
import subprocess
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, end, records

work = tempfile.mkdtemp(prefix="pesa-processes-")
os.chdir(work)
environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C"}
made = subprocess.run([GUEST_CC, "-O1", "-g", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o",
                       "guest"], capture_output=True, text=True, check=False)
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr)


def in_any_order(rows):
    """Records of several processes are in the order in which they came."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


class Run:
    def __init__(self, guest, *prefix):
        subprocess.run([*prefix, PESA, "record", "-q", "-c", "1000", "-o", "perf.data", "--golden", "golden.data",
                        "--json=summary", "--", "./guest", guest, "./guest"], capture_output=True, timeout=120,
                       env=environment, check=False)
        with open("summary", encoding="utf-8") as file:
            self.summary = json.load(file)
        self.harts = in_any_order({key: value for key, value in hart.items() if key not in ("pid", "tid")}
                                  for hart in self.summary["harts"])
        self.samples, self.golden = in_any_order(records("perf.data")), in_any_order(records("golden.data"))


for guest, processes in (("family", 7), ("spawn", 3), ("exec", 2)):
    # On one CPU the host schedules the processes in another order.
    runs = [Run(guest, *prefix) for prefix in ((), ("taskset", "-c", "0"), (), ("taskset", "-c", "1"))]
    check(all(run.summary["processes"] == processes for run in runs), f"{guest}: {processes} processes, counted by program",
          [run.summary for run in runs])
    for part in ("harts", "samples", "golden"):
        first = getattr(runs[0], part)
        others = [getattr(run, part) for run in runs[1:]]
        check(len(first) > 1 and all(other == first for other in others), f"{guest}: four runs have the same {part}",
              "\n".join(f"{one} and {two}" for other in others for one, two in zip(first, other) if one != two))

os.chdir("/")
subprocess.run(["rm", "-rf", work], check=False)
end()
