#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa report on a terminal: functions, callers, code at its hottest line, why, search, help, from 60 to 250 columns; and when it
is text."""
import json
import os
import re
import subprocess
import tempfile

from tap import BUILD, CROSS, GUEST_CC, PESA, check, end, needs, run, skip_all
from terminal import TMUX, Terminal

MAKE = os.path.join(os.path.abspath(BUILD), "tests/tools/make_profile")
RETIRING, STALLED, FLUSHED = 0, 1, 2
MISS, MISPREDICT = 8, 4
SOURCE = """
__attribute__((noinline)) long hot(long *at, long count)
{
	long sum = 0;

	while (count--)
		sum += at[sum & 7]; /* the load: LONG */
	return sum;
}

__attribute__((noinline)) long middle(long *at)
{
	return hot(at, 5) + 1;
}

__attribute__((noinline)) long other(long *at)
{
	return hot(at, 6) + 2;
}

long data[8];
void _start(void)
{
	data[0] = middle(data) + other(data);
}
"""

if not TMUX:
    skip_all(needs("tmux"))
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
ENVIRONMENT.update(TMPDIR=work.name, LC_ALL="C.UTF-8", PESA_PAGER="cat")


def make(name, *lines):
    run(MAKE, name, input="\n".join(lines) + "\n")


# ---- A program with callers, and what is known of it

with open("program.c", "w", encoding="ascii") as out:
    out.write(SOURCE.replace("LONG", "long " * 60))
run(GUEST_CC, "-g", "-O1", "-fno-optimize-sibling-calls", "-nostdlib", "-static", "-Wl,--build-id", "-o", "program", "program.c")
address = {name: int(value, 16) for value, _, name in (line.split() for line in run(CROSS + "nm", "program").splitlines())}
segment = re.search(r"LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)\s+0x\w+\s+R E", run(CROSS + "readelf", "-lW", "program"))
offset, start, length = (int(value, 16) for value in segment.groups())
code = re.findall(r"^ +([0-9a-f]+):\s+[0-9a-f]+\s+(\S+)", run(CROSS + "objdump", "-d", "--disassemble=hot", "program"), re.M)
load = next(int(place, 16) for place, mnemonic in code if mnemonic == "ld")
calls = {name: next(int(place, 16) for place, mnemonic in re.findall(
    r"^ +([0-9a-f]+):\s+[0-9a-f]+\s+(\S+)", run(CROSS + "objdump", "-d", "--disassemble=" + name, "program"), re.M)
    if mnemonic.startswith("jal")) + 4 for name in ("middle", "other", "_start")}
head = ["arch riscv64", "event pesa/cycles/", "period 1000", "chains", "comm 7 7 program",
        "capability cause_names 0:I$miss,1:ITLBmiss,2:mispredict,3:D$miss,4:DTLBmiss",
        f"map 7 {start & ~0xfff:#x} {length + 0x1000:#x} {offset & ~0xfff:#x} {work.name}/program"]


def sample(count, at, state, cause, *callers):
    return [f"chain {at:#x} " + " ".join(f"{caller:#x}" for caller in callers),
            f"sample {count} 7 7 {at:#x} {state} {int(state == RETIRING)} 0 0 0 0 0 {int(cause > 0)} {cause}"]


make("chains.data", *head, *sample(60, load, STALLED, MISS, calls["middle"], calls["_start"]),
     *sample(10, load, FLUSHED, MISPREDICT, calls["middle"], calls["_start"]),
     *sample(20, address["hot"], RETIRING, 0, calls["other"], calls["_start"]),
     *sample(10, address["other"], RETIRING, 0, calls["_start"]))
with open("chain.s", "w", encoding="ascii") as out:
    out.write(".globl _start\n.type _start, @function\n_start: li a1, 20000\n1: mul a2, a2, a2\nmul a2, a2, a2\naddi a1, a1, -1\n"
              "bnez a1, 1b\nli a7, 93\nli a0, 0\necall\n.size _start, . - _start\n")
run(CROSS + "gcc", "-march=rv64g", "-mabi=lp64d", "-nostdlib", "-static", "-o", "chain", "chain.s")
run(PESA, "record", "-q", "-c", "499", "-o", "model.data", "--", "./chain")
make("plain.data", *[line for line in head if line != "chains"], "plain", f"ip 50 7 7 {load:#x}")
make("empty.data", *head, "lost 3")


def report(*words, **options):
    return Terminal(PESA, "report", *words, environment=ENVIRONMENT, **options)


def marked_rows():
    return [line for line in terminal.screen("-e").splitlines() if re.search(r"\033\[([0-9]+;)*7[;m]", line)]


# ---- Functions, callers, code, why

terminal = report("-i", "chains.data")
terminal.see("functions with bars and buckets", r"^pesa/cycles/, 100k cycles, 100 samples, 0 lost", r"^ +90\.00% .*program +hot +stalled D\$miss 67%",
             r"^ +10\.00% .*program +other", r"^1 of 2 ")
coloured = terminal.screen("-e")
check(re.search(r"\033\[3[0-9;]*1m▓", coloured), "states have their colours", coloured)
terminal.keys("?")
terminal.see("?: help", r"Enter +functions: the code", r"any key +back")
terminal.keys("x")
terminal.see("any key: back", r"^1 of 2 ")
terminal.keys("c")
terminal.see("c: the callers", r"^Callers of hot: 90\.00% of all cycles, 90\.00% in the function itself", r"^ +90\.00% +90\.?0?k  - hot ",
             r"^ +70\.00% +\S+ +\+ middle", r"^ +20\.00% +\S+ +\+ other")
terminal.keys("Down", "Enter")
terminal.see("Enter: the callers of a caller", r"- middle +program\n +70\.00% +\S+ +_start")
terminal.keys("Enter")
terminal.see("... and closed", r"\+ middle +program\n +20\.00% +\S+ +\+ other")
terminal.keys("a")
terminal.see("a: its code", r"^middle: 0\.00% of all cycles")
terminal.keys("Escape")
terminal.see("Escape: back to the callers", r"^Callers of hot", r"^2 of 3 ")
terminal.keys("Escape")
terminal.see("... and to the functions", r"^1 of 2 ")
terminal.keys("Enter")
screen = terminal.see("Enter: the code", r"^hot: 90\.00% of all cycles", rf"70\.00%.* {load:x}  ld ", r"program\.c:7 .*sum \+= at")
marked = [line for line in terminal.screen("-e").splitlines() if "\033[7m" in line or re.search(r"\033\[[0-9;]*7[;m]", line)]
check(len(marked) == 1 and f"{load:x}" in marked[0], "at its hottest line", marked)
terminal.keys("Tab")
terminal.wait(lambda _: f"{address['hot']:x}" in "".join(marked_rows()))
terminal.see("Tab: the next hottest", r"^hot: ")
marked = marked_rows()
check(len(marked) == 1 and f"{address['hot']:x}" in marked[0], "which is the first instruction", marked)
terminal.keys("H", "w")
terminal.see("w: why", rf"^{load:x}  ld .* in hot", r"^70\.00% of all cycles", r"^ +85\.71% +60\.?0?k  stalled D\$miss +wait for data that missed the cache", r"try a layout that uses whole cache lines",
             r"^ +14\.29% +10\.?0?k  flushed mispredict +are lost after mispredicted branches")
terminal.keys("Escape", "/", "zzz", "Enter")
terminal.see("/: a text that is in no row", r"^no row with 'zzz'")
terminal.keys("/", "BSpace", "BSpace", "BSpace", "32m", "Enter")
terminal.see("/: colours are no text", r"^no row with '32m'")
terminal.keys("/", "BSpace", "BSpace", "BSpace", "ret", "Enter")
terminal.see("/: a row with the text", r"with 'ret'")
marked = [line for line in terminal.screen("-e").splitlines() if re.search(r"\033\[([0-9]+;)*7[;m]", line)]
check(len(marked) == 1 and "ret" in marked[0], "is selected", marked)
terminal.keys("Escape", "Escape")
terminal.see("Escape ends the search, and goes back", r"^1 of 2 ")
terminal.keys("/", "oth", "Enter")
terminal.see("/: only such functions", r"^1 of 1 with 'oth'", r"program +other")
check("hot " not in terminal.screen(), "no others", terminal.screen())
terminal.keys("Enter")
terminal.see("Enter: the code of that function", r"^other: 10\.00%")
terminal.keys("/", "jal", "Enter", "Enter")
terminal.see("Enter on a call: the code of what it calls", r"^hot: 90\.00%")

# ---- Any width

for width in (250, 160, 110, 80, 60):
    terminal.resize(width, 24)
    screen = terminal.see(f"{width} columns: address and instruction are whole", rf" {load:x}  ld +\w+, ?\d+\(\w+\)( |$)", r"^hot: ")
    screen = terminal.wait(lambda screen, most=width: all(len(line) <= most for line in screen.splitlines()))
    check(all(len(line) <= width for line in screen.splitlines()) and "program.c:7" in screen, f"{width} columns: nothing is beyond", screen)
terminal.resize(250, 24)
terminal.see("in 250 columns there is everything", r"Share +Cycles +Execs +Cyc/exec ±95% +Stack +Address +Instruction +Largest buckets")
terminal.keys("q")
terminal.see("q: the end, with the screen as it was", r"^status 0")
check(not os.path.getsize("error"), "without a message", open("error", encoding="utf-8").read())
terminal.end()

terminal = report("-i", "chains.data", "--sort", "dso,symbol,insn")
terminal.see("by instruction", r"ld .*hot")
terminal.keys("Enter")
terminal.see("Enter: its place in the code", rf"^hot: 90\.00%[\s\S]* {load:x}  ld ")
terminal.keys("C-c")
terminal.see("Ctrl-C: the end", r"^status 0")
terminal.end()
terminal = report("-i", "plain.data")
terminal.see("samples without details", r"no cycle stacks", r"100\.00% +50\.?0?k +program +hot")
terminal.keys("c")
terminal.see("without call chains: says so", r"no callers were recorded: pesa record -g")
terminal.keys("Escape", "w")
terminal.see("without states: says so", r"have no details: no states, no causes")
terminal.keys("q")
terminal.end()

terminal = report("-i", "model.data", width=160)
terminal.keys("w")
terminal.see("w, where the model is known: what it waited for", r"^[0-9a-f]+  mul +a2, a2, a2 +in _start", r"^ +waits for +\d+% chain: a2 of `mul a2, a2, a2`")
WHOLE = (r"try shorter chains of dependences: several accumulators, cheaper operations, or the slow one begun earlier ",
         r"waits for \d+% chain: a2 of `mul a2, a2, a2` at [0-9a-f]+, in a recurrence of 2 instructions, \d+ cycles a round ")
for width in (250, 110, 80, 60):
    terminal.resize(width, 24)
    screen = terminal.wait(lambda screen, most=width: all(re.search(one, " ".join(screen.split())) for one in WHOLE))
    check(all(re.search(one, " ".join(screen.split())) for one in WHOLE), f"w in {width} columns: nothing is cut", screen)
terminal.keys("?")
screen = terminal.see("?: the help in 60 columns", r"any key +back")
check(all(part in screen for part in ("go to a text", "jump or call", "Shift-Tab; H: the hottest", "what to try")), "nothing of it is cut", screen)
terminal.keys("x", "q")
terminal.end()

# ---- Text

for words, options, what in ((["--stdio"], {}, "--stdio"), (["--no-pager"], {}, "--no-pager"), ([], {"term": "dumb"}, "a dumb terminal")):
    terminal = report("-i", "chains.data", *words, **options, PATH=ENVIRONMENT["PATH"])
    terminal.see(f"{what}: text", r"Largest buckets[\s\S]*hot[\s\S]*status 0")
    terminal.end()
terminal = report("-i", "chains.data", term="unknown-terminal")
terminal.see("a terminal that cannot be drawn on: text", r"Largest buckets[\s\S]*hot[\s\S]*status 0")
check("unknown-terminal" in open("error", encoding="utf-8").read(), "... and a message", open("error", encoding="utf-8").read())
terminal.end()
terminal = report("-i", "chains.data", "--json")
terminal.see("--json: JSON", r"status 0")
terminal.end()
terminal = report("-i", "empty.data")
terminal.see("no samples: a message and status 1", r"status 1")
check("no samples" in open("error", encoding="utf-8").read(), "... that says so", open("error", encoding="utf-8").read())
terminal.end()
for words in (["--children"], ["-G"], []):
    narrow = run(PESA, "report", "-i", "chains.data", "--stdio", *words, env={**ENVIRONMENT, "COLUMNS": "60"})
    heading = re.search(r"^ *(?:Children +Self|Share) +Cycles .* Functi", narrow, re.M)
    check(heading, f"{' '.join(['text', *words])} in 60 columns: names have room", narrow)
piped = run(PESA, "report", "-i", "chains.data", env=ENVIRONMENT)
check("\033" not in piped and "hot" in piped and not json.loads(run(PESA, "report", "-i", "chains.data", "--json"))["lost"], "in a pipe: text", piped)
linked = subprocess.run(["ldd", PESA], capture_output=True, text=True).stdout
check("ncurses" not in linked, "pesa itself is not linked with ncurses", linked)
os.chdir("/")
end()
