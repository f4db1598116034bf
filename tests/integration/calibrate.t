#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa calibrate: what it learns on its loops is the skid that the virtual core was told, and the other subcommands use it."""
import json
import os
import re
import subprocess
import tempfile

from tap import PESA, QEMU, GUEST_CC, bail_out, check, end, needs, skip_all

if not QEMU:
    skip_all(needs("qemu-user"))
work = tempfile.mkdtemp(prefix="pesa-calibrate-")
os.chdir(work)


def pesa(*words, **environment):
    return subprocess.run([PESA, *words], capture_output=True, text=True, check=False, timeout=300, env={**os.environ, **environment})


def calibrate(core, *options):
    done = pesa("calibrate", "--core", core, "--cycles", "6000000", "-o", "skid.txt", "--json", *options)
    if done.returncode:
        bail_out("cannot calibrate:", done.stderr)
    with open("skid.txt", encoding="ascii") as file:
        text = file.read()
    # What is not beyond a mispredicted branch lands as far away as what may be, in these loops.
    ways = {}
    for stage, number, parts in re.findall(r"^way (\w+) (\d+) (\d+)$", text, re.M):
        key = ("behind" if stage == "queue" else stage, int(number))
        ways[key] = ways.get(key, 0) + int(parts) / 1e6
    return json.loads(done.stdout), ways, text


# ---- The skid is found

# In order the next instruction is where the front end is: one behind.
for core, skids in (("inorder-2", ((2, 2), (3, 6))), ("ooo-4", ((1, 1), (3, 6), (0, 12)))):
    for low, high in skids:
        document, ways, text = calibrate(core, "--skid", f"{low}-{high}")
        told = sum(ways.get(("behind", number), 0) for number in range(low, high + 1))
        check(told > 0.75 and all(0.5 / (high - low + 1) < ways.get(("behind", number), 0) < 1.6 / (high - low + 1)
                                 for number in range(low, high + 1)),
              f"{core}: a skid of {low} to {high} instructions is learned as it is", ways)
        check(abs(sum(ways.values()) - 1) < 1e-4, "shares add up to 1", ways)
        divided = [one for one in document["loops"] if one["held_by"] == "a division" and one["known"] > 0.5]
        check(divided and all(one["sampled"] < 0.7 and one["estimated"] >= one["known"] for one in divided),
              "divisions have what they are known to have, by the estimate and not by the samples", divided)
document, ways, text = calibrate("ooo-4")
check(sum(share for (stage, _), share in ways.items() if stage == "front") > 0.9,
      "ooo-4: an interrupt that enters at the front end is found there", ways)
loads = [one for one in document["loops"] if one["held_by"] and "load" in one["held_by"]]
check(len(loads) == 2 and {one["name"] for one in document["loops"]} >= {"division_3", "straight", "taken", "mispredicted"},
      "there are loops of loads, of single cycles and of branches", document["loops"])
check(document["cpu"] == "sifive-p670" and document["event"] == "pesa/lcofi/" and document["generic"] is False,
      "the document says what it is for", document)
shown = pesa("calibrate", "--core", "inorder-2", "--skid", "2", "--cycles", "3000000", "-o", "text.txt")
check(shown.returncode == 0 and "behind the oldest one" in shown.stdout and "division_3" in shown.stdout
      and "written to text.txt" in shown.stdout, "the text says so, too", shown)

# ---- It is used

with open("divide.s", "w", encoding="ascii") as out:
    out.write("""	.option norvc
	.globl _start
_start:	li s0, 4000
	li a0, 1
	li a1, 1
1:	div a0, a0, a1
	.rept 20
	add a3, a1, a1
	.endr
	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0
	li a7, 93
	ecall
""")
made = subprocess.run([GUEST_CC, "-static", "-nostdlib", "divide.s", "-o", "divide"], capture_output=True, text=True, check=False)
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr)
calibrate("ooo-4", "--skid", "3-6")
done = pesa("record", "-q", "--core", "ooo-4", "-c", "256", "--sampler", "lcofi", "--skid", "3-6", "-o", "data", "--golden", "golden",
            "--", "./divide")
if done.returncode:
    bail_out("cannot record:", done.stderr)
