#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa list: what it shows of a core is what its description says, what it says that a key allows is what is accepted, and
a description that cannot be read is told and no reason to leave out the others."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, PESA, check, command, copy_of_pesa, core_description, end

CORES = os.path.join(BUILD, "share/pesa/cores")
work = tempfile.mkdtemp(prefix="pesa-list-")
os.chdir(work)


def shown(*words):
    done = command(PESA, "list", *words)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


# ---- A core

for core in sorted(os.listdir(CORES)):
    keys = core_description(core)
    status, text, err = shown(core)
    lines = {line[2:18].rstrip(): line[19:] for line in text.splitlines() if line.startswith("  ")}
    bits = 2 * keys["predictor.bimodal"] + keys["predictor.tables"] * keys["predictor.entries"] * (keys["predictor.tag_bits"] + 5)
    said = {"processor model": keys["model"], "frequency": f"{keys['frequency'] / 1e9:.2f} GHz",
            "order": keys["order"].replace("-", " "), "retire width": f"{keys['retire.width']} instructions a cycle",
            "shortest period": f"{keys['sample.minimum']} cycles, longest {(1 << keys['sample.counter_bits']) - 1}",
            "branch targets": f"{keys['sample.ct_targets']} in a record", "branch records": str(keys["sample.ctr_depth"])}
    wrong = {key: (lines.get(key), value) for key, value in said.items() if lines.get(key) != value}
    check(status == 0 and not err and text.startswith(f"{core}: {keys['summary']}\n") and not wrong,
          f"{core}: what its description says", wrong or text + err)
    for label, key in (("L1I cache", "icache"), ("L1D cache", "dcache"), ("L2 cache", "l2"), ("last-level cache", "llc")):
        size = keys.get(f"{key}.size", 0)
        expected = (f"{size // 1024} KB, {keys[f'{key}.ways']} ways, {keys[f'{key}.latency']} cycles, {keys[f'{key}.mshrs']} "
                    f"misses at a time{', inclusive' if keys.get(f'{key}.inclusive') == 'yes' else ''}") if size else None
        check(lines.get(label) == expected, f"{core}: its {label}", f"{lines.get(label)}, not {expected}")
    check(lines.get("predictor", "").startswith(f"{bits / 8 / 1024:.4g} KB: {keys['predictor.bimodal']} two-bit counters") and
          ("TAGE" in lines["predictor"]) == (keys["predictor.tables"] > 0), f"{core}: bits of its predictor, added up",
          f"{bits} bits: {lines.get('predictor')}")
    own = {int(key.split(".")[1]): value for key, value in keys.items() if key.startswith("cause.")}
    document = json.loads(shown(core, "--json")[1])["cores"]
    causes = {cause["bit"]: cause["name"] for cause in document[0]["causes"]}
    check(len(document) == 1 and own.items() <= causes.items() and lines["causes"] == ", ".join(causes[bit] for bit in sorted(causes))
          and document[0]["predictor_bytes"] == bits // 8 and document[0]["out_of_order"] == (keys["order"] == "out-of-order"),
          f"{core}: its causes, and the same as JSON", document)

status, text, err = shown("no-such-core")
check(status == 1 and not text and err.count("\n") == 1 and "'pesa list' shows them" in err, "a core that there is not", err)
status, text, err = shown("./none")
check(status == 1 and not text and "cannot open core description ./none" in err, "a file that is not there", err)
for words, says in ((("ooo-4", "ooo-8"), "one CORE at a time"), (("--keys", "ooo-4"), "take no CORE"),
                    (("-i", "x.data", "--cpu-id", "0x1-0x2-0x3"), "exclude each other")):
    status, text, err = shown(*words)
    check(status == 2 and not text and says in err, f"pesa list {' '.join(words)} is refused", err)

# ---- Keys

status, text, err = shown("--keys")
table = json.loads(shown("--keys", "--json")[1])["keys"]
check(status == 0 and [line.split()[0] for line in text.splitlines()] == [one["key"] for one in table] and
      all(one["allowed"] in text and one["meaning"] in text for one in table), "keys, and the same as JSON", text)
