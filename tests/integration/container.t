#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/container: its lists have all packages of the build, the container file names what there is, a missing engine is told.

The container itself is built by `make check-fresh`.
"""
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, check, end

CONTAINER = os.path.join(TOP, "tools/container")


def run(*words, **environment):
    return subprocess.run([CONTAINER, *words], capture_output=True, text=True, check=False, env={**os.environ, **environment})


with open(CONTAINER, encoding="utf-8") as file:
    rows = [line.rstrip("\n").split("|") for line in file if re.fullmatch(r"[a-z0-9.-]+(\|[a-z0-9.-]+){3}\n", line)]
with open(os.path.join(TOP, "tools/dependencies"), encoding="utf-8") as file:
    lines = [line.split("|") for line in file if re.match(r"[a-z? ]+\|[a-z0-9.+-]+\|", line)]
wanted = {package for sets, package, _ in lines if "build" in sets.split()}
check(wanted and {row[0] for row in rows} == wanted, "every package of the set build has a name on other distributions, and no other",
      sorted(wanted ^ {row[0] for row in rows}))
for number, name in enumerate(("fedora", "opensuse", "arch"), 1):
    listed = run("--list", name)
    check(listed.returncode == 0 and set(listed.stdout.split()) == {row[number] for row in rows}, f"--list {name}", listed.stderr)
other = run("--list", "plan9")
check(other.returncode == 2 and other.stderr.count("\n") == 1, "an unknown distribution is one line", other.stderr)

shown = run()
sets = re.search(r"tools/dependencies ([a-z ]+[a-z])", shown.stdout)
with open(os.path.join(TOP, "Makefile"), encoding="utf-8") as file:
    makefile = file.read()
check(shown.returncode == 0 and shown.stdout.startswith("FROM debian:") and sets and set(sets[1].split()) == {"demo", "build"},
      "the container file installs what the demo and the build need", shown.stdout)
check(all(re.search(rf"^{goal}:", makefile, re.M) for goal in re.findall(r"make (?!-)(\w+)", shown.stdout)),
      "and makes what the Makefile has", shown.stdout)

# Engines that are not there, that do not run, that do.
work = tempfile.mkdtemp(prefix="pesa-container-")
for tool in ("sh", "dirname", "cat", "mktemp", "rm", "mkdir", "git", "tar", "make", "sed", "cut", "sort"):
    if shutil.which(tool):
        os.symlink(shutil.which(tool), os.path.join(work, tool))
none = run("--engine", PATH=work)
check(none.returncode == 1 and none.stderr == "tools/container: neither podman nor docker is installed\n", "no engine: said in one line",
      none.stderr)
engine = os.path.join(work, "docker")
with open(engine, "w", encoding="ascii") as script:
    script.write("#!/bin/sh\nexit 1\n")
os.chmod(engine, 0o755)
idle = run("--build", PATH=work)
check(idle.returncode == 1 and "docker is installed, and cannot run containers here" in idle.stderr, "one that cannot run: likewise",
      idle.stderr)
with open(engine, "w", encoding="ascii") as script:
    script.write('#!/bin/sh\n[ "$1" != info ] || exit 0\necho "$1 $2 $3"\nfor last; do :; done\n'
                 '[ -s "$last/COMMIT" ] && [ -x "$last/tools/dependencies" ] && [ ! -e "$last/build" ] && cat "$5"\n')
shutil.copy(engine, os.path.join(work, "podman"))  # which comes before it
built = run("--build", "mine", PATH=work + ":" + os.environ["PATH"])
check(built.returncode == 0 and built.stdout == "mine\n" and "build -t mine" in built.stderr and shown.stdout in built.stderr,
      "--build gives the engine the tracked files and this container file", built.stdout + built.stderr)
shutil.rmtree(work)
end()