annotated = pesa("annotate", "-i", "data", "--calibration", "skid.txt", "--json", "--no-source")
check(json.loads(annotated.stdout)["estimate"]["calibration"] == "skid.txt", "annotate takes it and says so", annotated.stderr)
check("by the calibration skid.txt" in pesa("annotate", "-i", "data", "--calibration", "skid.txt").stdout, "in text, too")
right = json.loads(pesa("error", "--json", "--estimate", "-i", "data", "--golden", "golden", "--calibration", "skid.txt").stdout)
check(right["estimate"]["error"] < 0.05 < right["error"], "with the right one hardly any cycle is on a wrong instruction", right)

# ---- By itself: of the same processor, event, host and kernel

home = os.path.join(work, "data-home")
os.makedirs(os.path.join(home, "pesa/calibrations"))
kept = os.path.join(home, "pesa/calibrations/sifive-p670_pesa_lcofi_.txt")
os.rename("skid.txt", kept)


def found():
    shown_now = pesa("annotate", "-i", "data", "--json", "--no-source", XDG_DATA_HOME=home)
    return json.loads(shown_now.stdout)["estimate"]["calibration"] if shown_now.returncode == 0 else shown_now


check(found() == kept, "it is found by itself where calibrations are kept", found())
with open(kept, encoding="ascii") as file:
    text = file.read()
for key, value in (("host", "another"), ("kernel", "1.0"), ("cpu", "another"), ("event", "another")):
    with open(kept, "w", encoding="ascii") as out:
        out.write(re.sub(f"^{key} .*$", f"{key} {value}", text, flags=re.M))
    check(found() is None, f"one of another {key} is not taken", found())
os.rename(kept, "elsewhere.txt")
os.symlink(os.path.join(work, "elsewhere.txt"), kept)
linked = found()
check(not isinstance(linked, str) and linked.returncode == 1 and kept in linked.stderr, "one that is a link is refused", linked)
os.unlink(kept)
with open(kept, "w", encoding="ascii") as out:
    out.write(text.replace("end\n", ""))
broken = found()
check(not isinstance(broken, str) and broken.returncode == 1 and "cut off" in broken.stderr and kept in broken.stderr,
      "a damaged one is said to be damaged", broken)

# ---- What is wrong is said

for lines, words in ((["pesa-calibration 2", "end"], "does not begin with"), (["pesa-calibration 1", "end"], "missing"),
                     (["pesa-calibration 1", "way sideways 1 1000000", "end"], "no way"),
                     (["pesa-calibration 1", "way behind 33 1000000", "end"], "number"),
                     (["pesa-calibration 1", "way behind 1 x", "end"], "millionths"),
                     (["pesa-calibration 1", "cpu a", "event b", "model c", "samples 1", "way behind 1 5", "end"], "add up"),
                     (["pesa-calibration 1", "colour red", "end"], "no such fact")):
    with open("bad.txt", "w", encoding="ascii") as out:
        out.write("\n".join(lines) + "\n")
    refused = pesa("annotate", "-i", "data", "--calibration", "bad.txt")
    check(refused.returncode == 1 and refused.stderr.count("\n") == 1 and "bad.txt:" in refused.stderr and words in refused.stderr,
          f"a file with '{lines[-2]}' is refused in one line", refused)
missing = pesa("annotate", "-i", "data", "--calibration", "nowhere.txt")
check(missing.returncode == 1 and "nowhere.txt" in missing.stderr, "a file that is not there is named", missing)
for words in (["--core", "ooo-4"], ["--skid", "1", "-o", "x"], ["--core", "ooo-4", "-e", "cycles", "-o", "x"], ["--cycles", "1", "-o", "x"],
              ["program"], ["-c", "1000", "-F", "1000"]):
    check(pesa("calibrate", *words).returncode == 2, f"wrong usage: {' '.join(words)}")
if os.uname().machine != "riscv64":
    done = pesa("calibrate")
    check(done.returncode == 1 and done.stderr.count("\n") == 1 and "no RISC-V machine" in done.stderr,
          "on another machine there is nothing to calibrate, and one line says so", done)
few = pesa("calibrate", "--core", "ooo-4", "--cycles", "20000", "-o", "few.txt")
check(few.returncode == 1 and "too few" in few.stderr and not os.path.exists("few.txt"), "of few samples nothing is learned", few)
full = pesa("calibrate", "--core", "ooo-4", "--cycles", "3000000", "-o", "/dev/full")
check(full.returncode == 1 and "/dev/full" in full.stderr, "a full disk is told", full)
end()
