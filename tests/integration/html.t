#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of report, topdown and compare in a headless browser: numbers, search, zoom, code, sorting, keys, small and dark
screens; no errors, no network requests, and names that contain markup.

Screenshots are kept in html/ of the build directory.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile

from browser import CHROMIUM, Browser, BrowserError, Page
from pages import SCREENSHOTS, WIDTHS, data_of, first, fits_and_reads, focus_is_seen, has_focus, of_all, sorts
from tap import BUILD, CROSS, GUEST_CC, PESA, QEMU, bail_out, check, end, needs, run, skip

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
EVIL = "</script><script>window.owned=1</script>"
WORSE = "<img src=x onerror=\"window.owned=1\">&amp;'"
SOURCE = "evil <b>&.c"
PROGRAM = r"""
static inline __attribute__((always_inline)) long mix(long value)
{
	return value * 2654435761 ^ value >> 7; /* </script><script>window.owned=1</script> <!-- */
}

__attribute__((noinline)) long first(long turns)
{
	long sum = 1;

	for (; turns; turns--)
		sum += mix(sum + turns); /* a comment that is longer than any screen: LONG */
	return sum;
}

__attribute__((noinline)) long second(long turns)
{
	long sum = turns;

	if (turns < 0)
		asm volatile(".rept 40\n nop\n .endr");
	while (turns--)
		sum = sum / 3 + turns * 5;
	return sum;
}

void _start(void)
{
	volatile long kept = 0;

	for (int i = 0; i < 20; i++)
		kept += first(1500 + i) + second(600 - i);
	asm volatile("li a0, 0; li a7, 93; ecall");
}
"""
PROGRAM = PROGRAM.replace("LONG", "and so on, " * 60)
work = tempfile.mkdtemp(prefix="pesa-html-")
os.chdir(work)
os.environ["LC_ALL"] = "C.UTF-8"


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))


class Tree:
    """The frames of a document, with what they add up to."""

    def __init__(self, document):
        self.texts = document["texts"]
        self.frames = [dict(zip(("holder", "kind", "name", "function"), row), cycles=row[4:9], binary=row[9] if len(row) > 9 else None, held=[])
                       for row in document["frames"]]
        for frame in self.frames:
            frame["kind"] = document["frame_kinds"][frame["kind"]]
            frame["name"] = self.texts[frame["name"]]
            if frame["holder"] is not None:
                self.frames[frame["holder"]]["held"].append(frame)

    def sum(self, kind, key="name"):
        """Cycles of the frames of a kind, by name."""
        sums = {}
        for frame in self.frames:
            if frame["kind"] == kind:
                sums[frame[key]] = sums.get(frame[key], 0) + sum(frame["cycles"])
        return sums

    def path(self, frame):
        """Names from the outermost but one to a frame."""
        return (self.path(self.frames[frame["holder"]]) if frame["holder"] else ()) + (frame["name"],)

    def broken(self):
        """The frames whose cycles are not the sum of their children's, by state."""
        return [frame["name"] for frame in self.frames if frame["held"] and not all(
            close(cycles, sum(held["cycles"][state] for held in frame["held"])) for state, cycles in enumerate(frame["cycles"]))]


# ---- The recording, and the document in the page -------------------------------------------------

if not QEMU:
    end(needs("qemu-user"))
with open(SOURCE, "w", encoding="ascii") as out:
    out.write(PROGRAM)
run(GUEST_CC, "-g", "-O2", "-static", "-nostdlib", "-ffreestanding", "-Wl,--build-id", SOURCE, "-o", "program")
run(CROSS + "objcopy", "--redefine-sym", "first=" + EVIL, "--redefine-sym", "second=" + WORSE, "program")
run(PESA, "record", "-q", "--core", "ooo-4", "-c", "288", "--", "./program")
run(PESA, "record", "-q", "--core", "ooo-4", "-c", "256", "--set", "mul.latency=9", "-o", "slow.data", "--", "./program")
json_of = json.loads(run(PESA, "report", "--json", "--sort", "dso"))
printed = run(PESA, "report", "--html", "report.html", "--percent-limit", "0", "--no-pager")
check("retiring" in printed and os.path.getsize("report.html") > 10000, "--html writes the page, and the text is printed too", printed)
document = data_of("report.html")
tree = Tree(document)
check(all(document[name] == json_of[name] for name in ("cycles", "stack", "unattributed", "samples", "functions", "core")),
      "the document has what report --json has")
