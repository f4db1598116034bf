#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's HTTP server: its answers, access control, and robustness against any input from clients."""
import concurrent.futures
import contextlib
import gzip
import http.client
import os
import random
import re
import shutil
import socket
import ssl
import stat
import struct
import subprocess
import tempfile
import threading
import time

from pprof_profile import fields
from tap import BUILD, PESA, bail_out, check, end, needs, skip

TOOL = os.path.join(BUILD, "tests/tools/serve_intervals")
MAKE = os.path.join(BUILD, "tests/tools/make_profile")
TIMEOUT = 20  # seconds that anything may take on a busy machine
STORM = int(os.environ.get("HTTP_STORM", "300"))  # malformed requests
TOKEN = "correct-horse-battery"

work = tempfile.TemporaryDirectory()
os.chdir(work.name)
os.umask(0o022)
os.chmod(work.name, 0o755)  # other users come to the sockets in it
STRANGER = 60001  # a user and a group that nobody has


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Served:
    """The http worker with this configuration."""
    number = 0

    def __init__(self, *files, delay=20, host="127.0.0.1", tls=None, token=False, **keys):
        Served.number += 1
        self.host, self.port, self.tls = host, free_port(), tls
        self.socket = os.path.join(work.name, f"socket{Served.number}")
        keys = {"listen": f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}", "socket": self.socket,
                "kernel-addresses": "yes", **keys}
        if token:
            keys["token-file"] = os.path.join(work.name, "token")
        elif "authority" not in keys:
            keys.setdefault("open", "yes")
        self.store = os.path.join(work.name, f"store{Served.number}")
        os.mkdir(self.store, 0o700)
        path = f"served{Served.number}.conf"
        with open(path, "w", encoding="ascii") as out:
            out.write("[http]\n" + "".join(f"{name} = {value}\n" for name, value in keys.items() if value))
            out.write(f"[store]\ndirectory = {self.store}\n")
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([TOOL, path, str(delay), *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True)
        self.process.stdout.readline()

    def wait(self):
        """Wait until it listens at its unix socket and its port.  Returns whether it does."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            try:
                self.get("/healthz", unix=True)
                if self.port:
                    self.connect().close()
                return self
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        bail_out("the server does not answer:", self.end()[1])
        return self

    def connect(self, unix=False, source=None):
        if unix:
            made = socket.socket(socket.AF_UNIX)
            made.connect(self.socket)
        else:
            host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
            made = socket.create_connection((host, self.port), source_address=(source, 0) if source else None)
            if self.tls:
                made = self.tls.wrap_socket(made, server_hostname=host)
        made.settimeout(TIMEOUT)
        return made

    def get(self, path, method="GET", unix=False, **headers):
        """Status, headers, body.  Header names have _ for -."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = self.connect(unix)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": "localhost", **headers}.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def alive(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.process.poll() is None and self.get("/healthz", unix=True)[0] == 200
        return False

    def end(self):
        """Exit status, log, and how long it took."""
        begin = time.monotonic()
        if self.process.poll() is None:
            self.process.stdin.close()
        status = self.process.wait(TIMEOUT)
        self.log.seek(0)
        return status, self.log.read().decode(), time.monotonic() - begin


DESCRIPTION = """arch riscv64
command spin
event pesa
period 1000
comm 7 7 spin
map 7 0x10000 0x1000 0 /nowhere/spin
bare 30 7 7 0x10100
bare 10 7 8 0x10200
"""
for name, times in (("one.data", 1), ("two.data", 2)):
    made = subprocess.run([MAKE, name], input=DESCRIPTION.replace("bare 30", f"bare {30 * times}"), text=True,
                          capture_output=True)
    if made.returncode:
        bail_out("make_profile:", made.stderr)
with open("token", "w", encoding="ascii") as out:
    out.write(TOKEN + "\n")
os.chmod("token", 0o600)
INTERVALS = [os.path.abspath("one.data"), os.path.abspath("two.data")]

# ---- What it answers

served = Served(*INTERVALS, connections=512).wait()
for unix in (False, True):
    where = "unix socket" if unix else "port"
    status, headers, body = served.get("/", unix=unix)
    check(status == 200 and b"/debug/pprof/profile" in body and headers["Content-Type"].startswith("text/html"),
          f"{where}: the index", (status, headers, body))
    check(served.get("/healthz", unix=unix)[::2] == (200, b"ok\n"), f"{where}: /healthz")
    check(served.get("/debug/pprof/", unix=unix)[0] == 200, f"{where}: the index of profiles")
mode = os.stat(served.socket).st_mode
check(stat.S_ISSOCK(mode) and mode & 0o777 == 0o600, "the unix socket is its user's where the store is", oct(mode))

status, headers, body = served.get("/metrics")
text = body.decode()
check(status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), "/metrics: type", headers)
wrong, typed, helped, seen = [], {}, set(), set()
for line in text.splitlines():
    if match := re.fullmatch(r"# HELP ([a-zA-Z_:][\w:]*) \S.*", line):
        helped.add(match[1])
    elif match := re.fullmatch(r"# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge)", line):
        if match[1] in typed:
            wrong.append(f"two types: {line}")
        typed[match[1]] = match[2]
    elif match := re.fullmatch(r'([a-zA-Z_:][\w:]*)((?:\{\w+="[^"\\\n]*"(?:,\w+="[^"\\\n]*")*\})?) (-?\d+(?:\.\d+)?)', line):
        if match[1] not in typed or match[1] not in helped or (match[1], match[2]) in seen:
            wrong.append(line)
        if typed.get(match[1]) == "counter" and not match[1].endswith("_total"):
            wrong.append(f"a counter's name ends in _total: {line}")
        seen.add((match[1], match[2]))
    else:
        wrong.append(line)
