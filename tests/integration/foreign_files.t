#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that a recording names, and that another user may have replaced: no command waits for one, runs out of memory, or trusts
a file that belongs neither to root nor to its user."""
import os
import re
import shutil
import stat
import struct
import subprocess
import tempfile

from tap import BUILD, CROSS, GUEST_CC, PESA, bail_out, check, command, end, plain_environment, skip

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
work = tempfile.mkdtemp(prefix="pesa-foreign-")
os.chdir(work)
plain = plain_environment(work)
plain["HOME"] = work
plain.pop("DEBUGINFOD_URLS", None)
HUGE = 64 << 30


def pesa(*words, memory=8 << 20):
    """Run a command with limits: `memory` KiB of address space, one minute."""
    limited = f"ulimit -v {memory}; exec \"$@\""
    if "ASAN_OPTIONS" in plain and os.environ.get("PESA_SANITIZED"):
        limited = "exec \"$@\""
    try:
        return subprocess.run(["sh", "-c", limited, "sh", PESA, *words], capture_output=True, timeout=60, env=plain,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(late.cmd, -1, b"", b"it hangs\n")


def make(name, *lines):
    made = subprocess.run([MAKE, name], input="\n".join(lines).encode(), capture_output=True)
    if made.returncode:
        bail_out("make_profile:", made.stderr.decode())


def fifo(path):
    os.mkfifo(path)


def device(path):
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


def link_to_device(path):
    os.symlink("/dev/zero", path)


def link_to_fifo(path):
    os.mkfifo(work + "/a-fifo")
    os.symlink(work + "/a-fifo", path)


def directory(path):
    os.mkdir(path)


def huge(path):
    with open(path, "wb") as file:
        file.truncate(HUGE)


def remove(path):
    for one in (path, work + "/a-fifo"):
        if os.path.isdir(one) and not os.path.islink(one):
            os.rmdir(one)
        elif os.path.lexists(one):
            os.unlink(one)


HAZARDS = {"a FIFO": fifo, "a link to a device": link_to_device, "a link to a FIFO": link_to_fifo, "a directory": directory}
if os.geteuid() == 0:
    HAZARDS["a device"] = device

# ---- Maps of code made at run time

HEAD = ["command ./program", "capability retire_width 2", "period 1000", "comm 7 7 program"]
make("jit.data", *HEAD, "map 7 0x10000 0x1000 0 //anon", "sample 4 7 7 0x10010 1 0 0 0 0 0 0 0 0 0")
os.makedirs("root/tmp")
MAP = "root/tmp/perf-7.map"
NAMES = b"10000 100 compiled_at_run_time\n"


def own_map(path):
    with open(path, "wb") as file:
        file.write(NAMES)


def link_to_map(path):
    own_map("elsewhere.map")
    os.symlink(work + "/elsewhere.map", path)


def foreign_map(path):
    own_map(path)
    os.chown(path, 54321, 54321)


own_map(MAP)
run = pesa("report", "-i", "jit.data", "--symfs", "root")
check(run.returncode == 0 and b"compiled_at_run_time" in run.stdout and not run.stderr, "a map of one's own is read", run.stderr.decode())
remove(MAP)
refused = HAZARDS | {"64 GB of nothing": huge, "a link to a map": link_to_map}
if os.geteuid() == 0:
    refused["a map of another user"] = foreign_map
else:
    skip("a map of another user is refused", "needs root")
for what, put in refused.items():
    put(MAP)
    runs = {words[0]: pesa(*words) for words in (("report", "-i", "jit.data", "--symfs", "root"),
                                                ("script", "-i", "jit.data", "--symfs", "root"),
                                                ("export", "-i", "jit.data", "--symfs", "root", "--format", "folded", "-o", "-"),
                                                ("annotate", "-i", "jit.data", "--symfs", "root"))}
    check(all(run.returncode == 0 and run.stderr.count(b"\n") == 1 and b"1 map of code made at run time not read: " in run.stderr and
              b"perf-7.map" in run.stderr and b"compiled_at_run_time" not in run.stdout for run in runs.values()),
          f"{what} for a map is refused, in a line", {name: (run.returncode, run.stderr.decode()) for name, run in runs.items()})
    run = pesa("archive", "-i", "jit.data", "--symfs", "root", "-o", "jit.tar")
    check(run.returncode == 0 and b"perf-7.map" in run.stderr, f"{what} for a map is missing in an archive", run.stderr.decode())
    remove(MAP)
make("two.data", *HEAD, "comm 8 8 program", "map 7 0x10000 0x1000 0 //anon", "map 8 0x10000 0x1000 0 //anon",
     "sample 4 7 7 0x10010 1 0 0 0 0 0 0 0 0 0", "sample 4 8 8 0x10010 1 0 0 0 0 0 0 0 0 0")
fifo(MAP)
fifo("root/tmp/perf-8.map")
run = pesa("report", "-i", "two.data", "--symfs", "root")
check(run.stderr.count(b"\n") == 1 and b"2 maps of code" in run.stderr, "refused maps are counted", run.stderr.decode())

# ---- Binaries, their debug files, their sources

os.makedirs("source")
with open("source/program.c", "w", encoding="ascii") as out:
    out.write("__attribute__((noinline)) long hot(long n)\n{\n\treturn n * 3;\n}\nvoid _start(void)\n{\n\thot(9);\n}\n")
built = command(GUEST_CC, "-O1", "-g", "-nostdlib", "-static", "-Wl,--build-id", "-Wl,-Ttext=0x400000", "-o", "whole", work + "/source/program.c")
if built.returncode:
    bail_out("no guest:", built.stderr.decode())


def tool(name, *words):
    run = command(CROSS + name, *words)
    if run.returncode:
        bail_out(name, run.stderr.decode())
    return run.stdout.decode()


start = int(re.search(r"([0-9a-f]+) T hot", tool("nm", "whole")).group(1), 16)
segment = re.search(r"LOAD +0x([0-9a-f]+) +0x0*([0-9a-f]+) [^\n]*R E", tool("readelf", "-lW", "whole"))
offset = int(segment.group(1), 16) + 0x400000 - int(segment.group(2), 16)
tool("objcopy", "--only-keep-debug", "whole", "program.debug")
shutil.copy("whole", "linked")
tool("objcopy", "--strip-debug", "--add-gnu-debuglink=program.debug", "linked")
remove("program.debug")
SAMPLES = [f"sample 5 7 7 {start:#x} 1 0 0 0 0 0 0 0 0 0"]


def every_command(data):
    return {words[0]: pesa(words[0], "-i", data, *words[1:])
            for words in (("report", "--sort", "symbol,line"), ("annotate",), ("script",), ("topdown",),
                          ("export", "--format", "folded", "-o", "-"), ("archive", "--sources", "-o", "x.tar"))}


def survives(runs, what):
    check(all(run.returncode in (0, 1) and b"out of memory" not in run.stderr for run in runs.values()), what,
          {name: (run.returncode, run.stderr.decode()) for name, run in runs.items()})


make("elf.data", *HEAD, f"map 7 0x400000 0x1000 {offset:#x} {work}/program", *SAMPLES)
for what, put in (HAZARDS | {"64 GB of nothing": huge}).items():
    put("program")
    survives(every_command("elf.data"), f"{what} for a binary is not waited for")
    remove("program")
shutil.copy("linked", "program")
for what, put in HAZARDS.items():
    put("program.debug")
    survives(every_command("elf.data"), f"{what} for a debug file is not waited for")
    remove("program.debug")
shutil.copy("whole", "program")
os.rename("source/program.c", "kept.c")
for what, put in (HAZARDS | {"64 GB of nothing": huge}).items():
    put("source/program.c")
    runs = every_command("elf.data") if what != "64 GB of nothing" else {"annotate": pesa("annotate", "-i", "elf.data")}
    survives(runs, f"{what} for a source file is not waited for")
    remove("source/program.c")

# ---- Files that debug information names: of split units, and what several debug files have in common

os.rename("kept.c", "source/program.c")
FLAGS = ["-O1", "-nostdlib", "-static", "-Wl,--build-id", "-Wl,-Ttext=0x400000"]


def build_guest(what, *words):
    made = command(GUEST_CC, *words)
    if made.returncode:
        bail_out(f"no guest with {what}:", made.stderr.decode())


for version in (4, 5):
    os.makedirs(f"units{version}")
    os.chdir(f"units{version}")
    build_guest("split units", "-O1", "-g", f"-gdwarf-{version}", "-gsplit-dwarf", "-c", "-o", "program.o", work + "/source/program.c")
    build_guest("split units", *FLAGS, "-o", work + "/program", "program.o")
    os.chdir(work)
    hot = re.search(r"([0-9a-f]+) T hot", tool("nm", "program")).group(1)
    make("units.data", *HEAD, f"map 7 0x400000 0x1000 {offset:#x} {work}/program", f"sample 5 7 7 0x{hot} 1 0 0 0 0 0 0 0 0 0")
    run = pesa("report", "-i", "units.data", "--sort", "line")
    check(run.returncode == 0 and b"program.c:3" in run.stdout, f"split units of DWARF {version} have their lines", (run.stdout + run.stderr).decode())
    # In the program's folder, where libdw looks first, and at the compiler's path.
    for place in ("program.dwo", f"units{version}/program.dwo"):
        if os.path.exists(place):
            os.rename(place, place + ".kept")
        for what, put in (HAZARDS | {"64 GB of nothing": huge}).items():
            put(place)
            survives(every_command("units.data"), f"{what} for a split unit of DWARF {version} is not waited for ({os.path.dirname(place) or 'beside'})")
            remove(place)
        if os.path.exists(place + ".kept"):
            os.rename(place + ".kept", place)

# A unit and a function in it, the names of which are in the shared file (DW_FORM_GNU_strp_alt, 0x1f21).
with open("shared.s", "w", encoding="ascii") as out:
    out.write("""
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0x1b, 0xa1, 0x3e, 0x03, 0xa1, 0x3e, 0, 0
    .byte 2, 0x2e, 0, 0x03, 0xa1, 0x3e, 0x11, 1, 0x12, 7, 0, 0, 0
    .section .debug_info,"",@progbits
    .4byte 2f - 1f