check(close(sum(tree.frames[0]["cycles"]), json_of["cycles"]) and not tree.broken(),
      "every frame is the sum of what it holds, and the outermost is all cycles", tree.broken())
for kind, rows, name in (("function", json_of["functions"], "symbol"), ("binary", json_of["dsos"], "dso")):
    sums, expected = tree.sum(kind), {os.path.basename(row[name]) if kind == "binary" else row[name]: row for row in rows}
    check(sums.keys() == expected.keys() and all(close(sums[one], expected[one]["cycles"]) for one in sums),
          f"the cycles of each {kind} are those of report --json", (sums, list(expected)))
    state = [frame for frame in tree.frames if frame["kind"] == kind and frame["name"] == max(sums, key=sums.get)]
    stack = expected[state[0]["name"]]["stack"]
    check(all(close(sum(stack.get(state_name, {}).values()), sum(frame["cycles"][number] for frame in state))
              for number, state_name in enumerate(("retiring", "stalled", "flushed", "drained"))),
          f"... and by state, of the largest {kind}", (stack, state))
processes = list(tree.sum("process"))
check(len(processes) == 1 and processes[0].startswith("program (") and list(tree.sum("inlined")) == ["mix"],
      "frames are of the process, and of what was inlined", processes)
annotated = json.loads(run(PESA, "annotate", "--json", EVIL))
code = {document["functions"][one["function"]]["symbol"]: one for one in document["code"]}
rows = code[EVIL]["rows"]
FUNCTIONS = [one["symbol"] for one in document["functions"]]
check([(row[0], document["texts"][row[1]], row[4] if len(row) > 4 else 0) for row in rows]
      == [(one["address"], one["text"], one["cycles"]) for one in annotated["instructions"]],
      "instructions and their cycles are those of annotate", rows[:3])
lines = [[document["texts"][line[0]], line[1]] for line in code[EVIL]["lines"]]
check(all(one["file"] is None or [one["file"], one["line"]] == lines[row[2]] for one, row in zip(annotated["instructions"], rows)),
      "and so are their lines", lines)
run(PESA, "report", "--html", "short.html", "--percent-limit", "30", "--no-pager")
short = data_of("short.html")
shares = sorted((one["share"] for one in json_of["functions"]), reverse=True)
left = [share for share in shares if share < .3]
check(len(short["code"]) == len(shares) - len(left) and short["code_left_out"]["count"] == len(left)
      and close(short["code_left_out"]["cycles"], sum(left) * json_of["cycles"])
      and os.path.getsize("short.html") < os.path.getsize("report.html"),
      "--percent-limit limits the code, and what is left out is counted", short["code_left_out"])
known = sum(one["cycles"] for one in short["functions"])
check(close(known + short["functions_left_out"]["cycles"], short["cycles"]) and short["functions_left_out"]["count"] ==
      len([share for share in shares if share < .03]), "so are functions below a tenth of it", short["functions_left_out"])

# ---- Other recordings: call chains, exact, without details, empty --------------------------------

start = int(re.search(r"^([0-9a-f]+) T _start$", run(CROSS + "nm", "program"), re.M).group(1), 16)
evil, worse = (int(line.split()[0], 16) for name in (EVIL, WORSE) for line in run(CROSS + "nm", "program").splitlines()
               if line.endswith(name))

def map_of(pid):
    """The line of a description that maps the program."""
    header = run(CROSS + "readelf", "-lW", "program")
    offset, address = (int(word, 16) for word in re.search(r"LOAD\s+(0x\w+)\s+(0x\w+).*R E", header).groups())
    return f"map {pid} {address:#x} 0x2000 {offset} {work}/program"


def make(name, *lines):
    """A recording of the program from a description."""
    head = ["period 1000", *(one for pid, what in ((7, "outer"), (8, "other")) for one in (f"comm {pid} {pid} {what}", map_of(pid)))]
    settings = [line for line in lines if line.split()[0] in ("plain", "chains", "event")]
    run(MAKE, name, input="\n".join(settings + head + [line for line in lines if line not in settings]))


