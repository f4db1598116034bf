#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesad on the board, with samples of the device: each sample that the driver took is in a file or counted as lost, while
many processes fork and execute and the rate is 20 kHz, in both modes (counting in the kernel, rings).  Also: kill -9,
SIGHUP, setting the clock, and a CPU that goes offline.

FORKS=N: number of processes (40).  SECONDS=N: minimum run time (1 s), by the board's clock."""
import glob
import json
import os
import re
import subprocess
import tempfile

from board import FAULTS, PESA, board, guest_program, pesa_of_board, read, script_parts, tap

FORKS = int(os.environ.get("FORKS", "40"))
SECONDS = int(os.environ.get("SECONDS", "1"))
SUMS = re.compile(r"ends: (\d+) samples taken, (\d+) written in (\d+) files, (\d+) filtered, (\d+) lost")
SCRIPT = rf"""
sysctl -q -w net.core.bpf_jit_enable=1 2> /dev/null
cpu=/sys/devices/system/cpu/cpu1/online
config() {{ # NAME, lines of [collect], of [store], of [bpf]
    printf '[daemon]\nuser = nobody\n[collect]\n%b\n[store]\ndirectory = /tmp/%s\n%b\n[bpf]\n%b\n[http]\nlisten =\nsocket =\n' \
        "$2" "$1" "$3" "$4" > $1.conf
}}
driver() {{ cat /sys/bus/event_source/devices/pesa/statistics/$1; }}
begin() {{ /pesa/bin/pesad -c $1.conf 2>> $1.log & process=$!
    until grep -q 'samples pesa' $1.log; do sleep 0.05; done; }}
# Read a monotonic clock, which is not affected by setting the time.
storm() {{ read now rest < /proc/uptime; until=$((${{now%.*}} + {SECONDS})); i=0
    while [ $i -lt {FORKS} ] || [ ${{now%.*}} -lt $until ]; do
        /bin/true; i=$((i + 1)); [ $i -lt {FORKS} ] || sleep 0.1; read now rest < /proc/uptime; done; echo "forks $i"; }}
run() {{ # NAME: a storm from start to end, between two looks at what the driver took
    echo "== $1"; before=$(driver recorded) early=$(driver discarded)
    begin $1; storm
    set -- $1 $(cut -d' ' -f14,15 /proc/$process/stat) $(grep VmHWM /proc/$process/status); echo "ticks $(($2 + $3)) memory $5"
    kill $process; wait $process; echo "status $?"
    echo "driver $(($(driver recorded) - before)) $(($(driver discarded) - early))"; }}
config counted 'frequency = 20000' 'interval = 1s'; run counted
config rings 'period = 20000\nring = 4K' 'interval = 1s' 'enable = no'; run rings
echo "== stopped"; config stopped 'period = 20000\nring = 4K' 'interval = 60s' 'enable = no'; before=$(driver recorded)
begin stopped; kill -STOP $process; ./hot 400; kill -CONT $process; sleep 0.3; kill $process; wait $process; echo "status $?"
echo "driver $(($(driver recorded) - before)) 0"
echo "== clock"; config clock 'period = 200000' 'interval = 1s'; before=$(driver recorded)
begin clock; date -s '2031-02-03 04:05:06' > /dev/null; ./hot 60000; sleep 2.5
echo 0 > $cpu; ./hot 100; sleep 1; echo 1 > $cpu; sleep 0.2; taskset -c 1 ./hot 100; echo 0 > $cpu; echo 1 > $cpu; sleep 0.2
taskset -c 1 ./hot 100
date -s '2001-02-03 04:05:06' > /dev/null; sleep 2.5; ls /proc/$process/fd | wc -l
kill $process; wait $process; echo "status $?"; echo "driver $(($(driver recorded) - before)) 0"
echo "== killed"; config killed 'period = 200000' 'interval = 1s'
begin killed; ./hot 100; sleep 1.5; ./hot 50; kill -9 $process; wait $process 2> /dev/null; ls -A /tmp/killed; mkdir -p killed.first
cp /tmp/killed/pesa-* killed.first/; mv killed.log killed.first.log; begin killed; config killed 'period = none' 'interval = 1s'; kill -HUP $process; sleep 0.3
config killed 'period = 100000' 'interval = 1s\nsize = 1K'; kill -HUP $process; sleep 2.5; ./hot 50; kill $process; wait $process
echo "status $?"; echo "left $(ls -A /tmp/killed | grep -c '^\.pesad-')"
for name in counted rings stopped clock killed; do cp -r /tmp/$name .; done
echo "== end"
"""


