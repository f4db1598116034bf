#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tutorials: every command that they show works, in their order, says what they say it does, and makes their pictures.

    make pictures       writes what the commands printed into Documentation/tutorials, and the pictures beside them

A picture is a page of a tutorial in a browser, in light and in dark, less than 200 KB each.  Without `make pictures` they are
made below html/ of the build directory, and those of Documentation are looked at only for their size and shape.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from browser import CHROMIUM, Browser, BrowserError, Page
from tap import BUILD, GUEST_CC, PESA, QEMU, TOP, check, end, needs, skip, skip_all

TUTORIALS = os.path.join(TOP, "Documentation/tutorials")
PICTURES = os.path.join(TUTORIALS, "pictures")
WRITE = "--write" in sys.argv[1:]
SIZE = (1200, 760)  # pixels
LIMIT = 200 * 1000  # bytes of a picture
# What the text says of what a command prints: a command, or its beginning, and a pattern.
SAYS = {
    "faster": (
        ("pesa report --stdio -i before.data", r"stalled .*D\$miss[\s\S]* find  "),
        ("pesa annotate -i before.data find", r"\blw\b.*stalled D\$miss"),
        ("pesa explain -i before.data find", r"^Why .*[\s\S]*missed the cache[\s\S]*^Try "),
        ("pesa diff before.data packed.data", r"NEW takes -\d\d\.\d+% cycles[\s\S]*\* .* find$"),
        ("pesa annotate --what-if -i packed.data", r"always predicted +`b"),
        ("pesa diff packed.data mask.data", r"NEW takes -\d\d\.\d+% cycles[\s\S]*\* .* find$"),
        ("pesa report --stdio -i mask.data", r"^ +0\.\d\d%  flushed"),
        ("pesa annotate --why -i mask.data find", r"waits .*recurrence"),
    ),
    "scheduling-model": (
        ("pesa compare -i core.data", r"1  WriteIMul latency +2 +[456] .*\bmul\b[\s\S]*defined at RISCVSched"),
        ("pesa compare -i core.data --format td", r"WriteIMul: Latency 2 -> [456]"),
        ("pesa compare -i core.data --model fixed.model", r"^no (finding|entry)"),
        ("pesa compare -i other.data", r"^no (finding|entry)"),
        ("pesa mca -mcpu=sifive-p670 kernels --path-from=core.data --symbol=hash", r"Total Cycles"),
    ),
    "core": (
        ("pesa list ./small", r"^small: "),
        ("pesa diff big.data small.data", r"NEW takes \+\d+\.\d+% cycles[\s\S]*\* .* find$"),
        ("pesa topdown -i small.data", r"Core bound +\d"),
        ("pesa error --golden exact.data -i sampled.data", r"^error +[0-3]\.\d+ %"),
        ("pesa error --golden exact.data -i sampled.data --event pesa/last-commit/", r"^error +[1-9]\d\.\d+ %"),
        ("pesa import", r"all \d+ cycles in log.data; 10000 instructions"),
        ("pesa report --stdio -i log.data", r"exact: every cycle counted[\s\S]* find  "),
    ),
}


def commands_of(text):
    return [line[2:] for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
            for line in block.splitlines() if line.startswith("$ ")]


def session(commands, folder):
    """What each command printed, and its status, in one shell that begins in the top folder."""
    script = []
    for number, command in enumerate(commands):
        command = re.sub(r"(\$PWD/|\b)build/", os.path.abspath(BUILD) + "/", command).replace("riscv64-linux-gnu-gcc", GUEST_CC)
        script.append(f"{{ {command}\n}} > {folder}/{number}.out 2>&1 < /dev/null; echo $? > {folder}/{number}.status; pwd > {folder}/where")
    environment = dict(os.environ, PATH=os.path.dirname(PESA) + ":" + os.environ["PATH"], PESA_PAGER="cat", LC_ALL="C.UTF-8",
                       COLUMNS="118", HOME=folder)
    subprocess.run(["sh"], input="\n".join(script), text=True, cwd=TOP, env=environment, check=False)
    with open(f"{folder}/where", encoding="utf-8") as file:
        where = file.read().strip()
    results = []
    for number in range(len(commands)):
        with open(f"{folder}/{number}.out", encoding="utf-8", errors="replace") as out, \
                open(f"{folder}/{number}.status", encoding="ascii") as status:
            results.append((out.read().replace(where + "/", ""), int(status.read())))
    return results, where


