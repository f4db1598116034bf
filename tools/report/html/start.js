// SPDX-License-Identifier: GPL-2.0-or-later
// The head of the page, the search, and the keys that work in the whole page.
"use strict";

const search = document.getElementById("search");

function makeHead() {
	const facts = [report.event, report.core && "core " + report.core, report.model && "model " + report.model,
		report.arch, report.exact ? "exact: every cycle counted"
			: report.period > 0 && `sampled every ${isTime ? time(report.period) : Math.round(report.period)}` + (isTime || isOther ? "" : " cycles"),
		amount(report.cycles) + " " + unit, !report.exact && `${report.samples} samples, ${report.lost} lost`,
		report.plain_samples && (isPlain ? "without details: no stacks of states"
			: `${report.plain_samples} of them without details`),
		report.skidding_samples && "PC is skidding: not exact",
		report.damage && "damaged: " + report.damage];
	const unattributed = Object.entries(report.unattributed).filter(([, cycles]) => cycles)
		.map(([reason, cycles]) => `${reason} ${percent(share(cycles))}`);

	document.getElementById("title").textContent = report.cmdline ?? report.input;
	document.getElementById("facts").textContent = facts.filter(Boolean).join(", ") + "; unattributed " +
		(unattributed.join(", ") || "0%") + ".";
	document.querySelector("main").classList.toggle("plain", isPlain);
	if (!isPlain)
		document.getElementById("whole").append(stackBar(bucketsOf(report.stack), report.cycles));
	makeLegend();
	for (const problem of report.problems)
		document.querySelector("#problems ul").append(element("li", {}, problem));
	document.getElementById("problems").hidden = !report.problems.length;
}

// What the colours mean: states with their shares; of plain samples, binaries.
function makeLegend() {
	const legend = document.getElementById("legend");

	if (isPlain)
		for (const [binary, cycles] of binaries.slice(0, BINARIES_SHOWN)) {
			const mark = element("i", {});

			mark.style.background = colourOfBinary(binary);
			legend.append(element("li", {}, mark, `${binary} ${percent(share(cycles))}`));
		}
	else
		for (const [state, causes] of Object.entries(report.stack))
			legend.append(element("li", {}, element("i", {class: state}), `${state} ` +
				percent(share(Object.values(causes).reduce((sum, cycles) => sum + cycles, 0)))));
}

function wantedName() {
	const wanted = search.value.toLowerCase();

	return wanted && (name => name.toLowerCase().includes(wanted));
}

// What was found, in the functions and in the graph that is drawn.
function showFound() {
	const functions = searchFunctions(wantedName());

	document.getElementById("found").textContent = search.value
		? `${functions} ${functions === 1 ? "function" : "functions"}; ${percent(share(graph.cyclesFound))} ${ofAll}` : "";
}

function searchAll() {
	graph.search(wantedName());
	showFound();
}

search.addEventListener("input", searchAll);
search.addEventListener("keydown", event => {
	if (event.key !== "Enter")
		return;
	const first = graph.largestMatch();

	if (first)
		graph.select(first);
});
searchKeys(search, () => {
	if (document.activeElement === search || search.value) {
		search.value = "";
		searchAll();
		graph.boxes.get(graph.selected).focus();
	} else if (!closeCode()) {
		graph.zoomOut();
	}
});

makeHead();
makeFunctions();
makeTimeline();
showFrames();
