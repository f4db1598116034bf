// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph, from the top down: what a frame holds is below it.  A frame has the soft colour of the
// state that most of its cycles were in, and all of them in a strip at its bottom.
"use strict";

const frames = report.frames.map(([parent, kind, name, code, ...cycles], number) => ({
	number, parent, kind: report.frame_kinds[kind], name: text(name), code, cycles,
	weight: cycles.reduce((sum, one) => sum + one, 0), children: [], depth: 0, at: 0, end: 0,
}));
const flame = document.getElementById("flame");
let zoomed = frames[0]; // fills the width
let chosen = frames[0]; // has the focus, or had it
let found = null;       // frames that match the search
const boxes = new Map(); // the elements of the frames that are shown

// Frames come before those in them.
for (const frame of frames.slice(1)) {
	frame.parent = frames[frame.parent];
	frame.depth = frame.parent.depth + 1;
	frame.at = frame.end = frame.parent.end; // cycles to the left of it; `end`: those of its children, too
	frame.parent.end += frame.weight;
	frame.parent.children.push(frame);
}

// A frame and all in it; those in a frame for which visit() returns true are left out.  Stacks may be deep.
function walk(frame, visit) {
	const waiting = [frame];

	while (waiting.length) {
		const next = waiting.pop();

		if (!visit(next))
			for (const child of next.children)
				waiting.push(child);
	}
}

function isIn(frame, other) {
	for (; frame && frame.depth >= other.depth; frame = frame.parent)
		if (frame === other)
			return true;
	return false;
}

function frameInWords(frame) {
	const parts = frame.cycles.map((cycles, state) => ({state, cycles})).filter(part => part.cycles > 0)
		.map(part => states[part.state] + " " + percent(part.cycles / frame.weight, 0));
	const what = ["all", "unattributed"].includes(frame.kind) ? "" : frame.kind + ", ";

	return `${frame.name}: ${what}${percent(share(frame.weight))} ${ofAll}, ${count(frame.weight)}` +
		(frame.kind === "unattributed" || isPlain ? "" : "; " + parts.join(", "));
}

// "var(--retiring) 0 40%, var(--stalled) 40% 100%"
function stripOf(frame) {
	let sum = 0;

	return frame.cycles.map((cycles, state) => {
		const start = sum / frame.weight * 100;

		sum += cycles;
		return `var(--${states[state]}) ${start.toFixed(1)}% ${(sum / frame.weight * 100).toFixed(1)}%`;
	}).join(", ");
}

function frameElement(frame, left, width, rowHeight, pixels) {
	const most = frame.cycles.indexOf(Math.max(...frame.cycles));
	const isPassed = frame.depth < zoomed.depth;
	const box = element("div", {
		class: "frame" + (isPassed ? " passed" : "") + (pixels < 24 ? " narrow" : "") +
			(found && found.has(frame) ? " match" : ""),
		role: "treeitem", tabindex: frame === chosen ? 0 : -1, title: frameInWords(frame),
		"aria-label": frameInWords(frame), "aria-level": frame.depth + 1, "data-frame": frame.number,
	}, pixels < 24 ? "" : frame.name);

	box.style.left = left * 100 + "%";
	box.style.width = width * 100 + "%";
	box.style.top = frame.depth * rowHeight + "rem";
	box.style.setProperty("--stack", stripOf(frame));
	box.style.setProperty("--most", `var(--${states[most]}-soft)`);
	return box;
}