check(not wrong and text.endswith("\n") and {name for name, _ in seen} == set(typed) == helped,
      "/metrics: Prometheus' text format", "\n".join(wrong))
needed = {"pesad_samples_taken_total", "pesad_samples_written_total", "pesad_samples_lost_total", "pesad_map_entries",
          "pesad_map_room", "pesad_push_failures_total", "pesad_cpu_seconds_total", "pesad_http_requests_total"}
check(needed <= set(typed), "/metrics: samples, losses, map, overhead, push failures", needed - set(typed))
check(len({labels for name, labels in seen if name == "pesad_samples_lost_total"}) >= 3, "losses are reported by cause")


def metric(name):
    return float(re.search(rf"^{name} (\S+)$", served.get("/metrics", unix=True)[2].decode(), re.M)[1])


before = metric("pesad_http_requests_total")
served.get("/healthz")
check(metric("pesad_http_requests_total") == before + 2, "requests are counted")

status, headers, body = served.get("/debug/pesa/interval?seconds=1", unix=True)
with open(INTERVALS[0], "rb") as file:
    content = [file.read()]
with open(INTERVALS[1], "rb") as file:
    content.append(file.read())
check(status == 200 and body in content and headers.get("X-Pesa-Serial") == "1", "an interval is the collector's file",
      (status, headers))
serial = int(headers["X-Pesa-Serial"])
check(int(headers["X-Pesa-Until"]) > int(headers["X-Pesa-From"]) > 1e18, "with its times", headers)
status, headers, following = served.get(f"/debug/pesa/interval?after={serial}&seconds=1")
check(status == 200 and int(headers["X-Pesa-Serial"]) == serial + 1 and following in content and following != body,
      "the next one follows it", (status, headers))
status, headers, again = served.get("/debug/pesa/interval?after=1&seconds=300")
check(status == 200 and again == following, "one that has ended is there at once", (status, headers))

begin = time.monotonic()
status, headers, body = served.get("/debug/pprof/profile?seconds=1")
took = time.monotonic() - begin
check(status == 200 and body[:2] == b"\x1f\x8b" and took >= 1, "a profile of the next second is gzip", (status, headers, took))
profile = list(fields(gzip.decompress(body)))
strings = [value.decode() for number, value in profile if number == 6]
samples = [value for number, value in profile if number == 2]
check(samples and "command: spin" in strings and {"samples: 40, lost: 0, without details: 40",
                                                  "samples: 70, lost: 0, without details: 70"} & set(strings),
      "it is pprof's profile of what was sampled", strings)

# ---- What it does not

for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
    check(served.get("/metrics", method=method)[0] == 405, f"{method}: 405")
check(served.get("/metrics", method="HEAD")[::2] == (200, b""), "HEAD has no body")
check(served.get("/debug/pprof/profile?seconds=1", method="HEAD")[0] == 405, "no HEAD of a profile")
for path in ("/nothing", "/debug", "/metrics/", "//", "/../etc/passwd", "/debug/pprof/heap", "/%00", "/metrics%00"):
    status = served.get(path)[0]
    check(status == 404, f"{path}: 404", status)
