#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver's sources pass the kernel's checkers: checkpatch --strict, extra warnings (W=1) and sparse.  DKMS builds the
installed sources."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

from board import CROSS, TOP, sparse, tap

kernel = subprocess.run([f"{TOP}/tools/board/kernel-directory"], stdout=subprocess.PIPE, text=True,
                        check=True).stdout.strip()
sources = sorted(glob.glob(f"{TOP}/kernel/*.[ch]"))
# The backport's macros drop arguments that older kernels do not have.
done = subprocess.run(["perl", f"{kernel}/source/scripts/checkpatch.pl", "--strict", "--no-tree", "--terse", "--no-summary",
                       "--max-line-length=100", "--ignore=MACRO_ARG_UNUSED", "-f", *sources], capture_output=True, text=True, check=False)
reported = [line for line in done.stdout.splitlines() if line.strip()]
tap.check(sources and not reported, "checkpatch --strict reports nothing", "\n".join(reported) + done.stderr)

with tempfile.TemporaryDirectory(prefix="pesa-sources-") as work:
    subprocess.run(["make", "-s", "-C", TOP, "install-driver-source", f"DESTDIR={work}"], check=True)
    installed, = glob.glob(f"{work}/usr/src/*")
    if not shutil.which("dkms"):
        tap.skip("DKMS builds the driver", tap.needs("dkms"))
    elif os.geteuid():
        tap.skip("DKMS builds the driver", "only root may")
    else:
        os.mkdir(f"{work}/tree")
        os.mkdir(f"{work}/modules")
        release = subprocess.run(["make", "-s", "-C", kernel, "ARCH=riscv", "kernelrelease"], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout.split()[-1]
        done = subprocess.run(["dkms", "build", os.path.basename(installed).replace("-", "/"), "-k", f"{release}/riscv64",
                               "--kernelsourcedir", kernel, "--sourcetree", f"{work}/usr/src", "--dkmstree", f"{work}/tree",
                               "--installtree", f"{work}/modules", "--no-depmod"],
                              env={**os.environ, "ARCH": "riscv", "CROSS_COMPILE": CROSS}, capture_output=True, text=True,
                              check=False)
        tap.check(done.returncode == 0 and glob.glob(f"{work}/tree/pesa/*/{release}/riscv64/module/pesa.ko*"),
                  "DKMS builds the driver from where it is installed", done.stdout + done.stderr)

    # This builds in the source folder, so it must run after DKMS, which would copy the objects.
    checker = sparse(work)
    done = subprocess.run(["make", "-C", kernel, "ARCH=riscv", f"CROSS_COMPILE={CROSS}", f"M={installed}", "W=1",
                           *checker, "modules"], capture_output=True, text=True, check=False)
    reported = [line for line in (done.stdout + done.stderr).splitlines()
            if re.search(rf"{re.escape(work)}/\S+:\d+|\b(warning|error):", line)]
    tap.check(done.returncode == 0 and not reported, f"W=1{' and sparse have' if checker else ' has'} nothing to say",
              "\n".join(reported) or done.stderr[-2000:])
    if not checker:
        tap.skip("sparse", tap.needs("sparse"))
tap.end()
