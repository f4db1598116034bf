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
from tap import BUILD, GUEST_CC, CROSS, PESA, QEMU, bail_out, check, end, needs, skip

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

def make(name, *lines):
    """A recording of the program from a description."""
    header = run(CROSS + "readelf", "-lW", "program")
    offset, address = (int(word, 16) for word in re.search(r"LOAD\s+(0x\w+)\s+(0x\w+).*R E", header).groups())
    head = ["period 1000", *(one for pid, what in ((7, "outer"), (8, "other")) for one in
            (f"comm {pid} {pid} {what}", f"map {pid} {address:#x} 0x2000 {offset} {work}/program"))]
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
    check({order for order, _ in orders} == {"descending", "ascending"}
          and all(ordered(cells, order == "descending") for order, cells in orders), what, orders)


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


def of_all(page, selector, expression):
    """The value of a JavaScript expression in `one` for each element that a selector names."""
    return page.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => {expression})")


def first(page, selector, expression):
    """... for the first of them."""
    return page.evaluate(f"(one => {expression})(document.querySelector({json.dumps(selector)}))")


def frame_of(page, name, expression):
    """... for the element of the function's frame with a name; null: it is not shown."""
    return page.evaluate(f"""(one => one ? {expression} : null)(boxes.get(frames.find(frame =>
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
    """Goes on where the search ended."""
    page.press("Enter")
    check(frame_of(page, WORSE, "one.offsetWidth / flame.clientWidth") > .99 and frame_of(page, EVIL, "1") is None, "report: Enter zooms in")
    page.press("Enter")
    check(has_focus(page, "#code-title") and page.text("#code-title") == WORSE, "report: Enter again opens the code",
          page.text("#code-title"))
    page.press("Escape")
    check(first(page, "#code", "one.hidden") and has_focus(page, ".frame"), "report: Escape closes it, the focus is where it was")
    page.press("Escape")
    check(page.evaluate("[zoomed.kind, chosen.name]") == ["binary", WORSE], "report: Escape zooms out", page.evaluate("zoomed.kind"))
    page.click("#zoom-reset")
    check(page.evaluate("zoomed === frames[0]") and first(page, "#zoom-out", "one.disabled"), "report: Reset shows all")
    page.evaluate("boxes.get(frames[0]).focus()")
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "Home"):
        page.press(key)
        seen.append(page.evaluate("[chosen.kind, chosen.name]"))
    check([kind for kind, _ in seen] == ["process", "binary", "function", "function", "function", "binary", "all"]
          and [name for _, name in seen[2:5]] == [FUNCTIONS[0], FUNCTIONS[1], FUNCTIONS[0]],
          "report: arrows go to what is held, besides and above", seen)
    page.click(f'.frame[data-frame="{frame_of(page, EVIL, "one.dataset.frame")}"]')
    check(page.evaluate("zoomed.name") == EVIL and EVIL in page.text("#detail"), "report: a press on a frame zooms in and tells its cycles",
          page.text("#detail"))


def report_code(page):
    """Goes on in a frame that is zoomed into."""
    page.click("#detail button")
    check(page.text("#code-title") == EVIL and page.evaluate("window.owned === undefined"), "report: its code opens", page.text("#code-title"))
    texts = of_all(page, "#code-rows tr[data-address]", "one.cells[6].textContent.replace(/ +/, ' ').trim()")
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
