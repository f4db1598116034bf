#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa top: the same cycles as pesa report, from a daemon and from its own event, printed and on a terminal."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from tap import BUILD, GUEST_CC, PESA, CROSS, bail_out, check, end, needs, skip
from terminal import TIMEOUT, TMUX, Terminal

SERVE = os.path.join(BUILD, "tests/tools/serve_intervals")
MAKE = os.path.join(BUILD, "tests/tools/make_profile")
BASE = 0x10000000

work = tempfile.TemporaryDirectory()
os.chdir(work.name)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
ENVIRONMENT.update(TMPDIR=work.name, LC_ALL="C.UTF-8")


def top(*options, **environment):
    return subprocess.run([PESA, "top", *options], capture_output=True, text=True, timeout=60, env={**ENVIRONMENT, **environment})


def documents(text):
    """The JSON objects, one after the other."""
    decoder, found = json.JSONDecoder(), []
    while text := text.strip():
        value, length = decoder.raw_decode(text)
        found.append(value)
        text = text[length:]
    return found


def stack_sum(stack):
    return sum(cycles for causes in stack.values() for cycles in causes.values())


# ---- A program, and two intervals of it

with open("spin.c", "w", encoding="ascii") as out:
    out.write("".join(f"void {name}(void) {{ for (volatile int i = 0; i < 100; i++); }}\n" for name in ("hot", "cold", "tepid")))
    out.write("void _start(void) { hot(); cold(); tepid(); }\n")
made = subprocess.run([GUEST_CC, "-O1", "-nostdlib", "-static", "-Wl,--build-id", "-o", "spin", "spin.c"], capture_output=True,
                      text=True)
if made.returncode:
    bail_out("cannot compile:", made.stderr)
listed = subprocess.run([CROSS + "nm", "spin"], capture_output=True, text=True, check=True).stdout
address = {name: int(value, 16) for value, _, name in (line.split() for line in listed.splitlines())}
headers = subprocess.run([CROSS + "readelf", "-lW", "spin"], capture_output=True, text=True, check=True).stdout
segment = re.search(r"LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)\s+0x\w+\s+R E", headers)
offset, start, length = (int(value, 16) for value in segment.groups())
STALLED, RETIRING, FLUSHED = 1, 0, 2


