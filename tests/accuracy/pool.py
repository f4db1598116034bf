# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands of trials, and trials that run side by side: what there is of them when the user interrupts."""
import concurrent.futures
import os
import shlex
import subprocess
import sys

from accuracy import Failed  # pylint: disable=wrong-import-position


# What is on the stack when a program starts is the same in each run, whoever starts it: QEMU's own variable takes these from it.
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "HOME", "XDG_CACHE_HOME", "PESA_QEMU") if name in os.environ} | {"LC_ALL": "C"}
# So is where the stack is, whatever "ulimit -s" says.
ENVIRONMENT |= {"QEMU_STACK_SIZE": str(8 << 20)}
ENVIRONMENT |= {"QEMU_UNSET_ENV": ",".join([*ENVIRONMENT, "PESA", "QEMU_UNSET_ENV"])}


def run(words, accepted=(0,), timeout=300, environment=None, folder=None):
    """What a command prints; any other status than the accepted ones is a failure."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, check=False, env=environment or ENVIRONMENT,
                          cwd=folder)
    if done.returncode not in accepted:
        raise Failed(f"{shlex.join(words)}: exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout


def gather(jobs, tasks, tell):
    """The results of all tasks that ended well, and how many did not.

    `tasks`: by a name, the function that returns a list of results, and its arguments.  `tell` is called with the list of each as it
    ends.  An interrupt ends them all: the results are of those that ended before."""
    results, ended, failed = [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(*task): name for name, task in tasks.items()}
        try:
            for one in concurrent.futures.as_completed(running):
                try:
                    results += one.result()
                    ended += 1
                    tell(one.result())
                except (Failed, subprocess.SubprocessError, OSError, ValueError) as failure:
                    failed += 1
                    print(f"{running[one]}: {failure}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            print(f"interrupted: the tables are of {ended} of {len(running)} programs and cores", file=sys.stderr, flush=True)
    return results, failed
