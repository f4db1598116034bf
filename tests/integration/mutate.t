#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/mutate changes only operators, constants, conditions and statements of code, and chooses the same ones in each run.  Killing
and counting mutants takes minutes and is not tested here (Documentation/testing.md)."""
import os
import sys

from tap import TOP, check, command, end

sys.path.insert(0, os.path.join(TOP, "tests/mutate"))
import mutations  # pylint: disable=wrong-import-position

TEXT = '''/* a < b */
#include <a-b.h>
#define LIMIT 7
static int most(const char *text, int *at)
{
	int found = 0;

	for (int i = 0; i < 4; i++)
		if (text[i] == '<' && !at)
			found += text[i] * 2;
	put("a < b",
	    found);
	return found;
}
'''
EXPECTED = '''
#define LIMIT 7 => #define LIMIT 8
int found = 0; => int found = 1;
for (int i = 0; i < 4; i++) => for (int i = 1; i < 4; i++)
for (int i = 0; i < 4; i++) => for (int i = 0; i <= 4; i++)
for (int i = 0; i < 4; i++) => for (int i = 0; i >= 4; i++)
for (int i = 0; i < 4; i++) => for (int i = 0; i < 3; i++)
for (int i = 0; i < 4; i++) => for (int i = 0; i < 5; i++)
for (int i = 0; i < 4; i++) => for (int i = 0; i < 4; i--)
if (text[i] == '<' && !at) => if (false)
if (text[i] == '<' && !at) => if (true)
if (text[i] == '<' && !at) => if (text[i] != '<' && !at)
if (text[i] == '<' && !at) => if (text[i] == '<' || !at)
if (text[i] == '<' && !at) => if (text[i] == '<' && at)
found += text[i] * 2; => /* deleted */;
found += text[i] * 2; => found -= text[i] * 2;
found += text[i] * 2; => found += text[i] / 2;
found += text[i] * 2; => found += text[i] * 1;
found += text[i] * 2; => found += text[i] * 3;
put("a < b", found); => /* deleted */;
'''.strip().splitlines()

found = mutations.of_file("a.c", TEXT)
shown = [f"{one.before} => {one.after}" for one in found]
check(sorted(shown) == sorted(EXPECTED), "operators, constants, conditions and statements are changed, one at a time",
      "\n".join(sorted(set(shown) ^ set(EXPECTED))))
check(all(one.inside == ("" if "LIMIT" in one.before else "most") for one in found), "each is in its function")
lines = TEXT.count("\n")
check(all((TEXT[:one.start] + one.by + TEXT[one.end:]).count("\n") == lines for one in found),
      "lines keep their numbers")

script = os.path.join(TOP, "tests/mutate/mutate")
os.chdir(TOP)
first, again, other = (command(script, "--list", "-n", "9", "--seed", seed, "decoder/base/intervals.c", "decoder/profile/estimate.c").stdout.decode().splitlines()
                       for seed in ("1", "1", "2"))
check(len(first) == 9 and first == again and first != other, "a seed draws the same ones again", (first, again, other))
refused = command(script, "--list", "no/such/file.c")
check(refused.returncode == 1 and b"no C file and no folder" in refused.stderr, "a file that is not there is refused",
      refused.stderr.decode())
with open(os.path.join(TOP, "tests/mutate/explained"), encoding="utf-8") as file:
    reported = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
bare = [line for line, after in zip(reported, reported[1:] + [""]) if not line.startswith("\t") and not after.startswith("\t")]
check(reported and not bare and all(" => " in line for line in reported if not line.startswith("\t")),
      "every explained one has a reason", "\n".join(bare))
end()
