// SPDX-License-Identifier: GPL-2.0-or-later
// The timeline: cycles of each thread, or CPU, by slices of time.  A selection of slices and of one of them is what the flame
// graph, the functions and the code show.
"use strict";

const LANES_SHOWN = 24;
const slices = report.timeline_slices ?? 0;
// What was sampled of a thread on a CPU: cells refer to these by number.
const runs = (report.timeline_threads ?? []).map(([pid, tid, name, cpu]) => ({pid, tid, cpu, name: `${name ?? "thread"} ${tid}`}));
// A lane is a thread on all its CPUs, or a CPU with all its threads.
const laneOf = {
	thread: run => [`${run.pid} ${run.tid}`, run.name],
	cpu: run => [String(run.cpu), run.cpu === null ? "no CPU" : `CPU ${run.cpu}`],
};
let lanes = []; // the largest first; `runs`: the numbers of its runs
// What is selected: a lane, or null for all; slices from..to.  null: everything.
let selection = null;

// The parts of a cell: visit(frame, address, state, cycles).
function eachPart(cell, visit) {
	for (let i = 2; i < cell.length; i += 4)
		visit(cell[i], cell[i + 1], cell[i + 2], cell[i + 3]);
}

function makeLanes(kind) {
	const found = new Map(), ofRun = [];

	runs.forEach((run, number) => {
		const [key, name] = laneOf[kind](run);

		if (!found.has(key))
			found.set(key, {number: found.size, name, weight: 0, slices: [], runs: new Set()});
		found.get(key).runs.add(number);
		ofRun[number] = found.get(key);
	});
	for (const cell of report.timeline ?? []) {
		const lane = ofRun[cell[0]], cycles = lane.slices[cell[1]] ??= states.map(() => 0);

		eachPart(cell, (frame, address, state, weight) => {
			cycles[state] += weight;
			lane.weight += weight;
		});
	}
	lanes = [...found.values()].sort((a, b) => b.weight - a.weight);
}

// ---- What the rest of the page shows

let selected = null; // {cycles, own: frame -> cycles by state, functions: index of a function -> its cycles by state and address, inclusive:
// index of a function -> its inclusive cycles}

// Inclusive cycles of functions: what is in a frame counts once for each function that is above it.
function inclusiveOf(own) {
	const inclusive = new Map();

	for (const [frame, cycles] of own) {
		const above = new Set(), weight = cycles.reduce((sum, one) => sum + one, 0);

		for (let at = frame; at; at = at.parent)
			if (at.code !== null)
				above.add(at.code);
		for (const code of above)
			inclusive.set(code, (inclusive.get(code) ?? 0) + weight);
	}
	return inclusive;
}

function makeSelected() {
	const own = new Map(), functions = new Map();
	let whole = 0;

	for (const cell of report.timeline) {
		if ((selection.lane && !selection.lane.runs.has(cell[0])) || cell[1] < selection.from || cell[1] > selection.to)
			continue;
		eachPart(cell, (number, address, state, cycles) => {
			const frame = readFrame[number];

			whole += cycles;
			if (!own.has(frame))
				own.set(frame, states.map(() => 0));
			own.get(frame)[state] += cycles;
			if (frame.code === null)
				return;
			if (!functions.has(frame.code))
				functions.set(frame.code, {cycles: states.map(() => 0), instructions: new Map()});
			const one = functions.get(frame.code);

			one.cycles[state] += cycles;
			if (!one.instructions.has(address))
				one.instructions.set(address, states.map(() => 0));
			one.instructions.get(address)[state] += cycles;
		});
	}
	return {cycles: whole, own, functions, inclusive: inclusiveOf(own)};
}

function stackOf(cycles) {
	return Object.fromEntries(cycles.map((value, state) => [states[state], {none: value}]).filter(([, causes]) => causes.none > 0));
}

// A function of the document as it is in the selection.
function selectedFunction(one, number) {
	const found = selected?.functions.get(number)?.cycles ?? states.map(() => 0);
	const cycles = found.reduce((sum, value) => sum + value, 0);

	return selected ? {...one, cycles, children_cycles: selected.inclusive.get(number) ?? 0, share: selected.cycles ? cycles / selected.cycles : 0, executions: null, stack: stackOf(found)} : one;
}

// An instruction of the document as it is in the selection: executions and causes are not known of a part.
function selectedInstruction(one, number) {
	if (!selected)
		return one;
	const found = selected.functions.get(number)?.instructions.get(one.address) ?? [];
	const buckets = found.map((cycles, state) => ({state, cause: "", cycles})).filter(bucket => bucket.cycles > 0);

	return {...one, cycles: buckets.reduce((sum, bucket) => sum + bucket.cycles, 0), executions: undefined, cost: undefined, buckets};
}

function applySelection() {
	selected = selection ? makeSelected() : null;
	shownCycles = selected ? selected.cycles : report.cycles;
	showFrames();
	showFunctions();
	showFound();
	reopenCode();
	markSelection();
}

// ---- The picture

const timeline = document.getElementById("timeline"), from = document.getElementById("from"), to = document.getElementById("to");
const cells = new Map(); // lane -> its elements by slice

