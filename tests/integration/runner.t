#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/run with artificial tests: its counts, the skipped tests, and the rules for skips in CI."""
import os
import shutil
import subprocess
import tempfile
import time

from tap import TOP, check, end

work = tempfile.mkdtemp(prefix="pesa-runner-")
TESTS = {
    "passes.t": "echo 1..2; echo ok 1 - one; echo 'ok 2 - two'",
    "lacks_all.t": "echo '1..0 # SKIP needs the package linux-perf'",
    "lacks_one.t": "echo 1..2; echo 'ok 1 - here'; echo 'ok 2 - beside another # SKIP needs the package llvm-22'",
    "no_privilege.t": "echo 1..1; echo 'ok 1 - a full disk # SKIP no file system can be mounted here'",
    "of_c.t": "echo 1..1; echo '# SKIP needs the package no-such-package'; echo 'ok 1 - asks a server'",
}


def run(tests, offered, part="integration", **variables):
    """What tests/run says of these files, where the package manager offers some packages or does not; its status."""
    shutil.rmtree(work)
    for folder in ("tests/integration", "tests/system", "tools/board", "programs", "build/tests"):
        os.makedirs(os.path.join(work, folder))
    for name in ("tests/run", "tests/keep_output", "tests/keep_compiled", "tools/dependencies", "tools/cache-folder"):
        shutil.copy(os.path.join(TOP, name), os.path.join(work, name))
    scripts = {f"tests/integration/{name}": body for name, body in tests.items()}
    for name in ("tools/programs", "tools/emulator", "tools/board/build", "tools/board/pesa", "tools/board/series"):
        scripts[name] = "true"
    if part == "system":
        scripts["tools/dependencies"] = "true"
        for name in os.listdir(os.path.join(TOP, "tests/system")):
            scripts[f"tests/system/{name}"] = "echo 1..1; echo ok 1 - here"
    # Nothing is installed, and packages are offered or not.
    scripts["programs/dpkg-query"] = "exit 1"
    scripts["programs/apt-cache"] = "echo '  Candidate: 1.0'" if offered else "echo '  Candidate: (none)'"
    for name, body in scripts.items():
        path = os.path.join(work, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)
    with open(os.path.join(work, "Makefile"), "w", encoding="utf-8") as file:
        file.write("all tests emulator format-check:\n%/make_profile:\n\t@true\nlint:\n\techo 'clang-tidy # SKIP needs the package clang-tidy-14'\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("O", "PESA", "CI")}
    environment["PATH"] = os.path.join(work, "programs") + ":" + environment["PATH"]
    done = subprocess.run([os.path.join(work, "tests/run"), part], env={**environment, **variables},
                          capture_output=True, text=True, check=False, timeout=300)
    return done.stdout, done.returncode


said, status = run(TESTS, True)
last = said[said.rfind("skipped:\n"):].splitlines()
check(status == 0 and last[-2].startswith("it took ") and sorted(last[1:-2]) == [
    "  lacks_all.t: needs the package linux-perf",
    "  lacks_one.t: beside another: needs the package llvm-22",
    "  no_privilege.t: a full disk: no file system can be mounted here",
    "  of_c.t: needs the package no-such-package"],
      "the last lines name each skipped test with its file and the reason", said)
check(last[-1] == "8 passed, 0 failed", "the very last line has the sum", said)

said, status = run({"passes.t": TESTS["passes.t"]}, True)
check(status == 0 and "skipped" not in said, "where nothing is skipped, nothing is said of it", said)

said, status = run(TESTS, True, CI="true")
check(status == 1 and said.endswith("\n8 passed, 2 failed\n") and
      "for want of linux-perf, which tools/dependencies promises: 1 failed" in said and
      "for want of llvm-22, which tools/dependencies promises: 1 failed" in said,
      "with CI=true a package that was promised and is missing is a failure", said)
said, status = run({name: TESTS[name] for name in ("passes.t", "lacks_one.t", "no_privilege.t", "of_c.t")}, False, CI="true")
check(status == 0 and said.endswith("\n8 passed, 0 failed\n") and "lacks_one.t: " in said,
      "one that this distribution does not offer is not, nor are privileges, nor what tools/dependencies does not name", said)

said, status = run({}, True, "lint", CI="true")
check(status == 1 and "  lint: clang-tidy: needs the package clang-tidy-14\n" in said.replace("skipped:\n", "skipped:\n  ") and
      "for want of clang-tidy-14, which tools/dependencies promises: 1 failed" in said,
      "linters that are missing are skipped tests, too", said)

said, status = run({"dies.t": "echo 1..2; echo ok 1 - one; kill -9 $$", "passes.t": TESTS["passes.t"]}, True)
check(status == 1 and "integration: " in said and not said.endswith(" 0 failed\n"), "a test that dies is a failure", said)

said, status = run({}, True, "system", UNTIL=str(int(time.time()) + 1900))
count = len([name for name in os.listdir(os.path.join(TOP, "tests/system")) if name.endswith(".t") and not name.startswith("debug")])
check(not status and "skipped" not in said and f"Files={count - 4}, " in said and "Files=4, " in said and "FAILED" not in said,
      "where there is time, all tests on the board run, those of kernel/series after its kernel is built", said)
said, status = run(TESTS, True, "system", UNTIL=str(int(time.time()) + 600))
check(status == 1 and "  the board: it may take 30 minutes, and " in said.replace("skipped:\n", "skipped:\n  ") and
      said.endswith("\n0 passed, 0 failed\n"), "a board for which no time is left is skipped", said)
for until, began in ((time.time() - 60, False), (time.time() + 600, True)):
    one = subprocess.run([os.path.join(work, "tests/keep_output"), work, "sh", os.path.join(work, "tests/integration/passes.t")],
                         env={**os.environ, "BEGIN_UNTIL": str(int(until))}, capture_output=True, text=True, check=False)
    check((one.stdout.startswith("1..2\n") if began else one.stdout == "1..0 # SKIP too little time is left\n") and not one.returncode,
          f"a test {'begins where' if began else 'is skipped where no'} time is left", one.stdout)

shutil.rmtree(work)
end()
