#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion in bash, zsh and fish, as the shells do it: subcommands, options, values of options, files, programs."""
import concurrent.futures
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time

from tap import BUILD, PESA, check, end, needs, skip

FILES = os.path.join(os.path.abspath(BUILD), "share/completion")


def in_bash(line):
    words = line.split(" ")
    quoted = " ".join("'" + word + "'" for word in re.sub("=", " = ", line).rstrip(" ").split() + ([""] if line[-1] in " =" else []))
    script = f"source {FILES}/bash; compopt() {{ :; }}; COMP_WORDS=({quoted}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _pesa; " \
             "printf '%s\\n' \"${COMPREPLY[@]}\""
    return subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=False).stdout.split() if words else []


def in_fish(line):
    script = f"source {FILES}/fish; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=False)
    return [one.split("\t")[0] for one in done.stdout.splitlines()]


def in_zsh(line):
    """What an interactive zsh shows after a tab."""
    child, terminal = pty.fork()
    if not child:
        os.environ.update(TERM="dumb", PS1="> ", COLUMNS="200")
        os.execvp("zsh", ["zsh", "-f", "-i"])
    os.write(terminal, f"fpath=({work} $fpath); autoload -U compinit; compinit -u -D; unsetopt list_beep zle_bracketed_paste; "
             "LISTMAX=1000; print rea''dy\n".encode())
    text = read_until(terminal, "ready\r\n")
    os.write(terminal, (line + "\t").encode())
    text = read_until(terminal, None)
    os.close(terminal)
    os.waitpid(child, 0)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).replace(line, "", 1).split()


def read_until(terminal, mark):
    """Read until the mark, or, without one, until nothing more comes for two seconds."""
    text, until = "", time.monotonic() + 60
    while time.monotonic() < until and (not mark or mark not in text):
        if not select.select([terminal], [], [], 60 if mark else 2)[0]:
            break
        try:
            text += os.read(terminal, 65536).decode("utf-8", "replace")
        except OSError:
            break
    return text


def options(command):
    listed = subprocess.run([PESA, command, "--list-opts"], capture_output=True, text=True, check=True).stdout
    return {line.split("\t")[0] for line in listed.splitlines()} - {""}


LINES = ["pesa anno", "pesa report --pe", "pesa report --color=a", "pesa record --core ooo-", "pesa annotate -i perf.dat"]
work = tempfile.mkdtemp(prefix="pesa-completion-")
os.chdir(work)
shutil.copy(os.path.join(FILES, "zsh"), "_pesa")
with open("perf.data.old", "w", encoding="ascii"):
    pass
shells = {"bash": in_bash, "fish": in_fish, "zsh": in_zsh}
for shell, complete in shells.items():
    if not shutil.which(shell):
        skip(f"completion in {shell}", needs(shell))
        continue
    # At once: that nothing more comes from zsh is known after two seconds.
    with concurrent.futures.ThreadPoolExecutor(len(LINES)) as pool:
        answers = dict(zip(LINES, pool.map(complete, LINES)))
    found = answers["pesa anno"]
    check("annotate" in found or found[-1:] == ["tate"] or "tate" in found, f"{shell}: subcommands", found)
    found = answers["pesa report --pe"]
    check(any("--percent-limit" in one or "rcent-limit" in one for one in found), f"{shell}: options", found)
    found = answers["pesa report --color=a"]
    check(sum(one.endswith(("auto", "always")) for one in found) == 2, f"{shell}: values of an option", found)
    found = answers["pesa record --core ooo-"]
    check(sum("ooo-4" in one or "ooo-8" in one for one in found) == 2, f"{shell}: cores", found)
    found = answers["pesa annotate -i perf.dat"]
    check(any("perf.data.old" in one or "a.old" in one for one in found), f"{shell}: files", found)
    if shell == "bash":
        for command in ("record", "report", "mca", "top"):
            missing = options(command) - set(complete(f"pesa {command} --"))
            check(len(options(command)) > 8 and not missing, f"bash: every option of {command}", missing)
        check("true" in complete("pesa record -- tru"), "bash: a program after --", complete("pesa record -- tru"))
done = subprocess.run([PESA, "--list-cmds"], capture_output=True, text=True, check=True).stdout
check(len(done.splitlines()) > 10 and all(line.count("\t") == 1 for line in done.splitlines()), "--list-cmds has a line for each", done)
os.chdir("/")
shutil.rmtree(work)
end()
