#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/series: each patch applies, satisfies checkpatch, and compiles without warnings by itself; sparse has nothing to say of new
files, nor dt-schema of the binding of shpmsdetails; on harts with base Sspesa the kernel with all of them samples exact addresses
(cycles:ppp), also where interrupts are off, and marks them; without the extension it refuses to.  series_each.py boots the kernel of
each patch.
"""
import fnmatch
import os
import re
import shutil
import subprocess
import tempfile

from board import CROSS, EXACT, FAULTS, TOP, board, guest_program, marked_addresses, read, script_parts, sparse, tap
from series_each import PATCHES, RECORDINGS, apply, check_kernel

BINDING = "riscv,shpmsdetails.yaml"
USER = 2  # PERF_RECORD_MISC_USER
# What the patches change, and what includes the headers that they change.
OBJECTS = ["arch/riscv/kernel/cpufeature.o", "arch/riscv/kernel/perf_callchain.o", "arch/riscv/kernel/stacktrace.o", "drivers/perf/",
           "kernel/events/core.o"]
NEW = ["drivers/perf/riscv_ctr.o", "drivers/perf/riscv_pesa/"]  # of files that the patches add
SCRIPT = """
echo "== precise"; cat /sys/bus/event_source/devices/cpu/caps/max_precise; grep -m 1 isa /proc/cpuinfo
grep -E ' (handle_exception|ret_from_exception)$' /proc/kallsyms
record() { # EVENT FILE COMMAND...
    event=$1; file=$2; shift 2
    perf record -q -e $event -c 20000 -o $file -- "$@" > /dev/null; echo "status $?"
}
for event in cycles:u cycles:uppp cycles cycles:ppp cycles:P; do
    echo "== $event"; record $event $event.data ./hot 200000
done
for event in cycles cycles:ppp; do
    echo "== calls $event"; record $event calls-$event.data dd if=/dev/zero of=/dev/null bs=1 count=10000