make("chains.data", "chains", f"chain {evil:#x} {start + 4:#x}", f"sample 30 7 7 {evil:#x} 1 0 0 0 0 0 0 0 0",
     f"chain {evil:#x} {worse + 4:#x} {start + 4:#x}", f"sample 20 7 7 {evil:#x} 1 0 0 0 0 0 0 0 0",
     f"sample 5 8 8 {evil:#x} 0 1 0 0 0 0 0 0 0", "chain", f"sample 10 8 8 {worse:#x} 3 0 0 0 0 0 0 0 0")
run(PESA, "report", "-i", "chains.data", "--html", "chains.html", "--percent-limit", "0", "--no-pager")
chains = Tree(data_of("chains.html"))
paths = {chains.path(frame): sum(frame["cycles"]) for frame in chains.frames if frame["kind"] in ("function", "binary")}
check(paths == {("outer (7)", "_start"): 50000, ("outer (7)", "_start", EVIL): 30000, ("outer (7)", "_start", WORSE): 20000,
                ("outer (7)", "_start", WORSE, EVIL): 20000, ("other (8)", "_start"): 5000, ("other (8)", "_start", WORSE): 5000,
                ("other (8)", "_start", WORSE, EVIL): 5000, ("other (8)", "program"): 10000,
                ("other (8)", "program", WORSE): 10000} and not chains.broken(),
      "with call chains functions are below their callers, by process", paths)
inclusive = {one["symbol"]: one["children_cycles"] for one in data_of("chains.html")["functions"]}
check(inclusive == {one["symbol"]: one["children_cycles"] for one in
                    json.loads(run(PESA, "report", "-i", "chains.data", "--children", "--sort", "dso,sym", "--json"))["groups"]
                    if one["symbol"] in inclusive} and inclusive, "functions have the inclusive cycles of report --children", inclusive)
make("exact.data", f"exact 7 {evil:#x} 100 0:0:2:100 1:8:1:30", f"exact 7 {worse:#x} 100 0:0:2:100")
run(PESA, "report", "-i", "exact.data", "--html", "exact.html", "--no-pager")
exact = Tree(data_of("exact.html"))
check(exact.frames[0]["cycles"][:2] == [100, 30] and not exact.broken(), "an exact profile's frames are exact", exact.frames[0])
make("plain.data", "plain", "event instructions", f"ip 50 7 7 {evil:#x}")
run(PESA, "report", "-i", "plain.data", "--html", "plain.html", "--no-pager")
plain = Tree(data_of("plain.html"))
check(plain.frames[0]["cycles"] == [0, 0, 0, 0, 50000] and not plain.broken(), "samples without details are of no state", plain.frames[0])
make("named.data", "chains", "comm 9 9 outer", map_of(9), f"chain {evil:#x} {start + 4:#x}",
     *(f"sample {count} {pid} {pid} {evil:#x} 1 0 0 0 0 0 0 0 0" for count, pid in ((10, 7), (20, 9), (40, 8))))
run(PESA, "report", "-i", "named.data", "--html", "named.html", "--percent-limit", "0", "--no-pager")
make("empty.data", "lost 3")
empty = subprocess.run([PESA, "report", "-i", "empty.data", "--html", "empty.html"], capture_output=True, text=True)
check(empty.returncode == 1 and "no samples" in empty.stderr and not os.path.exists("empty.html"), "no samples, no page", empty.stderr)
refused = subprocess.run([PESA, "report", "--html", "nowhere/page.html"], capture_output=True, text=True)
check(refused.returncode == 1 and refused.stderr.count("\n") == 1 and "nowhere/page.html" in refused.stderr,
      "a page that cannot be written is one line", refused.stderr)

# ---- In a browser ---------------------------------------------------------------------------------

for name, words in (("topdown", ("--by", "symbol", "--level", "3")), ("compare", ("-i", "slow.data"))):
    run(PESA, name, *words, "--html", name + ".html", "--no-pager")


def on_every_page(page, name):
    """Checks of all pages: on a large screen, a small one, and in dark mode."""
    page.prefer("light")
    page.resize(1200, 1000)
    page.open(name + ".html")
    check(not page.errors and page.requests == [f"file://{work}/{name}.html"], f"{name}: loads without a complaint and asks for nothing",
          (page.errors, page.requests))
    check(page.evaluate("window.owned === undefined && !document.querySelector('main img, main b > script')")
          and EVIL in page.text("main") and WORSE in page.text("main"), f"{name}: names are text")
    fits_and_reads(page, name)


