// SPDX-License-Identifier: GPL-2.0-or-later
// The two flame graphs.  A graph is as wide as its cycles; a frame has the colour of the change of the frame at the
// same place in the other graph, pale if the function's change is not significant.
"use strict";

const sides = ["old", "new"];
const difference = JSON.parse(document.getElementById("data").textContent);
const documents = sides.map(side => JSON.parse(document.getElementById("frames-" + side).textContent));
const readSides = documents.map(one => readFrames(one.frames, one.frame_kinds,
	number => number === null || number === undefined ? "" : one.texts[number]));
// As many cycles as those of the other side stand for.
const scaleOf = [1, difference.scale];
const isPlain = difference.old.samples > 0 && difference.old.plain_samples === difference.old.samples;
const inverted = document.getElementById("inverted"), byProcess = document.getElementById("by-process");

// The rows of a function on a side: name and file name of the binary; the first one if there are several.
const rowsOf = sides.map(side => difference.rows.reduce((found, row) => {
	const key = row[side] && keyOfFunction(row.symbol, baseName(row[side].dso));

	return key === null || found.has(key) ? found : found.set(key, row);
}, new Map()));

function keyOfFunction(name, binary) {
	return (name ?? "[unknown]") + "\0" + binary;
}

// The row of the function that a frame is in; undefined: there is none.
function rowOf(frame, side) {
	for (; frame; frame = frame.parent)
		if (frame.kind === "function")
			return rowsOf[side].get(keyOfFunction(frame.name, frame.binary));
	return undefined;
}

// Binaries and processes may have other names in the other recording: the only one of a frame that has no counterpart of
// its name is that of the only one on the other side.
function renamed(frame, others) {
	const own = frame.parent.children.filter(child => child.kind === frame.kind);
	const lacks = (list, child) => !list.some(one => one.name === child.name);
	const left = others.filter(child => lacks(own, child));

	return left.length === 1 && own.filter(child => lacks(others, child)).length === 1 ? left[0] : undefined;
}

// Looked up once for each frame that is shown: frames of both sides are arranged anew together.
const counterparts = new WeakMap();

function counterpart(frame, root) {
	if (!counterparts.has(frame))
		counterparts.set(frame, findCounterpart(frame, root));
	return counterparts.get(frame);
}

function findCounterpart(frame, root) {
	let at = root;

	for (const one of pathOf(frame)) {
		const same = at.children.filter(child => child.kind === one.kind);

		at = same.find(child => child.name === one.name) ??
			(["process", "binary"].includes(one.kind) ? renamed(one, same) : undefined);
		if (!at)
			return null;
	}
	return at;
}

function cyclesOf(frame, side) {
	return frame ? frame.weight * scaleOf[side] : 0;
}

// Cycles of a frame in the old and in the new recording.
function bothCycles(frame, side) {
	const other = counterpart(frame, graphs[1 - side].frames[0]);
	const cycles = [cyclesOf(frame, side), cyclesOf(other, 1 - side)];

	return side ? cycles.reverse() : cycles;
}

function isSignificant(frame, side) {
	return rowOf(frame, side)?.change_significant ?? false;
}

const NEUTRAL = 0.005; // relative change that is no change
const MOST = 0.5;      // relative change that has the full colour

function colourOfChange(frame, side) {
	const [before, after] = bothCycles(frame, side);
	const change = (after - before) / Math.max(before, after);
	const strength = Math.min(1, Math.abs(change) / MOST) * (isSignificant(frame, side) ? 75 : 25) + 20;

	return Math.abs(change) < NEUTRAL ? "var(--empty)"
		: `color-mix(in srgb, var(${change > 0 ? "--grown" : "--shrunk"}) ${strength.toFixed(0)}%, var(--empty))`;
}

function signed(value) {
	return (value < 0 ? "\u2212" : "+") + count(Math.abs(value));
}

// "significant, p = 0.0003", of the row of a function.
function significanceOf(row) {
	if (!row)
		return "";
	if (row.change === null)
		return "unknown";
	const p = row.change_p < 0.0001 ? "p < 0.0001" : "p = " + Number(row.change_p.toPrecision(2));

	return (row.change_significant ? "significant, " : "not significant, ") + p;
}

function changeText(frame, side) {
	const [before, after] = bothCycles(frame, side);
	const row = rowOf(frame, side);
	const relative = before ? ` (${after >= before ? "+" : "\u2212"}${percent(Math.abs(after / before - 1), 1)})` : "";

	return `${frame.name}: ${count(before)} \u2192 ${count(after)}, ${signed(after - before)}${relative}` +
		(row ? `; ${row.symbol ?? "[unknown]"} itself ${significanceOf(row)}` : "");
}

const graphs = sides.map((side, number) => new FlameGraph({
	flame: document.getElementById(side + "-flame"), detail: document.getElementById(side + "-detail"),
	zoomOutButton: document.getElementById(side + "-out"), zoomResetButton: document.getElementById(side + "-reset"),
	describe: frame => changeText(frame, number), colour: frame => colourOfChange(frame, number),
	hasStates: !isPlain, open: null, changed: graph => follow(graph, number),
}));

// What fills one graph, and what is selected in it, does so in the other one.
let following = false;

function follow(graph, number) {
	const other = graphs[1 - number];

	if (following || !other.frames.length)
		return;
	following = true;
	const zoomed = counterpart(graph.zoomed, other.frames[0]), selected = counterpart(graph.selected, other.frames[0]);

	if (zoomed && zoomed !== other.zoomed)
		other.zoom(zoomed, false);
	if (selected)
		other.select(selected, false);
	following = false;
}

function showGraphs() {
	const frames = readSides.map(read => arrangeFrames(read, frame => frame.own,
		{inverted: inverted.checked, byProcess: byProcess.checked}));
	const most = Math.max(...frames.map((one, side) => cyclesOf(one[0], side)));

	following = true;
	// Both must be there before one is drawn: its colours are those of differences.
	graphs.forEach((graph, side) => {
		graph.frames = frames[side];
		graph.zoomed = graph.selected = frames[side][0];
		graph.flame.style.width = cyclesOf(frames[side][0], side) / most * 100 + "%";
	});
	graphs.forEach((graph, side) => graph.show(frames[side]));
	following = false;
}

const processes = readSides.map(read => read.filter(frame => frame.kind === "process").map(frame => frame.name));
byProcess.parentElement.hidden = processes.every(names =>
	names.length === new Set(names.map(name => name.replace(PROCESS_NUMBER, ""))).size);
for (const choice of [inverted, byProcess])
	choice.addEventListener("change", showGraphs);
