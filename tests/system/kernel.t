#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver preserves the registers that it uses, tolerates the values that it finds, and handles harts that come online.
Tested with a kernel module (tests/system/module)."""
import re
import tempfile

from board import FAULTS, board, core_with_transfers, events, guest_module, guest_program, only_samples, pesa_of_board, read, script_parts, tap

CPU = "/sys/devices/system/cpu/cpu1/online"
# Create an event after perf has brought up its part for a hart, and before the driver has.
COME = f"""came() {{
    rm -f /tmp/there; echo 0 > {CPU} 2> /dev/null
    {{ while [ ! -e /tmp/over ]; do sleep 0.05; done; }} | ./came 1 /tmp/there & echo 1 > {CPU}
    while [ ! -e /tmp/there ]; do sleep 0.01; done; taskset -c 1 ./hot 50000 > /dev/null; : > /tmp/over; wait; rm /tmp/over
}}"""
RECORD = "/pesa/bin/pesa record -q -o"
SCRIPT = f"""
{COME}
load() {{ insmod probing.ko "$@" 2> /dev/null; dmesg | grep probing: | tail -n 2; }}
echo "== armed"; load arm=1; load show=1
insmod /board/pesa.ko
echo "== found"; load show=1
{RECORD} autorun.data -e pesa/cycles,autorun=1/u -c 5000 -- ./hot 20000 > /dev/null; echo "status $?"
echo "== left"; load show=1
echo "== select"; perf record -q -N -j any -e pesa/cycles/ -c 20000 -o /tmp/select insmod probing.ko select=1000 2> /dev/null
perf script -i /tmp/select -F brstack 2> /dev/null | grep -c 0x; dmesg | grep probing: | tail -n 1
for mode in kGH kH; do
    {RECORD} guest-$mode.data -e pesa/cycles/$mode -c 20000 -- insmod probing.ko guest=200000 2> /dev/null
done
rmmod pesa
echo "== unloaded"; load show=1
insmod probing.ko hold=50; insmod /board/pesa.ko
echo "== came back"; came
rmmod pesa; echo 0 > {CPU}; insmod /board/pesa.ko
echo "== came first"; came
"""
NOTHING = "control 0 ptr 0 limit 0 threshold 0"


with tempfile.TemporaryDirectory(prefix="pesa-kernel-") as share:
    for program in ("hot", "came"):
        guest_program(program, share)
    guest_module(share)
    with open(f"{share}/script", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    done = board("--core", core_with_transfers(share), "--share", share, "--also", f"pesa={pesa_of_board()}",
                 "--console", f"{share}/console", "--without-driver", "--", "sh", "script", limit=400)
    console = read(f"{share}/console")
    counts = {mode: len(only_samples(events(f"{share}/guest-{mode}.data"))) for mode in ("kGH", "kH")}
    streamed = only_samples(events(f"{share}/autorun.data"))
parts = script_parts(done.stdout)
why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"


def harts(part):
    return re.findall(r"hart (\d) cc (\w+) (.*)", parts.get(part, ""))


tap.check(done.returncode == 0, "the script ends", why)
tap.check(len(harts("armed")) == 2 and all(cc != "0" and NOTHING not in rest for _, cc, rest in harts("armed")),
          "before the driver comes both harts stream records to memory", parts.get("armed", why))
for part, name in (("found", "the driver stops them, and no address is left"),
                   ("left", "after a recording by AutoRun none is left"), ("unloaded", "nor when it is unloaded")):
    tap.check([(hart, cc, rest) for hart, cc, rest in sorted(harts(part))] == [("0", "0", NOTHING), ("1", "0", NOTHING)],
              name, parts.get(part, why))
tap.check(len(streamed) > 20, "that recording has samples", len(streamed))
found = re.search(r"^(\d+)$.*siselect changed (\d+) times of (\d+)", parts.get("select", ""), re.M | re.S)
tap.check(found and int(found[1]) > 20, "the indirect registers are used while samples read them",
          parts.get("select", why))
tap.check(found and found[2] == "0", "whoever was interrupted finds siselect as it was", parts.get("select"))
print(f"# samples with what looks like a guest, and without: {counts}")
tap.check(counts["kGH"] > 100 and counts["kH"] < counts["kGH"] / 2, "an event without guests has no samples of one", counts)
for part in ("came back", "came first"):
    came = re.match(r"(\d+) overflows", parts.get(part, ""))
    tap.check(came and int(came[1]) > 20, f"an event that meets a hart that {part}, before the driver does, samples",
              parts.get(part, why))
    print(f"# {part}: {parts.get(part)}")
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
