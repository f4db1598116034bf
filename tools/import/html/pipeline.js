// SPDX-License-Identifier: GPL-2.0-or-later
// The picture: a row for each instruction, a column for each cycle, above them the state of the retire stage.
"use strict";

const view = document.getElementById("view"), canvas = document.getElementById("canvas"), size = document.getElementById("size");
const search = document.getElementById("search"), follow = document.getElementById("follow");
const TRACK = 22;          // pixels of the track, the ruler included
const MOST = 30e6;         // pixels: browsers do not lay out larger elements
const ROW = 18, CELL = 22; // pixels of an instruction and of a cycle, at the largest zoom
const FARTHEST = 12;       // steps of zooming out, each by the square root of two
const LEAST_TEXT = 11;     // pixels of a row with a text
let zoom = 4;              // steps from the largest
let shown = [], track = [], first = 0, last = 0; // of the chosen hart: instructions, states; first and last cycle
let selected = null, matching = "";
let colours = {};

function rowHeight() {
	return Math.max(1, ROW / Math.pow(2, Math.max(0, zoom - 3) / 2));
}

function cellWidth() {
	return Math.min(CELL / Math.pow(2, zoom / 2), MOST / Math.max(1, last - first));
}

function labelWidth() {
	return Math.min(340, view.clientWidth * .45);
}

// ---- Colours

// A canvas takes colours, not variables: ask an element for what they are.
function colourOf(value) {
	const probe = element("i");

	probe.style.background = value;
	view.append(probe);
	const colour = getComputedStyle(probe).backgroundColor;

	probe.remove();
	return colour;
}

function readColours() {
	colours = {ink: colourOf("var(--ink)"), paper: colourOf("var(--paper)"), quiet: colourOf("var(--quiet)"),
		line: colourOf("var(--line)"), mark: colourOf("var(--mark)"), empty: colourOf("var(--empty)"),
		stage: trace.stages.map((name, number) => colourOf(colourOfStage(number))),
		state: states.map(name => colourOf(`var(--${name})`))};
}

// ---- Painting

function paintTrack(context, width) {
	const cell = cellWidth(), left = labelWidth(), from = view.scrollLeft / cell + first;

	context.fillStyle = colours.paper;
	context.fillRect(0, 0, width, TRACK);
	for (let i = Math.max(0, lastAt(track, one => one.start, from)); i < track.length; i++) {
		const one = track[i], x = left + (one.start - from) * cell;

		if (x > width)
			break;
		context.fillStyle = colours.state[one.state];
		context.fillRect(Math.max(left, x), 2, Math.max(.5, (one.end - from) * cell + left - Math.max(left, x)), TRACK - 8);
	}
	context.fillStyle = colours.paper;
	context.fillRect(0, 0, left, TRACK);
	context.fillStyle = colours.ink;
	context.font = "12px system-ui, sans-serif";
	context.fillText("Retire stage", 4, TRACK - 8);
	context.fillStyle = colours.quiet;
	context.fillRect(0, TRACK - 1, width, 1);
}

function paintInstruction(context, one, y, height, width) {
	const cell = cellWidth(), left = labelWidth(), from = view.scrollLeft / cell + first;

	context.globalAlpha = one.retired ? 1 : .45;
	for (const entry of one.entries) {
		const x = left + (entry.start - from) * cell, part = Math.max(.5, (entry.end - entry.start) * cell);

		if (x > width || x + part < left)
			continue;
		context.fillStyle = colours.stage[entry.stage];
		context.fillRect(Math.max(left, x), y, x + part - Math.max(left, x), Math.max(1, height - 1));
		if (height >= LEAST_TEXT && part > 7 * trace.stages[entry.stage].length + 4 && x >= left) {
			context.fillStyle = colours.ink;
			context.fillText(trace.stages[entry.stage], x + 2, y + height - 5);
		}
	}
	context.globalAlpha = 1;
}