def frame_of(page, name, expression):
    """... for the element of the function's frame with a name; null: it is not shown."""
    return page.evaluate(f"""(one => one ? {expression} : null)(graph.boxes.get(graph.frames.find(frame =>
        frame.name === {json.dumps(name)} && frame.kind === "function")))""")


def report_search(page):
    check(page.text("h1") == document["cmdline"] and len(of_all(page, ".frame", "1")) > 10, "report: shows the command and frames",
          page.text("h1"))
    check(of_all(page, "#functions tbody tr", "one.cells[4].dataset.key") == FUNCTIONS, "report: a row for each function")
    page.press("/")
    check(has_focus(page, "#search"), "report: / goes to the search")
    page.type("onerror")
    share = next(one["share"] for one in document["functions"] if one["symbol"] == WORSE)
    check(page.text("#found") == f"1 function; {share * 100:.2f}% of all cycles", "report: the search tells the share of what matches",
          page.text("#found"))
    check(of_all(page, "#functions tbody tr:not([hidden])", "1") == [1] and of_all(page, ".frame.match", "one.textContent") == [WORSE],
          "report: it marks frames and leaves the rows that match")
    page.press("Enter")
    check(page.evaluate("document.activeElement.textContent") == WORSE, "report: Enter in the search goes to the largest match")
    page.press("Escape")
    check(not page.text("#found") and not of_all(page, ".frame.match", "1") and not of_all(page, "#functions tr[hidden]", "1"),
          "report: Escape ends the search")


def report_zoom(page):
    """Continues from the state after the search."""
    page.press("Enter")
    check(frame_of(page, WORSE, "one.offsetWidth / flame.clientWidth") > .99 and frame_of(page, EVIL, "1") is None, "report: Enter zooms in")
    page.press("Enter")
    check(has_focus(page, "#code-title") and page.text("#code-title") == WORSE, "report: Enter again opens the code",
          page.text("#code-title"))
    page.press("Escape")
    check(first(page, "#code", "one.hidden") and has_focus(page, ".frame"), "report: Escape closes it, the focus is where it was")
    page.press("Escape")
    check(page.evaluate("[graph.zoomed.kind, graph.selected.name]") == ["binary", WORSE], "report: Escape zooms out", page.evaluate("graph.zoomed.kind"))
    page.click("#zoom-reset")
    check(page.evaluate("graph.zoomed === graph.frames[0]") and first(page, "#zoom-out", "one.disabled"), "report: Reset shows all")
    page.evaluate("graph.boxes.get(graph.frames[0]).focus()")
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "Home"):
        page.press(key)
        seen.append(page.evaluate("[graph.selected.kind, graph.selected.name]"))
    check([kind for kind, _ in seen] == ["process", "binary", "function", "function", "function", "binary", "all"]
          and [name for _, name in seen[2:5]] == [FUNCTIONS[0], FUNCTIONS[1], FUNCTIONS[0]],
          "report: arrow keys move to the children, the siblings and the parent of a frame", seen)
    page.click(f'.frame[data-frame="{frame_of(page, EVIL, "one.dataset.frame")}"]')
    check(page.evaluate("graph.zoomed.name") == EVIL and EVIL in page.text("#detail"), "report: a press on a frame zooms in and tells its cycles",
          page.text("#detail"))