def report(path, share):
    done = subprocess.run([PESA, "report", "--json", "--symfs", share, "-i", path], capture_output=True, text=True,
                          check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def counts_of(function, store, share):
    """The executions of a function's lines in the profile for clang of all files of a store, and what pesa said."""
    done = subprocess.run([PESA, "export", "--format", "llvm-sample", "--symfs", share, "--dso", "hot", "-i", store, "-o", "-"],
                          capture_output=True, text=True, check=False)
    counts, inside = [], False
    for line in done.stdout.splitlines():
        if not line.startswith(" "):
            inside = line.startswith(function + ":")
        elif inside and (found := re.match(r" [\d.]+: (\d+)", line)):
            counts.append(int(found[1]))
    return counts, f"status {done.returncode}\n{done.stdout}{done.stderr}"


with tempfile.TemporaryDirectory(prefix="pesa-daemon-") as share:
    os.chmod(share, 0o755)  # SIGHUP reads the configuration with the rights of nobody
    guest_program("hot", share)
    done = board("--share", share, "--also", f"pesa={pesa_of_board('bin/pesad')}", "--console", f"{share}/console", "--",
                 "sh", "-c", SCRIPT, limit=1200)
    parts = script_parts(done.stdout)
    logs = {name: read(f"{share}/{name}.log") for name in parts}
    console = read(f"{share}/console")
    reports = {name: [report(path, share) for path in sorted(glob.glob(f"{share}/{name}/pesa-*.data"))]
               for name in [*parts, "killed.first"]}
    os.symlink(".", f"{share}/share")  # what the board calls /share/hot is there below --symfs
    profile = counts_of("divide", f"{share}/clock", share)

why = f"status {done.returncode}\n{done.stdout}{done.stderr}{''.join(logs.values())}{console[-2000:]}"
tap.check(done.returncode == 0 and "end" in parts, "the script ran to its end", why)


def sums(name):
    found = SUMS.search(logs.get(name, ""))
    return [int(value) for value in found.groups()] if found else [-1] * 5


def adds_up(name, what):
    taken, written, files, filtered, lost = sums(name)
    reported = re.search(r"^driver (\d+) (\d+)$", parts.get(name, ""), re.M)
    recorded, discarded = (int(value) for value in reported.groups()) if reported else (-1, -1)
    read_back = sum(one.get("samples", -1) for one in reports.get(name, []))
    values = f"driver {recorded} discarded {discarded} {sums(name)} files {read_back}"
    print(f"# {name}: {values}")
    # The kernel's count of lost records also includes side-band records (maps, names, forks).
    tap.check(recorded > 20 and recorded <= taken <= recorded + discarded + lost,
              f"{what}: what the driver took is what the daemon took", f"{values}\n{why}")
    tap.check(taken == written + filtered + lost, f"{what}: which is what was written and what was lost", values)
    tap.check(read_back == written and len(reports[name]) == files, f"{what}: which this machine finds in the files",
              f"{values} {reports.get(name)}")
    tap.check("status 0" in parts.get(name, ""), f"{what}: it ends as asked", parts.get(name))


adds_up("counted", "counted in the kernel")
tap.check("counting samples in the kernel" in logs.get("counted", ""), "the log says that the kernel counts",
          logs.get("counted"))
adds_up("rings", "through rings")
adds_up("stopped", "through rings that are not read")
tap.check(sums("stopped")[4] > 0, "where samples are lost", logs.get("stopped"))
for name in ("counted", "rings"):
    used = re.search(r"^forks (\d+)\nticks (\d+) memory (\d+)", parts.get(name, ""), re.M)
    if tap.check(used, f"what it used is known ({name})", parts.get(name)):
        print(f"# {name}: {used[1]} processes, {int(used[2]) * 10} ms of processor time, {used[3]} KiB at most")
        tap.check(int(used[3]) < 64 << 10, f"its memory is bounded ({name})", used[0])
adds_up("clock", "with a clock that is set and CPUs that go")
log = logs.get("clock", "")
tap.check(re.search(r"wall clock was set by \+\d{9}", log), "a line says that the clock was set", log)
tap.check(re.search(r"CPUs came or went: 1 are sampled, there were 2", log), "and one that a CPU went", log)
tap.check(any(re.search("hot", json.dumps(one)) for one in reports.get("clock", [])), "the report names the program",
          reports.get("clock"))
tap.check(max(profile[0], default=0) > 10000, "its store is a profile for a compiler: the function that works was executed often",
          profile)
first, later = reports.get("killed.first", []), reports.get("killed", [])
tap.check(first and all(one.get("samples", 0) > 0 for one in first), "after kill -9 the finished files are whole",
          f"{first} {why}")
log = logs.get("killed", "")
tap.check("which was killed, had written" in log or "has no samples and is removed" in log,
          "the next start finds what was not finished", log)
tap.check("'none' is no value for period" in log and "stays as it was" in log, "SIGHUP refuses a wrong file", log)
tap.check("the configuration was read again" in log, "and takes a right one", log)
tap.check(len(later) == 1 and "left 0" in parts.get("killed", ""), "whose limit of size the files have then",
          f"{parts.get('killed')} {len(later)}")
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