function stripOfSlice(cycles, most) {
	const weight = cycles.reduce((sum, one) => sum + one, 0);
	const part = element("i", {class: isPlain ? "counted" : ""});

	part.style.height = Math.max(weight ? 6 : 0, weight / most * 100) + "%";
	if (!isPlain && weight)
		part.style.background = `linear-gradient(to top, ${stripOf({cycles, weight})})`;
	return part;
}

function timeOf(slice) {
	return time(slice * report.timeline_slice);
}

function laneStrip(lane, most) {
	const strip = element("div", {class: "slices", "data-thread": lane.number});

	cells.set(lane, []);
	for (let slice = 0; slice < slices; slice++) {
		const cycles = lane.slices[slice];
		const cell = element("span", {"data-slice": slice, title: `${lane.name}, ${timeOf(slice)}: ` +
			amount(cycles ? cycles.reduce((sum, one) => sum + one, 0) : 0)}, cycles ? stripOfSlice(cycles, most) : "");

		cells.get(lane).push(cell);
		strip.append(cell);
	}
	return strip;
}

function showLanes(kind) {
	makeLanes(kind);
	const most = lanes.reduce((largest, lane) => lane.slices.reduce((more, cycles) =>
		Math.max(more, cycles.reduce((sum, one) => sum + one, 0)), largest), 0);
	const left = document.getElementById("lanes-left");

	cells.clear();
	timeline.replaceChildren();
	for (const lane of lanes.slice(0, LANES_SHOWN))
		timeline.append(element("button", {type: "button", class: "thread", "aria-pressed": "false", "data-thread": lane.number,
			click: () => selectLane(lane)}, lane.name), element("span", {class: "facts"}, percent(lane.weight / report.cycles, 1)),
			laneStrip(lane, most));
	left.hidden = lanes.length <= LANES_SHOWN;
	left.textContent = `${lanes.length - LANES_SHOWN} more ${kind === "cpu" ? "CPUs" : "threads"} are not shown.`;
}

function makeTimeline() {
	const section = document.getElementById("timeline-section"), byCpu = document.getElementById("by-cpu");

	section.hidden = slices < 2;
	if (slices < 2)
		return;
	showLanes("thread");
	byCpu.parentElement.hidden = runs.every(run => run.cpu === null);
	byCpu.addEventListener("change", () => {
		showLanes(byCpu.checked ? "cpu" : "thread");
		setSelection(null, selection?.from ?? 0, selection?.to ?? slices - 1);
		markSelection();
	});
	for (const end of [from, to]) {
		end.max = slices - 1;
		end.addEventListener("input", () => selectSlices(Math.min(Number(from.value), Number(to.value)),
			Math.max(Number(from.value), Number(to.value))));
	}
	from.value = 0;
	to.value = slices - 1;
}

function markSelection() {
	const {lane, from: first, to: last} = selection ?? {lane: null, from: 0, to: slices - 1};

	document.getElementById("select-all").disabled = !selection;
	document.getElementById("range").textContent = !selection ? "everything" : `${timeOf(first)} to ${timeOf(last + 1)}` +
		(lane ? `, ${lane.name}` : "") + `: ${percent(share(report.cycles) ? selected.cycles / report.cycles : 0)} ` +
		(isTime ? "of all time" : isOther ? "of all that was counted" : "of all cycles");
	from.value = first;
	to.value = last;
	for (const button of timeline.querySelectorAll("button.thread"))
		button.setAttribute("aria-pressed", lane?.number === Number(button.dataset.thread));
	for (const [of, all] of cells)
		all.forEach((cell, slice) => cell.classList.toggle("outside",
			slice < first || slice > last || (lane && lane !== of)));
}

function setSelection(lane, first, last) {
	const wanted = !lane && first === 0 && last === slices - 1 ? null : {lane, from: first, to: last};

	// The pointer moves within a slice, too.
	if (wanted?.lane === selection?.lane && wanted?.from === selection?.from && wanted?.to === selection?.to)
		return;
	selection = wanted;
	applySelection();
}

function selectSlices(first, last) {
	setSelection(selection?.lane ?? null, first, last);
}

// Select a lane alone; the second time all of them.
function selectLane(lane) {
	setSelection(selection?.lane === lane ? null : lane, selection?.from ?? 0, selection?.to ?? slices - 1);
}

let dragged = null; // the slice where the pointer was pressed

timeline.addEventListener("pointerdown", event => {
	const cell = event.target.closest("[data-slice]");

	if (!cell)
		return;
	event.preventDefault();
	dragged = Number(cell.dataset.slice);
	selectSlices(dragged, dragged);
});
addEventListener("pointermove", event => {
	if (dragged === null)
		return;
	const cell = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-slice]");

	if (cell)
		selectSlices(Math.min(dragged, Number(cell.dataset.slice)), Math.max(dragged, Number(cell.dataset.slice)));
});
addEventListener("pointerup", () => { dragged = null; });
document.getElementById("select-all").addEventListener("click", () => setSelection(null, 0, slices - 1));
