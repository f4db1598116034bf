#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress of a recording on the virtual core: shown on a terminal, and nowhere else."""
import os
import pty
import re
import shutil
import subprocess
import tempfile

from tap import PESA, GUEST_CC, check, end

# It works now and then, for longer than it takes until a line is shown, on any machine.
LOOP = """#include <unistd.h>
int main(void)
{
	volatile long s = 0;
	for (int step = 0; step < 12; step++) {
		for (long i = 0; i < 100000; i++)
			s += i;
		usleep(250000);
	}
	return 0;
}
"""


def on_terminal(*command):
    """What a program prints on its standard error, a terminal."""
    leader, follower = pty.openpty()
    child = subprocess.Popen(command, stderr=follower, stdout=subprocess.DEVNULL)
    os.close(follower)
    text = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    child.wait()
    os.close(leader)
    return text.decode()


work = tempfile.mkdtemp(prefix="pesa-progress-")
os.chdir(work)
with open("loop.c", "w", encoding="ascii") as file:
    file.write(LOOP)
subprocess.run([GUEST_CC, "-O1", "-static", "-o", "loop", "loop.c"], check=True)
shown = on_terminal(PESA, "record", "--core", "ooo-4", "-c", "500", "--", "./loop")
lines = re.findall(r"\r\[ pesa record: ([\d.]+[kM]?) instructions, ([\d.]+[kM]?) cycles, ([\d.]+[kM]?) samples, (\d+) s \]\x1b\[K\r", shown)
number = {"k": 1e3, "M": 1e6}
instructions = [float(one[0].rstrip("kM")) * number.get(one[0][-1], 1) for one in lines]
check(lines and instructions[0] > 0 and instructions == sorted(instructions), "instructions grow on a terminal", shown)
check(shown.count("\r\x1b[K[ pesa record: ") == 1 and shown.rstrip().endswith("instructions ]"),
      "the line is removed before the summary", shown)
check(on_terminal(PESA, "record", "-q", "--core", "ooo-4", "-c", "500", "--", "./loop") == "", "nothing is shown with --quiet")
piped = subprocess.run([PESA, "record", "--core", "ooo-4", "-c", "500", "--", "./loop"], capture_output=True, text=True, check=True)
check("\r" not in piped.stderr and piped.stderr.count("\n") == 1, "nothing but the summary is shown in a pipe", piped.stderr)
shutil.rmtree(work)
end()
