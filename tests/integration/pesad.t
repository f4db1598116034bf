#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesad on this machine, with samples of the kernel's timer: intervals, conservation, faults, signals."""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from tap import BUILD, PESA, TOP, check, end, failed, needs, plain_environment, skip

PESAD = os.path.join(BUILD, "bin/pesad")
WORK = tempfile.mkdtemp(prefix="pesa-pesad-")
NOBODY = 65534
# As root it becomes another user, who writes here.
os.chmod(WORK, 0o755)
if not os.geteuid():
    os.chown(WORK, NOBODY, NOBODY)
SUMS = re.compile(r"ends: (\d+) samples taken, (\d+) written in (\d+) files, (\d+) filtered, (\d+) lost")
environment = plain_environment(WORK)
# The leak checker traces its process, which the daemon does not permit itself.
environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
daemons = []
number = 0


class Daemon:
    """A pesad with a directory of its own; what it says goes into a file."""

    def __init__(self, collect="", store="", more="", directory=None, wrap=(), interval="1s",
                 program=PESAD, user="nobody", watchdog="5m", socket="", event="event = cpu-clock"):
        global number
        number += 1
        self.name = os.path.join(WORK, f"pesad{number}")
        self.directory = directory or self.name + ".store"
        self.config = self.name + ".conf"
        self.log = self.name + ".log"
        self.user, self.watchdog, self.socket, self.event = user, watchdog, socket, event
        self.write(collect, store, more, interval)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*wrap, program, "-c", self.config], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, env=environment, cwd=WORK)
        daemons.append(self)

    def write(self, collect="", store="", more="", interval="1s"):
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f"[daemon]\nuser = {self.user}\nwatchdog = {self.watchdog}\n[collect]\n{self.event}\n{collect}\n"
                       f"[store]\ndirectory = {self.directory}\ninterval = {interval}\n{store}\n"
                       f"[http]\nlisten =\nsocket = {self.socket}\n{more}\n")

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def files(self):
        return sorted(glob.glob(os.path.join(self.directory, "pesa-*.data")))

    def wait_for(self, holds, timeout=30):
        until = time.monotonic() + timeout
        while not holds() and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        return holds()

    def wait_until_it_says(self, text):
        return self.wait_for(lambda: re.search(text, self.said()))

    def begin(self):
        return self.wait_until_it_says("samples cpu-clock on")

    def stop(self, how=signal.SIGTERM):
        """End it; the status, and how long that took."""
        since = time.monotonic()
        self.process.send_signal(how)
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        return status, time.monotonic() - since

    def sums(self):
        """taken, written, files, filtered, lost"""
        found = SUMS.search(self.said())
        return [int(value) for value in found.groups()] if found else [-1] * 5

    def add_up(self):
        taken, written, _, filtered, lost = self.sums()
        return taken >= 0 and taken == written + filtered + lost