function paintLabel(context, one, y, height) {
	const left = labelWidth();

	context.fillStyle = one === selected ? colours.mark : matches(one) ? colours.line : colours.paper;
	context.fillRect(0, y, left - 2, height);
	if (height < LEAST_TEXT)
		return;
	context.save();
	context.beginPath();
	context.rect(0, y, left - 4, height);
	context.clip();
	context.fillStyle = one === selected ? colours.paper : colours.quiet;
	context.fillText(one.pc, 4, y + height - 5);
	context.fillStyle = one === selected ? colours.paper : one.retired ? colours.ink : colours.quiet;
	context.fillText(one.text, 4 + 7 * Math.max(6, one.pc.length + 1), y + height - 5);
	context.restore();
}

function paint() {
	const width = view.clientWidth, height = view.clientHeight, scale = devicePixelRatio || 1;
	const context = canvas.getContext("2d"), row = rowHeight();

	size.style.width = Math.ceil(labelWidth() + (last - first) * cellWidth()) + "px";
	size.style.height = Math.ceil(TRACK + shown.length * row) + "px";
	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
	}
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.fillStyle = colours.paper;
	context.fillRect(0, 0, width, height);
	context.font = Math.min(12, row - 3) + "px ui-monospace, monospace";
	for (let i = Math.floor(view.scrollTop / row); i < shown.length; i++) {
		const y = TRACK + i * row - view.scrollTop;

		if (y > height)
			break;
		paintInstruction(context, shown[i], y, row, width);
		paintLabel(context, shown[i], y, row);
	}
	paintTrack(context, width);
}

let waiting = false;

function repaint() {
	if (waiting)
		return;
	waiting = true;
	requestAnimationFrame(() => {
		waiting = false;
		paint();
	});
}

// ---- What is seen

// Scroll to the right so far that the instruction at the top begins at the left.
function followInstructions() {
	const one = shown[Math.min(shown.length - 1, Math.floor(view.scrollTop / rowHeight()))];

	if (one && follow.checked)
		view.scrollLeft = (one.fetch - first) * cellWidth() - 8;
}

// Change the zoom, and keep a row where it is on the screen.
function zoomTo(next, row = Math.floor((view.scrollTop + view.clientHeight / 3) / rowHeight())) {
	const before = row * rowHeight() - view.scrollTop;
	const cycle = view.scrollLeft / cellWidth();

	zoom = Math.min(FARTHEST, Math.max(0, next));
	document.getElementById("zoom-in").disabled = zoom === 0;
	document.getElementById("zoom-out").disabled = zoom === FARTHEST;
	paint();
	view.scrollTop = row * rowHeight() - before;
	view.scrollLeft = cycle * cellWidth();
	followInstructions();
	repaint();
}

function describe(one) {
	const stages = one.entries.map(entry => `${trace.stages[entry.stage]} ${entry.start + trace.first_cycle}`).join(", ");

	return `${one.number + 1}: ${one.pc} ${one.text}: ${stages}; ` +
		`${one.retired ? "retired" : "thrown away"} after ${one.end - one.fetch} cycles`;
}

function select(index, scrolls = true) {
	const row = rowHeight();

	selected = shown[Math.min(shown.length - 1, Math.max(0, index))];
	const at = shown.indexOf(selected), room = view.clientHeight - TRACK - row;

	document.getElementById("detail").textContent = describe(selected);
	if (scrolls && (at * row < view.scrollTop || at * row > view.scrollTop + room)) {
		view.scrollTop = at * row - room / 3;
		followInstructions();
	}
	repaint();
}

function describeCycle(cycle) {
	const one = track[lastAt(track, each => each.start, cycle)];

	document.getElementById("detail").textContent = `Cycle ${cycle + trace.first_cycle}: ` + (one && cycle < one.end
		? `${states[one.state]}${one.cause ? " " + one.cause : ""}, from cycle ${one.start + trace.first_cycle}, ` +
			`${one.end - one.start} ${one.end - one.start === 1 ? "cycle" : "cycles"}` : "the trace does not tell");
}

// ---- Search

function matches(one) {
	return matching && (one.text.toLowerCase().includes(matching) || one.pc.includes(matching));
}