def report_code(page):
    """Continues with a zoomed frame."""
    page.click("#detail button")
    check(page.text("#code-title") == EVIL and page.evaluate("window.owned === undefined"), "report: its code opens", page.text("#code-title"))
    texts = of_all(page, "#code-rows tr[data-address]", "one.querySelector('.instruction').textContent.replace(/ +/, ' ').trim()")
    known = tuple(one["text"] for one in annotated["instructions"])
    check(texts and all(text.startswith(known) for text in texts), "report: it is the function's instructions", texts[:5])
    check("window.owned=1</script> <!-- */" in page.text("#code-rows") and "inlined mix" in page.text("#code-rows"),
          "report: between lines of source, inlined ones named")
    hottest = max(annotated["instructions"], key=lambda one: one["cycles"])
    bar = f'#code-rows tr[data-address="{hottest["address"]:x}"] .bar'
    parts = of_all(page, bar + " span", "one.getBoundingClientRect().width")
    check(parts and abs(sum(parts) / first(page, bar, "one.getBoundingClientRect().width") - 1) < .02
          and first(page, bar, "one.ariaLabel").split()[0] in hottest["stack"],
          "report: the hottest instruction's bar is full, and says in words what it shows", parts)
    page.screenshot(os.path.join(SCREENSHOTS, "report-code.png"))
    page.click("#code-close")
    page.click("#functions button.name")
    check(page.text("#code-title") == FUNCTIONS[0], "report: a press on a function opens its code", page.text("#code-title"))
    page.press("Escape")
    check(has_focus(page, "#functions button.name"), "report: ... and Escape goes back to it")
    page.evaluate(f"openCode({FUNCTIONS.index(WORSE)})")
    rows_of_worse, shown = len(code[WORSE]["rows"]), len(of_all(page, "#code-rows tr[data-address]", "1"))
    folded = [int(text.split()[0]) for text in of_all(page, ".fold button", "one.textContent")]
    check(sum(folded) >= 30 and sum(folded) + shown == rows_of_worse, "report: instructions without cycles are folded", (folded, shown))
    first(page, ".fold button", "one.focus()")
    page.press("Enter")
    shown = len(of_all(page, "#code-rows tr[data-address]", "1"))
    check(shown == rows_of_worse - sum(folded[1:]) and has_focus(page, "#code-rows tr"), "report: and unfolded, the focus stays there", shown)
    page.press("Escape")


def shown_whole(page, selector, width):
    """Cells that are not on the screen from left to right, or whose text is cut."""
    return page.evaluate(f"""[...document.querySelectorAll({json.dumps(selector)})].filter(one => one.textContent).filter(one => {{
        const edge = one.getBoundingClientRect();
        return !edge.width || edge.left < 0 || edge.right > {width} || one.scrollWidth > Math.ceil(edge.width)
            || getComputedStyle(one).textOverflow === "ellipsis";
    }}).map(one => one.textContent)""")


def report_layout(page):
    for width in WIDTHS:
        page.resize(width, 844, phone=width < 600)
        page.open("report.html")
        for one in (EVIL, WORSE):
            page.evaluate(f"openCode({FUNCTIONS.index(one)})")
            cut = [text for selector in ("td.address", "td.instruction", "td.causes", "tr.source td", "#functions td.causes")
                   for text in shown_whole(page, selector, width)]
            check(not cut and len(of_all(page, "#code td.instruction", "1")) > 5,
                  f"report: addresses, instructions, source and buckets of {one} are whole on {width} pixels", cut[:5])
            check(one != EVIL or "and so on, " * 60 in page.text("#code-rows"), "report: the long line of source is there")
    page.resize(1200, 1000)


def report_arranged(page):
    """The graph by callers, and processes of one name."""
    page.open("chains.html")
    page.click("#inverted")
    paths = of_all(page, ".frame", """(frame => [frame.depth, frame.name, frame.parent && frame.parent.name,
        Math.round(frame.weight)])(graph.frames[one.dataset.frame])""")
    check({tuple(one) for one in paths if one[0] in (1, 2)} == {
        (1, EVIL, "all", 55000), (2, "_start", EVIL, 30000), (2, WORSE, EVIL, 25000), (1, WORSE, "all", 10000), (2, "program", WORSE, 10000)},
          "inverted, the callers of a function are below it", paths)
    check({tuple(one) for one in paths if one[0] == 4} == {(4, "outer", "_start", 20000), (4, "other", "_start", 5000)},
          "... up to the processes", paths)
    check(first(page, "#by-process", "one.parentElement.hidden"), "where no processes share a name there is no choice")
    page.open("named.html")
    processes = "graph.frames.filter(one => one.kind === 'process').map(one => [one.name, Math.round(one.weight)])"
    check(page.evaluate(processes) == [["other", 40000], ["outer", 30000]], "processes of one command name are one frame",
          page.evaluate(processes))
    page.click("#by-process")
    check(page.evaluate(processes) == [["other (8)", 40000], ["outer (9)", 20000], ["outer (7)", 10000]], "... or one each",
          page.evaluate(processes))
    check(not page.errors, "without a complaint", page.errors)