def report(path):
    done = subprocess.run([PESA, "report", "--json", "-i", path], capture_output=True, text=True, env=environment)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def events(path):
    done = subprocess.run([PESA, "script", "--json", "--show-events", "-i", path], capture_output=True, text=True,
                          env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


def samples(path):
    return sum(event["type"] == "sample" for event in events(path))


def run_config(text):
    path = os.path.join(WORK, "check.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return subprocess.run([PESAD, "--check-config", "--config", path], capture_output=True, text=True,
                          env=environment)


def test_configuration():
    done = run_config("")
    check(done.returncode == 0 and "right" in done.stdout, "an empty file is a configuration", done.stderr)
    if os.path.exists("/etc/pesad.conf"):
        skip("no configuration file", "/etc/pesad.conf is there")
    else:
        done = subprocess.run([PESAD, "--check-config"], capture_output=True, text=True, env=environment)
        check(done.returncode == 0, "where no file is named and none is there, the defaults hold", done.stderr)
    done = subprocess.run([PESAD, "--check-config", "-c", "nowhere"], capture_output=True, text=True, env=environment)
    check(done.returncode == 1 and "nowhere" in done.stderr, "a file that is named must be there", done.stderr)
    wrong = {
        "[collect]\nfrequency = 0\n": r":2: '0' is no value for frequency; allowed: a number from 1 to",
        "[collect]\n\nfrequncy = 5\n": r":3: there is no key 'frequncy' in \[collect\]",
        "[colect]\n": r":1: there is no section \[colect\]",
        "frequency = 5\n": r":1: 'frequency' stands in front of the first \[section\]",
        "[store]\nage = 5x\n": r":2: '5x' is no value for age; allowed: a time \(ms, s, m, h, d\) from",
        "[store]\nage = 5d\nage = 5d\n": r":3: age was given in line 2 already",
        "[store]\ndirectory = here\n": r":2: 'here' is no value for directory; allowed: an absolute path",
        "[http]\nlisten = 0.0.0.0:80\n": r"open to other hosts: give a token-file",
        "[http]\nlisten = [::]:80\n": r"open to other hosts: give a token-file",
        "[http]\nlisten = localhost:80\n": r"is no ADDRESS:PORT",
        "[push]\nurl = ftp://x\n": r"neither with http:// nor https://",
        "[collect]\ncpus = 3-1\n": r"is no list of CPUs",
        "[collect]\nring = 5000\n": r"power of two",
        "[filter]\nuid = 1 root\n": r":2: 'root' is no value for uid",
        "[bpf]\nenable = perhaps\n": r"allowed: no, yes",
    }
    for text, expected in wrong.items():
        done = run_config(text)
        check(done.returncode == 1 and re.search(expected, done.stderr) and done.stderr.count("\n") == 1,
              f"--check-config refuses {text!r}", done.stderr)
    done = run_config("[store]\ndirectory = here\n[colect]\n[push]\nurl = ftp://x\nlabels = a=b c\n[http]\nlisten = 0.0.0.0:80\n")
    places = [re.search(r"(:\d+|): (?=\D)", line[line.index("/"):])[1] for line in done.stderr.splitlines()]
    check(done.returncode == 1 and places == [":2", ":3", "", "", ""] and "'here'" in done.stderr and "[colect]" in done.stderr and
          "ftp://x" in done.stderr and "label 'c'" in done.stderr and "open to other hosts" in done.stderr,
          "--check-config lists every error: of lines in their order, then what does not go together", done.stderr)
    with open(f"{TOP}/daemon/pesad/base/config_keys.c", encoding="utf-8") as file:
        keys = re.findall(r'^\t{"(\w+)", "([\w-]+)", PESAD|^\t{"(\w+)", "([\w-]+)", [A-Z]+\(', file.read(), re.M)
    with open(f"{TOP}/Documentation/pesad.conf.5", encoding="utf-8") as file:
        manual = {part.split("]")[0]: part for part in file.read().split(".SS [")[1:]}
    keys = {(key[0] or key[2], key[1] or key[3]) for key in keys}
    absent = [key for key in keys if not re.search(rf' {key[1]} " =', manual.get(key[0], ""), re.M)]
    check(len(keys) > 40 and not absent, "pesad.conf(5) has every key in its section", absent)
    done = subprocess.run([PESAD, "--no-such-option"], capture_output=True, text=True, env=environment)
    check(done.returncode == 2, "an unknown option is refused with status 2", done.stderr)
    done = subprocess.run([PESAD, "-c", os.path.join(WORK, "none")], capture_output=True, text=True, env=environment)
    check(done.returncode == 1 and done.stderr.count("\n") == 1, "a file that is not there is one line", done.stderr)


def test_intervals():
    daemon = Daemon("frequency = 997")
    # What runs before, what is started and has ended by the next interval, and what it maps.
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    daemon.wait_for(lambda: len(daemon.files()) >= 2)
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    names = daemon.files()
    perf = shutil.which("perf")
    beside = perf and subprocess.run([perf, "record", "-e", "cpu-clock", "-o", "beside.data", "true"], capture_output=True,
                                     text=True, cwd=WORK)
    done, took = daemon.stop()
    busy.kill()
    busy.wait()
    files = daemon.files()
    check(done == 0 and took < 1, "it ends within a second of SIGTERM", f"status {done}, {took} s\n{daemon.said()}")
    check(daemon.add_up() and daemon.sums()[2] == len(files),
          "samples taken are samples written and lost", daemon.said())
    check(not glob.glob(os.path.join(daemon.directory, ".pesad-*")), "nothing unfinished is left",
          os.listdir(daemon.directory))
    counts = [samples(path) for path in files]
    check(sum(counts) == daemon.sums()[1] and all(counts), "the files have as many samples as it says it wrote",
          f"{counts} {daemon.said()}")
    if perf:
        check(beside.returncode == 0, "stock perf can record beside it", beside.stderr)
        done = [subprocess.run([perf, "script", "-f", "-F", "comm,pid", "-i", path], capture_output=True, text=True)
                for path in files]
        theirs = [len(one.stdout.splitlines()) for one in done]
        check(theirs == counts, "stock perf finds the same samples in each file",
              f"{theirs} {counts} {done[0].stderr}")
        listed = subprocess.run([perf, "buildid-list", "-f", "-i", names[-1]], capture_output=True, text=True).stdout
        check(re.search(r"^[0-9a-f]{40} /\S+", listed, re.M), "a file has the build ids of what ran", listed)
    else:
        skip("stock perf finds the same samples in each file", needs("linux-perf"))
    for path in files[:2]:
        reported = events(path)
        first = next((event for event in reported if event["type"] == "sample" and event.get("pid") == busy.pid), None)
        comm = [event for event in reported if event["type"] == "comm" and event.get("pid") == busy.pid]
        maps = [event for event in reported if event["type"] in ("mmap", "mmap2") and event.get("pid") == busy.pid]
        check(first and comm and maps, f"{os.path.basename(path)} tells by itself who ran and what was mapped",
              f"{first} {comm} {maps[:1]} of {busy.pid}")
    kept = {"CapPrm": 1 << 38 | 1 << 39 | 1 << 19, "CapInh": 0, "CapAmb": 0, "CapBnd": 1 << 38 | 1 << 39 | 1 << 19}
    over = {name: status[name].strip() for name, allowed in kept.items() if int(status[name], 16) & ~allowed}
    check(not over, "it keeps no capabilities but CAP_PERFMON, CAP_BPF and CAP_SYS_PTRACE", over)
    check(status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2",
          "it can gain no privileges, and its system calls are filtered", status["Seccomp"])


def test_losses():
    """A reader that is stopped loses samples; all of them are counted."""
    daemon = Daemon("frequency = 5000\nring = 8K", interval="60s")
    daemon.begin()
    time.sleep(0.5)
    daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(1)
    daemon.process.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    daemon.stop()
    taken, written, _, _, lost = daemon.sums()
    reported = sum(report(path).get("lost", 0) for path in daemon.files())
    check(lost > 0 and taken == written + lost, "samples that found no room are counted", daemon.said())
    check(reported == lost, "the files tell of the same losses", f"{reported} {lost}")
    check(daemon.said().count("found no room") == 1, "one line says so", daemon.said())


def test_kill():
    """kill -9 loses at most the current interval."""
    daemon = Daemon("frequency = 997")
    daemon.wait_for(lambda: len(daemon.files()) >= 2)
    time.sleep(0.4)
    daemon.stop(signal.SIGKILL)
    before = daemon.files()
    check(all(samples(path) for path in before), "what was finished is whole after kill -9")
    # Also a daemon that had not written anything.
    with open(os.path.join(daemon.directory, ".pesad-20000101T000000.000Z.1a.data"), "wb"):
        pass
    again = Daemon(directory=daemon.directory)
    again.begin()
    again.wait_for(lambda: len(again.files()) > len(before) + 1)
    again.stop()
    left = glob.glob(os.path.join(daemon.directory, ".pesad-*.data"))
    check(not left, "the next start clears up", left)
    check(set(before) <= set(again.files()), "and keeps what was finished")
    check("has no samples and is removed" in again.said(), "what has no samples is removed with a line", again.said())
    other = Daemon(directory=daemon.directory)
    other_again = Daemon(directory=daemon.directory)
    time.sleep(0.1)
    other.begin() or other_again.begin()
    refused = [one for one in (other, other_again) if one.wait_for(lambda one=one: one.process.poll() is not None, 1)]
    check(len(refused) == 1 and "another pesad writes to" in refused[0].said(), "two cannot share a directory",
          other.said() + other_again.said())


def test_rotation():
    daemon = Daemon("frequency = 97", "size = 1K")
    daemon.wait_for(lambda: len(daemon.files()) >= 1)
    first = daemon.files()[:1]
    daemon.wait_for(lambda: not os.path.exists(first[0]))
    daemon.stop()
    files = daemon.files()
    check(first and first[0] not in files and files, "the oldest file goes when there are too many bytes",
          f"{first} {files}")
    check(len(files) == 1, "and the newest stays, however large it is", files)
    old = os.path.join(daemon.directory, "pesa-20200101T000000.000Z.data")
    shutil.copy(files[-1], old)
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    aged = Daemon("frequency = 97", "age = 1h", directory=daemon.directory)
    aged.begin()
    aged.stop()
    check(not os.path.exists(old) and files[-1] in aged.files(), "what is older than the age goes, the rest stays",
          aged.files())


def test_reload():
    daemon = Daemon("frequency = 97")
    daemon.begin()
    daemon.write("frequency = none")
    daemon.process.send_signal(signal.SIGHUP)
    check(daemon.wait_until_it_says(r":6: 'none' is no value for frequency.*stays as it was"),
          "SIGHUP with a wrong file keeps the old configuration, and says what is wrong", daemon.said())
    before = len(daemon.files())
    check(daemon.wait_for(lambda: len(daemon.files()) > before), "and sampling goes on", daemon.said())
    daemon.write("frequency = 97")
    moved = daemon.directory + "-moved"
    with open(daemon.config, encoding="ascii") as file:
        text = file.read().replace(daemon.directory, moved)
    with open(daemon.config, "w", encoding="ascii") as file:
        file.write(text)
    daemon.process.send_signal(signal.SIGHUP)
    check(daemon.wait_until_it_says("the configuration was read again"), "SIGHUP takes a right file over",
          daemon.said())
    check(daemon.wait_for(lambda: glob.glob(moved + "/pesa-*.data")) and daemon.files(),
          "and writes where it says now", daemon.said())
    daemon.write("event = no-such-event")
    with open(daemon.config, encoding="ascii") as file:
        text = file.read().replace("event = cpu-clock\n", "")
    with open(daemon.config, "w", encoding="ascii") as file:
        file.write(text)
    daemon.process.send_signal(signal.SIGHUP)
    check(daemon.wait_until_it_says(r"no-such-event.*stays as it was"),
          "an event that cannot be opened leaves the old one in force", daemon.said())
    status, took = daemon.stop()
    check(status == 0 and took < 1 and daemon.add_up(), "and it all adds up", f"{status} {took} {daemon.said()}")


def test_best():
    """Without an event the daemon takes what pesa record takes of all CPUs, and says so."""
    done = subprocess.run([PESA, "record", "-a", "-o", os.path.join(WORK, "best"), "--json", "-q", "--", "true"], capture_output=True, text=True,
                          env=environment, check=False)
    source = json.loads(done.stdout)
    for event in ("", "event = best"):
        daemon = Daemon(event=event)
        check(daemon.wait_until_it_says(f"the best source of samples is {source['events'][0]}: {re.escape(source['source']['meaning'])}")
              and daemon.wait_until_it_says(f"samples {source['events'][0]} on") and daemon.wait_for(daemon.files),
              f"with '{event}' it samples the best source, and says what it tells", f"{source} {daemon.said()}")
        daemon.stop()


def test_faults():
    """The directory becomes read-only, and later writable again."""
    daemon = Daemon("frequency = 997")
    daemon.wait_for(lambda: len(daemon.files()) >= 1)
    os.chmod(daemon.directory, 0o555)
    said = daemon.wait_until_it_says("cannot (create|rename)")
    check(said and daemon.process.poll() is None, "a directory that cannot be written is a line", daemon.said())
    os.chmod(daemon.directory, 0o755)
    before = len(daemon.files())
    check(daemon.wait_for(lambda: len(daemon.files()) > before + 1), "and when it can be written again it is",
          daemon.said())
    status, _ = daemon.stop()
    check(status == 0 and daemon.add_up() and daemon.sums()[4] > 0, "what was lost meanwhile is counted",
          daemon.said())
    refused = Daemon(directory=os.path.join(WORK, "none/here"))
    refused.process.wait(20)
    check(refused.process.returncode == 1 and refused.said().count("\n") == 1,
          "a directory that cannot be made is one line at the start", refused.said())


def test_full():
    """A disk that is full."""
    disk = os.path.join(WORK, "disk")
    os.mkdir(disk)
    wrap = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=512k none {disk} && exec "$@"', "sh"]
    if subprocess.run([*wrap, "true"], capture_output=True).returncode:
        skip("a full disk", "no file system can be mounted here")
        return
    daemon = Daemon("frequency = 997", "compression = 0", directory=os.path.join(disk, "store"), wrap=wrap)
    daemon.begin()
    check(daemon.wait_until_it_says("No space left on device"), "a full disk is a line", daemon.said())
    time.sleep(1.5)
    seen = f"/proc/{daemon.process.pid}/root{daemon.directory}"
    for path in glob.glob(seen + "/pesa-*.data"):
        os.unlink(path)
    check(daemon.wait_for(lambda: glob.glob(seen + "/pesa-*.data")), "when there is room it writes again",
          daemon.said())
    status, took = daemon.stop()
    check(status == 0 and took < 1 and daemon.add_up() and daemon.sums()[4] > 0,
          "what was lost meanwhile is counted", daemon.said())
    check(daemon.said().count("No space left on device") <= 2, "a line now and then, not one each time",
          daemon.said())


def test_user():
    """As systemd starts it: a user without rights, with the capabilities of the unit."""
    with open(f"{TOP}/tools/pesad.service", encoding="utf-8") as file:
        granted = re.search(r"^AmbientCapabilities=(.*)", file.read(), re.M)[1].lower().replace("cap_", "+").split()
    these = "-all," + ",".join(granted)
    wrap = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={these}",
            f"--ambient-caps={these}", f"--bounding-set={these}", "--no-new-privs"]
    if subprocess.run([*wrap, "true"], capture_output=True).returncode:
        skip("a user with the unit's capabilities", "its capabilities cannot be given here")
        return
    directory = os.path.join(WORK, "user.store")
    os.mkdir(directory)
    os.chown(directory, NOBODY, NOBODY)
    # The build directory may be out of its reach.
    daemon = Daemon("frequency = 97", directory=directory, wrap=wrap, program=shutil.copy(PESAD, WORK))
    check(daemon.wait_for(daemon.files), "a user with the unit's capabilities samples every CPU", daemon.said())
    kernel = [event for event in events(daemon.files()[0]) if event["type"] in ("mmap", "mmap2")
              and "kallsyms" in json.dumps(event)] if daemon.files() else []
    status, _ = daemon.stop()
    check(status == 0 and daemon.add_up(), "and ends as it should", daemon.said())
    check(kernel or "hides its addresses" in daemon.said(), "and knows where the kernel is", daemon.said())


