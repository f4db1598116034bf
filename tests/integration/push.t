#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles are pushed to profile stores: formats, and stores that are down, slow, faulty or not trusted."""
import base64
import gzip
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

from pprof_profile import fields
from profile_store import TIMEOUT, TOOL, Pusher, Store, form
from tap import check, end, needs, skip

work = tempfile.TemporaryDirectory()
os.chdir(work.name)
os.umask(0o077)


def run(url, *options, holds=lambda counts: counts["sent"] >= 1, **offered):
    """Push one profile; counts and log."""
    pusher = Pusher(url, *options)
    pusher.offer("profile", **offered)
    counts = pusher.wait(holds)
    return counts, pusher.end()


PROFILE = gzip.compress(os.urandom(3000), mtime=0)
with open("profile", "wb") as out:
    out.write(PROFILE)
for name, text in (("token", "first-token\n"), ("basic", "me:secret\n")):
    with open(name, "w", encoding="ascii") as out:
        out.write(text)

# ---- Forms

store = Store()
counts, log = run(store.url + "/", "kind=pyroscope", "application=board.cpu", "label=host:h 1", "label=zone:b",
                  "tenant=team", "token=token")
check(counts["sent"] == 1 and len(store.requests) == 1, "a profile is sent once", f"{counts}\n{log}")
path, headers, body, _ = store.requests[0]
parts = urllib.parse.urlsplit(path)
query = dict(urllib.parse.parse_qsl(parts.query))
check(parts.path == "/ingest" and query.get("name") == "board.cpu{host=h 1,zone=b}" and query.get("from") == "1700000000"
      and query.get("until") == "1700000060" and "format" not in query, "/ingest: name, times, no format beside a form", path)
fields_sent = form(headers, body)
types = json.loads(fields_sent.get("sample_type_config", "{}"))
check(fields_sent.get("profile") == PROFILE, "/ingest: the profile is a field of the form", fields_sent.keys())
check(types.get("cycles") == {"units": "samples", "display-name": "cpu_cycles", "aggregation": "sum"}
      and {"executions", "retiring", "stalled", "flushed", "drained", "unattributed"} < set(types),
      "/ingest: the other field says what its sample types are", types)
check(headers.get("X-Scope-OrgID") == "team", "the tenant's header", headers)
check(headers.get("Authorization") == "Bearer first-token", "the token is a bearer token", headers)
store.close()

