#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The models in Documentation/processor-model.md, used unchanged, behave as the text says."""
import json
import os
import subprocess
import tempfile

from tap import TOP, PESA, check, end


def examples():
    """Models by the name of their first processor."""
    with open(os.path.join(TOP, "Documentation/processor-model.md")) as file:
        section = file.read().partition("## Example\n")[2].partition("\n## ")[0]
    found, lines = {}, []
    for line in section.splitlines() + [""]:
        if line.startswith("    "):
            lines.append(line[4:])
        elif lines and line:
            model = "\n".join(lines) + "\n"
            found[model.partition("\nprocessor ")[2].split()[0]] = model
            lines = []
    if lines:
        model = "\n".join(lines) + "\n"
        found[model.partition("\nprocessor ")[2].split()[0]] = model
    return found


def mca(model, processor, text, *options):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "example.model")
        with open(path, "w") as file:
            file.write(model)
        result = subprocess.run([PESA, "mca", f"-mcpu={path}" + (":" + processor if processor else ""), *options,
                                 "--json", "-"], input=text, capture_output=True, text=True)
        if result.returncode:
            return result.stderr.replace(directory + "/", "")
        return json.loads(result.stdout)["CodeRegions"][0]


def cycles(model, processor, text, iterations):
    found = mca(model, processor, text, f"-iterations={iterations}")
    return found if isinstance(found, str) else found["SummaryView"]["TotalCycles"]


models = examples()
check(set(models) == {"mycore", "hobby-1"}, "the document has two models", set(models))

# Out of order: dispatch in cycle 0, issue from 1, retirement one cycle after the end.
mycore = models["mycore"]
check(cycles(mycore, "mycore", "mul a0, a0, a0\n", 10) == 10 * 4 + 3, "mycore: dependent multiplications take 4 cycles",
      cycles(mycore, "mycore", "mul a0, a0, a0\n", 10))
check(cycles(mycore, "", "mul a0, a1, a1\n", 100) == 100 + 3 + 3, "mycore: one unit takes one a cycle",
      cycles(mycore, "", "mul a0, a1, a1\n", 100))
for store, distance, what in (("sw a0, 0(a2)", 2, "the value is needed a cycle late"),
                              ("sw a2, 0(a0)", 3, "the address is not")):
    found = mca(mycore, "mycore", f"lw a0, 0(a1)\n{store}\n", "-iterations=1", "-timeline")
    times = [entry["CycleIssued"] for entry in found["TimelineView"]["TimelineInfo"]] \
        if isinstance(found, dict) else [0, 0]
    check(times[1] - times[0] == distance, f"mycore: of a store after a load, {what}", found)

# In order: issue from cycle 0, and one cycle more at the end.
hobby = models["hobby-1"]
for processor, latency in (("hobby-1", 5), ("hobby-2", 2)):
    found = cycles(hobby, processor, "mul a0, a0, a0\n", 10)
    check(found == 10 * latency + 1, f"{processor}: dependent multiplications take {latency} cycles", found)
found = cycles(hobby, "hobby-1", "mul a0, a1, a1\n", 10)
check(found == 10 * 5 + 1, "hobby-1: independent ones, too, because the unit is taken", found)
found = cycles(hobby, "hobby-2", "mul a0, a1, a1\n", 10)
check(found == 10 + 2, "hobby-2: not there", found)
found = cycles(hobby, "hobby-1", "li a0, 1\nnot a1, a0\nmv a2, a1\nbnez a1, 8\ncall f\nret\n", 1)
check(isinstance(found, int), "other spellings go by what they stand for", found)

found = mca(hobby, "hobby-1", "add a0, a0, a0\ndiv a0, a0, a0\n")
check("instruction 1 (div) is not supported by the model of hobby-1" in found and "a class that lists DIV" in found,
      "the message for an instruction that is not listed says its name", found)
found = mca(hobby, "hobby-3", "nop\n")
check("no processor 'hobby-3'; its first one is 'hobby-1'" in found, "an unknown processor of the file", found)
found = mca(hobby.replace("resource MD", "resource MD # slow\n   # indented"), "", "mul a0, a0, a0\n")
check(isinstance(found, dict), "comments at the end of lines and after blanks", found)
found = mca(hobby.replace("uses=MD:5", "uses=MD#5"), "", "mul a0, a0, a0\n")
check("example.model:13: expected the name of a resource, found 'MD#5'" in found, "# within a word is no comment", found)
# ---- Lines `set` ----

changed = mycore.replace("class load", "set SUB.latency=7\nset MUL.latency=9\nclass load")
check(cycles(changed, "mycore", "mul a0, a0, a0\n", 10) == 10 * 9 + 3 and cycles(changed, "mycore", "mulw a0, a0, a0\n", 10) == 10 * 4 + 3,
      "a line set changes one instruction", cycles(changed, "mycore", "mul a0, a0, a0\n", 10))
check(cycles(changed, "mycore", "sub a6, a6, a1\n", 10) == 10 * 7 + 3, "and another line another one", cycles(changed, "mycore", "sub a6, a6, a1\n", 10))
place = 1 + changed.split("\n").index("set MUL.latency=9")
for bad, said in (("set MUL.latency=", f"example.model:{place}: 'MUL.latency=': expected"), ("set", f"example.model:{place}: expected 'set NAME.WHAT=NUMBER'"),
                  ("set MULX.latency=2", f"example.model:{place}: MULX.latency=2: the model")):
    found = mca(changed.replace("set MUL.latency=9", bad), "mycore", "mul a0, a0, a0\n")
    check(isinstance(found, str) and said in found, f"'{bad}' is one line with its place", found)
# ---- A model that is cut off ----

whole = mycore.rstrip("\n")
taken = [size for size in range(0, len(whole) - len("end"))
         if "ends without a line" not in mca(whole[:size], "mycore", "add a0, a0, a1\n")
         and "example.model:" not in mca(whole[:size], "mycore", "add a0, a0, a1\n")]
check(not taken, "a model that is cut off anywhere is refused, also within a list of instructions", taken)
found = mca(whole + "\n\tMUL\n", "mycore", "add a0, a0, a1\n")
check("found 'MUL' behind the line 'end'" in found, "nothing follows its last line", found)

end()
