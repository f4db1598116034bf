#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A mapped file on a file system that never answers: neither pesa record nor pesad waits for it.

A process in its own mount namespace runs a program.  Then a FUSE file system, whose server reads no message, is mounted over the
program's directory.  The program's map still has its name, and access to the file by this name blocks as long as the server runs."""
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tap import BUILD, PESA, check, end, failed, plain_environment, skip_all

SELF = os.path.abspath(__file__)
PESAD = os.path.join(BUILD, "bin/pesad")
NOBODY = 65534
CLONE_NEWNS, MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 0x20000, 2, 4, 1 << 14, 1 << 18
libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    if function(*arguments):
        failure = ctypes.get_errno()
        raise OSError(failure, f"{function.__name__}: {os.strerror(failure)}")


def serve(folder):
    """In a process of its own: run the program, mount over it, and answer nothing until standard input ends."""
    call(libc.unshare, CLONE_NEWNS)
    call(libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    program = subprocess.Popen([os.path.join(folder, "program"), "1000"], stdin=subprocess.DEVNULL)
    try:
        while os.readlink(f"/proc/{program.pid}/exe") != os.path.join(folder, "program"):
            time.sleep(0.01)
        fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        call(libc.mount, b"pesa-test", folder.encode(), b"fuse", MS_NOSUID | MS_NODEV,
             f"fd={fuse},rootmode=040000,user_id=0,group_id=0,allow_other".encode())
        print(program.pid, flush=True)
        sys.stdin.read()
    except OSError as failure:
        print(failure, flush=True)
    finally:
        program.kill()
        program.wait()


if len(sys.argv) > 1:
    serve(sys.argv[1])
    sys.exit(0)

if os.geteuid():
    skip_all("a FUSE file system that others may see is mounted by root")
work = tempfile.mkdtemp(prefix="pesa-unanswered-")
os.chmod(work, 0o755)
os.chown(work, NOBODY, NOBODY)
os.chdir(work)
environment = plain_environment(work)
environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"


def command(*words):
    """A run that may take a minute."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment,
                          start_new_session=True) as run:
        try:
            out, errors = run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return subprocess.CompletedProcess(words, -1, "", "it hangs")
    return subprocess.CompletedProcess(words, run.returncode, out, errors)


def record(name, *words):
    run = command(PESA, "record", "-e", "cpu-clock", "-o", name + ".data", f"--json={name}.json", *words)
    run.summary = {}
    if not run.returncode:
        with open(name + ".json", encoding="utf-8") as file:
            run.summary = json.load(file)
    return run


def maps(name):
    """The maps with a name that is a path, and whether each has a build id."""
    run = command(PESA, "script", "--json", "--show-events", "-i", name)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    return [(event["path"], bool(event["build_id"])) for event in events
            if event["type"].startswith("mmap") and event["path"].startswith("/")]


def metric(path, name):
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(10)
        try:
            channel.connect(path)
            channel.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: channel.recv(65536), b"")).decode()
        except OSError:
            return 0
    found = re.search(rf"^{name} (\d+)$", answer, re.M)
    return int(found[1]) if found else 0


def wait_for(holds, timeout=30):
    until = time.monotonic() + timeout
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def test_record():
    run = record("all", "-a", "--", "sleep", "0.5")
    check(run.returncode == 0 and run.summary.get("samples"), "a recording of all processes ends", run.stderr)
    check(run.summary.get("late_build_ids", 0) > 0 and " maps have no build id: a file did not answer in time" in run.stderr,
          "it says that a file did not answer", (run.summary, run.stderr))
    reported = maps("all.data")
    check((program, False) in reported and (program, True) not in reported, "its map is reported, without a build id", reported)
    run = record("one", "-p", process, "--duration", "0.5")
    check(run.returncode == 0, "a recording of the process ends", run.stderr)
    run = record("other", "--", "sleep", "0.1")
    check(run.returncode == 0 and run.summary.get("late_build_ids") == 0 and "build id" not in run.stderr,
          "of another one nothing is late", (run.summary, run.stderr))
    reported = maps("other.data")
    check(reported and all(has for path, has in reported if path.endswith(("/sleep", ".so.6"))), "and its maps have build ids", reported)


def test_daemon():
    asked = os.path.join(work, "asked")
    with open("pesad.conf", "w", encoding="ascii") as file:
        file.write(f"[daemon]\nuser = nobody\n[collect]\nevent = cpu-clock\nfrequency = 97\n[store]\ndirectory = {work}/store\n"
                   f"interval = 1s\n[http]\nlisten =\nsocket = {asked}\n")
    with open("pesad.log", "wb") as log:
        daemon = subprocess.Popen([PESAD, "-c", "pesad.conf"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)

    def said():
        with open("pesad.log", encoding="utf-8", errors="replace") as log:
            return log.read()

    def files():
        return [name for name in os.listdir("store") if name.endswith(".data")] if os.path.isdir("store") else []

    try:
        check(wait_for(lambda: metric(asked, "pesad_build_ids_late_total") > 0), "pesad counts maps whose file does not answer", said())
        check(wait_for(lambda: len(files()) >= 5), "and goes on from interval to interval", said())
        check("a mapped file did not answer in time" in said(), "a line says so", said())
        daemon.terminate()
        try:
            status = daemon.wait(20)
        except subprocess.TimeoutExpired:
            status = "it hangs"
        sums = re.search(r"ends: (\d+) samples taken, (\d+) written in \d+ files, (\d+) filtered, (\d+) lost", said())
        check(status == 0 and sums and int(sums[1]) == sum(int(sums[i]) for i in (2, 3, 4)), "it ends, and no sample is unaccounted for",
              (status, said()))
    finally:
        if daemon.poll() is None:
            daemon.kill()
            daemon.wait()


probe = command(PESA, "record", "-a", "-e", "cpu-clock", "-o", "probe.data", "--", "true")
if probe.returncode:
    skip_all(probe.stderr.splitlines()[0])
os.mkdir("mapped", 0o755)
program = os.path.join(work, "mapped/program")
shutil.copy(shutil.which("sleep"), program)
server = subprocess.Popen([sys.executable, SELF, os.path.dirname(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
try:
    process = server.stdout.readline().strip()
    if not process.isdigit():
        skip_all(f"no FUSE file system can be mounted here: {process}")
    test_record()
    test_daemon()
finally:
    server.stdin.close()
    server.wait()
    os.chdir("/")
    if not failed():
        shutil.rmtree(work, ignore_errors=True)
end()