for query in ("seconds=0", "seconds=-1", "seconds=1e9", "seconds=", "seconds", "seconds=301", "seconds=99999999999999999999",
              "seconds=1%00", "seconds=0x10", "seconds=+1", "after=x", "after=4294967296", "after=-1"):
    status, _, body = served.get("/debug/pprof/profile?" + query)
    check(status == 400 and body.count(b"\n") == 1, f"{query}: 400 and why", (status, body))
for host in ("evil.example", "evil.example:9397", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "127.0.0.256",
             "[::2]", "localhost:80x", "127.1", "localhost:1:2"):
    status = served.get("/metrics", Host=host)[0]
    check(status == 403, f"Host {host}: 403", status)
for host in ("localhost", "LOCALHOST:80", "127.0.0.1:9397", "127.8.9.10", "[::1]:9397"):
    check(served.get("/metrics", Host=host)[0] == 200, f"Host {host} is this host")
for name in ("X_Forwarded_For", "Forwarded", "Via", "x_real_ip"):
    check(served.get("/metrics", **{name: "1.2.3.4"})[0] == 403, f"{name}: not through a proxy")
check(served.get("/metrics", unix=True, Host="evil.example", Via="x")[0] == 200, "on the unix socket names do not matter")

# ---- Limits

with concurrent.futures.ThreadPoolExecutor(40) as pool:
    answers = list(pool.map(lambda _: served.get("/debug/pprof/profile?seconds=1")[:2], range(40)))
statuses = [status for status, _ in answers]
check(set(statuses) == {200, 503} and 1 <= statuses.count(200) <= 16, "of 40 profiles at once at most 16 are made",
      {status: statuses.count(status) for status in set(statuses)})
check(all("Retry-After" in headers for status, headers in answers if status == 503), "the others may ask again")


def client(index):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return served.get(("/metrics", "/", "/healthz", "/nothing")[index % 4], unix=index % 8 >= 4)[0]
    return None


with concurrent.futures.ThreadPoolExecutor(100) as pool:
    answers = list(pool.map(client, range(400)))
check(answers == [200, 200, 200, 404] * 100, "100 clients at once are answered",
      {status: answers.count(status) for status in set(answers)})
idle = [served.connect() for _ in range(100)]
check(served.alive() and served.get("/metrics")[0] == 200, "100 connections that say nothing do not matter")
for connection in idle:
    connection.close()
status, log, took = served.end()
check(status == 0, "it ends by SIGTERM", log)
check(not os.path.exists(served.socket), "and removes its socket")

# ---- Malformed requests

served = Served(*INTERVALS, connections=256).wait()
random.seed(7)
GOOD = b"GET /debug/pesa/interval?after=1&seconds=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n"


def malformed():
    """Random bytes, and requests with random changes."""
    kind = random.randrange(8)
    if kind == 0:
        return os.urandom(random.randrange(1, 2000))
    if kind == 1:
        return b"GET /" + b"a" * random.choice((8000, 16384, 100000)) + b" HTTP/1.1\r\n\r\n"
    if kind == 2:
        return b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * random.choice((8000, 70000)) + b"\r\n\r\n"
    if kind == 3:
        return b"GET / HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % i for i in range(3000)) + b"\r\n"
    if kind == 4:
        return (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n"
                % random.choice((-1, 5, 1 << 63))) + os.urandom(50)
    if kind == 5:
        return GOOD[:random.randrange(1, len(GOOD))]
    request = bytearray(GOOD.replace(b"/debug/pesa/interval?after=1&seconds=1", random.choice(
        (b"/metrics", b"/%zz%", b"/?" + b"&" * 500, b"/?seconds=%00&%00=1", b"*", b"http://[::1/", b"/\xff\xfe"))))
    for _ in range(random.randrange(1, 12)):
        request[random.randrange(len(request))] = random.randrange(256)
    return bytes(request) * random.randrange(1, 3)


answered = 0
for number in range(STORM):
    with contextlib.suppress(OSError):
        connection = served.connect(unix=number % 4 == 3)
        connection.settimeout(0.01)
        connection.sendall(malformed())
        if number % 3 == 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            answered += connection.recv(4096).startswith(b"HTTP/1.1 4")
        connection.close()