function drawFlame() {
	const rowHeight = matchMedia("(max-width: 40rem)").matches ? 1.9 : 1.55;
	const width = flame.clientWidth || 1;
	const hadFocus = flame.contains(document.activeElement);
	let depth = 0;
	const draw = frame => {
		const part = zoomed.weight ? frame.weight / zoomed.weight : 1;

		if (part * width < 0.7)
			return true;
		boxes.set(frame, frameElement(frame, zoomed.weight ? (frame.at - zoomed.at) / zoomed.weight : 0, part,
			rowHeight, part * width));
		depth = Math.max(depth, frame.depth);
		return false;
	};

	boxes.clear();
	for (let frame = zoomed.parent; frame; frame = frame.parent)
		boxes.set(frame, frameElement(frame, 0, 1, rowHeight, width));
	walk(zoomed, draw);
	if (!boxes.has(chosen)) {
		chosen = zoomed;
		boxes.get(chosen).setAttribute("tabindex", 0);
	}
	flame.replaceChildren(...boxes.values());
	if (hadFocus)
		boxes.get(chosen).focus();
	flame.style.height = (depth + 1) * rowHeight + "rem";
	document.getElementById("zoom-out").disabled = zoomed === frames[0];
	document.getElementById("zoom-reset").disabled = zoomed === frames[0];
}

function choose(frame, withFocus = true) {
	const box = boxes.get(frame);
	const detail = document.getElementById("detail");

	if (!box)
		return false;
	boxes.get(chosen)?.setAttribute("tabindex", -1);
	chosen = frame;
	box.setAttribute("tabindex", 0);
	if (withFocus)
		box.focus();
	detail.replaceChildren(frameInWords(frame) + " ");
	if (functionOf(frame) !== null)
		detail.append(element("button", {type: "button", click: () => openCode(functionOf(frame))},
			"Source and instructions"));
	return true;
}

// The function that a frame is in; null where it is none.
function functionOf(frame) {
	while (frame && frame.code === null && frame.kind !== "function")
		frame = frame.parent;
	return frame ? frame.code : null;
}

function zoom(frame, withFocus = true) {
	zoomed = frame;
	drawFlame();
	choose(frame, withFocus);
}

// Zoom in; into what fills the width already, open its code.
function enter(frame) {
	if (frame !== zoomed)
		zoom(frame);
	else if (functionOf(frame) !== null)
		openCode(functionOf(frame));
}

// False: there is nothing to zoom out of.
function zoomOut() {
	if (zoomed === frames[0])
		return false;
	const from = zoomed;

	zoom(zoomed.parent, false);
	choose(from);
	return true;
}

// The neighbour at the same depth that is shown, as far as the eye goes.
function besides(frame, step) {
	const row = frames.filter(other => other.depth === frame.depth && boxes.has(other))
		.sort((a, b) => a.at - b.at || a.number - b.number);

	return row[row.indexOf(frame) + step];
}

const moves = {
	ArrowUp: frame => frame.parent,
	ArrowDown: frame => frame.depth < zoomed.depth
		? frame.children.find(child => isIn(zoomed, child)) : frame.children[0],
	ArrowLeft: frame => besides(frame, -1),
	ArrowRight: frame => besides(frame, 1),
	Home: () => frames[0],
};

flame.addEventListener("keydown", event => {
	if (event.altKey || event.ctrlKey || event.metaKey)
		return;
	if (moves[event.key]) {
		const to = moves[event.key](chosen);

		event.preventDefault();
		if (to)
			choose(to);
	} else if (event.key === "Enter" || event.key === " ") {
		event.preventDefault();
		enter(chosen);
	}
});
flame.addEventListener("click", event => {
	const box = event.target.closest(".frame");

	if (box)
		enter(frames[box.dataset.frame]);
});
document.getElementById("zoom-out").addEventListener("click", zoomOut);
document.getElementById("zoom-reset").addEventListener("click", () => zoom(frames[0]));
addEventListener("resize", drawFlame);

// Mark what matches; the share of all cycles in such frames, those in another counted once.
function searchFlame(wanted) {
	found = wanted ? new Set(frames.filter(frame => frame.number && wanted(frame.name))) : null;
	flame.classList.toggle("searching", Boolean(found));
	drawFlame();
	let cycles = 0;
	walk(frames[0], frame => {
		const isFound = Boolean(found?.has(frame));

		cycles += isFound ? frame.weight : 0;
		return isFound;
	});
	return cycles;
}
