// SPDX-License-Identifier: GPL-2.0-or-later
// The table of functions.
"use strict";

const codeOf = new Map(report.code.map(code => [code.function, code]));
// With call chains a function has inclusive cycles: its own and those of what it called.
const hasChains = report.functions.some(one => one.children_cycles !== undefined);
const rowOf = []; // rows of the table, by index of the function

function functionRow(one, number) {
	const buckets = bucketsOf(one.stack);

	return element("tr", {"data-function": number},
		element("td", {"data-key": one.cycles, class: "share" + (one.share >= 0.1 ? " hot" : "")}, one.cycles ? percent(one.share) : ""),
		hasChains ? element("td", {"data-key": one.children_cycles, class: "children"}, one.children_cycles ? percent(share(one.children_cycles)) : "") : "",
		element("td", {"data-key": one.cycles, class: "wide"}, one.cycles ? amount(one.cycles) : ""),
		element("td", {"data-key": one.executions ?? "", class: "wide stacks"}, one.executions === null ? "" : executionsText(one.executions, report)),
		element("td", {"data-key": one.cycles ? (one.stack.retiring?.none ?? 0) / one.cycles : "", class: "stacks bars"}, stackBar(buckets, one.cycles)),
		element("td", {class: "code function", "data-key": one.symbol, title: one.linkage_name ?? one.symbol},
			codeOf.has(number)
				? element("button", {type: "button", class: "name", click: () => openCode(number)}, one.symbol)
				: one.symbol),
		element("td", {class: "text binary", "data-key": baseName(one.dso), title: one.dso}, baseName(one.dso)),
		element("td", {class: "text stacks causes", title: largest(buckets, 12)}, largest(buckets)));
}

// Show the functions as they are in the selection.
function showFunctions() {
	report.functions.forEach((one, number) => {
		const row = functionRow(selectedFunction(one, number), number);

		row.className = rowOf[number].className;
		rowOf[number].replaceWith(row);
		rowOf[number] = row;
	});
	const head = document.querySelector("#functions th[aria-sort]");

	if (head)
		sortTable(head.closest("table"), head.cellIndex, head.getAttribute("aria-sort") === "descending");
}

function makeFunctions() {
	const body = element("tbody");
	const left = report.functions_left_out;

	report.functions.forEach((one, number) => {
		rowOf[number] = functionRow(one, number);
		body.append(rowOf[number]);
	});
	document.getElementById("functions").append(element("table", {class: hasChains ? "chains" : ""},
		element("thead", {}, element("tr", {}, headCell("Share", "", "descending"),
			hasChains ? headCell("Children") : "", headCell(unitTitle, "wide"),
			headCell("Executions", "wide stacks"), headCell("Stack", "text stacks"), headCell("Function", "text"),
			headCell("Binary", "text"), headCell("Largest buckets", "text stacks causes"))),
		body));
	if (left.count)
		document.getElementById("functions").after(element("p", {class: "facts"},
			`${percent(share(left.cycles))}, ${amount(left.cycles)} ${unit} in ${left.count} more functions.`));
	if (report.code_left_out.count)
		document.getElementById("functions").after(element("p", {class: "facts"},
			`Instructions of ${report.code_left_out.count} functions with less than ${percent(report.limit)} ` +
			`each, ${percent(share(report.code_left_out.cycles))} in all, are not in this page ` +
			"(--percent-limit 0)."));
}

// Show only the rows that match.  Returns their number.
function searchFunctions(wanted) {
	let shown = 0;

	report.functions.forEach((one, number) => {
		const matches = (!wanted || wanted(one.symbol) || wanted(baseName(one.dso))) &&
			(!selected || selectedFunction(one, number).cycles > 0);

		rowOf[number].hidden = !matches;
		shown += matches;
	});
	return shown;
}
