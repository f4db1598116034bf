#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa archive: a report from the archive, without the program, is the same as with it; archives are reproducible, and no path in
one leads outside."""
import json
import os
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile

from tap import BUILD, PESA, CROSS, GUEST_CC, bail_out, check, command, end, plain_environment, skip

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
work = tempfile.mkdtemp(prefix="pesa-archived-")
os.chdir(work)
plain = plain_environment(work)
plain["HOME"] = work
plain["TMPDIR"] = os.path.join(work, "temporary")
plain.pop("DEBUGINFOD_URLS", None)
os.mkdir(plain["TMPDIR"])


def pesa(*words):
    return command(PESA, *words, env=plain)


def make(name, *lines):
    made = subprocess.run([MAKE, name], input="\n".join(lines).encode(), capture_output=True)
    if made.returncode:
        bail_out("make_profile:", made.stderr.decode())


def tool(name, *words):
    run = command(CROSS + name, *words)
    if run.returncode:
        bail_out(name, run.stderr.decode())
    return run.stdout.decode()


def archive(*words, status=0):
    run = pesa("archive", "-q", *words)
    if run.returncode != status:
        bail_out("archive", words, "gave", run.returncode, run.stderr.decode())
    return run.stderr.decode()


def names_in(path):
    with subprocess.Popen(["zstd", "-dc", path], stdout=subprocess.PIPE) as plain_tar:
        with tarfile.open(fileobj=plain_tar.stdout, mode="r|") as tar:
            return [(member.name, member) for member in tar]


# Two builds of a program with an inlined function; one has its debug file by build id, the other by debug link.
def build(folder, extra):
    os.makedirs(folder + "/source", exist_ok=True)
    with open(folder + "/source/program.c", "w", encoding="ascii") as out:
        out.write('#include "../source/inlined.h"\n__attribute__((noinline)) long hot(long n)\n{\n\tlong s = 0;\n\n'
                  "\tfor (long i = 0; i < n; i++)\n\t\ts += twice(i)" + extra + ";\n\treturn s;\n}\nvoid _start(void)\n{\n\thot(9);\n}\n")
    with open(folder + "/source/inlined.h", "w", encoding="ascii") as out:
        out.write("static inline long twice(long i)\n{\n\treturn i * i ^ 5;\n}\n")
    built = command(GUEST_CC, "-O1", "-g", "-nostdlib", "-static", "-Wl,--build-id", "-Wl,-Ttext=0x400000", "-o", folder + "/program",
                    f"{work}/{folder}/source/../source/program.c")
    if built.returncode:
        bail_out("no guest:", built.stderr.decode())
    notes = tool("readelf", "-n", folder + "/program")
    segment = re.search(r"LOAD +0x([0-9a-f]+) +0x0*([0-9a-f]+) [^\n]*R E", tool("readelf", "-lW", folder + "/program"))
    start = int(re.search(r"([0-9a-f]+) T hot", tool("nm", folder + "/program")).group(1), 16)
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1), start, \
        int(segment.group(1), 16) + 0x400000 - int(segment.group(2), 16)


def samples(start, pid=7):
    return [f"sample {5 + i % 3} {pid} {pid} {start + 4 * i:#x} {i % 2} 0 0 0 0 0 0 0 0 0" for i in range(6)]


first_id, first_start, first_offset = build("one", "")
second_id, second_start, second_offset = build("two", " + 3")
debug = f"root/usr/lib/debug/.build-id/{first_id[:2]}"
os.makedirs(debug)
tool("objcopy", "--only-keep-debug", "one/program", f"{debug}/{first_id[2:]}.debug")
tool("objcopy", "--strip-debug", "one/program")
program = f"{work}/bin/program"
os.makedirs("bin")
os.makedirs("root" + work + "/bin")
shutil.copy("one/program", program)
HEAD = ["capability retire_width 2", "period 1000"]
long_name = "/".join(["a-directory-of-a-long-name"] * 6)
os.makedirs(long_name)
shutil.copy("two/program", long_name + "/program")
make("r.data", "command ./program", *HEAD, "comm 7 7 program", f"map 7 0x400000 0x1000 {first_offset:#x} {program} {first_id}",
     f"map 7 0x500000 0x1000 {second_offset:#x} {work}/{long_name}/program {second_id}", "map 7 0x600000 0x1000 0 /usr/lib/gone.so",
     "map 7 0x700000 0x1000 0 /usr/lib/never-sampled.so", *samples(first_start), *samples(second_start + 0x100000),
     "sample 3 7 7 0x600100 1 0 0 0 0 0 0 0 0 0")

# ---- The same report elsewhere

REPORTS = [("report", "--sort", "symbol,line,insn"), ("report", "--json", "--sort", "dso,symbol,line,insn"), ("annotate", "hot"),
           ("script",), ("topdown",)]


def reports(path, *options):
    """The output without the name of the input."""
    shown = []
    for words in REPORTS:
        run = pesa(words[0], "-i", path, *options, *words[1:])
        shown.append((run.returncode, re.sub(rb'"input": "[^"]*"', b"", run.stdout)))
    return shown


here = reports("r.data", "--symfs", "root")
check(all(status == 0 for status, _ in here) and all(word in here[2][1] for word in (b"program.c:", b"inlined.h:", b"i * i ^ 5")),
      "the reports here show functions, lines and sources", here[2][1].decode())
note = archive("-i", "r.data", "--symfs", "root", "--sources", "-o", "x.tar.zst")
check(note.count("\n") == 1 and "/usr/lib/gone.so" in note and "%" in note and "not found" in note,
      "a binary that is not to be had is reported with its share of the cycles", note)
entries = names_in("x.tar.zst")
names = [name for name, _ in entries]
wanted = {"pesa-archive/perf.data", "pesa-archive" + program, f"pesa-archive{work}/{long_name}/program",
          f"pesa-archive{work}/one/source/program.c", f"pesa-archive{work}/one/source/inlined.h",
          f"pesa-archive/usr/lib/debug/.build-id/{first_id[:2]}/{first_id[2:]}.debug"}
check(wanted <= set(names), "it has the recording, the binaries, the separate debug file and the sources", sorted(wanted - set(names)))
check(not any("never-sampled" in name for name in names), "and no binary without a sample", names)
os.makedirs("kept")
os.rename("x.tar.zst", "kept/x.tar.zst")
shutil.copy("r.data", "kept/r.data")
for name in ("one", "two", "bin", "root", long_name.split("/")[0]):
    os.rename(name, "away-" + name)
without = reports("kept/r.data")
check(without[0] != here[0], "without the originals the recording alone tells less")
elsewhere = reports("kept/x.tar.zst")
for words, (_, before), (status, after) in zip(REPORTS, here, elsewhere):
    check(status == 0 and before == after, f"pesa {' '.join(words)} of the archive prints the same, byte for byte",
          after.decode()[:1500])
check(not os.listdir(plain["TMPDIR"]), "nothing is left of what was extracted", os.listdir(plain["TMPDIR"]))
os.mkdir("extracted")
tar = subprocess.run("zstd -dc ../kept/x.tar.zst | tar -xf -", shell=True, cwd="extracted", capture_output=True)
check(tar.returncode == 0 and not tar.stderr, "tar extracts it without a word", tar.stderr)
check(reports("extracted/pesa-archive") == here, "its directory is an input too")
check(reports("extracted/pesa-archive/perf.data", "--symfs", "extracted/pesa-archive") == here, "and so is the recording in it")
difference = pesa("diff", "kept/x.tar.zst", "extracted/pesa-archive")
check(difference.returncode == 0 and difference.stdout and b"hot" not in difference.stdout, "pesa diff reads archives: no function differs",
      (difference.stdout + difference.stderr).decode())
again = archive("-i", "kept/x.tar.zst", "--sources", "-o", "again.tar.zst")
with open("again.tar.zst", "rb") as left, open("kept/x.tar.zst", "rb") as right:
    check(left.read() == right.read(), "an archive that is packed anew has the same bytes", again)
for suffix in ("tar", "tar.gz"):
    archive("-i", "kept/x.tar.zst", "--sources", "-o", "other." + suffix)
    check(reports("other." + suffix) == here, f".{suffix} tells the same")
for name in ("one", "two", "bin", "root", long_name.split("/")[0]):
    os.rename("away-" + name, name)

# ---- Reproducible

os.utime(program, (1, 1))
os.chmod(program, 0o700)
archive("-i", "r.data", "--symfs", "root", "--sources", "-o", "y.tar.zst")
with open("y.tar.zst", "rb") as left, open("kept/x.tar.zst", "rb") as right:
    check(left.read() == right.read(), "times and modes of the files make no difference")
check(names == sorted(names) and len(set(names)) == len(names), "names are sorted, each once", names)
check(len({(member.mtime, member.uid, member.gid, member.uname) for _, member in entries}) == 1 and
      not any(name.startswith("/") or ".." in name.split("/") for name in names), "of one time and owner, relative and without '..'")

# ---- Two builds of one path, paths that are not plain

shutil.copy("two/program", "bin/program")
make("s.data", "command ./program", *HEAD, "comm 7 7 program", f"map 7 0x400000 0x1000 {second_offset:#x} {program} {second_id}",
     *samples(second_start))
merged = pesa("merge", "-q", "-o", "both.data", "r.data", "s.data")
if merged.returncode:
    bail_out(merged.stderr.decode())
cache = f".debug/.build-id/{first_id[:2]}/{first_id[2:]}"
os.makedirs(cache)
shutil.copy("one/program", cache + "/elf")
before = reports("both.data", "--symfs", "root")
archive("-i", "both.data", "--symfs", "root", "--sources", "-o", "both.tar.zst")
names = [name for name, _ in names_in("both.tar.zst")]
check("pesa-archive" + program in names and any(re.search(r"\.build-id/.*/elf$", name) for name in names),
      "of two builds of one path one is below .build-id", names)
os.rename("bin", "away-bin")
os.rename(".debug", "away-debug")
os.rename("root", "away-root")
check(reports("both.tar.zst")[:4] == before[:4], "and both are found")
os.rename("away-bin", "bin")
os.rename("away-root", "root")
shutil.copy("two/program", "outside")
depth = "/.." * 12
make("t.data", "command ./program", *HEAD, "comm 7 7 program",
     f"map 7 0x400000 0x1000 {second_offset:#x} {depth}{work}/outside {second_id}", *samples(second_start),
     f"map 7 0x500000 0x1000 {second_offset:#x} //{work}/./two//program {second_id}", *samples(second_start + 0x100000))
archive("-i", "t.data", "-o", "t.tar.zst")
names = [name for name, _ in names_in("t.tar.zst")]
check(f"pesa-archive/.build-id/{second_id[:2]}/{second_id[2:]}/elf" in names and f"pesa-archive{work}/two/program" in names
      and not any(".." in name for name in names), "a path that leaves the root does not leave the archive", names)

# ---- The kernel, and code made at run time

kernel_id = bytes(range(20))
os.makedirs("root/sys/kernel")
os.makedirs("root/proc")
os.makedirs("root/tmp", exist_ok=True)
with open("root/sys/kernel/notes", "wb") as out:
    out.write(struct.pack("<III", 4, len(kernel_id), 3) + b"GNU\0" + kernel_id)
with open("root/proc/kallsyms", "w", encoding="ascii") as out:
    out.write("ffffffff80000000 T _text\nffffffff80001000 T do_idle\nffffffff80002000 T schedule\n")
with open("root/tmp/perf-7.map", "w", encoding="ascii") as out:
    out.write("10000 100 compiled_at_run_time\n")
make("k.data", "command ./program", *HEAD, "comm 7 7 program",
     f"map 0xffffffff 0xffffffff80000000 0x1000000 0 [kernel.kallsyms]_text {kernel_id.hex()}", "map 7 0x10000 0x1000 0 //anon",
     "sample 4 7 7 0xffffffff80001010 1 0 0 0 0 0 0 0 0 0", "sample 4 7 7 0x10010 1 0 0 0 0 0 0 0 0 0")
kernel = reports("k.data", "--symfs", "root")
check(b"do_idle" in kernel[0][1] and b"compiled_at_run_time" in kernel[0][1], "names of the kernel and of compiled code are known",
      kernel[0][1].decode())
archive("-i", "k.data", "--symfs", "root", "-o", "k.tar.zst")
os.rename("root", "away-root")
check(reports("k.tar.zst") == kernel, "and are so from the archive")
note = archive("-i", "k.data", "-o", "bare.tar.zst")
check("[kernel.kallsyms]" in note and "kernel" in note, "symbols of a kernel that does not run here are reported to be missing", note)

# ---- Refused and damaged

with open("kept/x.tar.zst", "rb") as file:
    whole = file.read()
for name, contents, words in (("cut.tar.zst", whole[:len(whole) * 2 // 3], "cut off|damaged"),
                              ("flipped.tar.zst", whole[:500] + bytes([whole[500] ^ 0x40]) + whole[501:], "damaged"),
                              ("text.tar.gz", b"\x1f\x8b" + b"no gzip at all" * 40, "compressed data is damaged")):
    with open(name, "wb") as file:
        file.write(contents)
    run = pesa("report", "-i", name)
    message = run.stderr.decode().splitlines()
    check(run.returncode == 1 and len(message) == 1 and re.search(words, message[0]), f"{name} is refused in a line",
          run.stderr.decode())
with tarfile.open("foreign.tar", "w") as tar:
    tar.add("r.data", "somewhere/r.data")
run = pesa("report", "-i", "foreign.tar")
check(run.returncode == 1 and run.stderr.count(b"\n") == 1 and b"was not made by pesa archive" in run.stderr,
      "a tarball of something else is refused", run.stderr.decode())
check(not os.listdir(plain["TMPDIR"]), "of these nothing is left either", os.listdir(plain["TMPDIR"]))
run = pesa("archive", "-i", "none.data", "-o", "none.tar")
check(run.returncode == 1 and run.stderr.count(b"\n") == 1 and not os.path.exists("none.tar"), "a recording that is not there",
      run.stderr.decode())
check(pesa("archive", "-i", "r.data", "-o", "x.zip").returncode == 2, "a name that says no compression is wrong usage")
check(pesa("archive", "-i", "-", "-o", "x.tar").returncode == 1, "standard input is refused: a recording is read several times")
with open("r.data", "rb") as file:
    whole = file.read()
with open("cut.data", "wb") as file:
    file.write(whole[:len(whole) * 3 // 4])
make("empty.data", "command ./program", *HEAD, "comm 7 7 program", f"map 7 0x400000 0x1000 {first_offset:#x} {program} {first_id}")
note = archive("-i", "empty.data", "-o", "empty.tar", status=1)
check(note.count("\n") == 1 and "empty.data: no samples" in note and os.path.exists("empty.tar"),
      "a recording without samples is packed, and a line says that it has none", note)
with open("head.data", "wb") as file:
    file.write(whole[:struct.unpack_from("<Q", whole, 40)[0]])
note = archive("-i", "head.data", "-o", "head.tar", status=1)
check("head.data: no samples" in note, "so is one that ended before its first sample", note)
note = archive("-i", "cut.data", "-o", "cut.tar", status=1)
check("damaged" in note, "a damaged recording is packed, and reported to be damaged", note)

os.chdir("/")
shutil.rmtree(work)
end()
