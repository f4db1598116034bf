#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages that pesad serves: for a range of its store the same as those of pesa report, without the kernel's addresses where
the client may not see them, and within limits whatever is asked for."""
import atexit
import concurrent.futures
import glob
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from tap import BUILD, PESA, check, end, plain_environment, skip

PESAD = os.path.join(BUILD, "bin/pesad")
TIMEOUT = 60  # seconds that anything may take on a busy machine
work = tempfile.TemporaryDirectory()
environment = plain_environment(work.name)
environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
os.chdir(work.name)
os.chmod(work.name, 0o755)
os.mkdir("tmp")
os.chmod("tmp", 0o1777)
environment["TMPDIR"] = f"{work.name}/tmp"
if not os.geteuid():
    os.chown(work.name, 65534, 65534)
with socket.create_server(("127.0.0.1", 0)) as listener:
    port = listener.getsockname()[1]


def wait_for(holds):
    until = time.monotonic() + TIMEOUT
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def said():
    with open("log", encoding="utf-8", errors="replace") as file:
        return file.read()


def start(**settings):
    with open("pesad.conf", "w", encoding="ascii") as out:
        out.write(f"[daemon]\nuser = nobody\n[collect]\nevent = cpu-clock\nfrequency = 200\n[store]\ndirectory = {work.name}/store\n"
                  f"interval = 1s\n[http]\nlisten = 127.0.0.1:{port}\nopen = yes\nsocket = {work.name}/socket\n"
                  + "".join(f"{name.replace('_', '-')} = {value}\n" for name, value in settings.items()))
    with open("log", "wb") as log:
        process = subprocess.Popen([PESAD, "-c", "pesad.conf"], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                   env=environment)
    atexit.register(process.kill)
    return process


def stop(process):
    process.terminate()
    process.wait(TIMEOUT)


class Local(http.client.HTTPConnection):
    """A connection to the unix socket, on which the daemon knows the user."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect("socket")


def get(path, local=False, method="GET"):
    connection = Local("localhost") if local else http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace"), answer.headers
    finally:
        connection.close()


def page(local=False, **arguments):
    return get("/page?" + urllib.parse.urlencode(arguments), local)


def answers():
    try:
        return get("/healthz")[0] == 200 and get("/healthz", True)[0] == 200
    except OSError:
        return False


def files():
    return sorted(glob.glob("store/pesa-*.data"))


def begin_of(path):
    """When an interval began, in whole seconds since 1970."""
    text = re.search(r"pesa-(\d{8}T\d{6})\.\d{3}Z", path)[1]
    return int(time.mktime(time.strptime(text, "%Y%m%dT%H%M%S"))) - time.timezone


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def without_nonce(text):
    nonce = re.search(r"script-src 'nonce-([^']+)'", text)
    return text.replace(nonce[1], "NONCE") if nonce else text


def report(**arguments):
    """The page of pesa report, for the user that the daemon becomes: others may read other programs."""
    done = subprocess.run([PESA, "report", "--stdio", "-i", f"{work.name}/store", "--html", "own.html",
                           *[f"--{name}={value}" for name, value in arguments.items()]],
                          capture_output=True, text=True, timeout=TIMEOUT, env=environment, check=False,
                          **({} if os.geteuid() else {"user": 65534, "group": 65534, "extra_groups": []}))
    if not os.path.exists("own.html"):
        return done.stderr
    with open("own.html", encoding="utf-8") as file:
        text = file.read()
    os.unlink("own.html")
    return text


def both(**arguments):
    """A page of the daemon, and that of pesa report.  The recording is of all programs: where files in /tmp came or went between the
    two, with names of their run-time code, both are made again."""
    for _ in range(3):
        status, text, headers = page(True, **arguments)
        own = report(**arguments)
        if os.geteuid() or without_nonce(text) == without_nonce(own):
            break
    return status, text, headers, own


def children(name):
    """Processes of a name whose parent is the daemon or one of its processes."""
    found, parents = {}, {}
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        number = int(path.split("/")[2])
        parents[number] = int(re.search(r"^PPid:\s+(\d+)$", text, re.M)[1])
        found[number] = re.match(r"Name:\s+(\S+)", text)[1]
    return [number for number, what in found.items()
            if what == name and daemon.pid in (parents[number], parents.get(parents[number]))]


daemon = start()
if not wait_for(lambda: "samples cpu-clock" in said() or daemon.poll() is not None) or daemon.poll() is not None:
    end(f"no sampling by cpu-clock here: {said().strip()[:200]}")
busy = subprocess.Popen([sys.executable, "-c", "import os\nwhile True:\n sum(range(100000))\n os.stat('/')"])
atexit.register(busy.kill)
wait_for(lambda: len(files()) >= 5 and answers())
first, last = files()[1], files()[3]
span = {"since": utc(begin_of(first)), "until": utc(begin_of(last))}

