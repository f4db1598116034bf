// SPDX-License-Identifier: GPL-2.0-or-later
// Source and instructions of a function.  Sequences of cold instructions are folded.
"use strict";

const FOLD = 12;      // minimum number of instructions to fold
const CONTEXT = 3;    // instructions shown before and after a folded sequence
const COLD = 0.0005;  // share of the function's cycles below which an instruction is cold
let opened = null;    // {number, from}: index of the open function; the element that had the focus before
const codeSection = document.getElementById("code");

// An instruction from a row of the page's JSON data.
function instructionOf([address, name, line, target, cycles = 0, executions, cost, half, taken, stack = [], why = []]) {
	const buckets = [];

	for (let i = 0; i < stack.length; i += 3)
		buckets.push({state: stack[i], cause: text(stack[i + 1]), cycles: stack[i + 2]});
	return {address, name: text(name), line, target, cycles, executions, cost, half, taken, buckets, why};
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
		element("td", {class: "share" + (one.cycles > whole / 10 ? " hot" : "")}, one.cycles ? percent(share(one.cycles)) : ""),
		element("td", {class: "wide"}, one.cycles ? amount(one.cycles) : ""),
		element("td", {class: "wide stacks"}, known(one.executions, count)),
		element("td", {class: "cost stacks"}, known(one.cost, cost => cost.toFixed(2) +
			(report.exact ? "" : " \u00b1" + one.half.toFixed(2)))),
		element("td", {class: "bars"}, one.cycles ? amountBar(one, most) : ""),
		element("td", {class: "code address"}, one.address.toString(16)),
		element("td", {class: "code instruction"}, mnemonic.padEnd(7) + " " + operands,
			one.target === null ? "" : ` <${text(one.target)}>`,
			one.taken === undefined || one.taken === null ? "" : ` (taken ${percent(one.taken, 0)})`),
		element("td", {class: "text causes stacks"}, one.cycles ? largest(one.buckets) : "",
			...one.why.map(cause => element("div", {class: "why"}, "waits " + text(cause)))));
}

// The bar of an instruction: of its states, or of its share where states are not known.
function amountBar(one, most) {
	if (!isPlain)
		return stackBar(one.buckets, most);
	const part = element("span", {class: "counted"});

	part.style.width = one.cycles / most * 100 + "%";
	return element("div", {class: "bar", role: "img", "aria-label": percent(share(one.cycles))}, part);
}

// Split rows into sequences of cold and of other instructions: [{isCold, rows}].
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

// The body of the table: source lines and instructions, with cold sequences folded.
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
	closeCode(false);
	opened = {number, from: document.activeElement};
	showCode();
	codeSection.hidden = false;
	document.getElementById("code-title").focus({preventScroll: true});
	codeSection.scrollIntoView();
}

// Show the open function again, in another selection.
function reopenCode() {
	if (opened)
		showCode();
}

function showCode() {
	const {number} = opened;
	const one = selectedFunction(report.functions[number], number), code = codeOf.get(number);
	const rows = code ? code.rows.map(row => selectedInstruction(instructionOf(row), number)) : [];

	rowOf[number].classList.add("open");
	document.getElementById("code-title").textContent = one.symbol;
	document.getElementById("code-facts").textContent =
		`${baseName(one.dso)}: ${percent(one.share)} ${ofAll}, ${amount(one.cycles)}` +
		(one.executions ? `, ${count(one.executions)} executions` : "") +
		(code ? "" : `; its instructions are not in this page: it has less than ` +
			`${percent(report.limit)} ${ofAll} (--percent-limit 0)`);
	document.getElementById("code-rows").replaceChildren(!code ? "" : element("table", {},
		element("thead", {}, element("tr", {}, ...[["Share"], [unitTitle, "wide"], ["Executions", "wide stacks"],
			["Cycles/exec", "stacks"], [isPlain ? "" : "Stack", "text"], ["Address", "text"], ["Instruction", "text"],
			["Largest buckets", "text causes stacks"]].map(([name, kind]) => element("th", {scope: "col", class: kind}, name)))),
		codeRows(code, rows, one.cycles)));
}

// Close the code section.  False: no function was open.
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