def interval(name, *samples):
    lines = ["arch riscv64", "event pesa/cycles/", "period 1000", "comm 7 7 spinner", "comm 7 8 helper", "comm 9 9 other"]
    page = start & ~0xfff
    lines += [f"map {pid} {page:#x} {length + 0x1000:#x} {offset & ~0xfff:#x} {os.path.abspath('spin')}" for pid in (7, 9)]
    for count, pid, tid, function, state, cause in samples:
        lines.append(f"sample {count} {pid} {tid} {address[function] + 8:#x} {state} {int(state == RETIRING)} 0 0 0 0 0 0 {cause}")
    done = subprocess.run([MAKE, name], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if done.returncode:
        bail_out("make_profile:", done.stderr)
    return os.path.abspath(name)


FILES = [interval("one.data", (50, 7, 7, "hot", STALLED, 8), (20, 7, 8, "cold", RETIRING, 0), (10, 9, 9, "cold", FLUSHED, 4)),
         interval("two.data", (40, 7, 7, "tepid", STALLED, 8), (30, 9, 9, "hot", RETIRING, 0))]


class Daemon:
    """Serves two intervals alternately."""

    def __init__(self, delay=30):
        self.socket = os.path.join(work.name, "pesad")
        with open("pesad.conf", "w", encoding="ascii") as out:
            out.write(f"[http]\nlisten =\nsocket = {self.socket}\n")
        self.process = subprocess.Popen([SERVE, "pesad.conf", str(delay), *FILES], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        deadline = time.monotonic() + TIMEOUT
        while not os.path.exists(self.socket) and time.monotonic() < deadline:
            time.sleep(0.02)

    def end(self):
        self.process.stdin.close()
        self.process.wait(TIMEOUT)


# ---- Printed

daemon = Daemon()
ask = ["-S", daemon.socket, "-d", "1"]
shown = top(*ask, "--once", "--json")
check(shown.returncode == 0 and not shown.stderr, "one interval as JSON", shown.stderr + shown.stdout)
one = documents(shown.stdout)[0]
reported = json.loads(subprocess.run([PESA, "report", "--json", "-i", "one.data"], capture_output=True, text=True).stdout)
ours = {(row["symbol"], row["dso"]): (row["cycles"], row["stack"]) for row in one["rows"]}
theirs = {(row["symbol"], row["dso"]): (row["cycles"], row["stack"]) for row in reported["functions"] if row["cycles"]}
check(ours == theirs and len(ours) == 2, "functions, cycles and stacks are those of pesa report", f"{ours}\n{theirs}")
check([row["symbol"] for row in one["rows"]] == ["hot", "cold"] and one["cycles"] == reported["cycles"] == 80000
      and one["samples"] == 80 and one["lost"] == 0, "in order, with the totals", one)
check(abs(sum(row["share"] for row in one["rows"]) + one["unattributed"] / one["cycles"] - 1) < 1e-9,
      "the shares and what is unattributed sum to one")

shown = documents(top(*ask, "-n", "2", "--json", "--view", "threads").stdout)
tasks = [{(row["pid"], row["tid"], row["name"]): row["cycles"] for row in one["rows"]} for one in shown]
check(sorted(tasks, key=len) == [{(7, 7, "spinner"): 40000, (9, 9, "other"): 30000},
                                 {(7, 7, "spinner"): 50000, (7, 8, "helper"): 20000, (9, 9, "other"): 10000}],
      "threads with their names, interval by interval", tasks)
for one in shown:
    check(sum(row["cycles"] for row in one["rows"]) == one["cycles"]
          and all(abs(stack_sum(row["stack"]) - row["cycles"]) < 1e-6 for row in one["rows"]), "threads: every cycle is there", one)
both = documents(top(*ask, "-n", "2", "--json", "--view", "processes", "--since-start").stdout)[-1]
check({(row["pid"], row["name"]): row["cycles"] for row in both["rows"]} == {(7, "spinner"): 110000, (9, "other"): 40000}
      and both["cycles"] == 150000 and both["since_start"], "processes, since the start", both)
some = documents(top(*ask, "-n", "2", "--json", "--sort", "retiring").stdout)
orders = sorted(tuple(row["symbol"] for row in one["rows"]) for one in some)
check(orders == [("cold", "hot"), ("hot", "tepid")], "sorted by a state", orders)
some = documents(top(*ask, "-n", "2", "--json", "--sort", "name", "--since-start").stdout)[-1]
check([row["symbol"] for row in some["rows"]] == ["cold", "hot", "tepid"], "sorted by name", some)
some = documents(top(*ask, "-n", "2", "--json", "--find", "tepid", "--since-start").stdout)[-1]
check([row["symbol"] for row in some["rows"]] == ["tepid"] and some["cycles"] == 150000, "only what is looked for, of all", some)
some = documents(top(*ask, "-n", "2", "--json", "-p", "9", "--since-start").stdout)[-1]
check({row["symbol"]: row["cycles"] for row in some["rows"]} == {"hot": 30000, "cold": 10000}, "one process alone", some)
some = documents(top(*ask, "-n", "2", "--json", "-t", "8", "--since-start").stdout)[-1]
check({row["symbol"]: row["cycles"] for row in some["rows"]} == {"cold": 20000}, "one thread alone", some)

shown = top(*ask, "--once")
lines = shown.stdout.splitlines()
check("\033" not in shown.stdout and any(re.search(r"spin +hot ", line) for line in lines) and "Largest buckets" in shown.stdout,
      "as text, without colour where there is no terminal", shown.stdout)
shown = top(*ask, "--once", "--color", "always")
check("\033[31m" in shown.stdout and "\033[1;31m" in shown.stdout, "in colour where it is wanted", shown.stdout)
check("and 1 more rows" in top(*ask, "--once", "--rows", "1").stdout, "so many rows")

# ---- On a terminal

if TMUX:
    terminal = Terminal(PESA, "top", *ask, "--since-start", environment=ENVIRONMENT)
    # Twice hot in one interval of the two: its row is never away for long.
    terminal.see("functions with bars and buckets", r"^pesa/cycles/, since the start: .* cycles, .* samples, 0 lost",
                 r"% +\S+ +[█▓▒░]+ +spin +hot +\S", r"% +\S+ +[█▓▒░]+ +spin +cold", r"retiring .*stalled .*flushed .*drained",
                 r"^functions, by cycles, 3 rows|^reading, functions")
    coloured = terminal.screen("-e")
    check(re.search(r"\033\[3[0-9;]*1m▓", coloured) and re.search(r"\033\[[0-9;]*32m█", coloured), "states have their colours",
          coloured)
    terminal.keys("v")
    terminal.see("v: threads", r"Process +Thread +Name", r"% +\S+ +\S+ +7 +7 spinner", r"7 +8 helper", r"9 +9 other")
    terminal.keys("v")
    terminal.see("v again: processes", r"Process +Name", r"% +\S+ +\S+ +7 +spinner", r"9 +other")
    terminal.keys("End")
    terminal.keys("Enter")
    terminal.see("enter: the functions of the marked process alone", r"of process 9", r"spin +hot", r"spin +cold")
    check("tepid" not in terminal.screen(), "and no others", terminal.screen())
    terminal.keys("Enter")
    terminal.see("enter: those of all again", r"spin +tepid")
    terminal.keys("s", "s")
    terminal.see("s: by another key", r"functions, by stalled")
    terminal.keys("S")
    terminal.see("S: back", r"functions, by retiring")
    terminal.keys("/", "tep")
    terminal.see("/: typing", r"show only rows with: tep_")
    terminal.keys("Enter")
    terminal.see("/: only such rows", r"1 rows with 'tep'", r"spin +tepid")
    check("cold" not in terminal.screen(), "no others", terminal.screen())
    terminal.keys("/", "BSpace", "BSpace", "BSpace", "Enter")
    terminal.see("an empty text shows all", r"spin +cold")
    terminal.keys("a")
    terminal.see("a: the last interval", r"last interval: ")
    terminal.keys("a")
    terminal.keys("p")
    terminal.see("p: paused", r"^PAUSED, ")
    terminal.wait(lambda screen: "reading" not in screen)
    before = terminal.screen()
    time.sleep(2.5)
    check(terminal.screen() == before, "nothing changes while it is paused", f"{before}\n{terminal.screen()}")
    terminal.keys("p")
    terminal.see("p: it goes on", r"^(reading, )?functions")
    terminal.wait(lambda screen: screen.splitlines()[0] != before.splitlines()[0])
    check(terminal.screen().splitlines()[0] != before.splitlines()[0], "and counts on", terminal.screen())
    terminal.keys("h")
    terminal.see("h: help", r"quit +h, \?", r"any key +back")
    terminal.keys("h")
    terminal.see("any key: back", r"spin +hot")
    terminal.resize(72, 12)
    terminal.see("a smaller terminal", r"spin +hot")
    screen = terminal.wait(lambda screen: "h: help" in screen)
    check(len(screen.splitlines()) <= 12 and all(len(line) <= 72 for line in screen.splitlines()) and "h: help" in screen,
          "everything is in it", screen)
    terminal.resize(150, 30)
    terminal.see("a larger one", r"spin +hot .*stalled .* \d+%", r"h: help")
    terminal.keys("z")
    terminal.see("z: anew", r"since the start: [78]0000|since the start: [0-9.]+k? cycles, (80|70|150) samples|0 samples")
    terminal.keys("q")
    terminal.see("q: the end, with the screen as it was", r"^status 0")
    check(not os.path.getsize("error") and not [name for name in os.listdir() if name.startswith("pesa-top")],
          "nothing is left behind", os.listdir())
    terminal.end()

    terminal = Terminal(PESA, "top", *ask, environment=ENVIRONMENT, NO_COLOR="1")
    terminal.see("with NO_COLOR", r"spin +hot")
    coloured = terminal.screen("-e")
    check(not re.search(r"\033\[[0-9;]*3[0-7]m", coloured), "there is no colour", coloured)
    daemon.end()
    terminal.see("a daemon that ends is reported", r"pesad: Failed to connect|pesad: Could|is pesad running")
    daemon = Daemon()
    terminal.see("one that is back is asked again", r"spin +hot", r"^(reading, )?functions")
    terminal.keys("C-c")
    terminal.see("Ctrl-C: the end", r"^status 0")
    terminal.end()
    terminal = Terminal(PESA, "top", *ask, environment=ENVIRONMENT, term="dumb")
    terminal.see("a terminal that cannot be drawn on is refused", r"^status 1")
    terminal.end()
else:
    skip("on a terminal", needs("tmux"))
daemon.end()

# ---- Its own event

busy = subprocess.Popen([sys.executable, "-c", "while True: sum(range(10000))"])
shown = top("-e", "task-clock", "-d", "0.3", "-n", "2", "--json", "--view", "processes", "-p", str(busy.pid))
if shown.returncode:
    skip("its own event", shown.stderr.strip())
else:
    last = documents(shown.stdout)[-1]
    check([row["pid"] for row in last["rows"]] == [busy.pid] and last["samples"] > 0
          and last["cycles"] == sum(row["cycles"] for row in last["rows"]), "its own event, of one process", last)
    check(last["event"].startswith("task-clock") and set(last["stack"]) == {"unknown"}, "a plain event has no cycle stacks", last)
    check(not [name for name in os.listdir() if name.startswith("pesa-top")], "its files are removed", os.listdir())
    busy.kill()
    busy.wait()
    shown = top("-e", "task-clock", "-d", "0.3", "-p", str(busy.pid), "--once")
    check(shown.returncode == 1 and shown.stderr.count("\n") == 1, "a process that is not there: one line", shown.stderr)
busy.kill()
busy.wait()

# ---- What is refused

for options in (["-e", "no-such-event", "--once"], ["-S", "/nowhere/socket", "--once"], ["--url", "http://127.0.0.1:1", "--once"]):
    shown = top(*options)
    check(shown.returncode == 1 and shown.stderr.count("\n") == 1 and not shown.stdout, f"{options}: one line, status 1",
          shown.stderr)
for options in (["--once", "-S", "a", "-e", "b"], ["--sort", "x"], ["--view", "x"], ["-d", "0"], ["-d", "0.5"], ["-n", "0"], ["-F", "100"],
                ["-p", "x"], ["-p", "1", "-t", "1"], ["x"], ["--find", "x" * 100], []):
    shown = top(*options)
    check(shown.returncode == 2 and shown.stderr, f"{options}: status 2", shown.stderr)
linked = subprocess.run(["ldd", PESA], capture_output=True, text=True).stdout
check("libcurl" not in linked and "ncurses" not in linked, "pesa itself is linked with neither libcurl nor ncurses", linked)

os.chdir("/")
end()
