#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that README.md, topdown.md and the manual pages show work as shown, in their order."""
import glob
import os
import re
import shlex
import subprocess
import tempfile

from tap import TOP, BUILD, PESA, check, end

with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
    readme = file.read()
with open(os.path.join(TOP, "Documentation/topdown.md"), encoding="utf-8") as file:
    topdown = file.read()  # on the recording of the README
commands = [line[2:] for block in re.findall(r"^```console\n(.*?)^```", readme + topdown, re.M | re.S)
            for line in block.splitlines() if line.startswith("$ ")]
check("pesa topdown" in " ".join(commands), "Documentation/topdown.md shows an analysis", commands)
check(any(command.startswith("pesa record") for command in commands), "the README shows a recording", commands)

with tempfile.TemporaryDirectory() as folder:
    # bzip2 of the README is the riscv64 one, pesa the one that was built.
    tools = os.path.join(folder, "bin")
    os.mkdir(tools)
    os.symlink(os.path.join(BUILD, "programs/bzip2"), os.path.join(tools, "bzip2"))
    os.symlink(PESA, os.path.join(tools, "pesa"))
    work = os.path.join(folder, "work")
    os.mkdir(work)
    with open(os.path.join(work, "text"), "wb") as out:
        for name in sorted(glob.glob(os.path.join(TOP, "include/pesa/*.h"))):
            with open(name, "rb") as header:
                out.write(header.read())
    environment = dict(os.environ, PATH=tools + ":" + os.environ["PATH"], PESA_PAGER="cat")
    for command in commands:
        done = subprocess.run(["sh", "-c", command], cwd=work, env=environment, capture_output=True)
        check(done.returncode == 0, f"README: {command}", done.stderr.decode("utf-8", "replace"))

    # The README's synopsis and the commands that exist are the same.
    with open(os.path.join(TOP, "tools/commands.h"), encoding="utf-8") as file:
        exist = set(re.findall(r'COMMAND\((\w+),[\s\\]*"', file.read()))
    named = set(re.findall(r"^\| `pesa (\w+)", readme, re.M))
    check(exist == named, "the README's table names every subcommand and no other",
          f"not in the README: {sorted(exist - named)}; only there: {sorted(named - exist)}")
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        check(os.path.exists(os.path.join(TOP, link)), f"README links to {link}, which exists")

    # Reading commands of the --help examples, on the recording that the README made.
    os.rename(os.path.join(work, "perf.data"), os.path.join(work, "kept")) \
        if os.path.exists(os.path.join(work, "perf.data")) else None
    for name in sorted(exist & {"report", "annotate", "script", "error", "list"}):
        shown = subprocess.run([PESA, name, "--help"], capture_output=True, text=True).stdout
        for line in shown[shown.lower().rfind("example"):].splitlines():
            line = line.strip()
            if not line.startswith("pesa " + name) or "|" in line or re.search("libc.so|old|/var/lib|memcmp", line):
                continue
            words = shlex.split(line)
            if "--block" in words:  # of a recording with branch stacks, which the README's has not
                subprocess.run([PESA, "record", "-q", "--core", "ooo-4", "--set", "sample.ctr_depth=32", "-o", "stacks", "--",
                                os.path.join(tools, "bzip2"), "-kf", "text"], cwd=work, env=environment, check=True)
                line += " -i stacks"
            for file in [word for word in words if word.endswith(".data")] + ["perf.data"]:
                if "golden" not in file and not os.path.lexists(os.path.join(work, file)):
                    os.symlink("kept", os.path.join(work, file))
            done = subprocess.run(["sh", "-c", line], cwd=work, env=environment, capture_output=True)
            check(done.returncode == 0, f"--help example: {line}", done.stderr.decode("utf-8", "replace"))

end()
