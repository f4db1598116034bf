#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""First attempts of newcomers that fail: each is one line that says what to do, and Documentation/troubleshooting.md has it."""
import os
import re
import shutil
import subprocess
import tempfile

from tap import CROSS, GUEST_CC, NATIVE, PESA, QEMU, TOP, check, end, needs, skip

with open(os.path.join(TOP, "Documentation/troubleshooting.md"), encoding="utf-8") as file:
    page = " ".join(file.read().split())
# What the page says of messages, as patterns: "..." stands for anything.
patterns = [re.escape(quoted).replace(r"\.\.\.", ".+") for quoted in re.findall(r"`([^`]+)`", page)]
work = tempfile.mkdtemp(prefix="pesa-troubleshooting-")


def explained(message):
    return [pattern for pattern in patterns if len(pattern) > 12 and re.search(pattern, message)]


def write(name, data, mode=0o755):
    path = os.path.join(work, name)
    with open(path, "wb") as out:
        out.write(data)
    os.chmod(path, mode)
    return path


def elf(name, machine, bits=64):
    return write(name, b"\x7fELF" + bytes([bits // 32, 1, 1]) + bytes(9) + b"\x02\0" + machine.to_bytes(2, "little") +
                 b"\1\0\0\0" + bytes(64))


def attempt(what, words, advice, **environment):
    """pesa fails with one line, which says what to do and is on the page."""
    done = subprocess.run([PESA, *words], cwd=work, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
                          timeout=60)
    said = done.stderr
    check(done.returncode not in (0, 2) and said.count("\n") == 1 and re.search(advice, said), f"{what}: one line that says what to do",
          f"status {done.returncode}: {said}")
    check(explained(said), f"{what}: the page has the message", said)


guest = ["record", "--core", "ooo-4", "--"]
attempt("a program of another machine", [*guest, elf("foreign", 62)], "build it for RISC-V .*leave out the options")
attempt("a 32-bit program", [*guest, elf("narrow", 243, 32)], "64-bit")
attempt("a script", [*guest, write("script", b"#!/bin/sh\nexit 0\n")], "record its interpreter, '/bin/sh ")
attempt("a data file", [*guest, write("data", b"some text\n")], "name the program that reads it")
attempt("a program that is not there", [*guest, "./no-such-program"], "no program './no-such-program': build it")
attempt("a program that is not in PATH", [*guest, "no-such-program"], "install it, or give its path")
write("here", b"")
attempt("a program of this folder, without its folder", [*guest, "here"], r"the one of this folder is '\./here'")
attempt("a source", [*guest, write("source.c", b"", 0o644)], "not executable: 'chmod")
attempt("a folder", [*guest, work], "name a program in it")
attempt("a source, to be run by this machine", ["record", "-e", "cpu-clock", "--", "./source.c"], "not executable: 'chmod")
attempt("a source, to be counted", ["stat", "--", "./source.c"], "not executable: 'chmod")
attempt("no recording", ["report"], "record one with")
attempt("a program in place of a recording", ["report", "-i", elf("plain", 243)], "'pesa record' writes one")
attempt("an empty recording", ["report", "-i", write("empty.data", b"")], "record again")
attempt("the start of a recording", ["report", "-i", write("cut.data", b"PERFILE2h" + bytes(29))], "record or copy it again")
attempt("no emulator", [*guest, elf("plain", 243)], "install .*qemu-user", PESA_QEMU="no-such-emulator")
static = write("static", b"#!/bin/sh\n[ $1 != --version ] || echo qemu-riscv64 version 10.0.2\n")
attempt("an emulator without plugins", [*guest, elf("plain", 243)], "make emulator.*PESA_QEMU", PESA_QEMU=static)
old = write("old", b"#!/bin/sh\necho qemu-riscv64 version 6.2.0\n")
attempt("an emulator that is too old", [*guest, elf("plain", 243)], "needs 7.2 or newer", PESA_QEMU=old)
if not os.path.exists("/sys/bus/event_source/devices/pesa"):
    attempt("no driver", ["record", "--require", "details", "-a", "sleep", "1"],
            "--require details: the best source .*no PMU 'pesa'.*'pesa doctor'")
else:
    skip("no driver", "this machine has it")

if QEMU and shutil.which(GUEST_CC):
    source = write("program.c", b"long spin(long n)\n{\n\tlong s = 1;\n\tfor (long i = 0; i < n; i++)\n\t\ts = s * 7 + (s >> 3);\n"
                   b"\treturn s;\n}\nint main(int c, char **v)\n{\n\t(void)v;\n\treturn spin(400000 * c) == 7;\n}\n")

    def record(name, *flags):
        subprocess.run([GUEST_CC, "-O1", "-static", *flags, "-o", name, source], cwd=work, check=True)
        subprocess.run([PESA, "record", "-q", "--core", "inorder-2", "-o", f"{name}.data", "--", f"./{name}"], cwd=work, check=True)

    def shown(*words):
        return subprocess.run([PESA, *words], cwd=work, capture_output=True, text=True, check=False, timeout=120)

    subprocess.run([GUEST_CC, "-O1", "-static", "-x", "c", "-", "-o", "short"], cwd=work, input="int main(void) { return 0; }", text=True,
                   check=True)
    said = shown("record", "--core", "ooo-4", "-o", "short.data", "--", "./short").stderr.splitlines()
    check(len(said) == 2 and "'-c 256'" in said[1] and explained(said[1]), "few samples: a hint, and the page has it", said)
    record("bare")
    said = shown("annotate", "-i", "bare.data", "spin").stdout
    note = "".join(line for line in said.splitlines() if line.startswith("note: no debug"))
    check("spin has no source lines" in note and "build it with -g" in note and explained(note),
          "no debug information: a note says to build with -g, and the page has it", said[-600:])
    check("no debug" not in shown("annotate", "--no-source", "-i", "bare.data", "spin").stdout, "not where no source is wanted")
    with open(os.path.join(work, "bare.data"), "rb") as file:
        whole = file.read()
    attempt("half of a recording", ["report", "--stdio", "-i", write("half.data", whole[:len(whole) // 2])], "the rest is used")
    record("full", "-g")
    check("no debug" not in shown("annotate", "-i", "full.data", "spin").stdout, "nor where there is some")
    said = shown("annotate", "-i", "full.data", "no_such_function")
    check(said.returncode == 1 and said.stderr.count("\n") == 1 and explained(said.stderr), "a function that is not there", said.stderr)
    record("stripped")
    subprocess.run([CROSS + "strip", os.path.join(work, "stripped")], check=True)
    subprocess.run([PESA, "record", "-q", "--core", "inorder-2", "-o", "stripped.data", "--", "./stripped"], cwd=work, check=True)
    note = re.search(r"note: .*stripped.*", shown("report", "--stdio", "-i", "stripped.data").stdout)
    check(note and explained(note[0]), "a stripped program: the page has the note", note and note[0])
    if not NATIVE:
        subprocess.run([GUEST_CC, "-o", "dynamic", "-Wl,--dynamic-linker=/no/such/ld.so", source], cwd=work, check=True)
        attempt("a dynamic program without its libraries", [*guest, "./dynamic"], "--sysroot .*install it .*-static")
    else:
        skip("a dynamic program without its libraries", "this is a RISC-V machine")
else:
    skip("programs of one's own", needs("qemu-user" if not QEMU else "gcc-riscv64-linux-gnu"))
shutil.rmtree(work)
end()
