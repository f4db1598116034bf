#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which emulator pesa takes, and what it says of one that cannot run the virtual core, before anything is recorded."""
import os
import shutil
import subprocess
import tempfile

from tap import BUILD, PESA, QEMU, TOP, check, copy_of_pesa, end, needs, skip

work = tempfile.mkdtemp(prefix="pesa-emulator-")
program = os.path.join(work, "program")
with open(program, "wb") as file:  # the header of an ELF file for RISC-V: it is never run
    file.write(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0\xf3\0\1\0\0\0" + bytes(40))
os.chmod(program, 0o755)


def emulator(name, version, plugins, runs="exit 3"):
    """A program that answers like an emulator."""
    path = os.path.join(work, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as script:
        script.write(f"#!/bin/sh\ncase $1 in\n--version) echo '{version}' ;;\n-h) printf 'usage: x\\n-g port\\n{plugins}-R size\\n' ;;\n"
                     f"*) {runs} ;;\nesac\n")
    os.chmod(path, 0o755)
    return path


def record(pesa=PESA, **environment):
    path = os.path.join(work, "path") + ":/usr/bin:/bin"
    told = {name: value for name, value in os.environ.items() if name != "PESA_QEMU"}
    return subprocess.run([pesa, "record", "--core", "ooo-4", "-o", os.path.join(work, "perf.data"), "--", program], cwd=work,
                          env={**told, "PATH": path, **environment}, capture_output=True, text=True, check=False, timeout=60)


PLUGINS = "-plugin QEMU_PLUGIN file\\n"
static = emulator("static", "qemu-riscv64 version 10.0.2 (Debian 1:10.0.2+ds-2)", "")
done = record(PESA_QEMU=static)
check(done.returncode == 1 and done.stderr.count("\n") == 1 and f"{static} (QEMU 10.0) was built without plugins" in done.stderr
      and "make emulator" in done.stderr and "PESA_QEMU" in done.stderr and not os.path.exists(os.path.join(work, "perf.data")),
      "one that has no plugins is found out before the recording; the message says what to do", (done.returncode, done.stderr))
done = record(PESA_QEMU=emulator("old", "qemu-riscv64 version 6.2.0", PLUGINS))
check(done.returncode and "is QEMU 6.2; the virtual core needs 7.2 or newer" in done.stderr, "one that is too old is named", done.stderr)
done = record(PESA_QEMU=emulator("silent", "", PLUGINS))
check(done.returncode and "does not tell its version" in done.stderr, "so is what is no emulator", done.stderr)
done = record(PESA_QEMU="no-such-emulator")
check(done.returncode and "no emulator 'no-such-emulator'; install" in done.stderr, "one that is missing is named", done.stderr)

for version, plugin in (("7.2.18", "pesa-vcore-1.so"), ("8.2.2", "pesa-vcore-1.so"), ("9.0.0", "pesa-vcore-2.so"),
                        ("10.1.0", "pesa-vcore-2.so")):
    good = emulator("good", f"qemu-riscv64 version {version}", PLUGINS, 'echo "asked: $*" >&2; exit 3')
    done = record(PESA_QEMU=good)
    check(f"asked: -plugin {os.path.join(os.path.realpath(BUILD), 'libexec', plugin)},channel=" in done.stderr,
          f"QEMU {version} gets {plugin}", done.stderr)

# The one beside pesa's files comes before that of PATH.
copy = copy_of_pesa(os.path.join(work, "tree"))
shutil.copytree(os.path.join(BUILD, "share"), os.path.join(work, "tree/share"))
for version in "12":
    shutil.copy(os.path.join(BUILD, f"libexec/pesa-vcore-{version}.so"), os.path.join(work, "tree/libexec"))
emulator("path/qemu-riscv64", "qemu-riscv64 version 7.2.0", PLUGINS, "echo from-path >&2; exit 3")
check("from-path" in record(copy).stderr, "without a name it is qemu-riscv64 in PATH")
emulator("tree/libexec/qemu-riscv64", "qemu-riscv64 version 7.2.0", PLUGINS, "echo from-libexec >&2; exit 3")
check("from-libexec" in record(copy).stderr, "one beside pesa's other files comes before it")
check("asked" in record(copy, PESA_QEMU=good).stderr, "PESA_QEMU comes before both")

# tools/emulator finds the same out.
packages = subprocess.run([os.path.join(TOP, "tools/emulator"), "--packages"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": os.path.join(work, "path") + ":" + os.environ["PATH"]}).stdout
check(packages == "qemu-user\n", "tools/emulator: with plugins there is nothing to build", packages)
emulator("path/qemu-riscv64", "qemu-riscv64 version 10.0.2", "")
emulator("path/apt-cache", "", "", "printf 'qemu-user\\n  Breaks: qemu-user-static\\n'")
packages = subprocess.run([os.path.join(TOP, "tools/emulator"), "--packages"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": os.path.join(work, "path") + ":" + os.environ["PATH"]}).stdout.split()
check("meson" in packages and "ninja-build" in packages and "qemu-user" not in packages,
      "without, where the distribution's is linked statically, it is built", packages)
if QEMU:
    found = subprocess.run([os.path.join(TOP, "tools/emulator")], capture_output=True, text=True, check=False)
    helps = subprocess.run([found.stdout.strip() or "false", "-h"], capture_output=True, text=True, check=False).stdout
    check("\n-plugin " in helps, "the emulator that tools/emulator names here has plugins", found.stderr)
else:
    skip("the emulator of this machine", needs("qemu-user"))
shutil.rmtree(work)
end()
