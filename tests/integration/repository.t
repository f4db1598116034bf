#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for all files and all subcommands of the project."""
import os
import re
import subprocess

from tap import BUILD, TOP, PESA, check, end

os.chdir(TOP)


if os.path.exists(".git"):
    tracked = subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], capture_output=True, text=True,
                             check=True).stdout.split("\n")
else:
    tracked = [os.path.relpath(os.path.join(folder, name), ".")
               for folder, _, names in os.walk(".") for name in names
               if not folder.startswith(("./build", "./.git"))]
tracked = [name for name in tracked if name and os.path.isfile(name)]


def text(name):
    with open(name, "rb") as file:
        data = file.read()
    return None if b"\0" in data else data.decode("utf-8", "replace")


def is_source(name):
    if name.endswith((".c", ".h", ".py", ".sh", ".t", ".S")) or name == "Makefile":
        return True
    return os.access(name, os.X_OK) and (text(name) or "").startswith("#!")


sources = [name for name in tracked if is_source(name)]
missing = [name for name in sources
           if not any("SPDX-License-Identifier:" in line for line in (text(name) or "").splitlines()[:3])]
check(sources and not missing, "every source file names its licence in an SPDX tag", "\n".join(missing))

paths = []
for name in tracked:
    for line in (text(name) or "").splitlines():
        if re.search(r"(?<![\w.$}])/(?:root|work|home/\w+)/", line):
            paths.append(f"{name}: {line.strip()[:100]}")
check(not paths, "no tracked file names a path of one machine", "\n".join(paths))

own_way = [name for name in tracked if name.startswith("tests/") and name.endswith((".t", ".py"))
           and not name.endswith(("/tap.py", "/runner.t", "/repository.t"))
           and (text(name) or "").startswith("#!/usr/bin/env python") and re.search(r"# *skip\b", text(name), re.I)]
check(not own_way, "tests are skipped by tap.py alone, whose reasons tests/run knows", "\n".join(own_way))


# The convention of errors (include/pesa/error.h).
code = [name for name in tracked if name.split("/")[0] in ("include", "decoder", "daemon", "tools") and name.endswith((".c", ".h"))]
false = {name for name in code if name.endswith(".h") and
         re.search(r"\bfalse\b[^.;]{0,40}\b(?:out\s+(?:\*\s+)?of\s+(?:\*\s+)?memory|memory\s+(?:\*\s+)?ran)", text(name), re.I)}
check(not false, "no header says false for out of memory", sorted(false))
flags = {name for name in code if re.search(r"^\s*bool [^;(]*\bout_of_memory\b", text(name), re.M)}
check(not flags, "no object has a flag for it", sorted(flags))