check(served.alive() and answered, f"{STORM} malformed requests: it still answers", f"{answered} were answered with 4xx")
status, log, took = served.end()
check(status == 0 and "runtime error" not in log and "Sanitizer" not in log, "and ends as it should", log)

# ---- Tokens

for host in ("127.0.0.1", "0.0.0.0", "::"):
    if host == "::" and not os.path.exists("/proc/net/if_inet6"):
        skip("a token, listening at ::", "no IPv6")
        continue
    served = Served(*INTERVALS, host=host, token=True).wait()
    refused = []
    for path in ("/", "/healthz", "/metrics", "/debug/pprof/", "/debug/pprof/profile?seconds=1", "/debug/pesa/interval?seconds=1", "/x",
                 "*"):
        for value in (None, "", "Bearer", "Bearer ", "Bearer x", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN,
                      f"Basic {TOKEN}", f"Bearer{TOKEN}", f"Bearer {TOKEN} ", f"Bearer {TOKEN.upper()}", f"Bearer x {TOKEN}"):
            headers = {"Authorization": value} if value is not None else {}
            status, answer, _ = served.get(path, **headers)
            if status != 401 and value != f"Bearer {TOKEN} ":  # a blank at the end of a header is no part of it
                refused.append((path, value, status))
        if served.get(path, method="POST")[0] != 401:
            refused.append((path, "POST"))
    check(not refused, f"at {host} nothing is answered without the token", refused)
    check("WWW-Authenticate" in answer, f"at {host} the answer says what is wanted", answer)
    check(served.get("/metrics", Authorization=f"Bearer {TOKEN}", Host="board.example")[0] == 200,
          f"at {host} the token opens, by whatever name")
    check(served.get("/metrics", unix=True)[0] == 200, "the unix socket needs none")
    if host == "127.0.0.1":
        with open("token.new", "w", encoding="ascii") as out:
            out.write("another-token")
        os.chmod("token.new", 0o640)
        os.rename("token.new", "token")
        check(served.get("/metrics", Authorization=f"Bearer {TOKEN}")[0] == 401
              and served.get("/metrics", Authorization="Bearer another-token")[0] == 200, "a changed token is read again")
        os.chmod("token", 0o644)
        check(served.get("/metrics", Authorization="Bearer another-token")[0] == 401
              and served.get("/metrics")[0] == 401, "with a token file that all can read nobody is answered")
        with open("token", "w", encoding="ascii") as out:
            out.write(TOKEN)
        os.chmod("token", 0o600)
    served.end()

for host, whom in (("127.0.0.1", "every user of this host"), ("0.0.0.0", "other hosts")):
    status, log, _ = Served(host=host, open="").end()
    check(status == 1 and f"open to {whom}: give a token-file" in log,
          f"it does not listen at {host} without a token unless it is said to be open", log)
served = Served(host="0.0.0.0").wait()
check(served.get("/metrics", Host="board.example")[0] == 200, "an open port answers everybody who reaches it")
status, log, _ = served.end()
check(re.search(r"http\.open: everybody who reaches 0\.0\.0\.0:\d+ may ask", log), "and the log says that it is open", log)

# ---- Users