def drag(page, thread, begin, end):
    """Drag the pointer along a thread's slices."""
    places = page.evaluate(f"""(() => {{
        document.querySelector(".slices[data-thread='{thread}']").scrollIntoView({{block: "center"}});
        return [{begin}, {end}].map(slice => (box => [box.left + box.width / 2, box.top + box.height / 2])(
            document.querySelector(`.slices[data-thread='{thread}'] [data-slice='${{slice}}']`).getBoundingClientRect()));
    }})()""")
    page.command("Input.dispatchMouseEvent", type="mousePressed", x=places[0][0], y=places[0][1], button="left", buttons=1, clickCount=1)
    page.command("Input.dispatchMouseEvent", type="mouseMoved", x=places[1][0], y=places[1][1], button="left", buttons=1)
    page.command("Input.dispatchMouseEvent", type="mouseReleased", x=places[1][0], y=places[1][1], button="left", clickCount=1)


def report_timeline(page):
    parts = [(thread, at, *cell[i:i + 4]) for thread, at, *cell in document["timeline"] for i in range(0, len(cell), 4)]
    count = document["timeline_slices"]
    check(32 <= count <= 64 and close(sum(part[5] for part in parts), document["cycles"]) and
          {part[1] for part in parts} <= set(range(count)), "the timeline has all cycles", (count, sum(part[5] for part in parts)))
    sums = {}
    for _, _, frame, _, state, cycles in parts:
        while frame is not None:
            sums.setdefault(frame, [0] * 5)[state] += cycles
            frame = document["frames"][frame][0]
    check(all(close(sums[number][state], row[4 + state]) for number, row in enumerate(document["frames"]) for state in range(5)),
          "and they are those of the frames")
    page.resize(1200, 1000)
    page.open("report.html")
    drag(page, 0, 5, 12)
    chosen = [part for part in parts if 5 <= part[1] <= 12]
    whole = sum(part[5] for part in chosen)
    check(f"{whole / document['cycles'] * 100:.2f}% of all cycles" in page.text("#range") and page.evaluate("[selection.from, selection.to]") == [5, 12],
          "a range is selected by dragging", page.text("#range"))
    check(close(page.evaluate("graph.frames[0].weight"), whole), "the flame graph is of the range", (page.evaluate("graph.frames[0].weight"), whole))

    def in_function(number, frame):
        while frame is not None and document["frames"][frame][3] is None:
            frame = document["frames"][frame][0]
        return frame is not None and document["frames"][frame][3] == number

    for number, name in enumerate(FUNCTIONS):
        cycles = sum(part[5] for part in chosen if in_function(number, part[2]))
        row = page.evaluate(f"[rowOf[{number}].hidden, rowOf[{number}].cells[0].textContent]")
        check(row == [not cycles, f"{cycles / whole * 100:.2f}%" if cycles else ""], f"so are the functions: {name}", (row, cycles, whole))
    page.evaluate(f"openCode({FUNCTIONS.index(EVIL)})")
    cycles = {}
    for part in chosen:
        if in_function(FUNCTIONS.index(EVIL), part[2]):
            cycles[f"{part[3]:x}"] = cycles.get(f"{part[3]:x}", 0) + part[5]
    shown = dict(of_all(page, "#code-rows tr[data-address]", "[one.dataset.address, one.cells[0].textContent]"))
    expected = {address: f"{amount / whole * 100:.2f}%" for address, amount in cycles.items()}
    check(expected and all(shown.get(address, text) == text for address, text in expected.items())
          and all(not text or address in expected for address, text in shown.items()), "and the code", (shown, expected))
    page.evaluate("from.focus()")
    page.press("ArrowRight")
    check(page.evaluate("[selection.from, selection.to]") == [6, 12], "the keyboard changes the range", page.evaluate("[selection.from, selection.to]"))
    page.click("#select-all")
    check(page.text("#range") == "everything" and close(page.evaluate("graph.frames[0].weight"), document["cycles"])
          and page.text("#functions tbody td") == f"{document['functions'][0]['share'] * 100:.2f}%", "Everything shows all again")
    page.open("named.html")
    names = of_all(page, "#timeline button.thread", "one.textContent")
    check(names == ["other 8", "outer 9", "outer 7"], "threads, the one with most cycles first", names)
    page.click("#timeline button.thread:nth-of-type(2)")
    check(page.evaluate("Math.round(graph.frames[0].weight)") == 20000 and first(page, "#timeline button.thread:nth-of-type(2)", "one.ariaPressed") == "true",
          "a thread alone", page.evaluate("graph.frames[0].weight"))
    page.click("#timeline button.thread:nth-of-type(2)")
    check(page.evaluate("Math.round(graph.frames[0].weight)") == 70000, "and all of them again")
    cpus = page.evaluate("[...new Set(runs.map(run => run.cpu))].length")
    page.click("#by-cpu")
    names = of_all(page, "#timeline button.thread", "one.textContent")
    check(len(names) == cpus and all(name.startswith("CPU ") for name in names), "by CPU: a lane for each", names)
    page.click("#timeline button.thread")
    check(close(page.evaluate("graph.frames[0].weight"), page.evaluate("lanes[0].weight")) and page.text("#range") != "" and
          first(page, "#timeline button.thread", "one.ariaPressed") == "true", "a CPU alone", page.evaluate("graph.frames[0].weight"))
    page.evaluate("globalThis.drawn = 0; const draw = graph.draw; graph.draw = function () { globalThis.drawn++; draw.call(this); }; 0")
    page.evaluate("selectSlices(1, 2); selectSlices(1, 2); 0")
    check(page.evaluate("globalThis.drawn") == 1, "a selection is drawn once", page.evaluate("globalThis.drawn"))
    page.click("#by-cpu")
    check(of_all(page, "#timeline button.thread", "one.textContent") == ["other 8", "outer 9", "outer 7"], "and threads again")
    check(not page.errors, "the timeline: without a complaint", page.errors)
    page.open("chains.html")
    column = 'Array.from(document.querySelectorAll("#functions th")).findIndex(one => one.textContent.startsWith("Children"))'
    check(page.evaluate(f"{column} > 0 && rowOf.every((row, number) => row.cells[{column}].textContent === "
                        "percent(report.functions[number].children_cycles / report.cycles))"), "the table has a column of inclusive cycles")
    for width in WIDTHS:
        page.resize(width, 844, phone=width < 600)
        page.open("chains.html")
        page.evaluate("document.querySelectorAll('#functions button.name').forEach(one => one.textContent += '_with_a_long_name'.repeat(5)); 0")
        clashes = page.evaluate("""[...document.querySelectorAll("#functions tbody tr")].flatMap(row => {
            const texts = [...row.cells].filter(one => one.textContent && one.offsetWidth).map(one => {
                const range = document.createRange();
                range.selectNodeContents(one);
                return range.getBoundingClientRect();
            });
            return texts.flatMap((one, i) => texts.slice(i + 1).filter(two => one.left < two.right && two.left < one.right
                && one.top < two.bottom && two.top < one.bottom).map(() => row.textContent));
        })""")
        clashes += [text for selector in ("#functions td.function", "#functions td.causes") for text in shown_whole(page, selector, width)]
        check(not clashes, f"its figures are beside each other on {width} pixels, and whole", clashes)
    page.resize(1200, 1000)
    page.evaluate("selectSlices(0, Math.floor(slices / 2)); 0")
    check(page.evaluate("""report.functions.every((one, number) => {
        const own = [...selected.own].filter(([frame]) => { for (; frame; frame = frame.parent) if (frame.code === number) return true; return false; });
        return Math.abs(selectedFunction(one, number).children_cycles - own.flatMap(([, cycles]) => cycles).reduce((a, b) => a + b, 0)) < 1e-6;
    })"""), "and of a selection, those of the selection")
    page.open("exact.html")
    check(first(page, "#timeline-section", "one.hidden") and not page.errors, "an exact profile has no timeline")


