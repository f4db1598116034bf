// SPDX-License-Identifier: GPL-2.0-or-later
// What is above the graph, the search, and the keys that work everywhere.
"use strict";

const search = document.getElementById("search");

function makeHead() {
	const facts = [report.event, report.core && "core " + report.core, report.model && "model " + report.model,
		report.arch, report.exact ? "exact: every cycle counted"
			: report.period > 0 && `sampled every ${Math.round(report.period)}` + (isPlain ? "" : " cycles"),
		count(report.cycles) + " " + unit, !report.exact && `${report.samples} samples, ${report.lost} lost`,
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
	document.getElementById("whole").append(stackBar(bucketsOf(report.stack), report.cycles));
	for (const [state, causes] of Object.entries(report.stack))
		document.getElementById("legend").append(element("li", {}, element("i", {class: state}), `${state} ` +
			percent(share(Object.values(causes).reduce((sum, cycles) => sum + cycles, 0)))));
	for (const problem of report.problems)
		document.querySelector("#problems ul").append(element("li", {}, problem));
	document.getElementById("problems").hidden = !report.problems.length;
}

function searchAll() {
	const wanted = search.value.toLowerCase();
	const matches = wanted && (name => name.toLowerCase().includes(wanted));
	const cycles = searchFlame(matches), functions = searchFunctions(matches);

	document.getElementById("found").textContent = wanted
		? `${functions} ${functions === 1 ? "function" : "functions"}; ${percent(share(cycles))} ${ofAll}` : "";
}

search.addEventListener("input", searchAll);
search.addEventListener("keydown", event => {
	if (event.key !== "Enter")
		return;
	const first = [...(found ?? [])].filter(frame => boxes.has(frame)).sort((a, b) => b.weight - a.weight)[0];

	if (first)
		choose(first);
});
addEventListener("keydown", event => {
	if (event.altKey || event.ctrlKey || event.metaKey)
		return;
	if (event.key === "/" && document.activeElement !== search) {
		event.preventDefault();
		search.focus();
		search.select();
	} else if (event.key === "Escape") {
		if (document.activeElement === search || search.value) {
			search.value = "";
			searchAll();
			boxes.get(chosen).focus();
		} else if (!closeCode()) {
			zoomOut();
		}
	}
});

makeHead();
makeFunctions();
drawFlame();
choose(frames[0], false);
