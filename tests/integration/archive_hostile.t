#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile archives: pesa refuses entries that are not regular files below the one directory, extracts no more than the limit, and
leaves nothing in $TMPDIR, for whatever reason it ends."""
import io
import os
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
import time

from tap import BUILD, PESA, bail_out, check, command, end, plain_environment

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
work = tempfile.mkdtemp(prefix="pesa-hostile-")
os.chmod(work, 0o755)
os.chdir(work)
temporary = os.path.join(work, "temporary")
os.mkdir(temporary)
plain = plain_environment(work)
plain["HOME"] = work
plain["TMPDIR"] = temporary
plain.pop("DEBUGINFOD_URLS", None)

made = subprocess.run([MAKE, "r.data"], capture_output=True, input=b"""command ./program
capability retire_width 2
period 1000
comm 7 7 program
map 7 0x400000 0x1000 0 /usr/bin/program
sample 5 7 7 0x400100 0 0 0 0 0 0 0 0 0 0
""")
if made.returncode:
    bail_out("make_profile:", made.stderr.decode())
with open("r.data", "rb") as recording:
    RECORDING = recording.read()


def member(name, data=b"", **attributes):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    for key, value in attributes.items():
        setattr(entry, key, value)
    return entry, data


def archive(path, *members, before=()):
    with tarfile.open(path, "w:gz" if path.endswith("gz") else "w", format=tarfile.PAX_FORMAT) as tar:
        for entry, data in [*before, member("pesa-archive/perf.data", RECORDING), *members]:
            tar.addfile(entry, io.BytesIO(data))
    return path


def report(path, **environment):
    try:
        return subprocess.run([PESA, "report", "-i", path], capture_output=True, timeout=60, env=plain | environment)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(late.cmd, -1, b"", b"it hangs\n")


def left(timeout=10):
    """The contents of $TMPDIR after the remover has finished."""
    until = time.monotonic() + timeout
    while os.listdir(temporary) and time.monotonic() < until:
        time.sleep(0.05)
    return os.listdir(temporary)


good = report(archive("good.tar"))
check(good.returncode == 0 and b"program" in good.stdout, "a plain archive is read", good.stderr.decode())

# ---- Members

os.mkdir("outside")
HOSTILE = {
    "a symbolic link": [member("pesa-archive/l", type=tarfile.SYMTYPE, linkname=work + "/outside")],
    "a file behind a symbolic link": [member("pesa-archive/l", type=tarfile.SYMTYPE, linkname=work + "/outside"),
                                      member("pesa-archive/l/file", b"x")],
    "a hard link": [member("pesa-archive/l", type=tarfile.LNKTYPE, linkname="/etc/passwd")],
    "a FIFO": [member("pesa-archive/tmp/perf-7.map", type=tarfile.FIFOTYPE)],
    "a device": [member("pesa-archive/d", type=tarfile.CHRTYPE, devmajor=1, devminor=5)],
    "a name with ..": [member("pesa-archive/../../../outside/file", b"x")],
    "an absolute name": [member(work + "/outside/file", b"x")],
    "a name elsewhere": [member("elsewhere/file", b"x")],
    "a second perf.data": [member("pesa-archive/perf.data", b"x")],
    "a file that is a directory too": [member("pesa-archive/perf.data/file", b"x")],
}
for what, members in HOSTILE.items():
    run = report(archive("hostile.tar.gz", *members))
    check(run.returncode == 1 and run.stderr.count(b"\n") == 1 and b"was not made by pesa archive" in run.stderr,
          f"{what} is refused in a line", run.stderr.decode())
check(not os.listdir("outside"), "nothing was written elsewhere", os.listdir("outside"))
check(not left(), "of what is refused nothing is left", left())

# ---- Modes: while it is read, nobody else comes near what is in it

SETUID = member("pesa-archive/bin/shell", b"#!/bin/sh\n", mode=0o6777, uid=0, gid=0)
# A reader that does not read: the output is larger than a pipe.
many = subprocess.run([MAKE, "many.data"], capture_output=True, input=b"command ./program\ncapability retire_width 2\nperiod 1000\n"
                      b"comm 7 7 program\nmap 7 0x400000 0x1000 0 /usr/bin/program\n" +
                      b"sample 5 7 7 0x400100 0 0 0 0 0 0 0 0 0 0\n" * 20000)
if many.returncode:
    bail_out("make_profile:", many.stderr.decode())
with open("many.data", "rb") as recording:
    RECORDING = recording.read()
archive("modes.tar", SETUID, before=[member("./", type=tarfile.DIRTYPE, mode=0o777),
                                     member("./pesa-archive", type=tarfile.DIRTYPE, mode=0o1777)])


def start(path="modes.tar", **environment):
    """A pesa process that has extracted an archive and is blocked on its output."""
    process = subprocess.Popen([PESA, "script", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=plain | environment)
    process.stdout.read(1)
    return process


process = start()
seen = {}
for folder, folders, files in os.walk(temporary):
    for name in folders + files:
        seen[os.path.relpath(os.path.join(folder, name), temporary)] = os.lstat(os.path.join(folder, name))
check(len(seen) == 5 and all(stat.S_IMODE(status.st_mode) == (0o700 if stat.S_ISDIR(status.st_mode) else 0o600) and
                             status.st_uid == os.geteuid() for status in seen.values()),
      "directories are 0700 and files 0600, whatever the archive says", {name: oct(status.st_mode) for name, status in seen.items()})

# ---- Signals

process.stdout.close()
process.wait(timeout=60)
check(process.returncode == -signal.SIGPIPE and not left(), "nothing is left when nobody reads on (SIGPIPE)",
      (process.returncode, left(), process.stderr.read()))
process.stderr.close()
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL):
    process = start()
    there = os.listdir(temporary)
    process.send_signal(number)
    process.communicate(timeout=60)
    check(len(there) == 1 and not left(), f"nothing is left after {number.name}", (there, left()))

# ---- Limits

with open("r.data", "rb") as recording:
    RECORDING = recording.read()
archive("large.tar.gz", member("pesa-archive/zeros", bytes(64 << 20)))
check(os.path.getsize("large.tar.gz") < 1 << 20 and report("large.tar.gz").returncode == 0, "an archive that becomes larger is read")
for limit in ("32M", "1"):
    run = report("large.tar.gz", PESA_ARCHIVE_LIMIT=limit)
    check(run.returncode == 1 and run.stderr.count(b"\n") == 1 and b"set PESA_ARCHIVE_LIMIT" in run.stderr,
          f"but not with a limit of {limit}", run.stderr.decode())
archive("many.tar.gz", *(member(f"pesa-archive/{i}") for i in range(3000)))
run = report("many.tar.gz", PESA_ARCHIVE_LIMIT="10M")
check(run.returncode == 1 and b"set PESA_ARCHIVE_LIMIT" in run.stderr, "a member without contents counts too", run.stderr.decode())
check(report("many.tar.gz", PESA_ARCHIVE_LIMIT="1G").returncode == 0, "whose number is not limited otherwise")
for limit in ("much", "-1", "5X", "99999999T"):
    run = report("good.tar", PESA_ARCHIVE_LIMIT=limit)
    check(run.returncode == 1 and b"PESA_ARCHIVE_LIMIT=" + limit.encode() in run.stderr, f"{limit} is no limit", run.stderr.decode())
check(not left(), "of these nothing is left", left())
mounted = command("unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=32m none {temporary} && exec {PESA} report -i large.tar.gz", env=plain)
if os.geteuid() == 0 and command("unshare", "-m", "true").returncode == 0:
    check(mounted.returncode == 1 and mounted.stderr.count(b"\n") == 1 and b"no room (set TMPDIR)" in mounted.stderr,
          "a disk without room is not filled", mounted.stderr.decode())

# ---- Names that the locale does not have

with open("many.data", "rb") as recording:
    RECORDING = recording.read()
archive("names.tar.gz", member("pesa-archive/" + "ö" * 100, b"x"), member("pesa-archive/ü", b"x"))
for locale in ("C", "C.UTF-8"):
    process = start("names.tar.gz", LC_ALL=locale)
    names = sorted(name for _, _, files in os.walk(temporary) for name in files)
    process.kill()
    message = process.communicate()[1].decode()
    check(names == ["perf.data", "ö" * 100, "ü"], f"names beyond ASCII are the same in the locale {locale}", (names, message))
check(not left(), "of these nothing is left", left())

os.chdir("/")
shutil.rmtree(work)
end()
