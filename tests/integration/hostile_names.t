#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile names of binaries, threads, functions, files, regions, models and command lines.  In all output, the only control characters
are those that pesa makes itself, and no name adds a line.  JSON has the exact names.

The test uses Python's table of characters, not pesa's."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unicodedata

from tap import BUILD, CROSS, GUEST_CC, PESA, QEMU, bail_out, check, command, end, plain_environment, skip

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
# Escape sequences (title, clear screen), CSI as a byte and as a character, a right-to-left override, an isolate, line and paragraph
# separators, invisible characters, invalid UTF-8, a line break with a forged line, markup.
NASTY = (b"\x1b]0;t\x07\x1b[2J\x1b[31mred\x9b31m\xc2\x9b5m\xe2\x80\xaegnp\xe2\x81\xa6i\xe2\x80\xa8l\xe2\x80\xa9p\xe2\x80\x8bz\xf3\xa0\x81\x81"
         b"\xff\xc3\x7f\x08\nFORGED: line\r<i>\t.x")
SHORT = b"\x1b[2J\xe2\x80\xae\n\xfft\x07"  # of a thread: 15 bytes
OURS = re.compile(r"\x1b\[(0|1|2|31|32|34|35|36|1;31|0;1;31|0;1;33|0;1;35|0;1;36)m")
work = tempfile.mkdtemp(prefix="pesa-hostile-")
os.chdir(work)
plain = plain_environment(work)
plain["HOME"] = work
plain.pop("DEBUGINFOD_URLS", None)


def problems(output, colours=False):
    """Characters that are unsafe on a terminal, and lines that a name has added."""
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"not UTF-8: {error}"]
    text = text.replace("\r\n", "\n")  # of CSV
    if colours:
        text = OURS.sub("", text)
    bad = sorted({f"{character!a}" for character in text
                  if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and character not in "\n\t"})
    return bad + [line for line in text.splitlines() if line.startswith("FORGED")]


def token(name):
    """A harmless word of the same length, which is replaced where only its length matters."""
    return (b"SHORT_" if name == SHORT else b"HOSTILE_") + b"N" * (len(name) - (6 if name == SHORT else 8))


def poison(path):
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data.replace(token(NASTY), NASTY).replace(token(SHORT), SHORT))


def make(name, *lines):
    made = subprocess.run([MAKE, name], input=b"\n".join(lines), capture_output=True)
    if made.returncode:
        bail_out("make_profile:", made.stderr.decode())
    poison(name)


def run(*words, **options):
    return subprocess.run([PESA, *words], capture_output=True, timeout=120, env=plain, stdin=options.pop("stdin", subprocess.DEVNULL),
                          **options)


