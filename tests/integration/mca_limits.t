#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The assembler program that pesa mca starts has limits of memory, time and file size.  It does not outlive pesa, for whatever reason
pesa ends, and leaves no file.  The tests put misbehaving assemblers first in PATH."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from tap import PESA, check, end, plain_environment

NOT_OURS = b".set pesa_not_ours, 1\nadd a0, a0, a1\n"  # what pesa does not assemble itself
work = tempfile.mkdtemp(prefix="pesa-mca-limits-")
temporary = os.path.join(work, "temporary")
programs = os.path.join(work, "programs")
os.mkdir(temporary)
os.mkdir(programs)
plain = plain_environment(work)
plain["TMPDIR"] = temporary
plain["PATH"] = programs
REAL = ":".join(one for one in os.environ["PATH"].split(":") if "ccache" not in one)


def assembler(name, text):
    """Make the only assembler in PATH, a Python program; its children are found by their argument."""
    for other in os.listdir(programs):
        os.unlink(os.path.join(programs, other))
    path = os.path.join(programs, name)
    with open(path, "w", encoding="ascii") as out:
        out.write(f"#!{shutil.which('python3')}\nimport mmap, os, signal, sys, time\n{text}")
    os.chmod(path, 0o755)


def mca(cpu="sifive-p670", **variables):
    return subprocess.Popen([PESA, "mca", f"-mcpu={cpu}", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=plain | variables)


def run(seconds=60, cpu="sifive-p670", **variables):
    """(status, standard output, standard error, seconds); -1: it hangs."""
    begun = time.monotonic()
    process = mca(cpu, **variables)
    try:
        out, messages = process.communicate(NOT_OURS, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return -1, b"", b"it hangs", seconds
    return process.returncode, out, messages, time.monotonic() - begun


def soon(holds, seconds=20):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def left():
    return [os.path.join(folder, name) for folder, folders, files in os.walk(temporary) for name in folders + files]


def pids(path):
    try:
        with open(path, encoding="ascii") as file:
            return [int(line) for line in file if line.endswith("\n")]
    except OSError:
        return []


def end_all(numbers):
    for number in numbers:
        if not is_gone(number):
            os.kill(number, signal.SIGKILL)


# ---- What it is given

assembler("llvm-mc-22", f"""
with open("/proc/self/limits") as file, open({work + "/limits"!r}, "w") as out:
    out.write(file.read())
with open({work + "/state"!r}, "w") as out:
    out.write(repr((os.getpgrp() == os.getpid(), os.readlink("/proc/self/fd/0"), os.environ["TMPDIR"].startswith({temporary!r}),
                    open("/proc/self/status").read())))
print("shown on no terminal \\x1b[2J")
sys.exit(1)
""")
status, out, messages, _ = run()
with open(work + "/limits", encoding="ascii") as file:
    limits = {line[:26].strip(): line[26:47].strip() for line in file}
for name, most in (("Max address space", 8 << 30), ("Max cpu time", 60), ("Max file size", 256 << 20), ("Max core file size", 0)):
    check(limits[name].isdigit() and int(limits[name]) <= most, f"{name}: at most {most}", limits[name])
with open(work + "/state", encoding="ascii") as file:
    group, stdin, inside, own = eval(file.read())  # pylint: disable=eval-used
check(group and stdin == "/dev/null" and inside and "NoNewPrivs:\t1" in own,
      "a group of its own, nothing to read, a place for its files that is removed, no new privileges", (group, stdin, inside))
check(status == 1 and b"\x1b" not in out + messages, "what it prints goes to no terminal", (out, messages))
check(not left(), "nothing is left", left())

# ---- What it may not take

CHILD = """
def note():
    with open({0!r}, "a") as out:
        out.write(f"{{os.getpid()}}\\n")
""".format(work + "/pids")
HAZARDS = {
    "sleeps for ever": ("time.sleep(10000)", rb"took more than 2 seconds and was stopped; set PESA_ASSEMBLER_SECONDS"),
    "ignores signals and sleeps": ("for n in range(1, 32):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n    except OSError:\n"
                                   "        pass\ntime.sleep(10000)", rb"took more than 2 seconds"),
    "computes for ever": ("while True:\n    pass", rb"took more than 2 seconds"),
    "starts another that sleeps": ("if os.fork() == 0:\n    note()\ntime.sleep(10000)", rb"took more than 2 seconds"),
    "writes messages without an end": ("signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nline = b'x' * (1 << 20)\n"
                                       "while True:\n    os.write(2, line)", rb"wrote more than 256 MiB and was stopped"),
    "writes an object without an end": ("signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nline = b'x' * (1 << 20)\n"
                                        "out = os.open(sys.argv[sys.argv.index('-o') + 1], os.O_WRONLY | os.O_CREAT)\n"
                                        "while True:\n    os.write(out, line)", rb"wrote more than 256 MiB and was stopped"),
}
for what, (text, says) in HAZARDS.items():
    if os.path.exists(work + "/pids"):
        os.unlink(work + "/pids")
    assembler("llvm-mc-22", CHILD + "note()\n" + text + "\n")
    writes = "writes" in what
    status, out, messages, took = run(60, **({} if writes else {"PESA_ASSEMBLER_SECONDS": "2"}))
    check(status == 1 and re.search(says, messages) and messages.count(b"\n") == 1 and not out, f"one that {what} is stopped, in one line",
          (status, out[:300], messages[:300], took))
    check(soon(lambda: all(is_gone(pid) for pid in pids(work + "/pids"))), f"one that {what} is gone", pids(work + "/pids"))
    end_all(pids(work + "/pids"))
    check(soon(lambda: not left(), 5), f"one that {what} leaves no file", left())
    for name in os.listdir(temporary):
        shutil.rmtree(os.path.join(temporary, name))
if "ASAN_OPTIONS" not in os.environ or not os.environ.get("PESA_SANITIZED"):
    assembler("llvm-mc-22", f"""
try:
    kept = []
    for step in range(256):
        kept.append(mmap.mmap(-1, 64 << 20))
    reported = "16 GiB"
except (MemoryError, OSError) as error:
    reported = "refused"
with open({work + "/memory"!r}, "w") as out:
    out.write(reported)
sys.exit(1)
""")
    run()
    with open(work + "/memory", encoding="ascii") as file:
        reported = file.read()
    check(reported == "refused", "16 GiB of address space are refused", reported)
status, out, messages, _ = run(PESA_ASSEMBLER_SECONDS="soon")
check(status == 1 and b"PESA_ASSEMBLER_SECONDS" in messages and messages.count(b"\n") == 1, "a limit that is no number is refused", messages)

# ---- The end of pesa

for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV):
    if os.path.exists(work + "/pids"):
        os.unlink(work + "/pids")
    assembler("llvm-mc-22", CHILD + "open(os.environ['TMPDIR'] + '/own', 'w').close()\nnote()\ntime.sleep(10000)\n")
    process = mca()
    process.stdin.write(NOT_OURS)
    process.stdin.close()
    there = soon(lambda: pids(work + "/pids"))
    files = left()
    process.send_signal(number)
    process.wait()
    process.stdout.close()
    process.stderr.close()
    gone = soon(lambda: all(is_gone(pid) for pid in pids(work + "/pids")))
    check(there and files and gone, f"{signal.Signals(number).name} of pesa: the assembler is gone", (there, files, gone))
    end_all(pids(work + "/pids"))
    check(soon(lambda: not left()), f"{signal.Signals(number).name} of pesa: no file is left", left())
    for name in os.listdir(temporary):
        shutil.rmtree(os.path.join(temporary, name), ignore_errors=True)
    for name in os.listdir(temporary):
        os.unlink(os.path.join(temporary, name))

# ---- Those that behave

for name in ("llvm-mc-22", "clang-22", "riscv64-linux-gnu-as"):
    there = shutil.which(name, path=REAL)
    if not there:
        continue
    for other in os.listdir(programs):
        os.unlink(os.path.join(programs, other))
    os.symlink(there, os.path.join(programs, name))
    status, out, messages, _ = run(cpu="rocket-rv64")
    check(status == 0 and b"Total Cycles" in out and not messages and not left(), f"{name} works under these limits",
          (status, out[-300:], messages, left()))

shutil.rmtree(work)
end()