def ask_as(user, group, groups, path):
    """The status that a user is answered at the unix socket; 0: it cannot connect."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = b"0"
        with contextlib.suppress(OSError, http.client.HTTPException):
            os.setgroups(groups)
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
            status = str(served.get(path, unix=True)[0]).encode()
        os.write(writer, status)
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        return int(said.read())


if os.geteuid() == 0:
    for mode, owner, group, expected in (
            # the store's mode, owner, group; what is said to: a stranger, one of the group, one of it beside its own, its owner
            (0o700, 0, 0, (0, 0, 0, 0)),
            (0o750, 60002, 60003, (403, 200, 200, 200)),
            (0o710, 60002, 60003, (0, 0, 0, 0)),
            (0o705, 60002, 60003, (200, 403, 403, 200)),
            (0o755, 0, 0, (200, 200, 200, 200))):
        served = Served(*INTERVALS, listen="")
        served.end()
        os.chown(served.store, owner, group)
        os.chmod(served.store, mode)
        path, store = f"served{Served.number}.conf", served.store
        served.process = subprocess.Popen([TOOL, path, "20", *INTERVALS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=served.log, text=True)
        served.process.stdout.readline()
        served.port = None
        served.wait()
        said = tuple(ask_as(*who, "/metrics") for who in ((STRANGER, STRANGER, []), (STRANGER, 60003, []),
                                                          (STRANGER, STRANGER, [60004, 60003]), (60002, STRANGER, [])))
        check(said == expected, f"a store of mode {mode:o}: who may read it may ask, nobody else", (said, expected))
        check(served.get("/metrics", unix=True)[0] == 200, f"a store of mode {mode:o}: root may ask")
        served.end()
else:
    skip("who may ask at the unix socket", "not root")

# ---- Connections that do not ask

class Sluggish:
    """Connections that send a request without an end, a byte from time to time."""

    def __init__(self, count, **where):
        self.held, self.done = [], threading.Event()
        for _ in range(count):
            with contextlib.suppress(OSError):
                connection = served.connect(**where)
                connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
                self.held.append(connection)
        self.thread = threading.Thread(target=self.send, daemon=True)
        self.thread.start()

    def send(self):
        while not self.done.wait(0.5):
            for connection in self.held:
                with contextlib.suppress(OSError):
                    connection.send(b"a")

    def ended(self):
        """Whether the server ends the last of them."""
        try:
            return self.held[-1].recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def close(self):
        self.done.set()
        self.thread.join()
        for connection in self.held:
            connection.close()


served = Served(*INTERVALS).wait()
sluggish = Sluggish(200, source="127.0.0.2")
others = [served.get("/healthz")[0] for _ in range(3)]
check(others == [200] * 3, "200 half-open connections of one address leave room for another", others)
check(metric("pesad_http_clients_refused_total") >= 200 - 32, "what is beyond a peer's share is refused, and counted")
sluggish.close()
sluggish = Sluggish(1)
ended, deadline = sluggish.ended(), time.monotonic() + TIMEOUT
while not metric("pesad_http_clients_late_total") and time.monotonic() < deadline:
    time.sleep(0.1)  # it is counted after that
check(ended and metric("pesad_http_clients_late_total") >= 1,
      "a request that is never complete is ended, however lively it comes")
sluggish.close()
keep = http.client.HTTPConnection("localhost")
keep.sock = served.connect()
for turn in range(2):
    keep.request("GET", "/healthz")
    check(keep.getresponse().read() == b"ok\n", f"a connection is kept for request {turn + 1}")
keep.close()
served.end()

# ---- Addresses of the kernel

KERNEL = 0xffffffff80200000
made = subprocess.run([MAKE, "kernel.data"], text=True, capture_output=True, input=DESCRIPTION.replace(
    "bare 30", f"map 4294967295 {KERNEL:#x} 0x100000 {KERNEL:#x} [kernel.kallsyms]_text\nbare 25 7 7 {KERNEL + 0x1234:#x}\nbare 30"))
if made.returncode:
    bail_out("make_profile:", made.stderr)


def kernel_addresses(recording):
    """How often an address of that kernel stands in a file."""
    return sum(KERNEL <= int.from_bytes(recording[at:at + 8], "little") < KERNEL + 0x100000 for at in range(len(recording) - 7))


def number_in(name):
    with open("/proc/sys/kernel/" + name, encoding="ascii") as file:
        return int(file.read())


KALLSYMS_FOR_ALL = number_in("kptr_restrict") == 0 and number_in("perf_event_paranoid") <= 1
for wish in ("no", "yes"):
    served = Served(os.path.abspath("kernel.data"), **{"kernel-addresses": wish}).wait()
    status, headers, body = served.get("/debug/pesa/interval?seconds=1")
    hidden = wish == "no" and not KALLSYMS_FOR_ALL
    check(status == 200 and (kernel_addresses(body) == 0) == hidden,
          f"kernel-addresses = {wish}: the kernel's addresses are {'not ' if hidden else ''}in an interval", kernel_addresses(body))
    with open("seen.data", "wb") as out:
        out.write(body)
    shown = subprocess.run([PESA, "report", "-i", "seen.data"], capture_output=True, text=True, timeout=TIMEOUT)
    name = "[kernel: address hidden]" if hidden else "[kernel.kallsyms]"
    check(any(name in line and re.search(r"\b38\.4", line) for line in shown.stdout.splitlines()),
          f"kernel-addresses = {wish}: its share is there, as {name}", shown.stdout + shown.stderr)
    profile = list(fields(gzip.decompress(served.get("/debug/pprof/profile?seconds=1")[2])))
    strings = [value.decode() for number, value in profile if number == 6]
    check(any(name in one for one in strings), f"kernel-addresses = {wish}: and in a profile", strings)
    check((metric("pesad_http_samples_hidden_total") > 0) == hidden, f"kernel-addresses = {wish}: what was hidden is counted")
    served.end()

# ---- Waiting, and ending meanwhile

served = Served().wait()
waiting = served.connect()
waiting.sendall(b"GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n")
time.sleep(0.1)
check(served.alive(), "while a profile is waited for others are answered")
status, log, took = served.end()
check(status == 0 and took < 5, "it ends although profiles are being waited for", (took, log))
waiting.close()
served = Served("-", INTERVALS[0], delay=1).wait()
status, headers, body = served.get("/debug/pesa/interval?seconds=1")
check(status == 204 and headers["X-Pesa-Serial"] == "1" and not body, "an interval without a file has no content", (status, headers))
served.end()
served = Served("/nowhere/gone.data", delay=1).wait()
check(served.get("/debug/pesa/interval?seconds=1")[0] == 503, "a file that has gone: 503")
status, _, body = served.get("/debug/pprof/profile?seconds=1")
check(status == 500 and b"gone.data" in body and served.alive(), "a profile of it: 500 and why", (status, body))
served.end()

# ---- Its socket

blocker = socket.socket(socket.AF_UNIX)
blocker.bind("left")
blocker.close()
served = Served(socket=os.path.abspath("left"))
served.socket = os.path.abspath("left")
check(served.wait().alive(), "a socket that an ended process left is replaced")
second = Served(socket=os.path.abspath("left"))
second.socket = served.socket
deadline = time.monotonic() + TIMEOUT
while time.monotonic() < deadline:
    try:
        second.connect().close()
        break
    except OSError:
        time.sleep(0.02)
second.process.stdin.close()
check(second.process.wait(TIMEOUT) == 0 and served.alive(), "one that is in use is left alone")
served.end()
with open("file", "w", encoding="ascii") as out:
    out.write("kept")
served = Served(socket=os.path.abspath("file"))
deadline = time.monotonic() + TIMEOUT
while time.monotonic() < deadline:
    try:
        served.connect().close()
        break
    except OSError:
        time.sleep(0.02)
status, log, _ = served.end()
with open("file", encoding="ascii") as file:
    check(file.read() == "kept" and "file" in log, "a file at its place is left alone, and said", log)

# ---- TLS

if shutil.which("openssl"):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    "key.pem", "-out", "certificate.pem", "-days", "2", "-subj", "/CN=pesad", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    tls = ssl.create_default_context(cafile="certificate.pem")
    served = Served(*INTERVALS, tls=tls, certificate=os.path.abspath("certificate.pem"), key=os.path.abspath("key.pem")).wait()
    check(served.get("/healthz")[0] == 200, "TLS")
    served.tls = None
    plain = None
    with contextlib.suppress(OSError, http.client.HTTPException):
        plain = served.get("/healthz")[0]
    check(plain != 200, "nothing is answered without TLS then", plain)
    served.end()

    # Client certificates: one of the trusted authority, and one of an unknown authority.
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *KEY, "-keyout", "authority.key", "-out", "authority.pem", "-days", "2", "-subj", "/CN=authority")
    openssl("req", *KEY, "-keyout", "client.key", "-out", "client.request", "-subj", "/CN=client")
    openssl("x509", "-req", "-in", "client.request", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days",
            "2", "-out", "client.pem")
    openssl("req", "-x509", *KEY, "-keyout", "other.key", "-out", "other.pem", "-days", "2", "-subj", "/CN=client")
    served = Served(*INTERVALS, tls=tls, certificate=os.path.abspath("certificate.pem"), key=os.path.abspath("key.pem"),
                    authority=os.path.abspath("authority.pem")).wait()
    for name, expected in ((None, 403), ("other", 403), ("client", 200)):
        served.tls = ssl.create_default_context(cafile="certificate.pem")
        if name:
            served.tls.load_cert_chain(name + ".pem", name + ".key")
        status = None
        with contextlib.suppress(OSError, http.client.HTTPException):
            status = served.get("/metrics")[0]
        check(status == expected or (status is None and expected == 403), f"a client with {name or 'no'} certificate: {expected}",
              status)
    served.end()
else:
    skip("TLS", needs("openssl"))

os.chdir("/")
end()
