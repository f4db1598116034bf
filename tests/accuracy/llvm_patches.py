#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether patches of LLVM's scheduling models change what they should, on the models of LLVM itself.

    tests/accuracy/llvm_patches.py [--count N] [--seed N] [--models NAME,...]

N definitions of each model are drawn: latencies of SchedWrites, cycles for which they hold a resource, latencies of single opcodes,
units.  They are changed with build/tests/tools/patch_tablegen, all models in one copy of LLVM's source (tools/source-package), from
which the models are generated anew.  Printed is how many could be changed, and how many of these, and of all others, are not as wanted.
WriteX_WorstCase and instructions of several SchedWrites, which follow those that were changed, are not looked at.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATCH = os.path.join(os.environ.get("O", os.path.join(TOP, "build")), "tests/tools/patch_tablegen")
FOLDER = "llvm/lib/Target/RISCV"
# Models whose definitions stand in multiclasses that others of them share are changed once.
MODELS = ("Andes45 GenericOOO MIPSP8700 Rocket SiFive7VLEN512 SiFiveP400 SiFiveP500 SiFiveP600 SiFiveP800 SpacemitX60 SyntacoreSCR1 "
          "SyntacoreSCR4RV64 SyntacoreSCR7 TTAscalonD8 XiangShanNanHu")
KINDS = ("latency", "cycles", "opcode", "units")


def read(path):
    """Numbers of each SchedWrite and opcode, and units, of a model."""
    found, numbers, write = {}, None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if line.startswith("class "):
                numbers, write = tuple(words[2:]), None
            elif line.startswith("write "):
                write = words[1]
                found.setdefault(("write", write), set()).add(numbers)
            elif line.startswith(("variant", "unsupported")):
                numbers = None
            elif line.startswith("resource "):
                found["units", words[1]] = next((word[6:] for word in words if word.startswith("units=")), "1")
            elif line.startswith("\t") and numbers:
                for word in words:
                    found["opcode", word] = (write, numbers)
    return found


def is_plain(name):
    return name and "+" not in name and not name.endswith("WorstCase")


def latency_of(numbers, value):
    return tuple(re.sub(r"(?<=[=,])\d+", value, word) if word.startswith("latency=") else word for word in numbers)


def cycles_of(numbers, resource, value):
    """With another number of cycles of a resource, which is taken from cycle 0 on."""
    return tuple(re.sub(rf"(?<=[=,]){resource}(?::\d+)?(?=,|$)", f"{resource}:{value}", word) if word.startswith("uses=") else word
                 for word in numbers)


def draw(generator, kind, model, count):
    """Changes, and what each is to make of the model."""
    changes = {}
    for (what, name), value in sorted(model.items(), key=lambda item: item[0]):
        if kind == "units" and what == "units":
            number = str(int(value) + 3)
            changes[f"units {name} - {number}"] = {(what, name): number}
        elif kind == "opcode" and what == "opcode" and is_plain(value[0]) and re.fullmatch(r"[A-UW-Z]\w*", name) \
                and not re.search(r"latency=\S*[:,]", " ".join(value[1])):
            changes[f"opcode {value[0]} {name} 55"] = {(what, name): (value[0], latency_of(value[1], "55"))}
        elif what == "write" and is_plain(name) and len(value) == 1 and kind in ("latency", "cycles"):
            numbers = next(iter(value))
            uses = next((word[5:].split(",") for word in numbers if word.startswith("uses=")), [])
            if kind == "latency":
                changes[f"latency {name} - 77"] = {(what, name): {latency_of(numbers, "77")}}
            elif uses and "-" not in uses[0]:
                resource = uses[0].split(":")[0]
                changes[f"cycles {name} {resource} 71"] = {(what, name): {cycles_of(numbers, resource, "71")}}
    chosen = generator.sample(sorted(changes), min(count, len(changes)))
    return {change: changes[change] for change in chosen}


def prove(kind, arguments, work, source):
    tree, rows = os.path.join(work, "llvm-project"), []
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(os.path.dirname(os.path.join(tree, FOLDER)))
    shutil.copytree(source, os.path.join(tree, FOLDER))
    for name in arguments.models.split(","):
        path = os.path.join(TOP, "decoder/mca/generated/models", name + ".model")
        model = read(path)
        drawn = draw(random.Random(f"{arguments.seed} {kind} {name}"), kind, model, arguments.count)
        made = subprocess.run([PATCH, path, source, FOLDER + "/"], input="\n".join(drawn) + "\n", capture_output=True, text=True, check=True)
        subprocess.run(["patch", "-p1", "-F0", "-s", "-d", tree], input=made.stdout, text=True, check=True)
        refused = {line.split(":")[0] for line in made.stderr.splitlines()}
        wanted = dict(model)
        kept = [change for change in drawn if change.rsplit(" ", 1)[0] not in refused]
        for change in kept:
            wanted.update(drawn[change])
        rows.append((name, wanted, len(drawn), len(kept)))
    records = os.path.join(work, "records.json")
    with open(records, "w", encoding="utf-8") as out:
        subprocess.run(["llvm-tblgen-22", "--dump-json", "-I", "/usr/lib/llvm-22/include", "-I", os.path.join(tree, FOLDER),
                        os.path.join(tree, FOLDER, "RISCV.td")], stdout=out, check=True)
    subprocess.run([os.path.join(TOP, "tools/gen/models"), records, os.path.join(work, "generated")], check=True, stdout=subprocess.DEVNULL)
    print(f"| {kind} |", end="", flush=True)
    total = [0, 0, 0]
    for name, wanted, drawn, kept in rows:
        new = read(os.path.join(work, "generated/models", name + ".model"))
        looked = ("units",) if kind == "units" else ("opcode",) if kind == "opcode" else ("write",)
        wrong = [key for key, value in wanted.items() if key[0] in looked and (key[0] != "write" or is_plain(key[1]))
                 and (new.get(key) != value if key[0] != "opcode" else new.get(key, (0, 0))[1] != value[1])]
        for key in wrong[:3]:
            print(f"{name} {key}: {wanted[key]}, found {new.get(key)}", file=sys.stderr)
        total = [total[0] + drawn, total[1] + kept, total[2] + len(wrong)]
    print(f" {total[0]:,} | {total[1]:,} | {total[2]} |")


def main():
    parser = argparse.ArgumentParser(description="Patches of LLVM's own models: are they as wanted?")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--models", default=",".join(MODELS.split()))
    arguments = parser.parse_args()
    source = subprocess.run([os.path.join(TOP, "tools/source-package"), "llvm-22", FOLDER], capture_output=True, text=True, check=True).stdout.strip()
    print(f"Written by `tests/accuracy/llvm_patches.py --count {arguments.count} --seed {arguments.seed}`.\n")
    print("| changes | drawn | changed | not as wanted |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="pesa-patches-") as work:
        for kind in KINDS:
            prove(kind, arguments, work, source)


if __name__ == "__main__":
    main()