allowed = {one["key"]: one["allowed"] for one in table}
unknown = {key for core in os.listdir(CORES) for key in core_description(core)} - set(allowed)
check(all(re.match(r"cause\.\d+$", key) for key in unknown), "keys that descriptions have are listed", unknown)
with open(os.path.join(CORES, "ooo-4"), encoding="utf-8") as file:
    description = file.read()


def changed(key, value):
    """Status and message for the description of ooo-4 with another value."""
    with open("changed", "w", encoding="utf-8") as out:
        out.write(re.sub(rf"^{re.escape(key)} *=.*\n", "", description, flags=re.M) + f"{key} = {value}\n")
    status, _, err = shown("./changed")
    return status, err


ranges = {key: tuple(map(int, match.groups())) for key, limits in allowed.items()
          if (match := re.search(r"(\d+) to (\d+)$", limits))}
accepted = {}
for key, (least, most) in ranges.items():
    for value in (least - 1, most + 1, -most, 1 << 64):
        status, err = changed(key, value)
        if status != 1 or err.count("\n") != 1 or key not in err:
            accepted[f"{key} = {value}"] = (status, err)
check(len(ranges) > 40 and not accepted, f"beyond its limits no value of {len(ranges)} keys is accepted, and the key is named",
      accepted)
odd = {key: changed(key, ranges[key][0] + 1 if ranges[key][0] > 2 else 3) for key, limits in allowed.items()
       if limits.startswith("a power of two") and key in ranges}
check(odd and all(status == 1 and key in err for key, (status, err) in odd.items()), "nor one that is no power of two", odd)

# ---- A directory with damage

copy_of_pesa("installed")
shutil.copytree(os.path.join(BUILD, "share"), "installed/share", symlinks=False)
with open("installed/share/pesa/cores/broken", "w", encoding="utf-8") as out:
    out.write(description + "no.such.key = 1\n")
done = command("installed/bin/pesa", "list")
out, err = done.stdout.decode(), done.stderr.decode()
check(done.returncode == 1 and "no.such.key" in err and all(re.search(rf"^  {core} ", out, re.M) for core in os.listdir(CORES)),
      "a damaged description is told, and the others are listed", out + err)
shutil.rmtree("installed/share/pesa/cores")
done = command("installed/bin/pesa", "list")
check(done.returncode == 1 and b"is pesa installed completely?" in done.stderr, "no descriptions at all", done.stderr.decode())

done = command("installed/bin/pesa", "top")
check(done.returncode == 1 and b"is pesa installed in full?" in done.stderr, "nor pesa top", done.stderr.decode())

# What is loaded for all commands but pesa mca is missing, of another build, or no shared object.
loaded = "installed/libexec/pesa-commands.so"
with open(loaded, "rb") as file:
    whole = file.read()
other = re.sub(rb"\d(\.\d+\.\d+, commit )", rb"9\g<1>", whole)
for kind, contents, says in (("missing", None, "is pesa installed in full?"), ("of another build", other, "install both of one version"),
                             ("empty", b"", "cannot load")):
    os.unlink(loaded)
    if contents is not None:
        with open(loaded, "wb") as file:
            file.write(contents)
        os.chmod(loaded, 0o755)
    else:
        os.symlink("nowhere", loaded)
    for words in (["report"], ["--version"], ["mca", "-mcpu=sifive-u74", "--hex", "13050500"]):
        done = command("installed/bin/pesa", *words)
        err = done.stderr.decode()
        check(done.returncode == 1 and not done.stdout and err.count("\n") == 1 and says in err, f"{kind}: pesa {words[0]}", done)
with open("block.s", "w", encoding="ascii") as file:
    file.write("add a0, a1, a2\n")
check(command("installed/bin/pesa", "mca", "-mcpu=sifive-u74", "block.s").stdout ==
      command(PESA, "mca", "-mcpu=sifive-u74", "block.s").stdout != b"", "pesa mca of a source does without")

# ---- Names of events

status, text, err = shown("-i", "none.data")
check(status == 1 and err.count("\n") == 1 and "none.data" in err, "a recording that is not there", err)
few, all_of_them = shown()[1], shown("--all")
left_out = {line for line in few.splitlines() if "--all" not in line} - set(all_of_them[1].splitlines())
check(all_of_them[0] == 0 and not left_out, "--all leaves nothing out", left_out or all_of_them[2])

os.chdir("/")
shutil.rmtree(work)
end()
