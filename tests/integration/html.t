#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of report, topdown and compare in a headless browser: numbers, search, zoom, code, sorting, keys, a phone's
screen, a dark one; no complaint, no request, and names that try to become markup.

Screenshots are kept in html/ of the build directory.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile

from browser import CHROMIUM, Browser, BrowserError, Page
from tap import BUILD, GUEST_CC, CROSS, PESA, QEMU, bail_out, check, end, skip

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
SCREENSHOTS = os.path.join(os.path.abspath(BUILD), "html")
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
		sum += mix(sum + turns);
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
work = tempfile.mkdtemp(prefix="pesa-html-")
os.chdir(work)
os.environ["LC_ALL"] = "C.UTF-8"
os.makedirs(SCREENSHOTS, exist_ok=True)


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        bail_out(" ".join(words), done.stderr)
    return done.stdout


def data_of(path):
    """The document in a page."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return json.loads(re.search(r"<script type=application/json id=data>(.*?)</script>", text, re.S).group(1))


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))


class Tree:
    """The frames of a document, with what they add up to."""

    def __init__(self, document):
        self.texts = document["texts"]
        self.frames = [dict(zip(("holder", "kind", "name", "function"), row), cycles=row[4:], held=[])
                       for row in document["frames"]]
        for frame in self.frames:
            frame["kind"] = document["frame_kinds"][frame["kind"]]
            frame["name"] = self.texts[frame["name"]]
            if frame["holder"] is not None:
                self.frames[frame["holder"]]["held"].append(frame)

    def sum(self, kind, key="name"):
        """Cycles by name of the frames of a kind that are in no other of that kind and name."""
        sums = {}
        for frame in self.frames:
            if frame["kind"] == kind:
                sums[frame[key]] = sums.get(frame[key], 0) + sum(frame["cycles"])
        return sums

    def broken(self):
        """Frames that are not the sum of what they hold, by state."""
        return [frame["name"] for frame in self.frames if frame["held"] and not all(
            close(cycles, sum(held["cycles"][state] for held in frame["held"])) for state, cycles in enumerate(frame["cycles"]))]


# ---- The recording, and the document in the page -------------------------------------------------

if not QEMU:
    end("no qemu-riscv64")
with open(SOURCE, "w", encoding="ascii") as out:
    out.write(PROGRAM)
run(GUEST_CC, "-g", "-O2", "-static", "-nostdlib", "-ffreestanding", "-Wl,--build-id", SOURCE, "-o", "program")
run(CROSS + "objcopy", "--redefine-sym", "first=" + EVIL, "--redefine-sym", "second=" + WORSE, "program")
run(PESA, "record", "-q", "--core", "ooo-4", "-c", "288", "--", "./program")
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
check([list(tree.sum(kind)) for kind in ("process", "inlined")] == [[next(iter(tree.sum("process")))], ["mix"]]
      and next(iter(tree.sum("process"))).startswith("program ("), "frames are of the process, and of what was inlined", tree.sum("process"))
annotated = json.loads(run(PESA, "annotate", "--json", EVIL))
code = {document["functions"][one["function"]]["symbol"]: one for one in document["code"]}
rows = code[EVIL]["rows"]
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
      and os.path.getsize("short.html") < os.path.getsize("report.html"), "--percent-limit limits the code, and what is left out is counted",
      short["code_left_out"])
known = sum(one["cycles"] for one in short["functions"])
check(close(known + short["functions_left_out"]["cycles"], short["cycles"]) and short["functions_left_out"]["count"] ==
      len([share for share in shares if share < .03]), "so are functions below a tenth of it", short["functions_left_out"])

# ---- Other recordings: call chains, exact, without details, empty --------------------------------

start = int(re.search(r"^([0-9a-f]+) T _start$", run(CROSS + "nm", "program"), re.M).group(1), 16)
evil, worse = (int(line.split()[0], 16) for name in (EVIL, WORSE) for line in run(CROSS + "nm", "program").splitlines()
               if line.endswith(name))

def make(name, *lines):
    """A recording from a description; False where the description is not understood."""
    header = run(CROSS + "readelf", "-lW", "program")
    offset, address = (int(word, 16) for word in re.search(r"LOAD\s+(0x\w+)\s+(0x\w+).*R E", header).groups())
    head = ["period 1000", *(one for pid, what in ((7, "outer"), (8, "other")) for one in
            (f"comm {pid} {pid} {what}", f"map {pid} {address:#x} 0x2000 {offset} {work}/program"))]
    first = [line for line in lines if line.split()[0] in ("plain", "chains", "event")]
    made = subprocess.run([MAKE, name], input="\n".join(first + head + [line for line in lines if line not in first]),
                          capture_output=True, text=True)
    return made.returncode == 0


if make("chains.data", "chains", f"chain {evil:#x} {start + 4:#x}", f"sample 30 7 7 {evil:#x} 1 0 0 0 0 0 0 0 0",
        f"chain {evil:#x} {worse + 4:#x} {start + 4:#x}", f"sample 20 7 7 {evil:#x} 1 0 0 0 0 0 0 0 0",
        f"sample 5 8 8 {evil:#x} 0 1 0 0 0 0 0 0 0", "chain", f"sample 10 8 8 {worse:#x} 3 0 0 0 0 0 0 0 0"):
    run(PESA, "report", "-i", "chains.data", "--html", "chains.html", "--percent-limit", "0", "--no-pager")
    chains = Tree(data_of("chains.html"))

    def path_of(frame):
        return (path_of(chains.frames[frame["holder"]]) if frame["holder"] else []) + [frame["name"]]

    paths = {tuple(path_of(frame)): sum(frame["cycles"]) for frame in chains.frames if frame["kind"] in ("function", "binary")}
    check(paths == {("outer (7)", "_start"): 50000, ("outer (7)", "_start", EVIL): 30000, ("outer (7)", "_start", WORSE): 20000,
                    ("outer (7)", "_start", WORSE, EVIL): 20000, ("other (8)", "_start"): 5000, ("other (8)", "_start", WORSE): 5000,
                    ("other (8)", "_start", WORSE, EVIL): 5000, ("other (8)", "program"): 10000,
                    ("other (8)", "program", WORSE): 10000} and not chains.broken(),
          "with call chains functions are below their callers, by process", paths)
else:
    skip("call chains", "make_profile makes none")
make("exact.data", f"exact 7 {evil:#x} 100 0:0:2:100 1:8:1:30", f"exact 7 {worse:#x} 100 0:0:2:100")
run(PESA, "report", "-i", "exact.data", "--html", "exact.html", "--no-pager")
exact = Tree(data_of("exact.html"))
check(exact.frames[0]["cycles"][:2] == [100, 30] and not exact.broken(), "an exact profile's frames are exact", exact.frames[0])
make("plain.data", "plain", "event instructions", f"ip 50 7 7 {evil:#x}")
run(PESA, "report", "-i", "plain.data", "--html", "plain.html", "--no-pager")
plain = Tree(data_of("plain.html"))
check(plain.frames[0]["cycles"] == [0, 0, 0, 0, 50000] and not plain.broken(), "samples without details are of no state", plain.frames[0])
make("empty.data", "lost 3")
empty = subprocess.run([PESA, "report", "-i", "empty.data", "--html", "empty.html"], capture_output=True, text=True)
check(empty.returncode == 1 and "no samples" in empty.stderr and not os.path.exists("empty.html"), "no samples, no page", empty.stderr)
refused = subprocess.run([PESA, "report", "--html", "nowhere/page.html"], capture_output=True, text=True)
check(refused.returncode == 1 and refused.stderr.count("\n") == 1 and "nowhere/page.html" in refused.stderr,
      "a page that cannot be written is one line", refused.stderr)

# ---- In a browser ---------------------------------------------------------------------------------

for name, words in (("topdown", ("--by", "symbol", "--level", "3")), ("compare", ())):
    run(PESA, name, *words, "--html", name + ".html", "--no-pager")


def has_focus(page, selector):
    return page.evaluate(f"document.activeElement.matches({json.dumps(selector)})")


def contrast(page, selector):
    """The least contrast (WCAG 2) of the text of such elements with the colour behind it."""
    return page.evaluate(f"""(() => {{
        const canvas = new OffscreenCanvas(1, 1).getContext("2d", {{willReadFrequently: true}});
        const known = new Map();
        const light = colour => known.get(colour) ?? known.set(colour, lightOf(colour)).get(colour);
        const lightOf = colour => {{
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(one => one / 255)
                .map(one => one <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4);
            return .2126 * r + .7152 * g + .0722 * b;
        }};
        const behind = one => {{
            const colour = getComputedStyle(one).backgroundColor;
            return /, 0\\)$/.test(colour) ? behind(one.parentElement) : colour;
        }};
        return Math.min(...[...document.querySelectorAll({json.dumps(selector)})].map(one => {{
            const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
            return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        }}));
    }})()""")


def column(page, table, number):
    return page.evaluate(f"""[...document.querySelector({json.dumps(table)}).tBodies[0].rows].map(row =>
        row.cells[{number}].dataset.key ?? row.cells[{number}].textContent)""")


def sorts(page, table, number, what):
    """Press a column's head with pointer and keyboard, and look at the order."""
    head = f"{table} th:nth-child({number + 1}) button"

    def ordered(cells, descending):
        keys = [float(cell) if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", cell) else cell for cell in cells if cell != ""]
        return keys == sorted(keys, reverse=descending)

    page.click(head)
    orders = [(page.evaluate(f"document.querySelector({json.dumps(head)}).parentElement.ariaSort"), column(page, table, number))]
    page.evaluate(f"document.querySelector({json.dumps(head)}).focus()")
    page.press("Enter")
    orders.append((page.evaluate(f"document.querySelector({json.dumps(head)}).parentElement.ariaSort"), column(page, table, number)))
    check({order for order, _ in orders} == {"descending", "ascending"} and all(ordered(cells, order == "descending") for order, cells in orders),
          what, orders)


def on_every_page(page, name):
    """What all pages have in common, on a large screen, a phone's, and a dark one."""
    page.prefer("light")
    page.resize(1200, 1000)
    page.open(name + ".html")
    check(not page.errors and page.requests == [f"file://{work}/{name}.html"], f"{name}: loads without a complaint and asks for nothing",
          (page.errors, page.requests))
    page.screenshot(os.path.join(SCREENSHOTS, name + ".png"))
    check(page.evaluate("window.owned === undefined && !document.querySelector('main img, main b > script')")
          and EVIL in page.text("main") and WORSE in page.text("main"), f"{name}: names are text")
    page.resize(390, 844, phone=True)
    page.open(name + ".html")
    check(page.evaluate("document.documentElement.scrollWidth") <= 390, f"{name}: nothing to scroll sideways on a phone",
          page.evaluate("""[...document.querySelectorAll("main *")].filter(one => one.getBoundingClientRect().right > 391
              && !one.closest(".scroll")).map(one => one.outerHTML.slice(0, 120)).slice(0, 5).join("\\n")"""))
    page.screenshot(os.path.join(SCREENSHOTS, name + "-phone.png"))
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        least = {selector: contrast(page, selector) for selector in ("p, h1, h2, td, th button, summary, label", ".frame, .hot, button")
                 if page.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")}
        check(all(value >= 4.5 for value in least.values()), f"{name}: text can be read on a {scheme} screen", least)
    page.prefer("light")
    page.resize(1200, 1000)


def focus_is_seen(page, presses=16):
    """Tab through the page: everything that gets the focus shows it."""
    for _ in range(presses):
        page.press("Tab")
        if page.evaluate("document.activeElement !== document.body && getComputedStyle(document.activeElement).outlineStyle === 'none'"):
            return page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
    return ""


def report_page(page):
    """Search, zoom, code, keys."""
    page.open("report.html")
    check(page.text("h1") == document["cmdline"] and page.evaluate("document.querySelectorAll('.frame').length") > 10,
          "report: shows the command and frames", page.text("h1"))
    check(page.evaluate("document.querySelectorAll('#functions tbody tr').length") == len(document["functions"]), "report: a row for each function")
    page.press("/")
    check(has_focus(page, "#search"), "report: / goes to the search")
    page.type("onerror")
    worse_share = next(one["share"] for one in document["functions"] if one["symbol"] == WORSE)
    check(page.text("#found") == f"1 function; {worse_share * 100:.2f}% of all cycles", "report: the search tells the share of what matches",
          page.text("#found"))
    check(page.evaluate("[...document.querySelectorAll('#functions tbody tr')].filter(row => !row.hidden).length") == 1
          and page.evaluate("[...document.querySelectorAll('.frame.match')].map(one => one.textContent)") == [WORSE],
          "report: it marks frames and leaves the rows that match")
    page.press("Enter")
    check(page.evaluate("document.activeElement.textContent") == WORSE, "report: Enter in the search goes to the largest match")
    page.press("Escape")
    check(page.text("#found") == "" and page.evaluate("document.querySelectorAll('.frame.match').length") == 0
          and page.evaluate("[...document.querySelectorAll('#functions tbody tr')].every(row => !row.hidden)"), "report: Escape ends the search")
    page.press("Enter")
    width = "boxes.get(frames.find(one => one.name === %s && one.kind === 'function')).getBoundingClientRect().width / flame.clientWidth"
    check(page.evaluate(width % json.dumps(WORSE)) > .99 and page.evaluate(f"!boxes.get(frames.find(one => one.name === {json.dumps(EVIL)}))"),
          "report: Enter zooms in")
    page.press("Enter")
    check(has_focus(page, "#code-title") and page.text("#code-title") == WORSE, "report: Enter again opens the code", page.text("#code-title"))
    page.press("Escape")
    check(page.evaluate("document.getElementById('code').hidden") and has_focus(page, ".frame"), "report: Escape closes it, the focus is where it was")
    page.press("Escape")
    check(page.evaluate("zoomed.kind") == "binary" and page.evaluate("chosen.name") == WORSE, "report: Escape zooms out", page.evaluate("zoomed.kind"))
    page.click("#zoom-reset")
    check(page.evaluate("zoomed === frames[0] && document.getElementById('zoom-out').disabled"), "report: Reset shows all")
    page.evaluate("boxes.get(frames[0]).focus()")
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "Home"):
        page.press(key)
        seen.append(page.evaluate("[chosen.kind, chosen.depth, chosen.name]"))
    functions = [one["symbol"] for one in document["functions"]]
    check([one[:2] for one in seen] == [["process", 1], ["binary", 2], ["function", 3], ["function", 3], ["function", 3], ["binary", 2], ["all", 0]]
          and [one[2] for one in seen[2:5]] == [functions[0], functions[1], functions[0]], "report: arrows go to what is held, besides and above", seen)
    shown = page.evaluate(f"boxes.get(frames.find(one => one.name === {json.dumps(EVIL)})).dataset.frame")
    page.click(f'.frame[data-frame="{shown}"]')
    check(page.evaluate("zoomed.name") == EVIL and EVIL in page.text("#detail"), "report: a press on a frame zooms in and tells its cycles", page.text("#detail"))
    page.click("#detail button")
    check(page.text("#code-title") == EVIL and page.evaluate("window.owned === undefined"), "report: its code opens", page.text("#code-title"))
    texts = page.evaluate("[...document.querySelectorAll('#code-rows tr[data-address]')].map(row => row.cells[6].textContent.replace(/ +/, ' ').trim())")
    known_texts = [one["text"] for one in annotated["instructions"]]
    check(texts and all(any(text.startswith(known) for known in known_texts) for text in texts), "report: it is the function's instructions", texts[:5])
    check("window.owned=1</script> <!-- */" in page.text("#code-rows") and "inlined mix" in page.text("#code-rows"), "report: between lines of source, inlined ones named")
    hottest = max(annotated["instructions"], key=lambda one: one["cycles"])
    bar = f'#code-rows tr[data-address="{hottest["address"]:x}"] .bar'
    parts = page.evaluate(f"[...document.querySelectorAll({json.dumps(bar + ' span')})].map(one => one.getBoundingClientRect().width)")
    check(parts and abs(sum(parts) / page.evaluate(f"document.querySelector({json.dumps(bar)}).getBoundingClientRect().width") - 1) < .02
          and page.evaluate(f"document.querySelector({json.dumps(bar)}).ariaLabel").split()[0] in hottest["stack"],
          "report: the hottest instruction's bar is full, and says in words what it shows", parts)
    page.screenshot(os.path.join(SCREENSHOTS, "report-code.png"))
    page.click("#code-close")
    page.click("#functions button.name")
    check(page.text("#code-title") == functions[0], "report: a press on a function opens its code", page.text("#code-title"))
    page.press("Escape")
    check(has_focus(page, "#functions button.name"), "report: ... and Escape goes back to it")
    page.evaluate(f"openCode({functions.index(WORSE)})")
    all_rows, shown = len(code[WORSE]["rows"]), "document.querySelectorAll('#code-rows tr[data-address]').length"
    folded = [int(text.split()[0]) for text in page.evaluate("[...document.querySelectorAll('.fold button')].map(one => one.textContent)")]
    check(sum(folded) >= 30 and sum(folded) + page.evaluate(shown) == all_rows, "report: instructions without cycles are folded", folded)
    page.evaluate("document.querySelector('.fold button').focus()")
    page.press("Enter")
    check(page.evaluate(shown) == all_rows - sum(folded[1:]) and has_focus(page, "#code-rows tr"), "report: and unfolded, the focus stays there",
          page.evaluate(shown))
    page.press("Escape")
    sorts(page, "#functions table", 0, "report: functions are sorted by share")
    sorts(page, "#functions table", 4, "report: functions are sorted by name")
    check(not page.errors and len(page.requests) == 1, "report: all of that without a complaint or a request", (page.errors, page.requests))
    for name in ("chains", "exact", "plain", "short"):
        if os.path.exists(name + ".html"):
            page.open(name + ".html")
            check(not page.errors and page.evaluate("document.querySelectorAll('.frame').length") >= 4, f"{name}: loads", page.errors)
    page.open("plain.html")
    page.click("#functions button.name")
    check(not re.search("cycles|too few|retiring", page.evaluate("document.querySelector('main').innerText"), re.I) and
          page.text("#code-rows tr[data-address] td") == "100.00%", "plain: says nothing of cycles or states, which are not known")
    page.open("short.html")
    check(f"{short['code_left_out']['count']} functions with less than 30.00%" in page.text("main"), "short: what was left out is told")


def locked(page):
    """The content security policy: nothing is asked for, and no script but the page's runs."""
    page.open("report.html")
    blocked = page.evaluate("""(async () => {
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
    check(blocked == "refused" and page.evaluate("window.owned === undefined") and len(page.requests) == 1
          and len([error for error in page.errors if "Content Security Policy" in error]) >= 3,
          "the policy of the page allows no request and no other script", (blocked, page.requests, page.errors))


def topdown_page(page):
    page.open("topdown.html")
    page.evaluate("document.querySelector('summary').focus()")
    before = page.evaluate("document.querySelector('details').open")
    page.press("Enter")
    check(page.evaluate("document.querySelector('details').open") != before, "topdown: Enter folds and unfolds a node")
    sorts(page, "h2 ~ .scroll table", 0, "topdown: rows are sorted by share")
    sorts(page, "h2 ~ .scroll table", 1, "topdown: rows are sorted by function")
    sorts(page, "h2 ~ .scroll table", 4, "topdown: rows are sorted by a node's share")


def compare_page(page):
    page.open("compare.html")
    regions = page.evaluate("document.querySelectorAll('details').length")
    page.evaluate("document.getElementById('filter').focus()")
    page.type("onerror")
    check(0 < page.evaluate("[...document.querySelectorAll('details')].filter(one => !one.hidden).length") < regions, "compare: the filter leaves the regions that match")
    page.evaluate("document.querySelectorAll('summary')[0].scrollIntoView()")
    page.open("compare.html")
    for number, what in ((0, "address"), (3, "measured cycles"), (1, "instruction")):
        sorts(page, "details[open] table", number, f"compare: instructions are sorted by {what}")


if not CHROMIUM:
    skip("pages in a browser", "no chromium")
else:
    browser = Browser(work)
    try:
        tab = Page(browser)
        for one in ("report", "topdown", "compare"):
            on_every_page(tab, one)
            tab.open(one + ".html")
            hidden = focus_is_seen(tab)
            check(not hidden, f"{one}: what has the focus shows it", hidden)
        report_page(tab)
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
