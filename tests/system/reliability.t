#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesad on the board under load and faults: every sample that the device took is in a file or counted.

Many processes that fork and execute are sampled at 20 kHz for MINUTES of this machine's time (a third of one).  After that:
a full disk, a directory that is not writable, and a kernel without BPF.  The counts of the device (--counts), the driver
and the daemon are compared with each other and with the samples in the files.

  tests/system/reliability.t --write      also put the figures into Documentation/reliability.md
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time

from board import (FAULTS, PESA, RUN, TOP, events, guest_program, only_samples, pesa_of_board, read, script_parts,
                   tap)

MINUTES = float(os.environ.get("MINUTES", "0.33"))
HARTS = 2
MEMORY_MOST = 64 << 10  # KiB of the collecting process
PAGE = f"{TOP}/Documentation/reliability.md"
SUMS = re.compile(r"ends: (\d+) samples taken, (\d+) written in (\d+) files, (\d+) filtered, (\d+) lost")
# The message that the log must have for each fault.
CASES = {
    "storm": "counting samples in the kernel",
    "full disk": "No space left on device",
    "no writing": "cannot (create|rename)",
    "no BPF": "reading rings: .*bpf_jit_enable",
}
SCRIPT = r"""
echo 1 > /proc/sys/net/core/bpf_jit_enable
config() { # NAME, lines of [collect]
    mkdir -p /tmp/$1; chown nobody /tmp/$1; printf '[daemon]\nuser = nobody\n[collect]\n%b\n[store]\ndirectory = /tmp/%s\ninterval = 1s\n[http]\nlisten =\nsocket =\n' "$2" $1 > $1.conf; }
driver() { cat /sys/bus/event_source/devices/pesa/statistics/$1; }
begin() { echo "== $1"; recorded=$(driver recorded) taken=$(driver taken) discarded=$(driver discarded)
    /pesa/bin/pesad -c $1.conf 2> $1.log & process=$!
    until grep -q 'samples pesa' $1.log; do sleep 0.05; done; }
finish() { echo "memory $(grep VmHWM /proc/$process/status | tr -cd 0-9)"; kill $process; wait $process; echo "status $?"
    echo "driver $(($(driver recorded) - recorded)) $(($(driver taken) - taken)) $(($(driver discarded) - discarded))"; }

config load 'frequency = 20000'; begin load; echo storming; rounds=0
until [ -e end ]; do ./storm 16 500 ./hot 500 > /dev/null; rounds=$((rounds + 1)); done
echo "processes $((rounds * 16))"; finish; cp -r /tmp/load .

config full 'period = 50000'; mount -t tmpfs -o size=64k,uid=65534,mode=755 none /tmp/full
cat /dev/zero > /tmp/full/rest 2> /dev/null; begin full; ./hot 2000 > /dev/null; sleep 2.5; rm /tmp/full/rest; sleep 2.5; ./hot 2000 > /dev/null
sleep 1.5; finish; cp -r /tmp/full .

config fixed 'period = 50000'; begin fixed; ./hot 2000 > /dev/null; sleep 1.5
chmod 555 /tmp/fixed; ./hot 2000 > /dev/null; sleep 2.5; chmod 755 /tmp/fixed; sleep 1.5; finish; cp -r /tmp/fixed .

config rings 'period = 50000'; echo 0 > /proc/sys/net/core/bpf_jit_enable; begin rings; ./hot 2000 > /dev/null; sleep 1.5; finish; cp -r /tmp/rings .
echo "== end"
"""
DIRECTORIES = {"storm": "load", "full disk": "full", "no writing": "fixed", "no BPF": "rings"}


def found(pattern, text):
    match = re.search(pattern, text, re.M)
    return [float(value) if "." in value else int(value) for value in match.groups()] if match else None


