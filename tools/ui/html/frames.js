// SPDX-License-Identifier: GPL-2.0-or-later
// The frames of a flame graph: read from the page's document, and arranged by callers or by callees.
"use strict";

const NOISE = 1e-9; // relative error of sums of cycles

// Frames from the rows of a document: [parent, kind, name, code, cycles by state..., binary].  `own` of a frame
// are its cycles that are in no child.
function readFrames(rows, kinds, text) {
	const read = [];

	for (const [parent, kind, name, code, ...rest] of rows) {
		const cycles = rest.slice(0, states.length), above = read[parent];
		const binary = rest[states.length] ?? null;

		read.push({number: read.length, parent: above, kind: kinds[kind], name: text(name), cycles, own: [...cycles],
			binary: binary === null ? above?.binary ?? null : text(binary), code: code ?? codeAbove(kinds[kind], above)});
		if (above)
			cycles.forEach((value, state) => { above.own[state] -= value; });
	}
	for (const frame of read)
		frame.own = frame.own.map((value, state) => value > NOISE * frame.cycles[state] ? value : 0);
	return read;
}

// What is in a function has the function's code.
function codeAbove(kind, above) {
	return above && ["inlined", "line", "instruction"].includes(kind) ? above.code : null;
}

const PROCESS_NUMBER = / \(\d+\)$/;

// Arrange frames as a tree.  `ownOf(frame)`: its cycles by state, or null.  Options:
//   inverted: children are callers, the outermost frames are the functions where the cycles were
//   byProcess: processes of one command name are separate frames
// Returns the frames: each after its parent, children largest first, with weight, depth, and `at`, the cycles to
// the left of the frame.
function arrangeFrames(read, ownOf, {inverted = false, byProcess = false} = {}) {
	const made = [{...shapeOf(read[0], true), parent: null, children: [], found: new Map(), cycles: states.map(() => 0)}];
	const get = (parent, frame) => {
		const shape = shapeOf(frame, byProcess);
		const key = [shape.kind, shape.name, shape.code, shape.binary].join("\0");
		let child = parent.found.get(key);

		if (!child) {
			child = {...shape, parent, children: [], found: new Map(), cycles: states.map(() => 0)};
			parent.found.set(key, child);
			parent.children.push(child);
			made.push(child);
		}
		return child;
	};
	const placed = [made[0]];
	const place = frame => {
		if (!inverted)
			return placed[frame.number] ??= get(placed[frame.parent.number], frame);
		let at = made[0];

		for (; frame.parent; frame = frame.parent)
			if (!["line", "instruction"].includes(frame.kind))
				at = get(at, frame);
		return at;
	};

	for (const frame of read) {
		// A parent precedes its children, so that its place is known.
		const own = ownOf(frame), at = inverted && !own ? null : place(frame);

		own?.forEach((value, state) => { at.cycles[state] += value; });
	}
	for (const frame of [...made].reverse())
		frame.parent && frame.cycles.forEach((value, state) => { frame.parent.cycles[state] += value; });
	return layOut(made);
}

function shapeOf({kind, name, code, binary}, byProcess) {
	return {kind, code, binary, name: kind === "process" && !byProcess ? name.replace(PROCESS_NUMBER, "") : name};
}

// Not recursive, because stacks can be deep.
function layOut(made) {
	const frames = [], waiting = [made[0]];

	for (const frame of made) {
		delete frame.found;
		frame.weight = frame.cycles.reduce((sum, one) => sum + one, 0);
	}
	made[0].depth = made[0].at = 0;
	while (waiting.length) {
		const frame = waiting.pop();
		let at = frame.at;

		frame.number = frames.length;
		frames.push(frame);
		frame.children = frame.children.filter(child => child.weight > 0).sort((a, b) => b.weight - a.weight);
		for (const child of frame.children) {
			child.depth = frame.depth + 1;
			child.at = at;
			at += child.weight;
		}
		waiting.push(...[...frame.children].reverse());
	}
	return frames;
}