done
"""


def boot(name, kernel, *options):
    share = tempfile.mkdtemp(prefix="pesa-series-")
    guest_program("hot", share)
    with open(f"{share}/script", "w", encoding="utf-8") as out:
        out.write(SCRIPT)
    booted = board("--without-device", "--without-driver", "--harts", "1", *options, "--share", share, "--", "bash", "script", limit=600,
                   env={**os.environ, "KERNEL": kernel})
    parts = script_parts(booted.stdout)
    tap.check(booted.returncode == 0 and len(parts) == 8 and not FAULTS.search(booted.stdout), f"{name}: boots and records",
              booted.stdout[-2000:] + booted.stderr[-1000:])
    if len(parts) < 8:
        tap.end()
    return share, parts


def status(text):
    return int(re.search(r"status (\d+)", text)[1])


def check_steps(plain):
    """Apply one patch after the other to links of the source, and compile what it changes."""
    source, work = os.path.realpath(f"{plain}/source"), tempfile.mkdtemp(prefix="pesa-series-", dir=os.path.dirname(plain))
    tree, built = f"{work}/source", f"{work}/build"
    try:
        subprocess.run(["cp", "-al", f"{source}/.", tree], check=True)
        os.mkdir(built)
        shutil.copy(f"{plain}/.config", built)
        make = ["make", "-s", "-C", tree, f"O={built}", "ARCH=riscv", f"CROSS_COMPILE={CROSS}", "-j2"]
        subprocess.run([*make, "olddefconfig", "prepare"], check=True, capture_output=True)
        checker = sparse(work)
        for patch in PATCHES:
            name = os.path.basename(patch)[:4]
            done = apply(tree, patch)
            tap.check(not done.returncode, f"{name} applies", done.stdout)
            # Whether files are in MAINTAINERS is checked below: checkpatch asks for it whatever is there.
            done = subprocess.run([f"{source}/scripts/checkpatch.pl", f"--root={tree}", "--strict", "--no-signoff", "--no-tree", "-q",
                                   "--ignore=FILE_PATH_CHANGES", patch], capture_output=True, text=True, check=False)
            tap.check(not done.returncode and not done.stdout.strip(), f"{name}: checkpatch --strict", done.stdout[-1500:])
            subprocess.run([*make, "olddefconfig"], check=True, capture_output=True)
            done = subprocess.run([*make, "W=1", "KCFLAGS=-Werror", *OBJECTS], capture_output=True, text=True, check=False)
            tap.check(not done.returncode, f"{name}: compiles without warnings", done.stderr[-1500:])
        if checker:
            done = subprocess.run([*make, *checker, *NEW], capture_output=True, text=True, check=False)
            reported = [line for line in done.stderr.splitlines() if re.search(r"riscv_ctr\.c:|riscv_pesa/\w+\.[ch]:", line)]
            tap.check(not done.returncode and not reported, "sparse has nothing to say of new files", done.stderr[-1500:])
        else:
            tap.skip("sparse", tap.needs("sparse"))
        check_binding(tree, work, f"{plain}/scripts/dtc/dtc")
        check_files(tree)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_binding(tree, work, compiler):
    """What `make dt_binding_check` does, with the programs that it runs: it refuses those of Debian 12, which are older than it asks for."""
    if not all(map(shutil.which, ("dt-doc-validate", "dt-extract-example", "dt-mk-schema", "dt-validate"))):
        tap.skip("the binding", tap.needs("dt-schema"))
        return
    bindings = f"{tree}/Documentation/devicetree/bindings"
    binding, schema = f"{bindings}/perf/{BINDING}", f"{work}/schema"

    def said(*words):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr + (f"status {done.returncode}" if done.returncode else "")

    def of_example(change):
        """What is said of the binding's example, whose source change() has changed."""
        source, blob = f"{work}/example.dts", f"{work}/example.dtb"
        example = subprocess.run(["dt-extract-example", binding], stdout=subprocess.PIPE, text=True, check=True).stdout
        with open(source, "w", encoding="utf-8") as file:
            file.write(change(example))
        return said(compiler, "-q", "-O", "dtb", "-o", blob, source) + said("dt-validate", "-s", schema, blob)

    with open(schema, "w", encoding="utf-8") as file:
        subprocess.run(["dt-mk-schema", "-j", f"{bindings}/vendor-prefixes.yaml", binding], stdout=file, check=True)
    why = said("dt-doc-validate", "-u", bindings, binding) + of_example(lambda text: text)
    tap.check(not why, "the binding of shpmsdetails is one, and its example keeps to it", why)
    wrong = of_example(lambda text: text.replace("discarded-count;", "discarded-counts;"))
    tap.check("'discarded-counts' does not match" in wrong, "a property that it does not have is found", wrong)


def check_files(tree):
    """The driver in the tree is made of the files of kernel/, and what the patches add has maintainers."""
    with tempfile.TemporaryDirectory(prefix="pesa-files-") as work:
        subprocess.run([os.path.join(TOP, "tools/board/tree-files"), work], check=True)
        driver = f"{tree}/drivers/perf/riscv_pesa"
        differ = [name for name in sorted({*os.listdir(work), *os.listdir(driver)} - {"Makefile"}) if read(f"{work}/{name}") != read(f"{driver}/{name}")]
    tap.check(not differ, "the driver's files in the tree are those of kernel/", differ)
    tap.check(read(f"{tree}/Documentation/devicetree/bindings/perf/{BINDING}") == read(f"{TOP}/Documentation/devicetree/{BINDING}") != "",
              "and the binding is that of Documentation")
    patterns = re.findall(r"^F:\t(\S+)", read(f"{tree}/MAINTAINERS"), re.M)
    added = [name for patch in PATCHES for name in re.findall(r"^--- /dev/null\n\+\+\+ b/(\S+)", read(patch), re.M)]
    lost = [name for name in added if not any(name.startswith(one) if one.endswith("/") else fnmatch.fnmatchcase(name, one) for one in patterns)]
    tap.check(added and not lost, "MAINTAINERS has what the patches add", lost)


