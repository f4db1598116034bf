// SPDX-License-Identifier: GPL-2.0-or-later
// The table of functions.
"use strict";

const codeOf = new Map(report.code.map(code => [code.function, code]));
const rowOf = []; // of the table, by function

function headCell(name, kind = "", sorted = undefined) {
	return element("th", {scope: "col", class: kind, "aria-sort": sorted},
		element("button", {type: "button"}, name));
}

// As the text says it: fewer than ten samples are too few.
function executionsOf(one) {
	if (one.executions === null)
		return "";
	return report.exact || one.executions >= 10 * report.period ? count(one.executions) : "too few";
}

function functionRow(one, number) {
	const buckets = bucketsOf(one.stack);

	return element("tr", {"data-function": number},
		element("td", {"data-key": one.cycles, class: one.share >= 0.1 ? "hot" : ""}, percent(one.share)),
		element("td", {"data-key": one.cycles, class: "wide"}, count(one.cycles)),
		element("td", {"data-key": one.executions ?? "", class: "wide stacks"}, executionsOf(one)),
		element("td", {"data-key": (one.stack.retiring?.none ?? 0) / one.cycles, class: "stacks"}, stackBar(buckets, one.cycles)),
		element("td", {class: "code", "data-key": one.symbol, title: one.linkage_name ?? one.symbol},
			codeOf.has(number)
				? element("button", {type: "button", class: "name", click: () => openCode(number)}, one.symbol)
				: one.symbol),
		element("td", {class: "text wide", "data-key": baseName(one.dso), title: one.dso}, baseName(one.dso)),
		element("td", {class: "text wide stacks causes", title: largest(buckets, 12)}, largest(buckets)));
}

function makeFunctions() {
	const body = element("tbody");
	const left = report.functions_left_out;

	report.functions.forEach((one, number) => {
		rowOf[number] = functionRow(one, number);
		body.append(rowOf[number]);
	});
	document.getElementById("functions").append(element("table", {},
		element("thead", {}, element("tr", {}, headCell("Share", "", "descending"), headCell(unitTitle, "wide"),
			headCell("Executions", "wide stacks"), headCell("Stack", "text stacks"), headCell("Function", "text"),
			headCell("Binary", "text wide"), headCell("Largest buckets", "text wide stacks"))),
		body));
	if (left.count)
		document.getElementById("functions").after(element("p", {class: "facts"},
			`${percent(share(left.cycles))}, ${count(left.cycles)} ${unit} in ${left.count} more functions.`));
	if (report.code_left_out.count)
		document.getElementById("functions").after(element("p", {class: "facts"},
			`Instructions of ${report.code_left_out.count} functions with less than ${percent(report.limit)} ` +
			`each, ${percent(share(report.code_left_out.cycles))} in all, are not in this page ` +
			"(--percent-limit 0)."));
}

// Show the rows that match; how many these are.
function searchFunctions(wanted) {
	let shown = 0;

	report.functions.forEach((one, number) => {
		const matches = !wanted || wanted(one.symbol) || wanted(baseName(one.dso));

		rowOf[number].hidden = !matches;
		shown += matches;
	});
	return shown;
}
