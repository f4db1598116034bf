#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards that people own (Documentation/boards.md): the emulated board without shpmsdetails, with its counters restricted to
what processors offer.  pesa record chooses the source that stock perf's answers allow; its samples are where the program
works, and files can be read; pesa doctor names what is missing."""
import collections
import json
import os
import re

import tempfile

from board import FAULTS, board, guest_program, pesa_of_board, read, script_parts, tap

PESA = "/pesa/bin/pesa"
USER = "setpriv --reuid=65534 --regid=65534 --clear-groups"
WORK = 200000
# An event file as a vendor would write it for the X60, with the numbers of the board's raw events.
LEADERS = [{"EventName": "u_mode_cycle", "EventCode": "0x1", "SampleCycles": "user"},
           {"EventName": "s_mode_cycle", "EventCode": "0x2", "SampleCycles": "supervisor"},
           {"MetricName": "user", "MetricGroup": "TopdownL1", "MetricExpr": "u_mode_cycle / (u_mode_cycle + s_mode_cycle)"}]
X60 = "mvendorid=0x710,marchid=0x8000000058000001,mimpid=0x1000000049772200"
C910 = "mvendorid=0x5b7,marchid=0,mimpid=0"
# Name, words for the board, the level, and whether stock perf gets samples of cycles; None: it is not asked, since its way to
# a clock can stop the emulated board for good.
BOARDS = [
    ("P550: Sscofpmf", ["--property", "sscofpmf=on"], "cycles", True),
    ("U74: no Sscofpmf", ["--property", "sscofpmf=off"], "clock", None),
    ("U74, two counters", ["--property", "sscofpmf=off,pmu-num=2"], "clock", None),
    ("C910, firmware without its interrupt", ["--property", f"sscofpmf=off,{C910}"], "clock", None),
    ("X60: cycles in the fixed counter alone", ["--property", f"sscofpmf=on,{X60}", "--fixed-cycles"], "leader", False),
]
SCRIPT = f"""
chmod 1777 /tmp; chmod 755 .; export PESA_EVENTS=$EVENTS
record() {{ $AS {PESA} record --json=/tmp/$1.json -o /tmp/$1.data "${{@:2}}" > /dev/null; echo "status $?"; cp /tmp/$1.json /tmp/$1.data . ; }}
echo "== root"; record root -g -- ./mixed {WORK // 1000} 2>&1
echo "== user"; AS="{USER}"; record user -- ./mixed 200 2>&1; AS=
echo "== all"; record all -a -- ./mixed 20 2>&1
echo "== attach"; ./mixed 1000000 > /dev/null & record attach -p $! --duration 0.05 2>&1; kill $!; wait 2> /dev/null
echo "== details"; {PESA} record --require details -o /tmp/no.data -- ./mixed 1 2>&1; echo "status $?"
echo "== modes"; perf stat -x, -e cycles:u -o /tmp/modes ./mixed 5 > /dev/null; cat /tmp/modes
echo "== perf"; [ -z "$SAMPLED" ] || perf record -q -o /tmp/perf.data -e cycles -F 2000 ./mixed 50 > /dev/null 2>&1; [ -z "$SAMPLED" ] || perf script -i /tmp/perf.data -F event | grep -c cycles
echo "== report"; perf report -i /tmp/root.data --stdio 2>&1 | grep -c '%'
for command in "report --stdio" "annotate sort --stdio" "script" "export --format folded"; do
    echo "== read ${{command%% *}}"; {PESA} $command -i /tmp/root.data > out.txt 2> err.txt; echo "status $?"; head -n 40 out.txt
done
echo "== stat"; {PESA} stat -e cycles,instructions --json=stat.json -- ./mixed 5 > /dev/null 2>&1; echo "status $?"
echo "== topdown"; {PESA} stat --topdown --json=topdown.json -- ./mixed 20 > /dev/null 2>&1; echo "status $?"; {PESA} stat --topdown -- ./mixed 20 2>&1
echo "== calibrate"; [ "$LEVEL" != clock ] || {PESA} calibrate --json=calibrate.json -o /tmp/calibration 2>&1; echo "status $?"
printf '[daemon]\nuser = nobody\n[collect]\nfrequency = 500\nevent-files = %s\n[store]\ndirectory = /tmp/store\ninterval = 1s\n[http]\nlisten =\nsocket =\n' "$EVENTS" > pesad.conf
echo "== pesad"; for attempt in 1 2 3; do # as for CALIBRATE below
    rm -rf /tmp/store; /pesa/bin/pesad -c pesad.conf 2>&1 & sleep 2; ./mixed 2000 > /dev/null; sleep 2; kill $!; wait
    {PESA} merge -o stored.data /tmp/store/*; [ $({PESA} script -i stored.data 2> /dev/null | grep -c mixed) -gt 20 ] && break
done 2>&1
echo "== doctor"; {PESA} doctor --json=doctor.json; echo "status $?"; {PESA} doctor | head -30
"""


def spots(share, name):
    """Samples of a recording: of the program, and all."""
    run = tap.command(tap.PESA, "script", "--json", "-i", f"{share}/{name}.data")
    samples = [json.loads(line) for line in run.stdout.decode().splitlines()]
    mine = [one for one in samples if one["comm"] == "mixed" and one["address"] < 1 << 63]
    return samples, mine


def try_board(name, words, level, sampled):
    with tempfile.TemporaryDirectory(prefix="pesa-restricted-") as share:
        guest_program("mixed", share)
        for path, text in (("script", SCRIPT), ("events.json", json.dumps(LEADERS))):
            with open(f"{share}/{path}", "w", encoding="utf-8") as file:
                file.write(text)
        os.mkdir(f"{share}/events")
        os.rename(f"{share}/events.json", f"{share}/events/leaders.json")
        done = board("--share", share, "--also", f"pesa={pesa_of_board('bin/pesad')}", "--console", f"{share}/console", "--without-device",
                     "--without-driver", *words, "--", "env", f"EVENTS={'/share/events' if level == 'leader' else ''}", f"SAMPLED={'' if sampled is None else 1}", f"LEVEL={level}", "bash",
                     "script", limit=500)
        parts, console = script_parts(done.stdout), read(f"{share}/console")
        print(f"# {name}: {' '.join(parts.get('root', done.stderr).split())}")
        tap.check(done.returncode == 0 and not FAULTS.search(console), f"{name}: the board has nothing to complain of",
                  f"{done.returncode} {done.stderr} {console[-2000:]}")
        found = {one: json.loads(read(f"{share}/{one}.json") or "{}") for one in ("root", "user", "all", "attach", "stat", "topdown", "doctor")}
        for who, expected in (("root", level), ("user", level), ("all", level), ("attach", level)):
            source = found[who].get("source") or {}
            told = parts.get(who, "")
            tap.check("status 0" in told and source.get("level") == expected and source.get("meaning", "?") in told
                      and source.get("why", "?") in told, f"{name}: {who}: source {expected}, named", told)
        joined = "cycles(u_mode_cycle+s_mode_cycle)"
        samples, mine = spots(share, "root")
        names = {one["event"] for one in samples}
        tap.check(len(mine) > 20 and len(mine) > 0.5 * len(samples), f"{name}: samples are of the program",
                  f"{len(mine)} of {len(samples)}")
        tap.check(len(names) == 1 and (level != "leader" or names == {joined}), f"{name}: they are of one event", names)
        shown = parts.get("read report", "")
        tap.check(len(re.findall(r"%.* mixed  +[a-z_]+", shown)) > 2, f"{name}: of its functions", shown)
        tap.check(len(spots(share, "user")[1]) > 20, f"{name}: so are those of a user", parts.get("user"))
        samples, mine = spots(share, "all")
        tap.check(mine and len({one["cpu"] for one in samples}) > 1, f"{name}: all CPUs", {one["cpu"] for one in samples})
        tap.check(spots(share, "attach")[1], f"{name}: a process that runs already", parts.get("attach"))
        tap.check("status 1" in parts.get("details", "") and len(parts["details"].splitlines()) == 2
                  and "no PMU 'pesa'" in parts["details"], f"{name}: --require details is refused in a line", parts.get("details"))
        if sampled is not None:
            tap.check(bool(int(parts.get("perf") or 0)) == sampled, f"{name}: stock perf samples cycles here, or not",
                      parts.get("perf"))
        tap.check(("not supported" in parts.get("modes", "")) == ("sscofpmf=on" not in words[1]),
                  f"{name}: as stock perf has it, modes can be left out, or not", parts.get("modes"))
        tap.check(int(parts.get("report", "0").split()[0]) > 3, f"{name}: stock perf reads the recording", parts.get("report"))
        for command in ("report", "annotate", "script", "export"):
            tap.check(parts.get(f"read {command}", "").startswith("status 0"), f"{name}: pesa {command} reads it",
                      parts.get(f"read {command}"))
        unit = "of time" if level == "clock" else " cycles, "
        tap.check(unit in parts.get("read report", ""), f"{name}: in its unit", parts.get("read report"))
        stat = {one["event"]: one for one in found["stat"].get("events", [])}
        tap.check(stat.get("cycles", {}).get("supported"), f"{name}: cycles are counted, sampled or not", stat)
        topdown = found["topdown"]
        if level == "leader":
            count = {one["event"]: one["value"] for one in topdown.get("events", [])}
            tap.check(topdown["topdown"][0]["name"] == "user" and abs(topdown["topdown"][0]["value"] - count["u_mode_cycle"] / (
                count["u_mode_cycle"] + count["s_mode_cycle"])) < 1e-12 and LEADERS[2]["MetricExpr"] in parts["topdown"],
                      f"{name}: a vendor's formula is computed and shown", parts["topdown"])
        else:
            tap.check(all(one["value"] is None for one in topdown.get("topdown", [])) and "status" in parts["topdown"],
                      f"{name}: without events of stalled cycles no value is made up", parts["topdown"])
        said = parts.get("pesad", "")
        tap.check(f"the best source of samples is {joined if level == 'leader' else found['all']['events'][0]}: {source['meaning']}" in said,
                  f"{name}: pesad samples the same source, and says so", said)
        samples, mine = spots(share, "stored")
        tap.check(len(mine) > 20 and len({one["event"] for one in samples}) == 1,
                  f"{name}: its store has samples of the program, of one event", (len(mine), collections.Counter(one["comm"] for one in samples), said))
        if level == "clock":
            told = parts.get("calibrate", "")
            tap.check("status 1" in told and "clock" in told and not os.path.exists(f"{share}/calibrate.json"),
                      f"{name}: a clock cannot be calibrated, in a line", told)
        doctor = {one["subject"]: one for one in found["doctor"].get("findings", [])}
        interrupt = doctor.get("overflow interrupt", {})
        tap.check(found["doctor"].get("level") == level and (interrupt.get("value") == "set up by the kernel") == ("sscofpmf=on" in words[1])
                  and "OpenSBI" in doctor.get("firmware", {}).get("value", ""), f"{name}: pesa doctor agrees",
                  (found["doctor"].get("level"), doctor.get("source of samples"), interrupt, doctor.get("firmware")))



# The emulator's counters miss all overflows of some recordings, of stock perf too, and may stop the board for good
# (Documentation/board.md): a boot of its own, and another attempt.
CALIBRATE = f"""
for attempt in 1 2 3; do
    {PESA} calibrate -c 50000 --cycles 150000000 --json=calibrate.json -o /tmp/calibration 2>&1 && break
done; echo "status $?"; head -3 /tmp/calibration
"""


def try_calibration():
    what = "pesa calibrate learns where the interrupts of the emulated board are taken"
    with tempfile.TemporaryDirectory(prefix="pesa-restricted-") as share:
        done = board("--share", share, "--also", f"pesa={pesa_of_board()}", "--console", f"{share}/console", "--without-device",
                     "--without-driver", "--property", "sscofpmf=on", "--", "bash", "-c", CALIBRATE, limit=240)
        if done.returncode == 124 or "not complete after" in done.stderr:
            tap.skip(what, "the emulator's counters stopped the board")
            return
        calibrated = json.loads(read(f"{share}/calibrate.json") or "{}")
        tap.check("status 0" in done.stdout and "pesa-calibration 1" in done.stdout and calibrated.get("samples", 0) >= 2000, what,
                  (done.returncode, done.stdout, done.stderr))


import sys
for one in [BOARDS[int(i)] for i in sys.argv[1:]] or BOARDS:
    try_board(*one)
if not sys.argv[1:]:
    try_calibration()
tap.end()