// Select the next instruction that matches.
function findNext() {
	const from = selected ? shown.indexOf(selected) + 1 : 0;

	for (let i = 0; i < shown.length; i++)
		if (matches(shown[(from + i) % shown.length]))
			return select((from + i) % shown.length);
}

function searchAll() {
	matching = search.value.toLowerCase();
	const count = matching ? shown.filter(matches).length : 0;

	document.getElementById("found").textContent = matching ? `${count} ${count === 1 ? "instruction" : "instructions"}` : "";
	repaint();
}

// ---- Events

function pointed(event) {
	const box = view.getBoundingClientRect();
	const x = event.clientX - box.left, y = event.clientY - box.top;

	if (y < TRACK && x >= labelWidth())
		describeCycle(Math.floor((x - labelWidth() + view.scrollLeft) / cellWidth()) + first);
	else if (y >= TRACK)
		select(Math.floor((y - TRACK + view.scrollTop) / rowHeight()), false);
}

let lastTop = 0;

view.addEventListener("scroll", () => {
	if (view.scrollTop !== lastTop)
		followInstructions();
	lastTop = view.scrollTop;
	repaint();
});
view.addEventListener("click", pointed);
view.addEventListener("wheel", event => {
	if (!event.ctrlKey)
		return;
	event.preventDefault();
	zoomTo(zoom + Math.sign(event.deltaY),
		Math.floor((event.clientY - view.getBoundingClientRect().top - TRACK + view.scrollTop) / rowHeight()));
}, {passive: false});
view.addEventListener("keydown", event => {
	const page = Math.max(1, Math.floor((view.clientHeight - TRACK) / rowHeight()) - 1);
	const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length};

	if (event.altKey || event.ctrlKey || event.metaKey || !steps[event.key])
		return;
	event.preventDefault();
	select((selected ? shown.indexOf(selected) : -1) + steps[event.key]);
});
searchKeys(search, () => {
	search.value = "";
	searchAll();
	view.focus();
});
addEventListener("keydown", event => {
	if (event.altKey || event.ctrlKey || event.metaKey)
		return;
	if (document.activeElement !== search && (event.key === "+" || event.key === "-")) {
		zoomTo(zoom + (event.key === "+" ? -1 : 1));
	}
});
search.addEventListener("input", searchAll);
search.addEventListener("keydown", event => event.key === "Enter" && findNext());
document.getElementById("next").addEventListener("click", findNext);
document.getElementById("zoom-in").addEventListener("click", () => zoomTo(zoom - 1));
document.getElementById("zoom-out").addEventListener("click", () => zoomTo(zoom + 1));
new ResizeObserver(repaint).observe(view);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
	readColours();
	repaint();
});

// ---- The page

function showHart(hart) {
	shown = every.filter(one => one.hart === hart);
	track = trackOf(hart);
	first = shown.reduce((least, one) => Math.min(least, one.fetch), Infinity);
	last = shown.reduce((most, one) => Math.max(most, one.end), 0);
	selected = null;
	view.scrollTop = 0;
	followInstructions();
	repaint();
}

function makeHead() {
	const facts = [trace.core && "core " + trace.core, `${count(trace.cycles)} cycles`,
		`${every.length} instructions` + (trace.left_out ? `, ${trace.left_out} more are not in this page` : "")];

	document.getElementById("title").textContent = trace.trace;
	document.getElementById("facts").textContent = facts.filter(Boolean).join(", ") +
		". Pale: thrown away.";
	for (const [number, name] of states.slice(0, 4).entries())
		document.getElementById("states").append(element("li", {}, element("i", {class: states[number]}), name));
	for (const [number, name] of trace.stages.entries()) {
		const mark = element("i");

		mark.style.background = colourOfStage(number);
		document.getElementById("stages").append(element("li", {}, mark, name));
	}
	for (const hart of harts)
		document.getElementById("hart").append(element("option", {value: hart}, String(hart)));
	document.getElementById("hart-choice").hidden = harts.length < 2;
	document.getElementById("hart").addEventListener("change", event => showHart(Number(event.target.value)));
}

makeHead();
readColours();
showHart(harts[0] ?? 0);