1:  .2byte 4
    .4byte 0
    .byte 8, 1
    .8byte hot, 0x100
    .4byte 0, 0
    .byte 2
    .4byte 0
    .8byte hot, 0x100
    .byte 0
2:
    .section .gnu_debugaltlink,"",@progbits
    .string "LINK"
    .fill 20, 1, 7
""")
for link in ("shared.debug", work + "/elsewhere/shared.debug"):
    os.makedirs("elsewhere", exist_ok=True)
    with open("shared.s", encoding="ascii") as file, open("linked.s", "w", encoding="ascii") as out:
        out.write(file.read().replace("LINK", link))
    build_guest("a link to a shared debug file", *FLAGS, "-o", "program", work + "/source/program.c", "linked.s")
    hot = re.search(r"([0-9a-f]+) T hot", tool("nm", "program")).group(1)
    make("shared.data", *HEAD, f"map 7 0x400000 0x1000 {offset:#x} {work}/program", f"sample 5 7 7 0x{hot} 1 0 0 0 0 0 0 0 0 0")
    for what, put in (HAZARDS | {"64 GB of nothing": huge}).items():
        put(link)
        survives(every_command("shared.data"), f"{what} for a shared debug file is not waited for ({'absolute' if link[0] == '/' else 'beside'})")
        remove(link)
remove("program")

# An executable segment, and a note, as long as a hole.
for kind, name, size in ((1, "text", HUGE), (1, "text", 8 << 30), (4, "note", HUGE), (4, "note", 8 << 30)):
    with open("program", "wb") as file:
        file.write(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 243, 1, 0x400000, 64, 0, 0, 64, 56, 1, 0, 0, 0))
        file.write(struct.pack("<IIQQQQQQ", kind, 5, 0, 0x400000, 0x400000, size - 4096, size - 4096, 8))
        file.truncate(size)
    runs = every_command("elf.data") if size == HUGE else {"report": pesa("report", "-i", "elf.data", memory=4 << 20)}
    survives(runs, f"{size >> 30} GB of {name} are not read")
remove("program")

# ---- The kernel's symbols

kernel_id = bytes(range(20))
for folder in ("root/sys/kernel", "root/proc"):
    os.makedirs(folder)
make("kernel.data", *HEAD, f"map 0xffffffff 0xffffffff80000000 0x1000000 0 [kernel.kallsyms]_text {kernel_id.hex()}",
     "sample 4 7 7 0xffffffff80001010 1 0 0 0 0 0 0 0 0 0")
for what, put in (HAZARDS | {"64 GB of nothing": huge}).items():
    put("root/sys/kernel/notes")
    first = pesa("report", "-i", "kernel.data", "--symfs", "root")
    remove("root/sys/kernel/notes")
    with open("root/sys/kernel/notes", "wb") as out:
        out.write(struct.pack("<III", 4, len(kernel_id), 3) + b"GNU\0" + kernel_id)
    put("root/proc/kallsyms")
    second = pesa("report", "-i", "kernel.data", "--symfs", "root")
    remove("root/sys/kernel/notes")
    remove("root/proc/kallsyms")
    survives({"notes": first, "kallsyms": second}, f"{what} for the kernel's symbols is not waited for")

# ---- A directory of recordings

os.mkdir("parts")
fifo("parts/data")
run = pesa("report", "-i", "parts")
check(run.returncode == 1 and run.stderr.count(b"\n") == 1, "a FIFO in the directory of a recording is refused", run.stderr.decode())

os.chdir("/")
shutil.rmtree(work)
end()
