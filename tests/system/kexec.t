#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Another kernel is started during a recording (kexec): it finds the counters stopped, and its driver samples."""
import json
import re
import subprocess
import tempfile

from board import CROSS, FAULTS, TOP, board, guest_program, read, script_parts, tap

# A hart is modelled while its period counter runs.  Booting takes some 300 million instructions.
RECORDED_MOST = 100e6
SCRIPT = r"""
record="perf record -q -N -a -e pesa/cycles/ -c 20000 -o /tmp/data"
if ! grep -q second /proc/cmdline; then
    echo "== first"
    ./kexec vmlinux "$(cat /proc/cmdline) second" || exit
    insmod /board/pesa.ko
    $record ./hot 100000000 > /dev/null 2>&1 &
    while [ "$(cat /sys/bus/event_source/devices/pesa/statistics/recorded)" -lt 100 ]; do sleep 0.01; done
    exec ./kexec
fi
echo "== second"
insmod /board/pesa.ko
$record ./hot 20000 > /dev/null
status=$?
# Samples that perf wrote twice are counted once, see written_once().
perf script -i /tmp/data -F cpu,time,ip | sort -u > samples
echo "status $status samples $(grep -c . samples)"
for name in taken recorded; do echo "$name $(cat /sys/bus/event_source/devices/pesa/statistics/$name)"; done
rmmod pesa
"""

kernel = subprocess.run([f"{TOP}/tools/board/kernel-directory"], stdout=subprocess.PIPE, text=True, check=True).stdout
with tempfile.TemporaryDirectory(prefix="pesa-kexec-") as share:
    for program in ("hot", "kexec"):
        guest_program(program, share)
    subprocess.run([f"{CROSS}strip", "-o", f"{share}/vmlinux", f"{kernel.strip()}/vmlinux"], check=True)
    with open(f"{share}/script", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    # Without memory protection the firmware says that its memory is not to be used, which the kernel must know.
    done = board("--property", "pmp=off", "--memory", "512M", "--share", share, "--counts", f"{share}/counts",
                 "--console", f"{share}/console", "--without-driver", "--", "sh", "script", limit=900)
    console = read(f"{share}/console")
    samples = read(f"{share}/samples")
    device = json.loads(read(f"{share}/counts") or "null")
parts = script_parts(done.stdout)
why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
second = re.search(r"status 0 samples (\d+)\ntaken (\d+)\nrecorded (\d+)\n", parts.get("second", ""))
tap.check("first" in parts and second and done.returncode == 0, "another kernel is started while one records", why)
tap.check(second and int(second[3]) == int(second[1]) > 20, "its driver samples, and each sample is in the file",
          why + samples)
if tap.check(device, "the device tells what it counted", why):
    instructions = sum(hart["instructions"] for hart in device["harts"])
    print(f"# {instructions} instructions while a counter ran")
    tap.check(0 < instructions < RECORDED_MOST, "no counter ran while it booted", device)
    tap.check(second and sum(hart["taken"] for hart in device["harts"]) >= int(second[2]) + 100,
              "the first one's samples and the second one's are of the device", f"{device} {second}")
tap.check(not FAULTS.search(console), "neither kernel complains of anything", console)
tap.end()
