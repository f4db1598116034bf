#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The board boots, runs commands, and ends with the command, at the time limit and with its parent."""
import os
import re
import signal
import subprocess
import tempfile
import time

from board import RUN, board, tap

FAULTS = re.compile(r"BUG:|WARNING:|KASAN|UBSAN|Oops|INFO: (?:possible|task|rcu)|Call Trace|unreferenced object")
IDLE = ["--without-timing", "--without-driver"]
FILES = 60


def emulators(directory):
    """The processes with this directory in their command line."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                if directory.encode() in file.read() and int(process) != os.getpid():
                    found.append(process)
        except OSError:
            pass
    return found


with tempfile.TemporaryDirectory(prefix="pesa-boot-") as share:
    with open(f"{share}/given", "w", encoding="utf-8") as file:
        file.write("from outside\n")
    for number in range(FILES):
        with open(f"{share}/part{number}", "wb") as file:
            file.write(bytes(20000))
    console = f"{share}/console"
    script = ("cat given; echo from inside > made; echo on error >&2; nproc; id -u; uname -m; "
              "perf --version; tr '\\0' , < /proc/device-tree/pesa/cause-names; echo; "
              "od -An -tx1 /proc/device-tree/pesa/retire-width; ls /proc/device-tree/pesa; "
              "sleep 1000 & cut -d ' ' -f 1 /proc/uptime; for part in part*; do cat $part; done | wc -c; "
              "cut -d ' ' -f 1 /proc/uptime; exit 7")
    done = board("--harts", "2", "--share", share, "--console", console, *IDLE, "--", "sh", "-c", script)
    tap.check(done.returncode == 7, "the status is that of the command", f"{done.returncode}\n{done.stderr}")
    tap.check(done.stderr == "on error\n", "the standard error is apart", done.stderr)
    lines = done.stdout.splitlines()
    tap.check(lines[:1] == ["from outside"], "the board reads the shared directory", done.stdout)
    tap.check(lines[1:4] == ["2", "0", "riscv64"], "two harts, root, RISC-V", done.stdout)
    tap.check(len(lines) > 4 and lines[4].startswith("perf version 6."), "stock perf is there", done.stdout)
    tap.check("icache-miss,itlb-miss,branch-mispredict,dcache-miss,dtlb-miss,llc-miss," in done.stdout,
              "the device-tree node names the causes", done.stdout)
    tap.check(" 00 00 00 04" in done.stdout, "the node has the retire width", done.stdout)
    tap.check("discarded-count" in lines and "interrupts-extended" in lines and "clock-frequency" in lines,
              "the node has the other properties", done.stdout)
    # The instructions take 0.1 s of guest time.  If the guest's time followed the host's, it would be seconds.
    begin, size, end = (float(line) for line in lines[-3:])
    tap.check(size == FILES * 20000 and 0 <= end - begin < 0.3, "the host's time for files is not the guest's", lines[-3:])
    with open(f"{share}/made", encoding="utf-8") as file:
        tap.check(file.read() == "from inside\n", "the board writes the shared directory")
    with open(console, encoding="utf-8", errors="replace") as file:
        messages = file.read()
    tap.check(not FAULTS.search(messages), "the kernel complains of nothing", messages)

    done = board("--harts", "1", "--share", share, "--without-device", *IDLE, "--", "sh", "-c",
                 "nproc; ls -d /proc/device-tree/pesa; kill -TERM $$")
    tap.check(done.stdout == "1\n" and "No such file" in done.stderr, "without the device there is no node",
              done.stdout + done.stderr)
    tap.check(done.returncode == 143, "a command that a signal ended has status 128 + its number",
              done.returncode)

    begin = time.monotonic()
    # It does not matter whether the command has started by then.
    done = subprocess.run([RUN, "--time", "8", "--share", share, *IDLE, "--", "sh", "-c", "echo waiting; sleep 100000000"],
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    tap.check(done.returncode == 124 and "switched off" in done.stderr, "a time limit ends a board that hangs",
              f"{done.returncode} {done.stderr}")
    tap.check(not emulators(share), "and leaves no emulator behind", emulators(share))

    done = board("--share", share, *IDLE, "--append", "root=/dev/none", "--", "true")
    tap.check(done.returncode == 125 and "panic" in done.stderr, "a kernel that panics is reported, with its messages",
              f"{done.returncode} {done.stderr}")

    for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGKILL, "SIGKILL")):
        running = subprocess.Popen([RUN, "--share", share, *IDLE, "--", "sh", "-c", "echo up; sleep 100000"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        running.stdout.readline()
        had = emulators(share)
        running.send_signal(number)
        status = running.wait()
        deadline = time.monotonic() + 20
        while emulators(share) and time.monotonic() < deadline:
            time.sleep(0.1)
        tap.check(had and status in (130, -9) and not emulators(share), f"{name} ends the board",
                  f"{had} {status} {emulators(share)}")

done = board("--", )
tap.check(done.returncode == 2, "no command is an error in usage", done.stderr)
done = board("--share", "/no/such/directory", "--", "true")
tap.check(done.returncode == 2 and "/no/such/directory" in done.stderr, "so is a directory that is not there",
          done.stderr)
tap.end()
