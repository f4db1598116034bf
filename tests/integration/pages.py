# SPDX-License-Identifier: GPL-2.0-or-later
"""What all tests of pages look at: widths of screens, colours, focus, sorted tables.

Screenshots are kept in html/ of the build directory.
"""
import json
import os
import re

from tap import BUILD, check

SCREENSHOTS = os.path.join(os.path.abspath(BUILD), "html")
WIDTHS = (360, 1200, 2560)  # pixels of the screens
os.makedirs(SCREENSHOTS, exist_ok=True)


def data_of(path):
    """The document in a page."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return json.loads(re.search(r"<script type=application/json id=data>(.*?)</script>", text, re.S).group(1))


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


def focus_is_seen(page, presses=16):
    """Tab through the page: everything that gets the focus shows it."""
    for _ in range(presses):
        page.press("Tab")
        if page.evaluate("document.activeElement !== document.body && getComputedStyle(document.activeElement).outlineStyle === 'none'"):
            return page.evaluate("[document.hasFocus(), document.activeElement.outerHTML.slice(0, 200)]")
    return []


def of_all(page, selector, expression):
    """The value of a JavaScript expression in `one` for each element that a selector names."""
    return page.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => {expression})")


def first(page, selector, expression):
    """... for the first of them."""
    return page.evaluate(f"(one => {expression})(document.querySelector({json.dumps(selector)}))")


def fits_and_reads(page, name):
    """Whether a page fits three screens, and its text can be read, light and dark."""
    for width in WIDTHS:
        page.resize(width, 844, phone=width < 600)
        page.open(name + ".html")
        check(page.evaluate("document.documentElement.scrollWidth") <= width, f"{name}: nothing to scroll sideways on {width} pixels",
              page.evaluate(f"""[...document.querySelectorAll("main *")].filter(one => one.getBoundingClientRect().right > {width} + 1
                  && !one.closest(".scroll")).map(one => one.outerHTML.slice(0, 120)).slice(0, 5).join("\\n")"""))
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            least = {selector: contrast(page, selector) for selector in ("p, h1, h2, td, th button, summary, label, dd", ".frame, .hot, button")
                     if page.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")}
            check(all(value >= 4.5 for value in least.values()), f"{name}: text can be read on a {scheme} screen of {width} pixels", least)
            page.screenshot(os.path.join(SCREENSHOTS, f"{name}-{width}-{scheme}.png"))
    page.prefer("light")
    page.resize(1200, 1000)