def plain_page(page):
    page.open("plain.html")
    colours = set(of_all(page, ".frame", "getComputedStyle(one).backgroundColor"))
    labels = of_all(page, "#legend li", "one.textContent.trim()")
    check(len(colours) >= 2 and labels == ["program 100.00%"]
          and first(page, "#legend i", "getComputedStyle(one).backgroundColor") in colours,
          "plain: frames have the colour of their binary, which the legend names", (colours, labels))


def report_page(page):
    page.open("report.html")
    report_search(page)
    report_zoom(page)
    report_code(page)
    sorts(page, "#functions table", 0, "report: functions are sorted by share")
    sorts(page, "#functions table", 4, "report: functions are sorted by name")
    check(not page.errors and len(page.requests) == 1, "report: all of that without a complaint or a request", (page.errors, page.requests))


def other_reports(page):
    for name in ("chains", "exact", "plain", "short"):
        page.open(name + ".html")
        check(not page.errors and len(of_all(page, ".frame", "1")) >= 4, f"{name}: loads", page.errors)
    check(f"{short['code_left_out']['count']} functions with less than 30.00%" in page.text("main"), "short: what was left out is reported")
    page.open("plain.html")
    page.click("#functions button.name")
    check(not re.search("cycles|too few|retiring", first(page, "main", "one.innerText"), re.I)
          and page.text("#code-rows tr[data-address] td") == "100.00%", "plain: says nothing of cycles or states, which are not known")


