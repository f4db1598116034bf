#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa compare --format td and exegesis: patches of LLVM's scheduling models.

A target made for the test has the same forms of definitions as LLVM's models.  llvm-tblgen reads it before and after each patch; only
the patched value may differ.  If LLVM's source is in the cache, real models are patched too, and a second compare with the model that
is generated from the patched files must find nothing.
"""
import json
import os
import random
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, GUEST_CC, PESA, TOP, bail_out, check, end, needs, skip, skip_all

TABLEGEN = shutil.which("llvm-tblgen-22")
TARGET = "/usr/lib/llvm-22/include"
PATCH = os.path.join(BUILD, "tests/tools/patch_tablegen")
PREFIX = "llvm/lib/Target/RISCV/"
if not TABLEGEN:
    skip_all(needs("llvm-22"))
if not os.path.exists(f"{TARGET}/llvm/Target/Target.td"):
    skip_all(needs("llvm-22-dev"))

# Forms of definitions.  Marks <NAME> say where a line of the model comes from; they are taken out.
OWN = """include "llvm/Target/Target.td"
def OwnRegister : Register<"r">;
def OwnRegisters : RegisterClass<"Own", [i32], 32, (add OwnRegister)>;
class OwnInst<string name, list<SchedReadWrite> costs> : Instruction {
  let Namespace = "Own"; let OutOperandList = (outs OwnRegisters:$d); let InOperandList = (ins OwnRegisters:$s);
  let AsmString = name; let Size = 4; let SchedRW = costs; field bits<32> Inst = 0; field bits<32> SoftFail = 0;
}
def WriteAdd : SchedWrite; def WriteAlone : SchedWrite; def WriteMul : SchedWrite; def WriteDiv : SchedWrite; def WriteLoad : SchedWrite;
def WriteBody : SchedWrite; def WriteShift : SchedWrite; def WriteStore : SchedWrite; def WriteCast1R : SchedWrite;
def ReadMul : SchedRead; def ReadAdd : SchedRead;
foreach mx = ["MF2", "M1", "M2"] in {
  def WriteVAdd_#mx : SchedWrite;
  foreach sew = [8, 32] in def WriteVDiv_#mx#_E#sew : SchedWrite;
  foreach nf = [2, 3] in foreach f = ["A", "BC"] in def WriteVSeg#nf#e#f#x_#mx : SchedWrite;
}
def ADD : OwnInst<"add", [WriteAdd, ReadAdd]>; def SUB : OwnInst<"sub", [WriteAdd, ReadAdd]>; def MUL : OwnInst<"mul", [WriteMul, ReadMul]>;
def MULH : OwnInst<"mulh", [WriteMul, ReadMul]>;
multiclass OwnMany<string name, list<ProcResourceKind> units, string mx> {
  def : WriteRes<!cast<SchedWrite>(name # "_" # mx), units>; // <many>
}
multiclass OwnManySew<string name, list<ProcResourceKind> units, string mx, int sew> {
  def : WriteRes<!cast<SchedWrite>(name # "_" # mx # "_E" # sew), units>; // <manysew>
}
def OwnModel : SchedMachineModel { let IssueWidth = 2; let CompleteModel = 0; }
let SchedModel = OwnModel in {
def OwnA : ProcResource<2>; // <OwnA>
def OwnB : ProcResource<1> { let BufferSize = 1; } // <OwnB>
def OwnC : ProcResource<1>; // <OwnC>
def OwnAB : ProcResGroup<[OwnA, OwnB, OwnC]>; // <OwnAB>
// WriteMul is not here: def : WriteRes<WriteMul, [OwnC]>;
/* def : WriteRes<WriteMul, [OwnC]> { let Latency = 1; } */
let Latency = 2 in {
  def : WriteRes<WriteMul, [OwnA, OwnB]>; // <WriteMul>
  def : WriteRes<WriteLoad, [OwnC]> { let NumMicroOps = 2; } // <WriteLoad>
}
let Latency = 4, ReleaseAtCycles = [3] in
def : WriteRes<WriteAlone, [OwnA]>; // <WriteAlone>
def : WriteRes<WriteAdd, [OwnAB]>; // <WriteAdd>
def : WriteRes<WriteBody, [OwnA, OwnB]> { // <WriteBody>
  let ReleaseAtCycles = [1, !add(2, 3)];
  let Latency = 7;
}
defvar slow = 9;
def : WriteRes<WriteDiv, [OwnA, OwnB]> { let Latency = slow; let ReleaseAtCycles = [1, slow]; let AcquireAtCycles = [0, 1]; } // <WriteDiv>
def : ReadAdvance<ReadMul, 1>; // <ReadMul>
def : ReadAdvance<ReadAdd, 2, [WriteMul, WriteLoad]>; // <ReadAdd>
def : WriteRes<!cast<SchedWrite>("WriteCast1R"), [OwnA]>; // <WriteCast1R>
multiclass OwnScalar<ProcResourceKind MUL, int latency> {
  let Latency = latency in {
    def : WriteRes<WriteShift, [MUL]>; // <WriteShift>
    def : WriteRes<WriteStore, [MUL, OwnC]> { let ReleaseAtCycles = [2, 1]; } // <WriteStore>
  }
}
defm : OwnScalar<OwnB, 5>; // <scalar>
foreach mx = ["MF2", "M1", "M2"] in {
  defvar cycles = !cond(!eq(mx, "MF2"): 1, !eq(mx, "M1"): 2, true: 4);
  let Latency = !mul(2, cycles), ReleaseAtCycles = [cycles] in {
    defm "" : OwnMany<"WriteVAdd", [OwnB], mx>; // <WriteVAdd>
    foreach nf = [2, 3] in
      foreach f = ["A", "BC"] in
        defm "" : OwnMany<"WriteVSeg" # nf # "e" # f # "x", [OwnB], mx>; // <WriteVSeg>
  }
  foreach sew = [8, 32] in
    defm "" : OwnManySew<"WriteVDiv", [OwnA, OwnB], mx, sew>; // <WriteVDiv>
}
}
def OwnInstrInfo : InstrInfo;
def Own : Target { let InstructionSet = OwnInstrInfo; }
"""

work = tempfile.mkdtemp(prefix="pesa-llvm-")
os.chdir(work)
marks = {name: number for number, line in enumerate(OWN.splitlines(), 1) for name in re.findall(r"// <(\w+)>$", line)}
folder = os.path.join("checkout", PREFIX)
os.makedirs(folder)
with open(folder + "RISCVSchedOwn.td", "w", encoding="ascii") as out:
    out.write(re.sub(r" // <\w+>$", "", OWN, flags=re.M))
# LLVM's own Target.td includes the intrinsics of every target, of which nothing is needed: nine tenths of the records.
os.makedirs("without/llvm/IR")
for name in os.listdir(f"{TARGET}/llvm/IR"):
    if re.fullmatch(r"Intrinsics\w+\.td", name):
        with open(f"without/llvm/IR/{name}", "w", encoding="ascii"):
            pass


def place(*names):
    return "from=" + ",".join(f"RISCVSchedOwn.td:{marks[name]}" for name in names)


def model_text(shift=0):
    """Lines that tablegen_change() looks at; with a shift as of another version of LLVM."""
    lines = ["pesa-processor-model 1", "name OwnModel"]
    for name in ("OwnA", "OwnB", "OwnC"):
        lines.append(f"resource {name} units={2 if name == 'OwnA' else 1} {place(name)}")
    lines.append(f"group OwnAB {place('OwnAB')} OwnA OwnB OwnC")
    lines += [f"read {name} {place(name)}" for name in ("ReadMul", "ReadAdd")]
    for write, uses, *names in (
            ("WriteMul", "OwnA,OwnB", "WriteMul"), ("WriteLoad", "OwnC", "WriteLoad"), ("WriteAlone", "OwnA:3", "WriteAlone"),
            ("WriteAdd", "OwnAB", "WriteAdd"), ("WriteBody", "OwnA:1,OwnB:5", "WriteBody"), ("WriteDiv", "OwnA,OwnB:1-9", "WriteDiv"),
            ("WriteCast1R", "OwnA", "WriteCast1R"), ("WriteShift", "OwnB", "WriteShift", "scalar"),
            ("WriteStore", "OwnB:2,OwnC", "WriteStore", "scalar")):
        named = "latency=2:WriteMul advance=0:1" if write == "WriteMul" else "latency=2"
        lines += [f"class c{write} uops=1 {named} uses={uses}", f"write {write} {place(*names)} reads={'ReadMul' if write == 'WriteMul' else 'ReadAdd'}"]
        lines += ["\tMUL MULH"] if write == "WriteMul" else []
    for mx in ("MF2", "M1", "M2"):
        lines += [f"class cv{mx} uops=1 latency=2 uses=OwnB:2", f"write WriteVAdd_{mx} {place('many', 'WriteVAdd')}"]
        lines += [f"write WriteVSeg{nf}e{f}x_{mx} {place('many', 'WriteVSeg')}" for nf in (2, 3) for f in ("A", "BC")]
        lines.append(f"class cd{mx} uops=1 latency=2 uses=OwnA,OwnB")
        lines += [f"write WriteVDiv_{mx}_E{sew} {place('manysew', 'WriteVDiv')}" for sew in (8, 32)]
    text = "\n".join(lines) + "\nend\n"
    return re.sub(r"\.td:(\d+)", lambda found: f".td:{int(found[1]) + shift}", text)


def records(tree):
    done = subprocess.run([TABLEGEN, "--dump-json", "-I", "without", "-I", TARGET, "-I", tree + "/" + PREFIX,
                           tree + "/" + PREFIX + "RISCVSchedOwn.td"], capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr}
    return json.loads(done.stdout)


def name_of(value):
    return value["def"] if isinstance(value, dict) and "def" in value else value


def costs(read):
    """The values of a model, by the definition that they belong to."""
    found = {}
    for name, one in read.items():
        if name.startswith("!") or not isinstance(one, dict):
            continue
        kinds = one.get("!superclasses", [])
        if "WriteRes" in kinds:
            found["write", name_of(one["WriteType"])] = {
                "latency": one["Latency"], "release": one["ReleaseAtCycles"] or [1] * len(one["ProcResources"]), "micro-ops": one["NumMicroOps"],
                "resources": [name_of(unit) for unit in one["ProcResources"]], "acquire": one["AcquireAtCycles"]}
        elif "ProcResGroup" in kinds:
            found["group", name] = {"members": [name_of(unit) for unit in one["Resources"]]}
        elif "ProcResource" in kinds:
            found["units", name] = {"units": one["NumUnits"]}
        elif "ReadAdvance" in kinds:
            found["read", name_of(one["ReadType"])] = {"cycles": one["Cycles"], "behind": [name_of(write) for write in one["ValidWrites"]]}
        elif "InstRW" in kinds:
            costs_of = read[name_of(one["OperandReadWrites"][0])]
            found["opcodes", json.dumps(one["Instrs"], sort_keys=True)] = {
                "latency": costs_of["Latency"], "resources": [name_of(unit) for unit in costs_of["ProcResources"]],
                "reads": [name_of(other) for other in one["OperandReadWrites"][1:]]}
    return found


def patch(changes, model="own.model"):
    """The patched costs, and the messages."""
    done = subprocess.run([PATCH, model, folder, PREFIX], input="\n".join(changes) + "\n", capture_output=True, text=True)
    shutil.rmtree("patched", ignore_errors=True)
    shutil.copytree("checkout", "patched")
    applied = subprocess.run(["patch", "-p1", "-F0", "-s", "-d", "patched"], input=done.stdout, capture_output=True, text=True) if done.stdout else done
    if done.returncode or applied.returncode:
        return {}, done.stderr + applied.stdout + done.stdout
    read = records("patched")
    return (costs(read) if "error" not in read else {}), done.stderr + read.get("error", "")


def expect(what, changes, wanted, model="own.model"):
    """Check that only the patched values differ."""
    after, said = patch(changes, model)
    expected = {key: dict(value) for key, value in before.items()}
    for key, value in wanted.items():
        expected.setdefault(key, {}).update(value)
    differs = {key: (expected.get(key), after.get(key)) for key in {*expected, *after} if expected.get(key) != after.get(key)}
    check(after and not differs and not said, what, f"{differs} {said}")


with open("own.model", "w", encoding="ascii") as out:
    out.write(model_text())
with open("later.model", "w", encoding="ascii") as out:
    out.write(model_text(shift=2))
first = records("checkout")
if "error" in first:
    bail_out("the target is wrong:", first["error"])
before = costs(first)

# ---- One form each ----

expect("in a let around several", ["latency WriteMul - 7"], {("write", "WriteMul"): {"latency": 7}})
expect("with a body of one line", ["latency WriteLoad - 7"], {("write", "WriteLoad"): {"latency": 7}})
expect("in a let of its own", ["latency WriteAlone - 7"], {("write", "WriteAlone"): {"latency": 7}})
expect("that says nothing", ["latency WriteAdd - 7"], {("write", "WriteAdd"): {"latency": 7}})
expect("with a body of many lines", ["latency WriteBody - 1"], {("write", "WriteBody"): {"latency": 1}})
expect("by a variable", ["latency WriteDiv - 30", "cycles WriteDiv OwnB 30"], {("write", "WriteDiv"): {"latency": 30, "release": [1, 30]}})
expect("in a multiclass", ["latency WriteShift - 8"], {("write", "WriteShift"): {"latency": 8}})
expect("by !cast", ["latency WriteCast1R - 8"], {("write", "WriteCast1R"): {"latency": 8}})
expect("in a loop over LMULs", ["latency WriteVAdd_M1 - 9"], {("write", "WriteVAdd_M1"): {"latency": 9}})
expect("several of a loop", ["latency WriteVAdd_M1 - 9", "latency WriteVAdd_M2 - 10", "cycles WriteVAdd_M2 OwnB 6"],
       {("write", "WriteVAdd_M1"): {"latency": 9}, ("write", "WriteVAdd_M2"): {"latency": 10, "release": [6]}})
expect("in loops over LMULs and SEWs", ["latency WriteVDiv_M1_E32 - 9", "cycles WriteVDiv_MF2_E8 OwnB 4"],
       {("write", "WriteVDiv_M1_E32"): {"latency": 9}, ("write", "WriteVDiv_MF2_E8"): {"release": [1, 4]}})
expect("of a pasted name", ["latency WriteVSeg3eBCx_M1 - 9"], {("write", "WriteVSeg3eBCx_M1"): {"latency": 9}})
expect("cycles of one of two resources", ["cycles WriteMul OwnB 5"], {("write", "WriteMul"): {"release": [1, 5]}})
expect("cycles in a body", ["cycles WriteBody OwnA 3"], {("write", "WriteBody"): {"release": [3, 5]}})
expect("cycles of a multiclass's argument", ["cycles WriteStore OwnB 6"], {("write", "WriteStore"): {"release": [6, 1]}})
expect("micro-ops", ["micro-ops WriteMul - 4", "micro-ops WriteLoad - 3"], {("write", "WriteMul"): {"micro-ops": 4}, ("write", "WriteLoad"): {"micro-ops": 3}})
expect("units", ["units OwnA - 1", "units OwnB - 3"], {("units", "OwnA"): {"units": 1}, ("units", "OwnB"): {"units": 3}})
expect("a unit that is not there", ["units OwnC - 0"], {("group", "OwnAB"): {"members": ["OwnA", "OwnB"]}})
expect("an advance", ["advance cWriteMul - 0"], {("read", "ReadMul"): {"cycles": 0}})
instrs = {"kind": "dag", "operator": {"def": "instrs", "kind": "def", "printable": "instrs"}, "args": [[{"def": "MUL", "kind": "def", "printable": "MUL"}, None]],
          "printable": "(instrs MUL)"}
after, said = patch(["opcode WriteMul MUL 7"])
new = {key: value for key, value in after.items() if key[0] == "opcodes"}
check(len(new) == 1 and "(instrs MUL)" in list(new)[0][1]
      and list(new.values()) == [{"latency": 7, "resources": ["OwnA", "OwnB"], "reads": ["ReadMul"]}]
      and {key: value for key, value in after.items() if key not in new} == before, "an opcode of its own: an InstRW", f"{new} {said}")
after, said = patch(["opcode WriteShift MUL 7"])
new = {key: value for key, value in after.items() if key[0] == "opcodes"}
check(len(new) == 1 and "^MUL$" in list(new)[0][1] and list(new.values())[0]["latency"] == 7
      and {key: value for key, value in after.items() if key not in new} == before,
      "an opcode that is called like an argument of the multiclass", f"{new} {said}")
expect("in another version of LLVM, some lines away", ["latency WriteMul - 7", "latency WriteVAdd_M1 - 9", "units OwnB - 2"],
       {("write", "WriteMul"): {"latency": 7}, ("write", "WriteVAdd_M1"): {"latency": 9}, ("units", "OwnB"): {"units": 2}}, model="later.model")

# ---- Any of them together ----

seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
generator = random.Random(seed)
for _ in range(6):
    changes, wanted = [], {}
    for key in generator.sample([key for key in before if key[0] == "write"], 8):
        latency = generator.randrange(10, 90)
        changes.append(f"latency {key[1]} - {latency}")
        wanted[key] = {"latency": latency}
        if generator.random() < 0.5 and key[1] != "WriteAdd":
            unit = generator.choice(before[key]["resources"])
            cycles = generator.randrange(10, 90)
            changes.append(f"cycles {key[1]} {unit} {cycles}")
            wanted[key]["release"] = [cycles if name == unit else old for name, old in zip(before[key]["resources"], before[key]["release"])]
    expect(f"eight at random, SEED={seed}", changes, wanted)

# ---- What cannot be changed ----

after, said = patch(["latency WriteNone - 7", "latency WriteMul - 7", "latency WriteMul - 8"])
check("WriteNone" in said and "another finding changes it" in said and after.get(("write", "WriteMul"), {}).get("latency") == 7,
      "what is not there, and what two findings change, is said", said)
for bad, why in (("def : WriteRes<WriteMul, [OwnA", "does not end"), ("let Latency = 2 in {", "a brace is not closed"),
                 ("let X = 1 in " * 200 + "def A;", "nested too deeply"), ("def A : B<]>;", "a bracket closes")):
    shutil.rmtree("broken", ignore_errors=True)
    os.makedirs("broken")
    with open("broken/RISCVSchedOwn.td", "w", encoding="ascii") as out:
        out.write(bad)
    done = subprocess.run([PATCH, "own.model", "broken", PREFIX], input="latency WriteMul - 7\n", capture_output=True, text=True)
    check(not done.stdout and why in done.stderr and "broken/RISCVSchedOwn.td:1:" in done.stderr and len(done.stderr.splitlines()) == 1,
          f"{why}: one line with its place", done.stderr)
for name in ("../RISCVSchedOwn.td", "/etc/passwd", ""):
    with open("hostile.model", "w", encoding="ascii") as out:
        out.write(model_text().replace("RISCVSchedOwn.td", name))
    done = subprocess.run([PATCH, "hostile.model", folder, PREFIX], input="latency WriteMul - 7\n", capture_output=True, text=True)
    check(not done.stdout and "is no name of a file" in done.stderr, f"a model that names the file '{name}'", done.stderr)
os.remove(folder + "RISCVSchedOwn.td")
os.mkfifo(folder + "RISCVSchedOwn.td")
done = subprocess.run([PATCH, "own.model", folder, PREFIX], input="latency WriteMul - 7\n", capture_output=True, text=True, timeout=20)
check("is no regular file" in done.stderr, "a FIFO is not waited for", done.stderr)

# ---- From a recording ----

LOOP = """	.option norvc
	.globl _start
_start:	li s1, 40000
	li a1, 3
1:	mul a0, a0, a1
	xor a0, a0, a1
	addi s1, s1, -1
	bnez s1, 1b
	li s1, 40000
2:	{second} a0, a0, a1
	xor a0, a0, a1
	add a3, a1, a1
	addi s1, s1, -1
	bnez s1, 2b
	li a0, 0
	li a7, 93
	ecall
"""


def record(path, second, core, *changes):
    with open("loop.s", "w", encoding="ascii") as text:
        text.write(LOOP.format(second=second))
    made = subprocess.run([GUEST_CC, "-static", "-nostdlib", "loop.s", "-o", "loop"], capture_output=True, text=True)
    if made.returncode:
        bail_out("cannot build the program:", made.stderr)
    sets = [word for change in changes for word in ("--set", change)]
    done = subprocess.run([PESA, "record", "-q", "--core", core, "-c", "320", *sets, "-o", path, "--", "./loop"], capture_output=True, text=True)
    if done.returncode:
        bail_out("cannot record:", done.stderr)


def compare(*words):
    return subprocess.run([PESA, "compare", "--no-pager", *words], capture_output=True, text=True)


def region_cycles(program, text):
    """Total cycles of each code region."""
    done = subprocess.run([*program, "-iterations=100", "-all-views=false", "-summary-view", "-"], input=text, capture_output=True, text=True)
    return [int(number) for number in re.findall(r"Total Cycles: +(\d+)", done.stdout)]


for core, cpu in (("ooo-4", "sifive-p670"), ("inorder-2", "sifive-u74")):
    record("loop.data", "mul", core, "WriteIMul.latency=9")
    listed = compare("-i", "loop.data", "--format", "td", "--write-model", "corrected.model")
    check(listed.returncode == 0 and re.search(r"^# RISCVSched\w+\.td:\d+[^ ]*: WriteIMul: Latency [23] -> (?:8|9|10)$", listed.stdout, re.M),
          f"{core}: the list names file, line, SchedWrite and numbers", listed.stdout[:600] + listed.stderr)
    said = [int(number) for number in re.findall(r"^# before: Total Cycles: (\d+)$", listed.stdout, re.M)]
    wanted = [int(number) for number in re.findall(r"^# CHECK: Total Cycles:\{\{ \+\}\}(\d+)", listed.stdout, re.M)]
    stock = region_cycles(["llvm-mca-22", "-mtriple=riscv64", "-mcpu=" + cpu], listed.stdout)
    check(said and stock == said, f"{core}: the test takes as long as llvm-mca says before", f"{stock} {said}")
    check(wanted and region_cycles([PESA, "mca", "-mcpu=corrected.model:" + cpu], listed.stdout) == wanted and wanted != said,
          f"{core}: and as pesa mca says with the corrected model", f"{wanted} {listed.stdout}")
    yaml = compare("-i", "loop.data", "--format", "exegesis")
    with open("loop.yaml", "w", encoding="ascii") as out:
        out.write(yaml.stdout)
    if shutil.which("llvm-exegesis-22"):
        done = subprocess.run(["llvm-exegesis-22", "--mode=analysis", "--benchmarks-file=loop.yaml", "--analysis-clusters-output-file=clusters.csv",
                               "--analysis-inconsistencies-output-file=report.html", "--analysis-numpoints=1"], capture_output=True, text=True)
        page = open("report.html", encoding="utf-8").read() if os.path.exists("report.html") else ""
        check(done.returncode == 0 and "WriteIMul" in page and "mul\t" in open("clusters.csv", encoding="ascii").read(),
              f"{core}: llvm-exegesis reads the numbers, and sets them against the class", done.stderr + page[-300:])
    else:
        skip(f"{core}: llvm-exegesis", needs("llvm-22"))

nothing = compare("-i", "loop.data", "--format", "td", "--llvm", work)
check(nothing.returncode == 1 and "no checkout of LLVM" in nothing.stderr and not nothing.stdout, "a folder that is no checkout", nothing.stderr)
for words, why in ((["--format", "xml"], "expected td or exegesis"), (["--llvm", "."], "--llvm needs --format td"),
                   (["--format", "td", "--json"], "exclude each other")):
    done = compare("-i", "loop.data", *words)
    check(done.returncode != 0 and why in done.stderr, " ".join(words), done.stderr)

# ---- LLVM's own files ----

cached = subprocess.run([os.path.join(TOP, "tools/source-package"), "--cached", "llvm-22", PREFIX.rstrip("/")], capture_output=True, text=True)
if cached.returncode:
    skip("LLVM's own files", "the cache has no source of LLVM: tools/source-package llvm-22 " + PREFIX.rstrip("/"))
else:
    record("two.data", "mulhu", "ooo-4", "mul.latency=9", "WriteShiftImm.latency=1", "xor.latency=3")
    real = cached.stdout.strip()[:-len("/" + PREFIX.rstrip("/"))]
    made = compare("-i", "two.data", "--format", "td", "--llvm", real, "--write-model", "two.model")
    shutil.rmtree("real", ignore_errors=True)
    os.makedirs("real/llvm/lib/Target")
    shutil.copytree(os.path.join(real, PREFIX), "real/" + PREFIX)
    applied = subprocess.run(["patch", "-p1", "-F0", "-s", "-d", "real"], input=made.stdout, capture_output=True, text=True)
    check(made.returncode == 0 and applied.returncode == 0 and not made.stderr, "the patch applies", made.stderr + applied.stdout)
    with open("records.json", "w", encoding="utf-8") as out:
        done = subprocess.run([TABLEGEN, "--dump-json", "-I", TARGET, "-I", "real/" + PREFIX, "real/" + PREFIX + "RISCV.td"], stdout=out,
                              stderr=subprocess.PIPE, text=True)
    check(done.returncode == 0, "llvm-tblgen reads the result", done.stderr[:600])
    done = subprocess.run([os.path.join(TOP, "tools/gen/models"), "records.json", "generated"], capture_output=True, text=True)
    second = compare("-i", "two.data", "--model", "generated/models/SiFiveP600.model", "-mcpu=sifive-p670", "--json")
    check(second.returncode == 0 and not json.loads(second.stdout)["classes"], "with the model that is generated from it nothing is found any more",
          done.stderr + second.stderr)
    with open("table.s", "w", encoding="ascii") as out:
        out.write("mul a0, a0, a1\nmulhu a0, a0, a1\nmulh a0, a0, a1\nxor a0, a0, a1\nadd a0, a0, a1\nld a0, 0(a1)\n")
    tables = [re.sub(r" +", " ", subprocess.run([PESA, "mca", f"-mcpu={path}:sifive-p670", "-instruction-tables=full", "table.s"],
                                                capture_output=True, text=True).stdout) for path in ("generated/models/SiFiveP600.model", "two.model")]
    check(tables[0] and tables[0] == tables[1], "it says the same as --write-model", "\n".join(tables))

shutil.rmtree(work)
end()
