// SPDX-License-Identifier: GPL-2.0-or-later
// The head of the page, the table of changes, the search, and the keys that work in the whole page.
"use strict";

const search = document.getElementById("search");
const rowElements = [];

function makeHead() {
	for (const side of sides) {
		const one = difference[side];
		const facts = [one.event, one.core && "core " + one.core, count(one.cycles) + (isPlain ? " counted" : " cycles"),
			one.instructions ? count(one.instructions) + " instructions" : "",
			one.exact ? "exact" : `${count(one.samples)} samples, ${one.lost} lost`];

		document.getElementById("sides").append(element("dt", {}, side === "old" ? "Old" : "New"),
			element("dd", {}, one.cmdline ?? one.input, element("br"),
				element("span", {class: "facts"}, one.input + ": " + facts.filter(Boolean).join(", "))));
	}
	for (const note of difference.notes)
		document.getElementById("notes").append(element("li", {}, note));
	for (const [name, meaning] of [["--grown", "more cycles"], ["--shrunk", "fewer"], ["--empty", "as many"]]) {
		const mark = element("i");

		mark.style.background = `var(${name})`;
		document.getElementById("legend").append(element("li", {}, mark, meaning));
	}
	document.getElementById("legend").append(element("li", {}, "pale: the change of the function is not significant"));
	for (const problem of difference.problems ?? [])
		document.querySelector("#problems ul").append(element("li", {}, problem));
	document.getElementById("problems").hidden = !difference.problems?.length;
}

function placeOf(row) {
	const one = row.new ?? row.old;

	return [row.symbol ?? "[unknown]", row.text ?? (one.file ? `${baseName(one.file)}:${one.line}` : "")].filter(Boolean).join("  ");
}

function value(one, name, shown) {
	return element("td", {class: "wide extra", "data-key": one?.[name] ?? ""}, one?.[name] === null || one?.[name] === undefined
		? "" : shown(one[name]));
}

function rowElement(row) {
	const kind = !row.change_significant ? "" : row.change > 0 ? " grown" : " shrunk";
	const half = row.change === null ? 0 : (row.change_interval[1] - row.change_interval[0]) / 2;
	const costHalf = row.cost_change === null ? 0 : (row.cost_change_interval[1] - row.cost_change_interval[0]) / 2;

	return element("tr", {},
		element("td", {class: "change" + kind, "data-key": row.change ?? ""},
			row.change === null ? "" : signed(row.change) + (half ? ` \u00b1 ${count(half)}` : "")),
		element("td", {class: "text significance", "data-key": row.change_p ?? ""}, significanceOf(row)),
		value(row.old, "cycles", count), value(row.new, "cycles", count),
		value(row.old, "executions", executions => executionsText(executions, difference.old)),
		value(row.new, "executions", executions => executionsText(executions, difference.new)),
		element("td", {class: "wide extra" + (row.cost_change_significant ? row.cost_change > 0 ? " grown" : " shrunk" : ""),
			"data-key": row.cost_change ?? ""}, row.cost_change === null ? ""
			: (row.cost_change < 0 ? "\u2212" : "+") + Math.abs(row.cost_change).toFixed(2) +
				(costHalf ? ` \u00b1 ${costHalf.toFixed(2)}` : "")),
		element("td", {class: "text wide"}, row.kind === "both" ? "" : row.kind),
		element("td", {class: "text code function", "data-key": placeOf(row)},
			element("button", {type: "button", class: "name", click: () => goTo(row)}, placeOf(row))));
}

// Show a function in the graphs.
function goTo(row) {
	search.value = row.symbol ?? "[unknown]";
	searchAll();
	const graph = graphs[row.new ? 1 : 0], frame = graph.largestMatch();

	if (frame) {
		graph.select(frame);
		graph.flame.scrollIntoView({block: "nearest"});
	}
}

function makeRows() {
	const body = element("tbody");

	for (const row of difference.rows) {
		rowElements.push(rowElement(row));
		body.append(rowElements[rowElements.length - 1]);
	}
	const unit = isPlain ? "Count" : "Cycles";

	document.getElementById("rows").append(element("table", {},
		element("thead", {}, element("tr", {}, headCell("Change"), headCell("Significance", "text"),
			headCell(unit + ", old", "wide extra"), headCell(unit + ", new", "wide extra"),
			headCell("Executions, old", "wide extra"), headCell("Executions, new", "wide extra"),
			headCell("Cycles/exec", "wide extra"), headCell("Only", "text wide"), headCell("Function", "text"))),
		body));
}

function searchAll() {
	const wanted = search.value.toLowerCase();
	const matches = wanted && (name => name.toLowerCase().includes(wanted));
	const cycles = graphs.map((graph, side) => graph.search(matches) * scaleOf[side]);
	let shown = 0;

	difference.rows.forEach((row, number) => {
		rowElements[number].hidden = Boolean(wanted) && !matches(placeOf(row));
		shown += !rowElements[number].hidden;
	});
	document.getElementById("found").textContent = wanted
		? `${shown} ${shown === 1 ? "row" : "rows"}; ${count(cycles[0])} \u2192 ${count(cycles[1])}` : "";
}

search.addEventListener("input", searchAll);
search.addEventListener("keydown", event => {
	const frame = event.key === "Enter" && (graphs[1].largestMatch() ?? graphs[0].largestMatch());

	if (frame)
		graphs[graphs[1].boxes.has(frame) ? 1 : 0].select(frame);
});
searchKeys(search, () => {
	if (document.activeElement === search || search.value) {
		search.value = "";
		searchAll();
		graphs[1].boxes.get(graphs[1].selected).focus();
	} else {
		graphs[1].zoomOut() || graphs[0].zoomOut();
	}
});

makeHead();
makeRows();
showGraphs();
