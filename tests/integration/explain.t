#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa explain on a recording with known samples: shares, reasons, callers, bounds; and every command that it names runs."""
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile

from tap import BUILD, PESA, CROSS, bail_out, check, end

MAKE = os.path.abspath(os.path.join(BUILD, "tests/tools/make_profile"))
BASE, USER = 0x400000, 0xfffffffffffffe00
PROGRAM = """
.text
.globl work, first, second, _start
.type work, @function
work: lw a1, 0(a0)
beqz a1, 1f
mul a2, a1, a1
1: ret
.size work, . - work
.type first, @function
first: call work
ret
.size first, . - first
.type second, @function
second: call work
ret
.size second, . - second
.type _start, @function
_start: call first
call second
.size _start, . - _start
"""


def run(*command, **named):
    return subprocess.run(command, capture_output=True, text=True, check=False, **named)


def pesa(*arguments):
    return run(PESA, *arguments)


def explained(*arguments):
    done = pesa("explain", "--json", *arguments)
    return {section["name"]: section for section in json.loads(done.stdout)["sections"]} if done.stdout else {}


work = tempfile.mkdtemp(prefix="pesa-explain-")
os.chdir(work)
with open("program.s", "w", encoding="ascii") as file:
    file.write(PROGRAM)
run(CROSS + "gcc", "-march=rv64g", "-mabi=lp64d", "-nostdlib", "-static", "-Wl,--build-id", f"-Wl,-Ttext={BASE:#x}", "-Wl,--no-relax",
    "-o", "program", "program.s")
symbols = {word[2]: int(word[0], 16) for word in (line.split() for line in run(CROSS + "nm", "program").stdout.splitlines())}
segment = re.search(r"LOAD +0x([0-9a-f]+) +0x0*([0-9a-f]+) [^\n]*R E", run(CROSS + "readelf", "-lW", "program").stdout)
if not segment or "work" not in symbols:
    bail_out("no program", symbols)
at = symbols["work"]


def sample(count, address, state, instret, cause):
    return f"sample {count} 7 7 {address:#x} {state} {instret} 0 0 0 0 0 {1 if cause else 0} {cause}"


# Of 1000 samples 800 are in work: 400 wait for the load, which missed the cache, 100 for one that missed the TLB as well,
# 200 are lost after the branch, 100 retire; 500 of them were called by first, 300 by second.
lines = ["command ./program", "period 1000", "capability retire_width 2",
         "capability cause_names 0:I$miss,1:ITLBmiss,2:mispredict,3:D$miss,4:DTLBmiss,9:alloc-blocked", "chains", "comm 7 7 program",
         f"map 7 {BASE:#x} 0x1000 {int(segment[1], 16) + BASE - int(segment[2], 16):#x} {work}/program",
         f"chain {USER:#x} {at:#x} {symbols['first'] + 4:#x} {symbols['_start'] + 4:#x}",
         sample(400, at, 1, 0, 8), sample(100, at, 1, 0, 8 | 16),
         f"chain {USER:#x} {at + 4:#x} {symbols['second'] + 4:#x} {symbols['_start'] + 12:#x}",
         sample(200, at + 4, 2, 0, 4), sample(100, at + 8, 0, 1, 0),
         f"chain {USER:#x} {symbols['first']:#x} {symbols['_start'] + 4:#x}", sample(120, symbols["first"], 3, 0, 0),
         sample(60, symbols["first"], 3, 0, 1 << 9), sample(20, symbols["first"], 1, 0, 1 << 9)]
made = run(MAKE, "perf.data", input="\n".join(lines) + "\n")
if made.returncode:
    bail_out("make_profile:", made.stderr)

