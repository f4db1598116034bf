// SPDX-License-Identifier: GPL-2.0-or-later
// Source and instructions of a function.  Runs of instructions without cycles are folded.
"use strict";

const FOLD = 12;      // so many in a row are worth folding
const CONTEXT = 3;    // of these, shown at either end
const COLD = 0.0005;  // of the function's cycles
let opened = null;    // {number, from}: the function, and what had the focus before
const codeSection = document.getElementById("code");

// The columns of a row of the document.
function instructionOf([address, name, line, target, cycles = 0, executions, cost, half, taken, stack = []]) {
	const buckets = [];

	for (let i = 0; i < stack.length; i += 3)
		buckets.push({state: stack[i], cause: text(stack[i + 1]), cycles: stack[i + 2]});
	return {address, name: text(name), line, target, cycles, executions, cost, half, taken, buckets};
}

function sourceRow([file, line, source, inlined]) {
	return element("tr", {class: "source"}, element("td", {colspan: 8, title: text(file)},
		`${baseName(text(file))}:${line}  `, element("b", {}, text(source).trimEnd()),
		inlined === undefined ? "" : `   \u2190 inlined ${text(inlined)}`));
}

function known(value, shown) {
	return value === undefined ? "" : value === null ? "too few" : shown(value);
}

function instructionRow(one, most, whole) {
	const mnemonic = one.name.split(" ", 1)[0];
	const operands = one.name.slice(mnemonic.length + 1);

	return element("tr", {"data-address": one.address.toString(16)},
		element("td", {class: one.cycles > whole / 10 ? "hot" : ""}, one.cycles ? percent(share(one.cycles)) : ""),
		element("td", {class: "wide"}, one.cycles ? count(one.cycles) : ""),
		element("td", {class: "wide stacks"}, known(one.executions, count)),
		element("td", {class: "stacks"}, known(one.cost, cost => cost.toFixed(2) +
			(report.exact ? "" : " \u00b1" + one.half.toFixed(2)))),
		element("td", {}, one.cycles ? stackBar(one.buckets, most) : ""),
		element("td", {class: "code wide"}, one.address.toString(16)),
		element("td", {class: "code"}, mnemonic.padEnd(7) + " " + operands,
			one.target === null ? "" : ` <${text(one.target)}>`,
			one.taken === undefined || one.taken === null ? "" : ` (taken ${percent(one.taken, 0)})`),
		element("td", {class: "text wide stacks"}, one.cycles ? largest(one.buckets) : ""));
}

// Groups of instructions: {rows, cold}.
function runsOf(rows, whole) {
	const runs = [];

	for (const row of rows) {
		const isCold = row.cycles < whole * COLD || !row.cycles;

		if (!runs.length || runs[runs.length - 1].isCold !== isCold)
			runs.push({isCold, rows: []});
		runs[runs.length - 1].rows.push(row);
	}
	return runs;
}

// The body of the table.
function codeRows(code, rows, whole) {
	const most = rows.reduce((largest, row) => Math.max(largest, row.cycles), 0);
	const made = element("tbody");
	let line = null;
	const show = (row, into) => {
		if (row.line !== null && row.line !== line)
			into.append(sourceRow(code.lines[row.line]));
		line = row.line;
		into.append(instructionRow(row, most, whole));
	};
	const fold = hidden => {
		const cycles = hidden.reduce((sum, row) => sum + row.cycles, 0);
		const button = element("button", {type: "button", "aria-expanded": "false"},
			`${hidden.length} instructions` + (cycles ? `, ${percent(share(cycles))}` : ", in no sample"));
		const folded = element("tr", {class: "fold"}, element("td", {colspan: 8}, button));

		button.addEventListener("click", () => {
			const shown = document.createDocumentFragment();

			line = null;
			hidden.forEach(row => show(row, shown));
			const first = shown.firstChild;

			folded.replaceWith(shown);
			first.tabIndex = -1;
			first.focus();
		});
		made.append(folded);
		line = null;
	};

	runsOf(rows, whole).forEach((run, number, runs) => {
		const before = number ? CONTEXT : 0, after = number < runs.length - 1 ? CONTEXT : 0;
		const isFolded = run.isCold && run.rows.length >= before + after + FOLD;

		if (!isFolded)
			return run.rows.forEach(row => show(row, made));
		run.rows.slice(0, before).forEach(row => show(row, made));
		fold(run.rows.slice(before, run.rows.length - after));
		run.rows.slice(run.rows.length - after).forEach(row => show(row, made));
	});
	return made;
}

function openCode(number) {
	const one = report.functions[number], code = codeOf.get(number);
	const rows = code ? code.rows.map(instructionOf) : [];

	closeCode(false);
	opened = {number, from: document.activeElement};
	rowOf[number].classList.add("open");
	document.getElementById("code-title").textContent = one.symbol;
	document.getElementById("code-facts").textContent =
		`${baseName(one.dso)}: ${percent(one.share)} ${ofAll}, ${count(one.cycles)}` +
		(one.executions ? `, ${count(one.executions)} executions` : "") +
		(code ? "" : `; its instructions are not in this page: it has less than ` +
			`${percent(report.limit)} ${ofAll} (--percent-limit 0)`);
	document.getElementById("code-rows").replaceChildren(!code ? "" : element("table", {},
		element("thead", {}, element("tr", {}, ...[["Share"], [unitTitle, "wide"], ["Executions", "wide stacks"],
			["Cycles/exec", "stacks"], ["Stack", "text"], ["Address", "text wide"], ["Instruction", "text"],
			["Largest buckets", "text wide stacks"]].map(([name, kind]) => element("th", {scope: "col", class: kind}, name)))),
		codeRows(code, rows, one.cycles)));
	codeSection.hidden = false;
	document.getElementById("code-title").focus({preventScroll: true});
	codeSection.scrollIntoView();
}

// False: nothing was open.
function closeCode(withFocus = true) {
	if (!opened)
		return false;
	rowOf[opened.number].classList.remove("open");
	codeSection.hidden = true;
	if (withFocus && opened.from?.isConnected)
		opened.from.focus();
	opened = null;
	return true;
}

document.getElementById("code-close").addEventListener("click", () => closeCode());
