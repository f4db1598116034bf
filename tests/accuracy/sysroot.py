# SPDX-License-Identifier: GPL-2.0-or-later
"""The libraries of a program's run, the same on every machine.

The emulator takes files that its --sysroot lacks from the host.  One is /etc/ld.so.cache, which the
dynamic linker searches first: what the host has installed would change the addresses and cycles of
the program.
"""
import contextlib
import os

LIBRARIES = "/usr/riscv64-linux-gnu/lib"


def no_cache(folder):
    """No cache of the dynamic linker in this sysroot."""
    os.makedirs(os.path.join(folder, "etc"), exist_ok=True)
    with open(os.path.join(folder, "etc/ld.so.cache"), "wb"):
        pass


def link(target, name):
    with contextlib.suppress(FileExistsError):  # another thread's
        os.symlink(target, name)


def sysroot(folder):
    """A sysroot in this folder, with what the cross compiler links with."""
    path = os.path.join(folder, "sysroot")
    os.makedirs(os.path.join(path, "lib"), exist_ok=True)
    no_cache(path)
    # Where the linker looks first, and the name of the linker itself.
    link(LIBRARIES, os.path.join(path, "lib/riscv64-linux-gnu"))
    for name in os.listdir(LIBRARIES):
        if name.startswith("ld-linux"):
            link(os.path.join(LIBRARIES, name), os.path.join(path, "lib", name))
    return path