sections = explained()
where, why, who, advice = (" | ".join(sections[name]["claims"]) for name in ("where", "why", "who", "try"))
check(where.startswith("80.00% of all: 800k cycles"), "the hottest function, and its share", where)
check(re.search(rf"\| 62\.5% of its cycles at {at:x}: lw a1, 0\(a0\)", where), "its hottest instruction", where)
check(re.search(rf"50\.0% of its cycles wait for data that missed the cache, 100% of these at {at:x}: lw", why), "what it waits for", why)
check("12.5% of its cycles wait for data that missed the TLB" in why, "a TLB miss is a reason of its own", why)
check(re.search(rf"25\.0% of its cycles are lost after mispredicted branches, 100% of these at {at + 4:x}: beqz", why), "flushes", why)
check("12.5% of its cycles retire instructions" in why, "useful cycles", why)
check(why.index("50.0%") < why.index("25.0%") < why.index("12.5%"), "the largest reason is first", why)
check(who == "62.5% of its cycles when called by first | 37.5% of its cycles when called by second", "who calls it", who)
check("prefetch" in advice and "at most 40.0% fewer" in advice and "at most 20.0% fewer" in advice,
      "what to try, and the most that it could save", advice)
called = explained("first")
check(called["who"]["claims"] == ["100.0% of its cycles when called by _start"], "another function", called)
why = " | ".join(called["why"]["claims"])
check("60.0% of its cycles wait for the front end," in why and "30.0% of its cycles wait for older stores, which fill the store queue," in why
      and "10.0% of its cycles wait for results that take long," in why, "the front end, stores and latencies are told apart", why)
for section in sections.values():
    done = run(PESA, *shlex.split(section["more"])[1:])
    check(done.returncode == 0 and done.stdout and section["more"].startswith("pesa "), f"{section['more']} runs", done.stderr)
# Of a program whose multiplications wait for each other, on a core whose model is known.
with open("chase.s", "w", encoding="ascii") as file:
    file.write(""".text
.globl _start, chase
.type chase, @function
chase: li a2, 3
li a1, 20000
1: mul a2, a2, a2
mul a2, a2, a2
addi a1, a1, -1
bnez a1, 1b
ret
.size chase, . - chase
.type _start, @function
_start: call chase
li a7, 93
li a0, 0
ecall
.size _start, . - _start
""")
built = run(CROSS + "gcc", "-march=rv64g", "-mabi=lp64d", "-nostdlib", "-static", "-Wl,-e,_start", "-o", "chase", "chase.s")
recorded = run(PESA, "record", "-q", "-c", "499", "-o", "chase.data", "--", "./chase")
waits = explained("chase", "-i", "chase.data")
check(any(re.search(r"mul a2, a2, a2 waits [\d.]+ cycles: \d+% ", claim) for claim in waits["why"]["claims"]) and
      "annotate -i chase.data --why chase" in waits["why"]["more"], "what its multiplications waited for, as annotate --why says",
      (waits, built.stderr, recorded.stderr))
check(any(re.search(r"^if .* of all cycles saved \(", claim) for claim in waits["try"]["claims"]), "and what would be won", waits["try"])
for section in waits.values():
    done = run(PESA, *shlex.split(section["more"])[1:])
    check(done.returncode == 0 and done.stdout, f"{section['more']} runs", done.stderr)
text = pesa("explain").stdout
check(all(re.search(rf"^{title} +pesa ", text, re.M) for title in ("Where", "Why", "Who", "Try")) and len(text.splitlines()) < 50,
      "the text has each section with its command, on one screen", text)
check("do you mean 'first'?" in pesa("explain", "frist").stderr and pesa("explain", "frist").returncode == 1, "a mistyped name")
run(MAKE, "plain.data", input="\n".join(["command ./program", "period 1000", "plain", "comm 7 7 program", lines[6],
                                         f"ip 50 7 7 {at:#x}"]) + "\n")
plain = explained("-i", "plain.data")
check("no cycle stacks" in str(plain["why"]) and "pesa record -g" in str(plain["who"]) and " -i plain.data" in plain["where"]["more"],
      "samples without details or chains: said so", plain)
shutil.rmtree(work)
end()