plain_kernel = subprocess.run([os.path.join(TOP, "tools/board/kernel")], capture_output=True, text=True, check=True).stdout.strip()
check_steps(plain_kernel)
series = subprocess.run([os.path.join(TOP, "tools/board/series")], capture_output=True, text=True, check=False)
tap.check(not series.returncode, "the kernel with all patches builds", series.stderr[-2000:])
if series.returncode:
    tap.end()

share, parts = boot("with Sspesa", series.stdout.strip(), "--property", "pesa-sspesa=on")
precise = parts["precise"].split("\n")
tap.check(precise[0] == "3" and "sspesa" in parts["precise"], "the kernel finds the extension", parts["precise"])
for event in ("cycles:uppp", "cycles:ppp", "cycles:P"):
    # The board's counters do not distinguish modes: they count in the kernel as well.
    got = [one for one in marked_addresses(f"{share}/{event}.data") if event != "cycles:uppp" or not one[1] >> 63]
    exact = [one for one in got if one[0] & EXACT]
    tap.check(len(got) > 20 and len(exact) > 0.9 * len(got), f"{event}: samples are marked as exact", (len(exact), len(got)))
for event in ("cycles:u", "cycles"):
    got = marked_addresses(f"{share}/{event}.data")
    tap.check(len(got) > 20 and not any(misc & EXACT for misc, _ in got), f"{event}: none is", len(got))
# The hot loop is a few instructions that repeat: both see some of its addresses in user mode, which ones depends on how the period fits to it.
known = {address >> 6 for _, address in marked_addresses(f"{share}/cycles:u.data")}
same = [address >> 6 in known for misc, address in marked_addresses(f"{share}/cycles:uppp.data") if misc & USER == USER]
tap.check(same and sum(same) > 0.5 * len(same), "exact addresses are of the code that runs", (sum(same), len(same)))
kernel_in_user = [hex(address) for misc, address in marked_addresses(f"{share}/cycles:uppp.data") if address >> 63 and misc & EXACT]
tap.check(not kernel_in_user, "an event that excludes the kernel has no exact address of it", kernel_in_user[:5])
# Entry and exit of the kernel run with interrupts off: an interrupt is never taken there.
places = sorted(int(line.split()[0], 16) for line in precise if re.search(r"(handle|ret_from)_exception$", line))
entry = range(places[0], places[1]) if len(places) == 2 else range(0)
inside = {event: sum(address in entry for _, address in marked_addresses(f"{share}/calls-{event}.data")) for event in ("cycles", "cycles:ppp")}
tap.check(entry and inside["cycles"] == 0 and inside["cycles:ppp"] > 0, "only exact samples are of code that keeps interrupts off", inside)
shutil.rmtree(share)

share, parts = boot("without Sspesa", series.stdout.strip())
tap.check(parts["precise"].startswith("0\n"), "without the extension nothing is precise", parts["precise"])
tap.check(status(parts["cycles:ppp"]) != 0, "cycles:ppp is refused", parts["cycles:ppp"])
got = marked_addresses(f"{share}/cycles:P.data")
tap.check(status(parts["cycles:P"]) == 0 and len(got) > 20 and not any(misc & EXACT for misc, _ in got),
          "cycles:P takes what is possible, and marks nothing", (parts["cycles:P"], len(got)))
shutil.rmtree(share)

source = subprocess.run([os.path.join(TOP, "tools/board/series"), "--source"], capture_output=True, text=True, check=True).stdout.strip()
works = check_kernel("with all patches", series.stdout.strip(), source)
tap.check(works == set(RECORDINGS), "on harts that have everything, everything is recorded", works)
tap.end()
