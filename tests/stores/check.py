#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What pesad pushes, beside what the profile stores' own clients read and send.

@parca/client is Parca's description of its messages: a request that has a name too many or a value of another type does not
parse.  @pyroscope/nodejs sends its profiles to the endpoint that pesad uses, in a form as
pesad does (its newer versions send the profile alone, which servers take as well).  Both come from the npm registry into a folder of
the cache, so this is no part of make check: make profile-stores.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

# pylint: disable=wrong-import-position
from profile_store import Pusher, Store, form
from tap import GUEST_CC, PESA, bail_out, check, command, end

cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pesa", "stores")
work = tempfile.TemporaryDirectory()
WANTED = {"application": "board.cpu", "from": 1700000000, "until": 1700000060, "token": "secret", "tenant": "team"}


def install():
    """The clients in one file; its path."""
    program = os.path.join(cache, "client.mjs")
    bundle = os.path.join(cache, "client-bundle.mjs")
    os.makedirs(cache, exist_ok=True)
    for name in ("package.json", "client.mjs"):
        shutil.copy(os.path.join(HERE, name), cache)
    for words in (["npm", "install", "--no-audit", "--no-fund"],
                  [os.path.join(cache, "node_modules/.bin/esbuild"), program, "--bundle", "--platform=node", "--format=esm",
                   "--external:@datadog/pprof", "--log-level=error", f"--outfile={bundle}",
                   "--banner:js=import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"]):
        try:
            done = subprocess.run(words, cwd=cache, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            bail_out(f"'{words[0]}' is not installed: the clients come from the npm registry")
        if done.returncode:
            bail_out(f"'{' '.join(words[:2])}' failed: {done.stderr.strip()}")
    return bundle


def client(*words, body):
    return subprocess.run(["node", bundle, *words], input=body, capture_output=True, timeout=60, check=False)


def push(*options):
    """Push the profile; the request that the store got, and the pusher's log."""
    store = Store()
    pusher = Pusher(store.url, *options)
    pusher.offer("profile", WANTED["from"], WANTED["until"])
    counts = pusher.wait(lambda counts: counts["sent"] >= 1)
    log = pusher.end()
    store.close()
    check(len(store.requests) == 1, "one request", f"{counts}\n{log}")
    return store.requests[0][:3]


def endpoint(path):
    """Where a request goes, and its parameters."""
    parts = urllib.parse.urlsplit(path)
    return parts.path, dict(urllib.parse.parse_qsl(parts.query))


bundle = install()
os.chdir(work.name)
os.umask(0o077)
with open("loop.c", "w", encoding="ascii") as source:
    source.write("int main(void) { volatile long x = 0; for (int i = 0; i < 200000; i++) x += i; return 0; }\n")
for words in ([GUEST_CC, "-O1", "-g", "-static", "-o", "loop", "loop.c"], [PESA, "record", "-q", "-o", "loop.data", "--", "./loop"],
              [PESA, "export", "--format", "pprof", "-i", "loop.data", "-o", "profile"]):
    done = command(*words)
    if done.returncode:
        bail_out(f"'{' '.join(words[:3])}': {done.stderr.decode()}")
with open("profile", "rb") as file:
    profile = file.read()
with open("token", "w", encoding="ascii") as file:
    file.write(WANTED["token"] + "\n")

# ---- Parca

path, headers, body = push("kind=parca", "application=board", "label=host:h'1", "tenant=team")
done = client("parca", body=body)
if check(done.returncode == 0, "Parca's client parses the request", done.stderr.decode()):
    read = json.loads(done.stdout)
    series = read["series"][0]
    check(read["tenant"] == "team" and len(read["series"]) == 1 and len(series["samples"]) == 1, "one series of the tenant", read)
    check(dict(series["labels"]) == {"__name__": "process_cpu", "job": "board", "host": "h'1"}, "its labels", series["labels"])
    check(series["samples"][0]["sha256"] == hashlib.sha256(profile).hexdigest(), "the profile, byte for byte", series)
    check(series["samples"][0]["pprof_samples"] > 0, "its samples are read by a parser of pprof", series)
done = client("parca", body=body.replace(b'"series"', b'"serie"', 1))
check(done.returncode != 0, "a request with a wrong name is refused by it")

# ---- Pyroscope

ours = push("kind=pyroscope", f"application={WANTED['application']}", "token=token", f"tenant={WANTED['tenant']}")
store = Store()
done = client("pyroscope", store.url, json.dumps(WANTED), body=profile)
store.close()
if check(len(store.requests) == 1, "Pyroscope's client sends the same profile", done.stderr.decode()):
    theirs = store.requests[0]
    (our_path, our_query), (their_path, their_query) = endpoint(ours[0]), endpoint(theirs[0])
    check(our_path == their_path, "the same path", f"{our_path}, {their_path}")
    for name in ("name", "from", "until", "format"):
        check(our_query.get(name) == their_query.get(name), f"the same {name}", f"{our_query}, {their_query}")
    check(set(our_query) - set(their_query) <= {"units", "aggregationType"}, "no other parameter that is not documented",
          f"{our_query}, {their_query}")
    ours_named, theirs_named = ({name.lower(): value for name, value in one[1].items()} for one in (ours, theirs))
    for name in ("authorization", "x-scope-orgid"):
        check(ours_named.get(name) == theirs_named.get(name), f"the same header {name}",
              f"{ours_named.get(name)}, {theirs_named.get(name)}")
    our_form, their_form = form(*ours[1:]), form(*theirs[1:3])
    check(our_form.get("profile") == profile and "profile" in their_form, "the profile is in the same field of a form",
          f"{our_form.keys()}, {their_form.keys()}")
end()