def locked(page):
    """The content security policy: nothing is asked for, and no script but the page's runs."""
    page.open("report.html")
    answer = page.evaluate("""(async () => {
        const handler = document.createElement("p");
        document.body.append(handler);
        handler.innerHTML = "<b onclick='window.owned=2'>x</b>";
        handler.firstChild.click();
        const script = document.createElement("script");
        script.textContent = "window.owned=3";
        document.body.append(script);
        const image = new Image();
        image.src = "http://127.0.0.1:9/image";
        return await fetch("http://127.0.0.1:9/fetch").then(() => "asked", () => "refused");
    })()""")
    complaints = [error for error in page.errors if "Content Security Policy" in error]
    check(answer == "refused" and page.evaluate("window.owned === undefined") and len(page.requests) == 1 and len(complaints) >= 3,
          "the policy of the page allows no request and no other script", (answer, page.requests, page.errors))


def topdown_page(page):
    page.open("topdown.html")
    first(page, "summary", "one.focus()")
    opened = page.evaluate("""[...document.querySelectorAll("details")].map(one => [one.open, !one.parentElement.closest("details:not([open])") &&
        [...one.parentElement.children].filter(other => other.matches("details")).every(other => parseFloat(other.querySelector("summary .n").textContent)
            <= parseFloat(one.querySelector("summary .n").textContent))])""")
    check(len({one for one, _ in opened}) == 2 and all(one == largest for one, largest in opened if largest or one),
          "topdown: the largest node is open, and the largest in it", opened)
    before = first(page, "details", "one.open")
    page.press("Enter")
    check(first(page, "details", "one.open") != before, "topdown: Enter folds and unfolds a node")
    for number, what in ((0, "share"), (1, "function"), (4, "a node's share")):
        sorts(page, "h2 ~ .scroll table", number, f"topdown: rows are sorted by {what}")


def compare_page(page):
    page.open("compare.html")
    first(page, "#filter", "one.focus()")
    page.type("onerror")
    hidden = of_all(page, "details", "one.hidden")
    check(set(hidden) == {True, False}, "compare: the filter leaves the regions that match", hidden)
    page.open("compare.html")
    check(first(page, "#filter", "Boolean(one)") and page.evaluate("document.querySelectorAll('td a').length") > 0,
          "compare: examples of findings are links")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = false; })")
    page.click("td a")
    address = page.text("td a")
    # The browser tells the page of the new place some time after the press.
    page.evaluate("""(async () => {
        for (let turn = 0; turn < 500 && document.activeElement.tagName !== "TR"; turn++)
            await new Promise(done => setTimeout(done, 10));
    })()""")
    shown = page.evaluate("""(row => [row.tagName, row.cells[0].textContent, row.closest("details").open,
        row.getBoundingClientRect().top >= 0 && row.getBoundingClientRect().bottom <= innerHeight])(document.activeElement)""")
    check(shown == ["TR", address, True, True] and not page.errors, "compare: a press on one goes to its code", (shown, address))
    page.open("compare.html")
    for number, what in ((0, "address"), (3, "measured cycles"), (1, "instruction")):
        sorts(page, "details[open] table", number, f"compare: instructions are sorted by {what}")


if not CHROMIUM:
    skip("pages in a browser", needs("chromium"))
else:
    browser = Browser(work)
    try:
        tab = Page(browser)
        for one in ("report", "topdown", "compare"):
            on_every_page(tab, one)
            tab.open(one + ".html")
            unseen = focus_is_seen(tab)
            check(not unseen, f"{one}: what has the focus shows it", unseen)
        report_page(tab)
        report_layout(tab)
        report_arranged(tab)
        report_timeline(tab)
        plain_page(tab)
        other_reports(tab)
        topdown_page(tab)
        compare_page(tab)
        locked(tab)
    except BrowserError as problem:
        bail_out(problem)
    finally:
        browser.close()

os.chdir("/")
shutil.rmtree(work)
end()