def wide_lines(name):
    """Lines of a document that are wider than 100 columns; what stands in blocks of code or output may be."""
    fenced, indented, before = False, False, ""
    for number, line in enumerate(text(name).splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        # Four blanks after an empty line begin a block, which lasts until a line with fewer.
        indented = line.startswith("    ") and (indented or not before.strip())
        before = line
        if not fenced and not indented and len(line) > 100:
            yield f"{name}:{number}: {len(line)} columns"


documents = [name for name in tracked if re.fullmatch(r"[A-Z]+\.md|Documentation/(?:[\w-]+/)?[\w-]+\.md", name)]
wide = [line for name in documents for line in wide_lines(name)]
check(len(documents) > 20 and not wide, "no line of a document is wider than 100 columns", "\n".join(wide))
broken = [f"{name}: {link}" for name in documents
          for link in re.findall(r"\]\(([^)#:\s]+)[^)]*\)", re.sub(r"`[^`\n]*`", "", text(name)))
          + re.findall(r'src(?:set)?="([^"]+)"', text(name))
          if not os.path.exists(os.path.join(os.path.dirname(name), link))]
check(not broken, "what documents link to exists", "\n".join(broken))
folders = {"/".join(name.split("/")[:depth]) for name in tracked for depth in range(1, name.count("/") + 1)}
elsewhere = ("tools/perf/", "include/uapi/")  # the kernel's
absent = [f"{name}: {path}" for name in documents
          for path in re.findall(r"(?<![\w./$-])((?:decoder|daemon|tools|tests|include|kernel)/[\w./-]*\w)(?![\w{*])",
                                 text(name)) if not path.startswith(elsewhere)
          and path not in folders and path not in tracked]
check(not absent, "the files and folders that documents name exist", "\n".join(absent))
silent = [name for name in documents if name.startswith("Documentation/")
          and not re.match(r"(<!--.*-->\n)?# .*\n\nFor ", text(name))]
check(not silent, "each document says first for whom it is", "\n".join(silent))
lines = len(text("README.md").splitlines())
check(lines < 200, "README.md is shorter than 200 lines", f"{lines} lines")

trailing = [name for name in sources if re.search(r"[ \t]+$", text(name) or "", re.M)]
check(not trailing, "no source file has trailing blanks", "\n".join(trailing))

with open("tools/commands.h", encoding="utf-8") as header:
    commands = re.findall(r'COMMAND\((\w+),[\s\\]*"', header.read())
listed = subprocess.run([PESA, "--help"], capture_output=True, text=True)
check(listed.returncode == 0 and all(re.search(rf"^  {name}\s", listed.stdout, re.M) for name in commands),
      "pesa --help lists every subcommand", listed.stdout)

for name in commands:
    shown = subprocess.run([PESA, name, "--help"], capture_output=True, text=True)
    check(shown.returncode == 0 and re.search(r"example", shown.stdout, re.I) and not shown.stderr,
          f"pesa {name} --help shows an example", shown.stdout + shown.stderr)
    manual = f"Documentation/pesa-{name}.1"
    content = text(manual) if os.path.exists(manual) else ""
    sections = [part for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLE", "EXIT STATUS")
                if not re.search(rf"^\.SH \"?{part}", content, re.M)]
    check(content and not sections, f"{manual} is complete", "missing: " + ", ".join(sections))
    plain = content.replace("\\-", "-")
    options = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", shown.stdout)) - {"--help", "--usage", "--version"}
    absent = sorted(option for option in options if option not in plain)
    check(not absent, f"{manual} explains every option that --help names", "missing: " + ", ".join(absent))
    # One dash or two: pesa mca takes both.
    listed = {word.lstrip("-") for paragraph in re.findall(r"^\.T[PQ].*\n(.*)", re.sub(r"\\f[BIRP]", "", plain), re.M)
              for word in re.findall(r"(?<![\w-])--?[a-z][a-z-]+", paragraph)}
    shown_too = {word.lstrip("-") for word in re.findall(r"(?<![\w-])--?[a-z][a-z-]+", shown.stdout)} | {"help"}
    check(listed and listed <= shown_too, f"pesa {name} --help names every option that {manual} lists",
          f"missing: {sorted(listed - shown_too)}")
    check("--json" in shown.stdout, f"pesa {name} has --json", shown.stdout)
    for option in ("-h", "-?"):
        short = subprocess.run([PESA, name, option], capture_output=True, text=True)
        check(short.returncode == 0 and short.stdout == shown.stdout and not short.stderr,
              f"pesa {name} {option} is --help", short.stdout + short.stderr)
    wrong = subprocess.run([PESA, name, "--no-such-option"], capture_output=True, text=True)
    check(wrong.returncode == 2 and re.fullmatch(rf"pesa {name}: .*--no-such-option.*\n", wrong.stderr) and not wrong.stdout,
          f"pesa {name} refuses an unknown option with one line and status 2", f"status {wrong.returncode}: {wrong.stderr}")

unknown = subprocess.run([PESA, "no-such-command"], capture_output=True, text=True)
check(unknown.returncode == 2 and unknown.stderr.count("\n") == 1, "an unknown subcommand is one line and status 2",
      unknown.stderr)
version = subprocess.run([PESA, "--version"], capture_output=True, text=True)
told = re.fullmatch(r"pesa (\d+\.\d+\.\d+)\ncommit (\S+)\nbuilt with \S+ [\d.]+ for \S+, .*\blibelf \d[\d.]*.*\n"
                    r"(with .+\n)?(without .+\n)?", version.stdout)
check(version.returncode == 0 and told, "pesa --version tells version, commit, compiler, libraries and parts", version.stdout)
made = subprocess.run(["make", "-s", "version"], cwd=TOP, capture_output=True, text=True,
                      env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")}).stdout
check(told and made.startswith(f"version {told[1]}\ncommit "), "the version is that of the sources", made + version.stdout)

dry = subprocess.run(["make", "-n", "WITH_PESAD=0", f"O={BUILD}/no-such-build", "all"], cwd=TOP, capture_output=True, text=True,
                     env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")})
check(dry.returncode == 0 and "daemon/record" in dry.stdout and "daemon/pesad" not in dry.stdout,
      "WITH_PESAD=0 builds pesa without the daemon", dry.stderr or dry.stdout[-2000:])

end()