def uids(process):
    """Of a process and its children, each with its name."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        except OSError:
            continue
        if str(process) in (status["Pid"].strip(), status["PPid"].strip()):
            found[status["Name"].strip()] = {int(uid) for uid in status["Uid"].split()}
    return found


def test_root():
    """If started as root, none of its processes keeps that user."""
    if os.geteuid():
        skip("started as root", "this is not root")
        return
    more = f"[push]\nurl = http://127.0.0.1:9\nspool = {WORK}/root.spool\n"
    daemon = Daemon("frequency = 97", more=more, directory=os.path.join(WORK, "root.store"))
    daemon.begin()
    daemon.wait_for(lambda: "pesad-push" in uids(daemon.process.pid))
    found = uids(daemon.process.pid)
    check({"pesad", "pesad-push"} <= set(found) and all(all(ids) for ids in found.values()), "no process has uid 0", found)
    made = {name: os.stat(os.path.join(WORK, name)) for name in ("root.store", "root.spool")}
    check({(one.st_uid, one.st_mode & 0o7027) for one in made.values()} == {(NOBODY, 0)},
          "directories that were missing are its user's, and no others'", made)
    status, _ = daemon.stop()
    check(status == 0 and daemon.add_up(), "and it samples as before", daemon.said())
    for user, expected in (("no-such-user", "there is no user 'no-such-user' to become"), ("root", "user 'root' is root"),
                           ("", "there is no user '' to become")):
        refused = Daemon(user=user)
        refused.process.wait(20)
        check(refused.process.returncode == 1 and expected in refused.said() and refused.said().count("\n") == 1,
              f"user = {user or '(empty)'} is refused", refused.said())


def child(process, name):
    """The number of a child of this name; 0: there is none."""
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        if text.startswith(f"Name:\t{name}\n") and f"\nPPid:\t{process}\n" in text:
            return int(path.split("/")[2])
    return 0


def metric(path, name):
    """A number of /metrics, asked at a unix socket; None: no answer."""
    with socket.socket(socket.AF_UNIX) as asked:
        try:
            asked.connect(path)
            asked.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            text = asked.makefile(encoding="ascii").read()
        except OSError:
            return None
    found = re.search(rf"^{re.escape(name)} (\d+)$", text, re.M)
    return int(found[1]) if found else None


def test_watchdog():
    """A worker that makes no progress is ended and restarted; sampling continues."""
    asked = os.path.join(WORK, "asked")
    daemon = Daemon("frequency = 97", watchdog="4s", socket=asked,
                    more=f"[push]\nurl = http://127.0.0.1:9\nspool = {WORK}/watchdog.spool\nsymbols = no\n")
    daemon.begin()
    for name in ("push", "http"):
        daemon.wait_for(lambda name=name: child(daemon.process.pid, f"pesad-{name}"))
        before = child(daemon.process.pid, f"pesad-{name}")
        os.kill(before, signal.SIGSTOP)
        daemon.wait_for(lambda name=name, before=before: child(daemon.process.pid, f"pesad-{name}") not in (0, before), 120)
        check(child(daemon.process.pid, f"pesad-{name}") not in (0, before),
              f"a worker that is stuck is killed and started again ({name})", daemon.said())
        stuck = f'pesad_workers_stuck_total{{process="{name}"}}'
        check(daemon.wait_for(lambda stuck=stuck: metric(asked, stuck)), f"and counted ({name})", daemon.said())
    check("worker push made no progress for 4 s: it is killed" in daemon.said(), "a line says so", daemon.said())
    status, _ = daemon.stop()
    check(status == 0 and daemon.add_up(), "and samples are where they were", daemon.said())


def can_sample():
    probe = subprocess.run([PESA, "record", "-a", "-e", "cpu-clock", "-o", os.path.join(WORK, "probe"), "--", "true"],
                           capture_output=True, text=True)
    return probe.stderr if probe.returncode else ""


try:
    test_configuration()
    why = can_sample()
    if why:
        skip("sampling", why.strip().splitlines()[0])
    else:
        for test in (test_intervals, test_losses, test_kill, test_rotation, test_reload, test_best, test_faults, test_full,
                     test_user, test_root, test_watchdog):
            test()
finally:
    for one in daemons:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
    if not failed():
        shutil.rmtree(WORK, ignore_errors=True)
end()