def run(share):
    """Run the board and return its output.  The processes end when the time is over."""
    running = subprocess.Popen([RUN, "--share", share, "--also", f"pesa={pesa_of_board('bin/pesad')}", "--harts",
                                str(HARTS), "--counts", f"{share}/counts", "--console", f"{share}/console", "--time",
                                str(MINUTES * 60 + 1800), "--", "sh", "-c", SCRIPT],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
    output = ""
    for line in running.stdout:
        output += line
        if line == "storming\n":
            break
    time.sleep(MINUTES * 60)
    with open(f"{share}/end", "w", encoding="ascii"):
        pass
    return output + running.communicate()[0], running.returncode


def samples_of(directory):
    shown = [subprocess.run([PESA, "report", "--json", "-i", path], capture_output=True, text=True, check=False)
             for path in sorted(glob.glob(f"{directory}/pesa-*.data"))]
    return sum(json.loads(one.stdout)["samples"] if not one.returncode else -10 ** 9 for one in shown), len(shown)


def own_share(directory):
    """The samples of the daemon itself, in all files that it wrote."""
    names = [sample["comm"] for path in glob.glob(f"{directory}/pesa-*.data") for sample in only_samples(events(path))]
    return names.count("pesad"), len(names)


with tempfile.TemporaryDirectory(prefix="pesa-reliability-") as share:
    for program in ("hot", "storm"):
        guest_program(program, share)
    output, status = run(share)
    parts = script_parts(output)
    logs = {name: read(f"{share}/{directory}.log") for name, directory in DIRECTORIES.items()}
    files = {name: samples_of(f"{share}/{directory}") for name, directory in DIRECTORIES.items()}
    own, sampled = own_share(f"{share}/load")
    device = json.loads(read(f"{share}/counts") or "null")
    console = read(f"{share}/console")

why = f"status {status}\n{output}{''.join(logs.values())}{console[-2000:]}"
tap.check(status == 0 and "end" in parts, "the script ends", why)
lines, driver_taken = [], 0
for name, said in CASES.items():
    part, log = parts.get(DIRECTORIES[name], ""), logs[name]
    taken, written, count, filtered, lost = found(SUMS.pattern, log) or [-1] * 5
    recorded, driver, discarded = found(r"^driver (\d+) (\d+) (\d+)$", part) or [-1] * 3
    driver_taken += driver
    values = f"driver {recorded} of {driver} discarded {discarded}; daemon {taken} {written} {filtered} {lost}; files {files[name]}"
    tap.check("status 0" in part, f"{name}: the daemon goes on, and ends as asked", f"{part}{log}")
    tap.check(recorded > 20 and recorded <= taken <= recorded + discarded,
              f"{name}: what the driver handed out is what the daemon took, or was discarded", values)
    tap.check(taken == written + filtered + lost and files[name] == (written, count),
              f"{name}: which is in the files, or counted as lost", values)
    tap.check(re.search(said, log), f"{name}: the log says what is wrong", log)
    lines.append(f"| {name} | {driver} | {recorded} | {discarded} | {taken} | {written} | {lost} | {count} |")
    if name in ("full disk", "no writing"):
        tap.check(lost > 0 and written > 0, f"{name}: it writes again when it can", values)

storm = parts.get("load", "")
processes, memory = found(r"^processes (\d+)$", storm), found(r"^memory (\d+)$", storm)
tap.check(processes and memory and memory[0] < MEMORY_MOST, "storm: its memory is bounded", storm)
tap.check(0 < own < sampled, "storm: its own share of the harts' cycles is known", f"{own} of {sampled}")
total = sum(hart["taken"] for hart in device["harts"]) if device else -1
# A sample that is pending on a hart when its counter stops belongs to no event.
tap.check(0 <= total - driver_taken <= HARTS * len(CASES), "the device itself took no more than the driver read",
          f"{total} {driver_taken}")
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
summary = (f"{MINUTES:g} minutes of the emulating machine, {processes[0] if processes else 0} processes at 20 kHz on {HARTS} harts: "
           f"{own} of the {sampled} samples, {100 * own / max(sampled, 1):.1f} %, were of the daemon itself, which had "
           f"{memory[0] if memory else -1} KiB at most. "
           f"The device took {total} samples, the driver read {driver_taken}.")
figures = [*textwrap.wrap(summary, 100, break_on_hyphens=False), "",
           "| case | driver: taken | handed out | discarded | daemon: taken | written | lost | files |",
           "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", *lines]
print("".join(f"# {line}\n" for line in figures), end="")
if "--write" in sys.argv[1:] and not tap.failed():
    page = read(PAGE)
    begin, finish = "<!-- figures -->\n", "<!-- end of figures -->\n"
    before, rest = page.split(begin, 1)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n".join(figures) + "\n" + finish + rest.split(finish, 1)[1])
tap.end()
