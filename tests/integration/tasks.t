#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Documentation/tasks.md: every row's commands run in order, are two at most, and print what answers the question."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, end

# Two threads: one searches, which compares keys, the other sums an array that is larger than the caches.
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char keys[512][32], large[1 << 21];
__attribute__((noipa)) int search(const char *key)
{
	int low = 0, high = 511;
	while (low < high) {
		int middle = (low + high) / 2;
		if (memcmp(keys[middle], key, 32) < 0) low = middle + 1; else high = middle;
	}
	return low;
}
static void *sum(void *unused)
{
	volatile long all = 0;
	for (long i = 0; i < 8 * (long)sizeof large; i += STRIDE) all += large[i * 31 % sizeof large];
	return unused;
}
int main(void)
{
	pthread_t thread;
	long found = 0;
	for (int i = 0; i < 512; i++) { memset(keys[i], 0, 32); keys[i][0] = i >> 8; keys[i][31] = i; }
	pthread_create(&thread, 0, sum, 0);
	for (int i = 0; i < 12000; i++) found += search(keys[(i * 7919u) % 512]);
	pthread_join(thread, 0);
	return found < 0;
}
"""
# What the last command of a row prints.
ANSWERS = {
    "Where does the time go?": r"retiring.*\n[\s\S]*.*program +(search|memcmp)",
    "Why is that slow": r"^Why .*\n[\s\S]*^Try ",
    "What should I tell the compiler?": r"remark: .* (would save about|may save at most) [\d.]+% of all cycles .*\n[\s\S]*^    try: ",
    "What does this load wait for?": r" l[bwd]u? .*\n +↳ waits [\d.]+ cycles: ",
    "Which branches are mispredicted?": r"(?i)bad speculation[\s\S]*.* b\w+ ",
    "Who calls memcmp most?": r"Callers of memcmp\n.*\n.*memcmp +program\n.*← search +program\n.*← main +program",
    "Which thread is slow": r"of the slots of each\n.*%.* thread \d+\n.*%.* thread \d+$",
    "When did it become slow?": r"of the slots of each\n.*%.* to [\d.]+ ms",
    "Which is slow at the end?": r"Command +Process +Thread .*\n +[\d.]+% +.* program +\d+ +\d+ +\w",
    "What did main call?": r"Callees of main\n.*\n.* main +program\n(.*\n)*.*→ search +program\n.*→ memcmp",
    "Did my change help": r"NEW takes -[\d.]+% cycles\n[\s\S]*.*\* .*\bsum\b",
    "How often does it miss the caches?": r"CACHE\.L1D\.RD\.DATA\.MISS +# +[\d.]+ % of CACHE\.L1D\.RD\.DATA\.ACCESS",
    "What do I send to a colleague?": r"",
    "Does the model of LLVM fit my core?": r"measured [\d.]+, predicted [\d.]+|measured \d+ cycles, predicted",
}


def run(command):
    return subprocess.run(shlex.split(command), capture_output=True, text=True, check=False,
                          env=dict(os.environ, PATH=os.path.dirname(PESA) + ":" + os.environ["PATH"], LC_ALL="C.UTF-8"))


with open(os.path.join(TOP, "Documentation/tasks.md"), encoding="utf-8") as document:
    rows = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in document if line.startswith("| ")]
rows = [row for row in rows if row[0] not in ("question", "---")]
check(len(rows) >= 10, "there are ten tasks and more", len(rows))
work = tempfile.mkdtemp(prefix="pesa-tasks-")
os.chdir(work)
with open("program.c", "w", encoding="ascii") as source:
    source.write(PROGRAM)
for name, stride in (("program", 64), ("changed", 256)):
    done = run(f"{GUEST_CC} -O1 -g -static -pthread -DSTRIDE={stride} -o {name} program.c")
    if done.returncode:
        bail_out(done.stderr)
for question, commands, _ in rows:
    commands = re.findall(r"`([^`]+)`", commands)
    expected = [text for start, text in ANSWERS.items() if question.startswith(start)]
    results = [run(command) for command in commands]
    printed = "".join(result.stdout + result.stderr for result in results[-1:])
    check(expected and 1 <= len(commands) <= 2 and all(command.startswith("pesa ") for command in commands) and
          not any(result.returncode for result in results) and re.search(expected[0], printed, re.M),
          f"{question} {'; '.join(commands)}", "\n".join(result.stdout[:1500] + result.stderr for result in results))
check(os.path.getsize("a.html") > 10000 and os.path.getsize("a.tar.gz") > 10000, "what is sent is written")
shutil.rmtree(work)
end()