for kind in ("pyroscope-push", "alloy"):
    store = Store()
    counts, log = run(store.url + "/below", f"kind={kind}", "application=board", "label=host:h1", "basic=basic")
    check(counts["sent"] == 1, f"{kind}: sent", f"{counts}\n{log}")
    path, headers, body, _ = store.requests[0]
    check(path == "/below/push.v1.PusherService/Push" and headers.get("Content-Type") == "application/proto"
          and headers.get("Connect-Protocol-Version") == "1", f"{kind}: path and headers", f"{path} {headers}")
    check(headers.get("Authorization") == "Basic " + base64.b64encode(b"me:secret").decode(),
          f"{kind}: user and password", headers)
    request = list(fields(body))
    series = list(fields(request[0][1]))
    labels = [[text.decode() for _, text in fields(label)] for number, label in series if number == 1]
    sample = dict(fields([content for number, content in series if number == 2][0]))
    check(len(request) == 1 and labels == [["__name__", "process_cpu"], ["service_name", "board"], ["host", "h1"]],
          f"{kind}: labels", labels)
    check(sample[1] == PROFILE and re.fullmatch(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", sample[2]),
          f"{kind}: the profile, and a UUID", sample[2])
    store.close()

store = Store()
counts, log = run(store.url, "kind=parca", "application=board", "label=host:h'1", "tenant=team")
path, headers, body, _ = store.requests[0]
sent = json.loads(body)
series = sent["series"][0]
check(path == "/api/profiles/writeraw" and headers.get("Content-Type") == "application/json" and sent["tenant"] == "team",
      "parca: path, form and tenant", f"{path} {headers}")
check({label["name"]: label["value"] for label in series["labels"]["labels"]}
      == {"__name__": "process_cpu", "job": "board", "host": "h'1"}, "parca: labels", series["labels"])
check(base64.b64decode(series["samples"][0]["rawProfile"], validate=True) == PROFILE, "parca: the profile, in base64")
store.close()

# ---- Stores that do not take it

store = Store([{"status": 500}, {"status": 503}, {"status": 408}, {"status": 429, "body": b"slow\ndown\x1b"}])
counts, log = run(store.url)
ids = {request[0] for request in store.requests}
check(counts["sent"] == 1 and counts["failures"] == 4 and len(store.requests) == 5,
      "500, 503, 408 and 429 are tried again", f"{counts}\n{log}")
check("attempt 1 failed" in log and "status 500" in log and "takes profiles again" in log,
      "the log says that it fails, why, and when it works again", log)
check("slow down" in log and "\x1b" not in log, "what a store says is quoted without control characters", log)
store.close()

for status in (400, 401, 403, 404, 413, 422):
    store = Store([{"status": status, "body": b"no"}])
    counts, log = run(store.url, holds=lambda counts: counts["refused"])
    time.sleep(0.1)
    check(counts["refused"] == 1 and counts["sent"] == 0 and counts["spooled"] == 0 and len(store.requests) == 1
          and f"status {status}" in log, f"{status} is not tried again: counted, a line in the log", f"{counts}\n{log}")
    store.close()

store = Store([{"status": 503, "headers": {"Retry-After": "1"}}])
counts, log = run(store.url)
waited = store.requests[1][3] - store.requests[0][3] if len(store.requests) > 1 else 0
check(counts["sent"] == 1 and waited >= 1, "Retry-After is waited for", f"{waited} s\n{log}")
store.close()

store = Store([{"status": 200, "body": b"<html>log in</html>", "headers": {"Content-Type": "text/html; charset=utf-8"}}])
counts, log = run(store.url)
check(counts["sent"] == 1 and counts["failures"] == 1 and "page" in log,
      "a page with status 200 (a portal) is no delivery", f"{counts}\n{log}")
store.close()

store = Store([{"delay": 2}])
counts, log = run(store.url, "timeout=300")
check(counts["sent"] == 1 and counts["failures"] == 1 and "timed out" in log.lower(), "a slow store times out",
      f"{counts}\n{log}")
store.close()

store = Store([{"length": 1000, "body": b"x"}])
counts, log = run(store.url, "timeout=500")
check(counts["sent"] == 1 and counts["failures"] == 1, "an answer that is cut off is no delivery", f"{counts}\n{log}")
store.close()


def garbage(*answers):
    """A server that answers each connection with bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    left = list(answers)

    def serve():
        while left:
            connection, _ = listener.accept()
            connection.settimeout(TIMEOUT)
            connection.recv(65536)
            connection.sendall(left.pop(0))
            connection.close()
        listener.close()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


answers = [b"", b"\0\xff" * 100, b"HTTP/1.1 banana\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"220 mail ESMTP\r\n",
           b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
port = garbage(*answers)
counts, log = run(f"http://127.0.0.1:{port}", holds=lambda counts: counts["failures"] >= len(answers))
check(counts["failures"] >= len(answers) and counts["sent"] == 0 and counts["spooled"] == 1,
      "garbage is no delivery, the profile stays in the spool", f"{counts}\n{log}")

port = garbage(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * (3 << 20))
counts, log = run(f"http://127.0.0.1:{port}", holds=lambda counts: counts["failures"] >= 1)
check(counts["failures"] >= 1 and counts["sent"] == 0, "an endless answer is given up", f"{counts}\n{log}")

# ---- Redirections

target = Store()
store = Store([{"status": 307, "headers": {"Location": target.url + "/moved"}}])
counts, log = run(store.url, "token=token")
check(counts["sent"] == 1 and target.requests and form(*target.requests[0][1:3]).get("profile") == PROFILE,
      "a redirection is followed with the body", f"{counts}\n{log}")
check("Authorization" not in target.requests[0][1], "the token does not follow to another port", target.requests[0][1])
store.close()
store = Store([{"status": 302, "headers": {"Location": f"/again{i}"}} for i in range(100)])
counts, log = run(store.url, holds=lambda counts: counts["failures"] >= 1)
check(counts["failures"] >= 1 and counts["sent"] == 0 and len(store.requests) >= 4, "redirections without end fail",
      f"{counts}\n{log}")
store.close()
store = Store([{"status": 307, "headers": {"Location": "file:///etc/passwd"}}] * 100)
counts, log = run(store.url, holds=lambda counts: counts["failures"] >= 1)
check(counts["failures"] >= 1 and counts["sent"] == 0, "no redirection leaves HTTP", f"{counts}\n{log}")
store.close()
target.close()

# ---- Down, full, restarted

free = socket.create_server(("127.0.0.1", 0))
port = free.getsockname()[1]
free.close()
pusher = Pusher(f"http://127.0.0.1:{port}")
for number in range(5):
    pusher.offer("profile", 1700000000 + number, 1700000001 + number)
counts = pusher.wait(lambda counts: counts["spooled"] == 5 and counts["failures"] >= 2)
log = pusher.end()
check(counts["spooled"] == 5 and counts["failures"] >= 2, "while the store is down profiles wait", f"{counts}\n{log}")
check(log.count("attempt") < counts["failures"] or counts["failures"] < 4, "the log is not flooded", log)
files = sorted(os.listdir(pusher.spool))
check(len(files) == 5 and all(file.endswith(".pprof.gz") for file in files), "each is a file of the spool", files)
with open(os.path.join(pusher.spool, ".new-left"), "wb") as out:
    out.write(b"half")
with open(os.path.join(pusher.spool, "notes"), "wb") as out:
    out.write(b"not ours")
store = Store(port=port)
pusher = Pusher(f"http://127.0.0.1:{port}", spool=pusher.spool)
counts = pusher.wait(lambda counts: counts["sent"] == 5)
log = pusher.end()
begins = [dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request[0]).query))["from"] for request in store.requests]
check(counts["sent"] == 5 and begins == [str(1700000000 + i) for i in range(5)],
      "after a restart they are sent, oldest first", f"{counts} {begins}\n{log}")
check(os.listdir(pusher.spool) == ["notes"], "the spool is empty then, without what was half written",
      os.listdir(pusher.spool))
store.close()

size = len(PROFILE)
pusher = Pusher(f"http://127.0.0.1:{port}", f"bytes={3 * size + 10}", "least=5000", "most=5000")
pusher.offer("profile")
pusher.wait(lambda counts: counts["failures"] == 1)
for number in range(1, 7):
    pusher.offer("profile", 1700000000 + number, 1700000001 + number)
counts = pusher.wait(lambda counts: counts["dropped_full"] == 4)
kept = sorted(os.listdir(pusher.spool))
log = pusher.end()
check(counts["dropped_full"] == 4 and counts["spooled"] == 3 and counts["spooled_bytes"] <= 3 * size + 10,
      "a full spool drops the oldest and counts them", f"{counts}\n{log}")
check([name[:10] for name in (file.lstrip("0") for file in kept)] == ["1700000004", "1700000005", "1700000006"],
      "the newest are kept", kept)
check(counts["offered"] == counts["sent"] + counts["refused"] + counts["spooled"] + counts["dropped_full"],
      "offered = sent + refused + spooled + dropped", counts)

now = int(time.time())
pusher = Pusher(f"http://127.0.0.1:{port}", "age=60000")
pusher.offer("profile", now - 4000, now - 3000)
pusher.offer("profile", now - 10, now)
counts = pusher.wait(lambda counts: counts["dropped_old"] == 1 and counts["spooled"] == 1)
log = pusher.end()
check(counts["dropped_old"] == 1 and counts["spooled"] == 1, "what is too old is dropped and counted", f"{counts}\n{log}")

pusher = Pusher(f"http://127.0.0.1:{port}", "bytes=100")
pusher.offer("profile")
pusher.offer("no-such-file")
counts = pusher.wait(lambda counts: counts["dropped_full"] and counts["dropped_unconverted"])
log = pusher.end()
check(counts["dropped_full"] == 1 and counts["dropped_unconverted"] == 1 and "no-such-file" in log,
      "larger than the spool, or not to be read: dropped and counted", f"{counts}\n{log}")

os.mkdir("small")
wrap = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=16k none small && mkdir small/spool && exec "$@"', "sh"]
if subprocess.run([*wrap, "true"], capture_output=True).returncode:
    skip("a full disk", "no file system can be mounted here")
else:
    pusher = Pusher(f"http://127.0.0.1:{port}", spool="small/spool", wrap=wrap)
    for number in range(8):
        pusher.offer("profile", 1700000000 + number, 1700000001 + number)
    counts = pusher.wait(lambda counts: counts["dropped_full"] + counts["spooled"] == 8)
    log = pusher.end()
    check(counts["spooled"] > 0 and counts["dropped_full"] + counts["spooled"] == 8 and counts["dropped_unwritten"] == 0
          and "for want of room" in log, "on a full disk the oldest make room, and are counted", f"{counts}\n{log}")
    wrap[4] = 'mkdir -p small/spool && mount -t tmpfs -o ro none small && exec "$@"'
    done = subprocess.run([*wrap, TOOL, f"http://127.0.0.1:{port}", "small/spool"], input="", capture_output=True, text=True)
    check(done.returncode == 1 and "small/spool" in done.stderr, "a spool that cannot be made is one line", done.stderr)

store = Store([{"delay": 30}])
pusher = Pusher(store.url, "timeout=60000")
pusher.offer("profile")
deadline = time.monotonic() + TIMEOUT
while not store.requests and time.monotonic() < deadline:
    time.sleep(0.02)
pusher.end()
check(len(os.listdir(pusher.spool)) == 1, "stopping cuts a transfer off and keeps its profile", os.listdir(pusher.spool))

# A name server that does not answer: the resolver would try for minutes.
with open("resolv.conf", "w", encoding="ascii") as out:
    out.write("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
with open("silent.py", "w", encoding="ascii") as out:
    out.write("import os, socket\nserver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nserver.bind(('127.0.0.1', 53))\n"
              "server.recv(512)\nwith open('asked.new', 'w') as out:\n    out.write(str(os.getpid()))\n"
              "os.rename('asked.new', 'asked')\nwhile True:\n    server.recv(512)\n")
wrap = ["unshare", "-m", "-n", "sh", "-c",
        'ip link set lo up && mount --bind resolv.conf /etc/resolv.conf && { python3 silent.py > /dev/null & exec "$@"; }', "sh"]
if subprocess.run([*wrap[:5], wrap[5].replace("python3 silent.py", "true"), "sh", "true"], capture_output=True).returncode:
    skip("a name server that does not answer", "no network of our own can be had here")
else:
    pusher = Pusher("http://store.example", "timeout=300000", wrap=wrap)
    pusher.offer("profile")
    deadline = time.monotonic() + TIMEOUT
    while not os.path.exists("asked") and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        log, ended = pusher.end(), True
    except subprocess.TimeoutExpired:
        log, ended = "it still runs", False
        pusher.process.kill()
    check(os.path.exists("asked") and ended and len(os.listdir(pusher.spool)) == 1,
          "stopping does not wait for a name server", f"{log} {os.listdir(pusher.spool)}")
    with open("asked", encoding="ascii") as file:
        os.kill(int(file.read()), signal.SIGKILL)

# ---- Secrets

store = Store()
pusher = Pusher(store.url, "token=token")
pusher.offer("profile")
pusher.wait(lambda counts: counts["sent"] == 1)
with open("token.new", "w", encoding="ascii") as out:
    out.write("second-token\n")
os.rename("token.new", "token")
pusher.offer("profile")
pusher.wait(lambda counts: counts["sent"] == 2)
os.chmod("token", 0o644)
pusher.offer("profile")
counts = pusher.wait(lambda counts: counts["failures"] >= 1)
check(counts["sent"] == 2 and counts["failures"] >= 1, "a token that others can read is not used any more", counts)
os.chmod("token", 0o600)
counts = pusher.wait(lambda counts: counts["sent"] == 3)
log = pusher.end()
check([request[1]["Authorization"] for request in store.requests]
      == ["Bearer first-token", "Bearer second-token", "Bearer second-token"], "a token that changed is read again", log)
check("0644" in log or "644" in log, "the log says what is wrong with it", log)
check("first-token" not in log and "second-token" not in log, "tokens are not logged", log)
store.close()


def refused(*options, url="http://127.0.0.1:1"):
    done = subprocess.run([TOOL, url, "refused", *options], input="", capture_output=True, text=True, timeout=TIMEOUT)
    return done.returncode == 1 and done.stderr.count("\n") == 1 and done.stderr


for what, mode, text in (("for all to read", 0o604, "secret"), ("for the group to write", 0o620, "secret"),
                         ("empty", 0o600, ""), ("with a blank", 0o600, "a b"), ("of two lines", 0o600, "a\nb\n"),
                         ("too long", 0o600, "x" * 5000)):
    with open("bad", "w", encoding="ascii") as out:
        out.write(text)
    os.chmod("bad", mode)
    check(refused("token=bad"), f"a token file {what} is refused")
os.mkdir("folder")
check(refused("token=folder"), "a token file that is a directory is refused")
check(refused("token=missing"), "a token file that is not there is refused")
for url in ("no url", "ftp://127.0.0.1/", "http://me:secret@127.0.0.1/", "http://127.0.0.1/?x=1", "http://"):
    check(refused(url=url), f"the URL '{url}' is refused")
for option in ("label=1a:b", "label=__a:b", "label=a:", "label=a:b}", "label=a:b\nX: y", "application=", "application=a{b",
               "tenant=a\r\nX: y"):
    check(refused(option), f"{option!r} is refused")

# ---- TLS


def certificate(name, *options):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", name + ".key", "-out", name + ".pem", "-days", "2", "-subj", "/CN=" + name, *options],
                   check=True, capture_output=True)


if shutil.which("openssl"):
    certificate("right", "-addext", "subjectAltName=IP:127.0.0.1")
    certificate("wrong-name", "-addext", "subjectAltName=DNS:elsewhere.example")
    certificate("client")

    def tls(name, ask=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(name + ".pem", name + ".key")
        if ask:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations("client.pem")
        return Store(context=context)

    store = tls("right")
    counts, log = run(store.url, "authority=right.pem")
    check(counts["sent"] == 1 and form(*store.requests[0][1:3]).get("profile") == PROFILE, "TLS with a trusted certificate", f"{counts}\n{log}")
    for what, options in (("that no authority vouches for", []), ("of another authority", ["authority=client.pem"])):
        before = len(store.requests)
        counts, log = run(store.url, *options, holds=lambda counts: counts["failures"] >= 1)
        check(counts["failures"] >= 1 and counts["sent"] == 0 and counts["spooled"] == 1 and len(store.requests) == before
              and "certificate" in log, f"nothing is sent to a certificate {what}", f"{counts}\n{log}")
    plain = Store()
    store.answers = [{"status": 307, "headers": {"Location": plain.url}}]
    counts, log = run(store.url, "authority=right.pem", holds=lambda counts: counts["failures"] or counts["sent"])
    check(not plain.requests, "no redirection leaves TLS", f"{counts}\n{log}")
    plain.close()
    store.close()
    store = tls("wrong-name")
    counts, log = run(store.url, "authority=wrong-name.pem", holds=lambda counts: counts["failures"] >= 1)
    check(counts["failures"] >= 1 and counts["sent"] == 0 and not store.requests,
          "nothing is sent to a certificate of another name", f"{counts}\n{log}")
    counts, log = run(store.url, "verify=0")
    check(counts["sent"] == 1, "unless it is not to be verified", f"{counts}\n{log}")
    store.close()
    store = tls("right", ask=True)
    counts, log = run(store.url, "authority=right.pem", "certificate=client.pem", "key=client.key")
    check(counts["sent"] == 1, "a client's certificate", f"{counts}\n{log}")
    counts, log = run(store.url, "authority=right.pem", holds=lambda counts: counts["failures"] >= 1)
    check(counts["failures"] >= 1 and counts["sent"] == 0, "without it a store that asks for one takes nothing",
          f"{counts}\n{log}")
    store.close()
else:
    skip("TLS", needs("openssl"))

os.chdir("/")
end()