def with_outputs(text, results):
    """The text with what its commands printed now."""
    results = iter(results)

    def block(match):
        lines = ["```console"]
        for line in match[1].splitlines():
            if line.startswith("$ "):
                printed = next(results)[0].rstrip("\n")
                lines += [line] + ([one.rstrip() for one in printed.split("\n")] if printed else [])
        return "\n".join(lines + ["```"])
    return re.sub(r"^```console\n(.*?)^```", block, text, flags=re.M | re.S)


def headings(text):
    """The heads of tables in outputs: lines of columns without a figure, the same wherever the commands run."""
    blocks = "\n".join(re.findall(r"^```console\n(.*?)^```", text, re.M | re.S))
    return {" ".join(line.split()) for line in blocks.splitlines() if not line.startswith("$ ")
            and len(re.split(r" {2,}", line.strip())) > 2 and not re.search(r"[\d█▓▒░{};]", line.replace("95%", ""))}


def shape(path):
    """Width and height of a PNG."""
    with open(path, "rb") as file:
        head = file.read(24)
    return struct.unpack(">II", head[16:24]) if head.startswith(b"\x89PNG") else None


def draw(browser, page_file, name, folder):
    """The page in light and dark."""
    page = Page(browser)
    page.resize(*SIZE)
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        page.open(page_file)
        page.screenshot(os.path.join(folder, f"{name}-{scheme}.png"))
    check(not page.errors, f"{name}: the page has no errors", page.errors)


if not QEMU or not shutil.which(GUEST_CC):
    skip_all(needs("qemu-user" if not QEMU else "gcc-riscv64-linux-gnu"))
found = {name[:-3] for name in os.listdir(TUTORIALS) if name.endswith(".md")}
check(found == set(SAYS), "every tutorial is tested", found ^ set(SAYS))
drawn = PICTURES if WRITE else os.path.join(os.path.abspath(BUILD), "html")
os.makedirs(drawn, exist_ok=True)
work = tempfile.mkdtemp(prefix="pesa-tutorials-")
browser = Browser(work) if CHROMIUM else None
for tutorial in sorted(found):
    path = os.path.join(TUTORIALS, tutorial + ".md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    commands = commands_of(text)
    folder = os.path.join(work, tutorial)
    os.mkdir(folder)
    results, where = session(commands, folder)
    for command, (printed, status) in zip(commands, results):
        check(status == 0, f"{tutorial}: {command}", printed)
    for beginning, pattern in SAYS[tutorial]:
        printed = [out for command, (out, _) in zip(commands, results) if command.split(" | ")[0] == beginning
                   or command.startswith(beginning) and beginning.count(" ") == 1]
        check(printed and re.search(pattern, printed[0], re.M), f"{tutorial}: {beginning}: as the text says",
              printed[0] if printed else "no such command")
    fresh = with_outputs(text, results)
    gone = headings(text) - headings(fresh)
    if WRITE:
        with open(path, "w", encoding="utf-8") as file:
            file.write(fresh)
    else:
        check(not gone, f"{tutorial}: headings of outputs are those that are shown (make pictures)", "\n".join(sorted(gone)))
    page_file = [word for command in commands for word in re.findall(r"--html (\S+)", command)]
    check(len(page_file) == 1, f"{tutorial} makes a page", page_file)
    if browser:
        try:
            draw(browser, os.path.join(where, page_file[0]), tutorial, drawn)
        except BrowserError as problem:
            check(False, f"{tutorial}: its page is drawn", problem)
    else:
        skip(f"{tutorial}: its picture", needs("chromium"))
    for scheme in ("light", "dark"):
        kept, new = (os.path.join(one, f"{tutorial}-{scheme}.png") for one in (PICTURES, drawn))
        for picture in {kept, new} if browser else {kept}:
            check(os.path.exists(picture) and shape(picture) == SIZE and os.path.getsize(picture) < LIMIT,
                  f"{os.path.relpath(picture, TOP)} is a picture of {SIZE[0]} x {SIZE[1]} pixels below 200 KB",
                  os.path.getsize(picture) if os.path.exists(picture) else "missing")
    check(f"pictures/{tutorial}-light.png" in text and f"pictures/{tutorial}-dark.png" in text, f"{tutorial} shows both pictures")
if browser:
    browser.close()
shutil.rmtree(work)
end()