# ---- The same page

status, text, headers, own = both(**span)
check(status == 200 and headers["Content-Type"] == "text/html; charset=utf-8" and "<html" in own,
      "a page of a range is served", f"{status} {text[:300]} {own[:300]} {said()}")
sees_kernel = not os.geteuid()
if sees_kernel:
    check(without_nonce(text) == without_nonce(own), "it is the page of pesa report",
          [pair for pair in zip(without_nonce(text).splitlines(), without_nonce(own).splitlines()) if pair[0] != pair[1]][:3])
    host = os.uname().nodename
    status, of_host, _, own = both(host=host, **span)
    check(status == 200 and without_nonce(of_host) == without_nonce(own), "of a host, too", of_host[:300])
else:
    skip("it is the page of pesa report", "only root sees the kernel's addresses")
shorter = {"since": span["since"], "until": utc(begin_of(first) + 1)}
_, other, _, own = both(**shorter)
check(other != text and (not sees_kernel or without_nonce(other) == without_nonce(own)), "another range is another page",
      other[:300])
check("script-src 'unsafe-inline'" in headers["Content-Security-Policy"] and "default-src 'none'" in headers["Content-Security-Policy"]
      and "frame-ancestors 'none'" in headers["Content-Security-Policy"], "its scripts may run, and reach nothing", dict(headers))

# ---- Who may not see the kernel

status, text, _ = page(**span)
check(status == 200 and str(busy.pid) and "python" in text, "through the port there is a page, too", f"{status} {text[:300]}")
kernel = set(re.findall(r"\b(?:do_syscall_64|entry_SYSCALL_64\w*|do_idle|vfs_statx|__x64_sys_\w+|do_trap_ecall_u|el0_svc\w*)\b", text))
addresses = re.findall(r".{0,60}\bffffffff[0-9a-f]{8}\b.{0,60}|\b184467\d{14}\b", text)
# Where an excerpt has all samples of the kernel.
addresses = [address for address in addresses if address != "18446744073709547520" and "fffffffffffff000" not in address]
check(not kernel and not addresses, "without names and addresses of the kernel", f"{kernel} {addresses[:3]}")

# ---- What cannot be answered

for arguments, expected in (
        ({"since": "yesterday-ish"}, 400), ({"until": ""}, 400), ({"since": "1" * 100}, 400), ({"unit": "u" * 300}, 400),
        ({"unit": "a\nb"}, 400), ({"cgroup": "/" + "c" * 2000}, 400), ({"host": "nobody.example", **span}, 404),
        ({"since": "2001-01-01T00:00:00Z", "until": "2001-01-01T00:00:01Z"}, 404)):
    for local in (False, True):
        status, text, _ = page(local, **arguments)
        check(status == expected or (expected == 404 and status in (400, 404)),
              f"{next(iter(arguments))}={next(iter(arguments.values()))[:20]!r}, {'socket' if local else 'port'}: {expected}", f"{status} {text}")
        check(len(text.splitlines()) == 1 and "\x1b" not in text, "with one line of text", text)
status, text, _ = page(True, unit=f"--html={work.name}/injected", **span)
check(status != 200 or "injected" not in "".join(os.listdir(".")), "an argument is no option of the program", f"{status} {text[:200]}")
check(not os.path.exists("injected"), "and writes no file")
check(get("/page", method="HEAD")[0] == 405 and get("/page", method="POST")[0] == 405, "only GET")

# ---- Limits

with concurrent.futures.ThreadPoolExecutor(12) as pool:
    statuses = [status for status, _, _ in pool.map(lambda _: page(True, **span), range(12))]
check(set(statuses) <= {200, 503} and 200 in statuses, "of many at once some are made, the others are refused", statuses)
check(get("/healthz")[0] == 200, "the daemon answers")
check(wait_for(lambda: not os.listdir("tmp")), "no file is left", os.listdir("tmp"))
stop(daemon)

daemon = start(page_most="30s")
wait_for(answers)
hung = []


def hang():
    """Stop the program that makes pages wherever it is seen."""
    while not hung:
        for number in children("pesa"):
            try:
                os.kill(number, signal.SIGSTOP)
            except OSError:
                continue
            hung.append(number)
        time.sleep(0.01)


thread = threading.Thread(target=hang, daemon=True)
thread.start()
status, text = 0, ""
for _ in range(50):
    if hung:
        break
    status, text, _ = page(True)
check(hung and status == 503 and "time" in text, "a page that takes too long is given up", f"{status} {text[:300]}")
check(wait_for(lambda: not children("pesa")), "and its program is ended")
status, text, _ = page(True, **span)
check(status == 200, "the next one is made", f"{status} {text[:300]}")
check(wait_for(lambda: not os.listdir("tmp")), "no file is left", os.listdir("tmp"))
stop(daemon)

busy.kill()
busy.wait()
os.chdir("/")
end()
