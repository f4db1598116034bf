# SPDX-License-Identifier: GPL-2.0-or-later
"""Small programs for the virtual core and what an iteration of them costs: for core_properties.t and core_backend.t.

Each program is assembled for two counts of iterations; what one iteration costs is the difference, so that start and
end are left out.
"""
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, PESA, GUEST_CC, bail_out, end

CORES = os.environ.get("PESA_CORES", "inorder-2 ooo-3 ooo-4 ooo-8").split()
PAGE = 4096

work = tempfile.mkdtemp(prefix="pesa-properties-")
os.chdir(work)


def changed(core, name, **keys):
    """A description with other values; '_' stands for '.' in keys."""
    with open(os.path.join(BUILD, "share/pesa/cores", core), encoding="utf-8") as file:
        text = file.read()
    for key, value in keys.items():
        text, count = re.subn(rf"^{re.escape(key.replace('_', '.', 1))} = .*$", f"{key.replace('_', '.', 1)} = {value}", text,
                              flags=re.M)
        assert count == 1, key
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return os.path.join(work, name)


@functools.lru_cache(maxsize=None)
def predicted(model, body):
    """Cycles of an iteration of `body` as llvm-mca has them."""
    with open("body.s", "w", encoding="ascii") as file:
        file.write(body)
    # The start is some twenty cycles: of either less than a hundredth.
    iterations = 200 if body.count("\n") >= 32 else 1000
    done = subprocess.run(["llvm-mca-22", "-mtriple=riscv64", "-mattr=+m,+a,+f,+d", "-mcpu=" + model, f"-iterations={iterations}",
                           "-instruction-info=false", "-resource-pressure=false", "body.s"], capture_output=True, text=True, check=True)
    return int(re.search(r"Total Cycles:\s+(\d+)", done.stdout).group(1)) / iterations


def load_use(model):
    return round(predicted(model, "ld a0, 0(a0)\n"))


assembled = {}


def program(body, before="", after="", count=1000, space=0):
    """s0 counts the iterations of `body`, s1 is the address of `space` bytes."""
    text = f"""
    .option norelax
    .globl _start
_start:
    la s1, memory
    li s0, {count}
    {before}
    j loop
    .balign 64
loop:
    {body}
    addi s0, s0, -1
    beqz s0, done
    j loop
done:
    li a0, 0
    li a7, 93
    ecall
    .balign 64
    {after}
    .bss
    .balign 2097152
memory:
    .skip {space or 64}
"""
    if text not in assembled:
        name = f"program{len(assembled)}"
        with open(name + ".s", "w", encoding="ascii") as file:
            file.write(text)
        made = subprocess.run([GUEST_CC, "-nostdlib", "-static", "-march=rv64gc", "-o", name, name + ".s"], capture_output=True,
                              text=True)
        if made.returncode:
            bail_out("cannot assemble:", made.stderr)
        os.unlink(name + ".s")
        assembled[text] = name
    return assembled[text]


def events(core, *arguments, **options):
    done = subprocess.run([PESA, "stat", "-e", "all", "--json=counts", "--core", core, "--", "./" + program(*arguments, **options)],
                          capture_output=True, timeout=120, env={"PATH": "/usr/local/bin:/usr/bin:/bin"})
    if done.returncode:
        bail_out(done.stderr.decode())
    with open("counts", encoding="utf-8") as file:
        return {event["event"]: event["value"] for event in json.load(file)["events"]}


class Cost:
    """What one iteration counts."""

    def __init__(self, core, body, count, **options):
        one = events(core, body, count=count, **options)
        two = events(core, body, count=2 * count, **options)
        self.event = {name: (two[name] - one[name]) / count for name in one}
        self.cycles = self.event["CYCLES.HART"]


def near(found, expected, tolerance):
    return abs(found - expected) <= tolerance * expected


# A ring of pointers through `lines` lines; the next one of line n of a page is 5 n + 17 modulo the lines of a page, so that no
# stride comes twice, and after the last one of a page the next page begins.


def page_ring(pages):
    return f"""
    li t0, {pages}
    mv t1, s1
    li t2, {PAGE}
1:  li t3, 0
    mv t4, t1
2:  slli t5, t3, 2
    add t3, t3, t5
    addi t3, t3, 17
    andi t3, t3, 63
    slli t5, t3, 6
    add t5, t5, t1
    beqz t3, 3f
    sd t5, 0(t4)
    mv t4, t5
    j 2b
3:  add t1, t1, t2
    sd t1, 0(t4)
    addi t0, t0, -1
    bnez t0, 1b
    sd s1, 0(t4)
    mv a0, s1
    """


# A ring of one pointer in each `stride` bytes.


def stride_ring(count, stride):
    return f"""
    li t0, {count}
    mv t1, s1
    li t2, {stride}
1:  add t3, t1, t2
    sd t3, 0(t1)
    mv t4, t1
    mv t1, t3
    addi t0, t0, -1
    bnez t0, 1b
    sd s1, 0(t4)
    mv a0, s1
    """


def finish():
    shutil.rmtree(work)
    end()