def strings(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def shown(what, *words, colours=False, needs=b"", succeeds=True):
    """Run a command; check that its output is safe, and contains `needs`, so that the name was printed."""
    done = run(*words)
    bad = problems(done.stdout, colours) + problems(done.stderr, colours)
    if needs not in done.stdout + done.stderr:
        bad.append(f"{needs} is not shown")
    if succeeds is not None and (done.returncode == 0) != succeeds:
        bad.append(f"status {done.returncode}")
    check(not bad, what, f"{bad}\n{done.stdout[-3000:]!a}\n{done.stderr[-1500:]!a}")
    return done


def as_json(what, text, needs=NASTY.decode("utf-8", "replace")):
    """Check that JSON is valid, has no unescaped control character, and has the exact name."""
    bad = problems(text)
    try:
        values = [json.loads(text)]
    except ValueError:
        try:
            values = [json.loads(line) for line in text.splitlines()]
        except ValueError as error:
            values = []
            bad.append(f"no JSON: {error}")
    if not any(needs in string for string in strings(values)):
        bad.append("the name is not there")
    check(not bad, what, f"{bad}\n{text[:3000]!a}")


# ---- A recording of which every name is hostile

os.makedirs(b"root/" + NASTY)
source = NASTY + b".c"
with open(b"root/" + NASTY + b"/" + source, "wb") as out:
    out.write(b"/* " + NASTY.replace(b"\n", b" ") + b" */ __attribute__((noinline)) long " + token(NASTY) + b"(long n)\n{\n"
              b"\treturn n * 3; /* " + NASTY.replace(b"\n", b" ") + b" */\n}\nvoid _start(void)\n{\n\t" + token(NASTY) + b"(9);\n}\n")
binary = NASTY + b"/program" + NASTY
built = subprocess.run([GUEST_CC, "-O1", "-g", "-nostdlib", "-static", "-Wl,--build-id", "-Wl,-Ttext=0x400000", "-o", "program", source],
                       cwd=b"root/" + NASTY, capture_output=True)
if built.returncode:
    bail_out("no guest:", built.stderr.decode(errors="replace"))
os.rename(b"root/" + NASTY + b"/program", b"root/" + binary)
listed = command(CROSS + "nm", b"root/" + binary).stdout
start = int(re.search(rb"([0-9a-f]+) T HOSTILE", listed).group(1), 16)
segment = re.search(rb"LOAD +0x([0-9a-f]+) +0x0*([0-9a-f]+) [^\n]*R E", command(CROSS + "readelf", "-lW", b"root/" + binary).stdout)
offset = int(segment.group(1), 16) + 0x400000 - int(segment.group(2), 16)
poison(b"root/" + binary)
os.makedirs("root/tmp")
with open("root/tmp/perf-8.map", "wb") as out:
    out.write(b"10000 100 jit_" + NASTY.replace(b"\n", b" ") + b"\n")
HEAD = [b"command ./" + token(NASTY) + b" " + token(NASTY), b"capability retire_width 2", b"period 1000",
        b"comm 7 7 " + token(SHORT), b"comm 8 8 " + token(SHORT)]
PATH = b"/" + token(NASTY) + b"/program" + token(NASTY)
BODY = [b"map 7 0x400000 0x1000 %#x %s" % (offset, PATH), b"map 8 0x10000 0x1000 0 //anon",
        b"map 7 0x900000 0x1000 0 /" + token(NASTY) + b"/missing",
        b"fork 9 7", b"comm 9 9 " + token(SHORT), b"exit 9", b"lost 3",
        b"sample 40 7 7 %#x 1 0 0 0 0 0 0 0 0 0" % start, b"sample 30 7 7 %#x 0 2 1 0 %#x 0 0 0 0 0" % (start + 2, start),
        b"sample 20 8 8 0x10010 1 0 0 0 0 0 0 0 0 0", b"sample 10 7 7 0x900010 1 0 0 0 0 0 0 0 0 0"]
make("hostile.data", *HEAD, *BODY)
make("named.data", b"event " + token(NASTY), *HEAD, *BODY)
make("plain.data", *HEAD, b"plain", BODY[0], BODY[2], b"ip 40 7 7 %#x" % start, b"ip 20 7 7 0x900010")
make("exact.data", *HEAD, BODY[0], b"exact 7 %#x 20 1:0:1:40" % start)
shutil.copy("hostile.data", NASTY)
IN = ("-i", "hostile.data", "--symfs", "root")
ESCAPED = b"\\x1b[2J"

for name in ("hostile.data", "named.data", "plain.data"):
    there = ("-i", name, "--symfs", "root")
    shown(f"report of {name}", "report", *there, needs=ESCAPED)
    shown(f"report of {name}, in colour", "report", "--color", "always", *there, colours=True, needs=ESCAPED)
    shown(f"annotate of {name}", "annotate", "--full", *there, needs=ESCAPED)
    shown(f"annotate of {name}, in colour", "annotate", "--color", "always", *there, colours=True, needs=ESCAPED)
    shown(f"script of {name}", "script", "--show-events", *there, needs=ESCAPED)
    shown(f"topdown of {name}", "topdown", "--by", "symbol", *there, needs=ESCAPED, succeeds=None)
    as_json(f"report --json of {name}", run("report", "--json", *there).stdout)
    as_json(f"annotate --json of {name}", run("annotate", "--json", *there).stdout)
    as_json(f"script --json of {name}", run("script", "--json", "--show-events", *there).stdout)
for by in ("symbol", "line", "insn", "dso", "dso,symbol"):
    shown(f"report --sort {by}", "report", "--sort", by, *IN, needs=ESCAPED)
for by in ("symbol", "line", "thread"):
    shown(f"topdown --by {by}", "topdown", "--by", by, *IN, needs=ESCAPED)
    shown(f"topdown --by {by}, in colour", "topdown", "--color", "always", "--by", by, *IN, colours=True, needs=ESCAPED)
as_json("topdown --json", run("topdown", "--json", "--by", "symbol", *IN).stdout)
as_json("script --json, thread", run("script", "--json", *IN).stdout, SHORT.decode("utf-8", "replace"))
for by in ("symbol", "line", "insn"):
    shown(f"diff --by {by}", "diff", "--symfs", "root", "--by", by, "named.data", "hostile.data", needs=ESCAPED, succeeds=None)
as_json("diff --json", run("diff", "--json", "--symfs", "root", "named.data", "hostile.data").stdout)
shown("error", "error", *IN, "--golden", "exact.data", succeeds=None)
shown("error, with a hostile path", "error", *IN, "--golden", NASTY, succeeds=None, needs=ESCAPED)
shown("compare", "compare", *IN, "--mcpu", "sifive-p670", succeeds=None, needs=ESCAPED)
as_json("compare --json", run("compare", "--json", *IN, "--mcpu", "sifive-p670").stdout)

# ---- Exports

for form in ("folded", "csv"):
    for by in ("symbol", "line", "insn"):
        done = shown(f"export {form} --by {by}", "export", *IN, "--format", form, "--by", by, needs=ESCAPED)
        run("export", *IN, "--format", form, "--by", by, "-o", f"{form}.{by}")
        with open(f"{form}.{by}", "rb") as file:
            check(file.read() == done.stdout, f"export {form} --by {by}: a file holds what a terminal gets")
for form in ("speedscope", "firefox"):
    as_json(f"export {form}", run("export", *IN, "--format", form).stdout)
run("export", *IN, "--format", "pprof", "-o", "there.pb.gz")
with open("there.pb.gz", "rb") as file:
    check(file.read() == run("export", *IN, "--format", "pprof").stdout, "export pprof: its bytes reach a pipe as they reach a file")
for words in (("report",), ("topdown",), ("compare", "--mcpu", "sifive-p670")):
    shown(f"{words[0]} --html", *words, *IN, "--html", "page.html", succeeds=None)
    with open("page.html", "rb") as file:
        page = file.read()
    check(not problems(page) and b"<i>" not in page and b"HOSTILE" not in page and (b"2Jx" in page or b"[2J" in page),
          f"{words[0]} --html: nothing raw in the page", f"{problems(page)}")

# ---- Messages: of archives, merges, files that are missing or no recordings

shown("archive", "archive", *IN, "-o", "out.tar", needs=ESCAPED)
shown("archive with a hostile name", "archive", *IN, "-o", NASTY + b".tar", needs=ESCAPED)
shown("report of an archive with a hostile name", "report", "-i", NASTY + b".tar", needs=ESCAPED)
as_json("archive --json", run("archive", *IN, "-o", "out.tar", "--json").stdout)
shown("merge", "merge", "-o", NASTY + b".merged", "hostile.data", "named.data", needs=ESCAPED)
shown("merge of what is not there", "merge", "-o", "m.data", NASTY + b"no", needs=ESCAPED, succeeds=False)
with open(NASTY + b".empty", "wb") as file:
    file.write(b"no recording")
for name in ("report", "script", "annotate", "topdown", "compare"):
    more = ("--mcpu", "sifive-p670") if name == "compare" else ()
    shown(f"{name} of what is not there", name, "-i", NASTY + b"no", *more, needs=ESCAPED, succeeds=False)
    shown(f"{name} of no recording", name, "-i", NASTY + b".empty", *more, needs=ESCAPED, succeeds=False)
shown("export of what is not there", "export", "-f", "csv", "-i", NASTY + b"no", needs=ESCAPED, succeeds=False)
shown("diff of what is not there", "diff", NASTY + b"no", "hostile.data", needs=ESCAPED, succeeds=False)
shown("annotate of no function", "annotate", *IN, NASTY, needs=ESCAPED, succeeds=None)
shown("report of no event", "report", *IN, "--event", NASTY, needs=ESCAPED, succeeds=False)
shown("no command", NASTY.replace(b"\n", b""), needs=ESCAPED, succeeds=False)
shown("no option", "report", b"--" + NASTY.replace(b"\n", b""), succeeds=False)
shown("list of no event", "list", NASTY.replace(b"\n", b""), NASTY.replace(b"\n", b""), needs=ESCAPED, succeeds=False)

# ---- Models, assembly, traces

with open("regions.s", "wb") as out:
    one = NASTY.replace(b"\n", b" ").replace(b"\r", b"")
    out.write(b"# LLVM-MCA-BEGIN " + one + b"\nadd a0, a0, a1\n# LLVM-MCA-END\n")
shown("mca: a region", "mca", "-mcpu=sifive-p670", "regions.s", needs=ESCAPED)
as_json("mca: a region, JSON", run("mca", "-mcpu=sifive-p670", "-json", "regions.s").stdout, "\x1b[2J")
run("mca", "-mcpu=sifive-p670", "-o", "regions.txt", "regions.s")
with open("regions.txt", "rb") as file:
    check(not problems(file.read()), "mca: a region in a file")
with open("unknown.s", "wb") as out:
    out.write(b"frobnicate" + one + b"\nadd a0, a0, a1\n")
shown("mca: an unknown instruction", "mca", "-mcpu=sifive-p670", "unknown.s", succeeds=False)
with open("open.s", "wb") as out:
    out.write(b"# LLVM-MCA-END " + one + b"\nadd a0, a0, a1\n")
shown("mca: a marker without its partner", "mca", "-mcpu=sifive-p670", "open.s", needs=ESCAPED, succeeds=False)
shutil.copy("open.s", NASTY + b".s")
shown("mca: a file with a hostile name", "mca", "-mcpu=sifive-p670", NASTY + b".s", needs=ESCAPED, succeeds=False)
with open(NASTY + b".model", "wb") as out:
    out.write(b"pesa-processor-model 1\n" + one + b" x\n")
shown("mca: a hostile model", "mca", b"-mcpu=./" + NASTY + b".model", "regions.s", needs=ESCAPED, succeeds=False)
shown("mca: no such processor", "mca", b"-mcpu=" + NASTY, "regions.s", needs=ESCAPED, succeeds=False)
with open("trace", "wb") as out:
    out.write(b"O3PipeView:fetch:" + one + b":0x10000:0:1:" + one + b"\n" + one + b"\n")
shown("import: a hostile trace", "import", "-o", "imported.data", "trace", succeeds=None)
shutil.copy("trace", NASTY + b".trace")
shown("import: a trace with a hostile name", "import", "-o", "imported.data", NASTY + b".trace", needs=ESCAPED, succeeds=None)
shown("import: no trace", "import", "-o", "imported.data", NASTY + b"no", needs=ESCAPED, succeeds=False)

# ---- Recording, counting, and the daemon

shown("record of what is not there", "record", "--core", "ooo-4", "--", NASTY + b"no", succeeds=False, needs=ESCAPED)
shown("stat of what is not there", "stat", "--", NASTY + b"no", succeeds=False, needs=ESCAPED)
if QEMU:
    with open("guest.c", "wb") as out:
        out.write(b'void _start(void) { register long number __asm__("a7") = 93, status __asm__("a0") = 0;'
                  b' for (volatile int i = 0; i < 10000; i++); __asm__ volatile("ecall" : : "r"(number), "r"(status)); }')
    subprocess.run([GUEST_CC, "-O1", "-nostdlib", "-static", "-o", NASTY + b".guest", "guest.c"], check=True)
    shown("record of a program with a hostile name", "record", "--core", "ooo-4", "-c", "1000", "-o", "guest.data", "--",
          b"./" + NASTY + b".guest")
    shown("script of its recording", "script", "--show-events", "-i", "guest.data", needs=b"\\x1b")
else:
    skip("record of a program with a hostile name", "needs the package qemu-user")
with open(NASTY + b".conf", "wb") as out:
    out.write(one + b" = " + one + b"\n")
for path in (NASTY + b".conf", NASTY + b"no"):
    done = subprocess.run([os.path.join(BUILD, "bin/pesad"), "--config", path], capture_output=True, timeout=60, env=plain)
    check(done.returncode and ESCAPED in done.stderr and not problems(done.stderr), "pesad: a hostile configuration",
          f"{problems(done.stderr)} {done.stderr!a}")

os.chdir("/")
shutil.rmtree(os.fsencode(work))
end()
