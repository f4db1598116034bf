#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The system is suspended during a recording: hibernation steps (an image of its memory) and suspend to idle.  The
recording continues afterwards; there are no samples in between, and no loss is unreported."""
import collections
import json
import os
import re
import shutil
import tempfile

from board import (FAULTS, TOP, board, check_device, check_handed_out, check_harts, events, guest_program, lost, only_samples,
                   pesa_of_board, phases, read, script_parts, tap)

# Before and after.
WORK = "taskset -c 0 ./hot 20000; taskset -c 1 ./hot 20000"
CASES = {
    "whole harts": ("pesa record -q -a -m 2M -c 16000 --json=/tmp/whole.json -o /tmp/whole.data -- sh whole.phases",
                    "memory"),
    "a task, by stock perf": ("perf record -q -N --sample-cpu -e pesa/cycles,fixed=0/ -c 16000 -o /tmp/task.data sh task.phases",
                              "idle"),
}
SCRIPT = r"""
cp -r /share/hot /share/suspend.sh /share/*.phases /pesa/bin /tmp; cp -r /pesa/libexec /tmp; cd /tmp; PATH=$PATH:/tmp/bin:/tmp
statistics() { for name in taken recorded unreported; do echo "$name $(cat /sys/bus/event_source/devices/pesa/statistics/$name)"; done; }
tracing=/sys/kernel/tracing
echo 'name == "pesa"' > $tracing/events/irq/irq_handler_entry/filter
for event in irq/irq_handler_entry power/suspend_resume; do echo 1 > $tracing/events/$event/enable; done
record() { echo "== $1"; shift; : > $tracing/trace; "$@"; echo "status $?"; statistics
    sed -n 's/.*\(suspend_resume: dpm_[a-z]*_noirq\).* \(begin\|end\)$/\1 \2/p; s/.*irq_handler_entry.*/sample/p' $tracing/trace |
        uniq -c; }
"""


def script():
    return SCRIPT + "".join(f'record "{name}" {command}\n' for name, (command, _) in CASES.items()) + \
        "cp *.data *.json /share\n"


def asleep(part):
    """Samples that were handled between the suspend of the last device and the resume of the first one, and those that
    were handled before and after: counts by sleep."""
    counts, sleeping = [0], False
    for count, what in re.findall(r"^ *(\d+) (.*)$", part, re.M):
        if what.endswith("suspend_noirq end") or what.endswith("resume_noirq begin"):
            counts.append(0)
        elif what == "sample":
            counts[-1] += int(count)
    return counts[1::2], counts[::2]


with tempfile.TemporaryDirectory(prefix="pesa-suspend-") as share:
    guest_program("hot", share)
    shutil.copy(f"{TOP}/tests/system/programs/suspend.sh", share)
    os.symlink(".", f"{share}/tmp")
    for command, sleep in CASES.values():
        # The recorder is notified of harts that come back before these run again.
        with open(f"{share}/{command.split()[-1]}", "w", encoding="utf-8") as file:
            file.write(f"{WORK}; sh suspend.sh {sleep} || exit 1; sleep 0.5; {WORK}\n")
    with open(f"{share}/script", "w", encoding="utf-8") as file:
        file.write(script())
    # Without memory protection the firmware reports its memory as not to be mapped or saved in an image.  A hart that the
    # firmware stops loses its registers.
    done = board("--property", "pmp=off", "--property", "pesa-forgetful=on", "--memory", "256M", "--share", share,
                 "--also", f"pesa={pesa_of_board()}", "--counts", f"{share}/counts", "--console", f"{share}/console",
                 "--", "sh", "-c", "cp script /tmp/script; exec sh /tmp/script", limit=900)
    parts = script_parts(done.stdout)
    recordings = {name: events(f"{share}/{re.search(r'/tmp/([a-z.]*data)', command)[1]}")
                  for name, (command, _) in CASES.items()}
    followed = json.loads(read(f"{share}/whole.json") or "{}")
    console = read(f"{share}/console")
    device = json.loads(read(f"{share}/counts") or "null")

why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
before = collections.Counter()
for name in CASES:
    part = parts.get(name, "")
    of = only_samples(recordings[name])
    after = collections.Counter({key: int(value) for key, value in re.findall(r"^(taken|recorded|unreported) (\d+)$", part, re.M)})
    seen = phases(of)
    during, around = asleep(part)
    print(f"# {name}: {len(of)} samples, {lost(recordings[name])} lost; driver: {dict(after - before)}; {seen}; "
          f"asleep {during}, around {around}")
    tap.check("status 0" in part, f"{name}: the system slept and woke, and the recording ended", why)
    tap.check(during == [0] and len(around) == 2 and min(around) > 10,
              f"{name}: samples are taken before and after, and none in between", f"{during} {around}\n{part}")
    check_harts(name, seen)
    check_handed_out(name, CASES[name][0], recordings[name], after - before, part)
    before = after
tap.check(followed.get("unfollowed", "") is None, "nothing else is said", followed)
check_device(device, before["taken"], why)
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
