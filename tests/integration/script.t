#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa script: a line of text says what the JSON of that sample says, also where equal samples mean something else later: after
mappings, names, forks and programs that start."""
import json
import os
import re
import subprocess
import tempfile

from tap import BUILD, PESA, bail_out, check, end

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
work = tempfile.mkdtemp(prefix="pesa-script-")
os.chdir(work)
plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C"}
LINE = re.compile(r" *(?P<comm>\S+) +(?P<pid>\d+)/(?P<tid>\d+) +\[(?P<cpu>\d+)\] +(?P<second>\d+)\.(?P<nanosecond>\d{9}): "
                  r"(?P<event>\S+): +(?P<pc>[0-9a-f]+) (?P<symbol>\S+) \((?P<dso>[^)]*)\) (?P<rest>.*)")


def sample(pid, tid, pc, state=0, cause=0, transfers=0, target=0, times=3):
    return f"sample {times} {pid} {tid} {pc:#x} {state} 1 {transfers} {1 if transfers else 0} {target:#x} 0 0 {1 if cause else 0} {cause}"


every = [sample(pid, tid, pc, *more) for pid, tid in ((7, 7), (7, 8), (9, 9)) for pc in (0x10100, 0x20100)
         for more in ((0, 0), (1, 1), (1, 2), (0, 0, 1, 0x20000), (0, 0, 1, 0x10000))]
description = ["arch riscv64", "event pesa/cycles/", "period 1000", "comm 7 7 first", "comm 9 9 second",
               "map 7 0x10000 0x10000 0 /bin/one", *every,
               "map 9 0x10000 0x10000 0x3000 /bin/two", *every, *every,     # of another process
               "map 7 0x10000 0x10000 0x5000 /bin/three", *every,           # in place of the first
               "map 7 0x20000 0x10000 0 /bin/four", *every,                 # for an address that had none
               "comm 7 8 renamed", *every, "lost 3", *every,                # a program starts: its process has no mappings
               "map 7 0x10000 0x10000 0 /bin/five", *every, "fork 11 7", sample(11, 11, 0x10100), sample(12, 12, 0x10100),
               "cpu 3", *every]
made = subprocess.run([MAKE, "s.data"], input="\n".join(description) + "\n", capture_output=True, text=True, check=False)
if made.returncode:
    bail_out("make_profile:", made.stderr)


def script(*words):
    return subprocess.run([PESA, "script", "-i", "s.data", *words], capture_output=True, text=True, env=plain, check=True).stdout


def compare(*words):
    """The differences between the lines of text and of JSON."""
    lines = script(*words).splitlines()
    samples = [json.loads(line) for line in script("--json", *words).splitlines()]
    wrong = [f"{len(lines)} lines, {len(samples)} samples"] if len(lines) != len(samples) or not lines else []
    for line, told in zip(lines, samples):
        found = LINE.fullmatch(line)
        if not found:
            wrong.append(line)
            continue
        read = {key: int(found[key]) for key in ("pid", "tid", "cpu")} | {
            "comm": None if found["comm"] == "?" else found["comm"], "event": found["event"],
            "time": int(found["second"]) * 10**9 + int(found["nanosecond"]), "address": int(found["pc"], 16),
            "dso": None if found["dso"] == "unmapped" else found["dso"], "state": found["rest"].split()[0],
            "cts": int(re.search(r" cts=(\d+)", found["rest"])[1]),
            "causes": [name for name in (re.search(r" cause@1=(\S+)", found["rest"]) or ["", ""])[1].split("+") if name],
            "targets": [int(target, 16) for target in re.findall(r" bt\d@\d+=([0-9a-f]+)", found["rest"])]}
        shown = {key: told[key] for key in read} | {"targets": [target["address"] for target in told["targets"]]}
        if read != shown:
            wrong.append(f"{line}\n{shown}")
    return wrong


found = compare()
check(not found, "text and JSON agree on every sample", "\n".join(found))
check(not compare("--pid", "9"), "on those of a process", compare("--pid", "9"))
check(not compare("--tid", "8"), "on those of a thread", compare("--tid", "8"))
names = re.findall(r"\((/bin/\w+|unmapped)\)", script("--tid", "7"))
order = [name for i, name in enumerate(names) if name != "unmapped" and name not in names[:i]]
check(order == ["/bin/one", "/bin/three", "/bin/four", "/bin/five"], "an address is in what is mapped there at that time", order)
# Output is safe for terminals, whatever is beside what: bytes of a name at each distance from the end of a line.
for length in range(1, 20):
    name = "x" * length + "\x1b]2;\x7f\u009b"
    subprocess.run([MAKE, "s.data"], input="\n".join(["arch riscv64", "event pesa/cycles/", "comm 7 7 first",
                                                      f"map 7 0x10000 0x10000 0 /{name}", sample(7, 7, 0x10100, times=40)]) + "\n",
                   text=True, check=True)
    text = script()
    if text.count("\n") != 40 or re.search(r"[^\n -~]", text) or "x" * length + r"\x1b]2;\x7f" not in text:
        check(False, f"names of {length} characters and controls are escaped", text)
        break
else:
    check(True, "control characters in names are escaped wherever they are in a line")
os.chdir("/")
subprocess.run(["rm", "-rf", work], check=False)
end()
