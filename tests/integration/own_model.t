#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A processor model of the user: the virtual core takes it, and pesa compare finds its change of one instruction."""
import json
import os
import re
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, command, end

work = tempfile.mkdtemp(prefix="pesa-own-model-")
os.chdir(work)

PROGRAM = r"""
#include <unistd.h>
static unsigned long loop(unsigned long x)
{
    for (long i = 0; i < 400000; i++)
        asm volatile("mul %0, %0, %1; add %0, %0, %1" : "+r"(x) : "r"(3l));
    for (long i = 0; i < 400000; i++)
        asm volatile("xor %0, %0, %1; add %0, %0, %1" : "+r"(x) : "r"(3l));
    return x;
}
int main(int count, char **words)
{
    if (count > 1) {
        loop(1);
        if (chdir("/"))
            return 1;
        execv(words[1], (char *[]){words[1], 0});
        return 1;
    }
    return loop(5) == 1;
}
"""


def own(name, text, processor="sifive-p550"):
    """The model of ooo-3 in which MUL has a class of its own, as InstRW makes it."""
    lines, described, costs = [], None, None
    for line in text.splitlines():
        if line.startswith("class "):
            described = line
        if line.startswith("\t") and re.search(r"\sMUL(\s|$)", line):
            costs, line = described, re.sub(r"\sMUL(?=\s|$)", " ", line, count=1)
            line = "\t" + line.strip()
        lines.append(re.sub(r"^processor \S+", "processor " + processor, line))
    last = max(i for i, line in enumerate(lines) if line.startswith("class "))
    lines[last:last] = [re.sub(r"latency=\d+", "latency=8", re.sub(r"class \S+", "class mul-alone", costs)), "\tMUL"]
    with open(name, "w", encoding="ascii") as out:
        out.write("\n".join(lines) + "\n")


def record(*words, program=("./program",)):
    return command(PESA, "record", "-q", "-c", "288", "--core", "ooo-3", *words, *program)


def findings(data, *words):
    done = command(PESA, "compare", "--json", "-i", data, *words)
    return json.loads(done.stdout)["classes"] if not done.returncode else done.stderr.decode()


def says(done, *parts):
    """An error in one line that has these parts."""
    text = done.stderr.decode()
    return done.returncode and text.count("\n") == 1 and all(part in text for part in parts)


with open("program.c", "w", encoding="ascii") as source:
    source.write(PROGRAM)
made = command(GUEST_CC, "-O2", "-static", "-o", "program", "program.c")
if made.returncode:
    bail_out("cannot build the program:", made.stderr.decode())
with open(os.path.join(TOP, "decoder/mca/generated/models/SiFiveP500.model"), encoding="ascii") as file:
    built_in = file.read()
own("own.model", built_in)
own("mine.model", built_in, "my-core")
own("odd.model", built_in, "./own.model")

done = record("--set", "model=own.model", "-o", "own.data")
check(not done.returncode, "record takes a file as the model", done.stderr.decode())
found = findings("own.data")
check([one["change"] for one in found] == ["WriteIMul.latency=8"], "compare finds the instruction's latency, and nothing else", found)
shown = command(PESA, "compare", "-i", "own.data").stdout.decode()
check(re.search(r"(?m)^ +defined at RISCVSchedSiFiveP500\.td:\d+$", shown) and "\\x0a" not in shown,
      "and where LLVM defines it", shown)
check(found[0]["defined_at"].startswith("RISCVSchedSiFiveP500.td:"), "in JSON, too", found)
check(findings("own.data", "-mcpu=./own.model") == [], "with the same model it finds nothing")
command(PESA, "record", "-q", "-c", "288", "--core", "ooo-3", "-o", "plain.data", "./program")
check(findings("plain.data") == [], "without the model there is nothing to find")

done = record("--set", "model=own.model", "--set", "add.latency=3", "-o", "both.data")
check(not done.returncode, "its numbers can be changed as those of a built-in one", done.stderr.decode())
done = record("--set", "model=own.model:sifive-p550", "-o", "named.data")
check(not done.returncode and findings("named.data") == found, "the processor's name may follow", done.stderr.decode())

os.mkdir("cores")
with open(os.path.join(TOP, "tools/vcore/cores/ooo-3"), encoding="ascii") as file:
    description = re.sub(r"(?m)^model = .*", "model = my.model", file.read())
with open("cores/mine", "w", encoding="ascii") as out:
    out.write(description)
os.rename("mine.model", "cores/my.model")
done = command(PESA, "record", "-q", "-c", "288", "--core", "cores/mine", "-o", "mine.data", "./program")
check(not done.returncode, "a core description names it, from its own folder", done.stderr.decode())
with open("mine.data", "rb") as file:
    recording = file.read()
check(b"my-core" in recording and b"my.model" not in recording, "the recording names the processor, and no file")
check(says(command(PESA, "compare", "-i", "mine.data"), "my-core", "-mcpu=NAME"), "compare says that this model is not built in")
check(findings("mine.data", "-mcpu=cores/my.model") == [], "and takes the file")
check([one["change"] for one in findings("mine.data", "-mcpu=sifive-p550")] == ["WriteIMul.latency=8"], "or the model that it came from")

done = record("--set", "model=odd.model", "-o", "odd.data")
check(not done.returncode and says(command(PESA, "compare", "-i", "odd.data"), "./own.model"), "no file is opened because a recording names it",
      done.stderr.decode())

done = record("--set", "model=own.model", "-o", "child.data", program=("./program", os.path.abspath("program")))
check(not done.returncode and findings("child.data") and findings("child.data")[0]["measured"] == 8,
      "a program that is executed from another folder has it, too", done.stderr.decode())

with open("cut.model", "w", encoding="ascii") as out:
    out.write(built_in[:len(built_in) // 2])
with open("long.model", "w", encoding="ascii") as out:
    out.write(re.sub(r"(?m)^processor \S+", "processor " + "x" * 80, built_in))
for words, parts, what in (("nothere.model", ("nothere.model", "No such file"), "a file that is not there"),
                           ("own.model:other", ("own.model", "other", "sifive-p550"), "a processor that it does not describe"),
                           ("cut.model", ("cut.model", ":"), "a file that is cut off"),
                           (".model/", (".model/",), "a folder"),
                           ("long.model", ("long.model", "characters"), "a name that no recording can hold"),
                           ("./" * 600 + "own.model", ("model",), "a path that is too long"),
                           ("sifive-p999", ("sifive-p999",), "an unknown processor")):
    done = record("--set", "model=" + words, "-o", "refused.data")
    check(says(done, *parts) and not os.path.exists("refused.data"), f"refused in one line: {what}", done.stderr.decode())
done = command(PESA, "record", "--core", "ooo-4", "--set", "SiFiveP600IEXQ3.units=0", "--set", "SiFiveP600IEXQ2.units=0",
               "-o", "refused.data", "./program")
check(says(done, "SiFiveP600IEXQ2.units=0", "no other unit") and not os.path.exists("refused.data"),
      "refused in one line: two changes that are possible alone, but not together", done.stderr.decode())
end()
