// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph.  It grows downwards: the children of a frame are below it.  A strip at the bottom of a frame
// shows the shares of all states.
"use strict";

class FlameGraph {
	// Options:
	//   flame, detail: elements of the graph, and of the description of the selected frame
	//   zoomOutButton, zoomResetButton
	//   describe(frame): its text; colour(frame): its background; hasStates: frames have strips
	//   open(code): show the code of a function
	//   changed(graph): another frame fills the width, or was selected
	constructor(options) {
		Object.assign(this, {changed: () => {}}, options);
		this.frames = [];
		this.zoomed = this.selected = null; // fills the width; has the focus, or had it last
		this.found = null;       // the set of frames that match the search; null: no search
		this.boxes = new Map(); // frame -> its element, for the frames that are shown
		this.flame.addEventListener("keydown", event => this.takeKey(event));
		this.flame.addEventListener("click", event => {
			const box = event.target.closest(".frame");

			if (box)
				this.enter(this.frames[box.dataset.frame]);
		});
		this.zoomOutButton.addEventListener("click", () => this.zoomOut());
		this.zoomResetButton.addEventListener("click", () => this.zoom(this.frames[0]));
		new ResizeObserver(() => this.flame.clientWidth !== this.drawnWidth && this.frames.length && this.draw())
			.observe(this.flame);
	}

	// Show other frames.  What filled the width and what was selected stay so if they are still there.
	show(frames) {
		const zoomed = pathOf(this.zoomed), selected = pathOf(this.selected);

		this.frames = frames;
		this.zoomed = frameAt(frames[0], zoomed);
		this.selected = frameAt(frames[0], selected);
		this.search(this.matches);
		this.select(this.selected, false);
	}

	makeBox(frame, left, width, rowHeight, pixels) {
		const isAbove = frame.depth < this.zoomed.depth, text = this.describe(frame);
		const box = element("div", {
			class: "frame" + (isAbove ? " passed" : "") + (pixels < 24 ? " narrow" : "") +
				(this.found && this.found.has(frame) ? " match" : ""),
			role: "treeitem", tabindex: frame === this.selected ? 0 : -1, title: text,
			"aria-label": text, "aria-level": frame.depth + 1, "data-frame": frame.number,
		}, pixels < 24 ? "" : frame.name);

		box.style.left = left * 100 + "%";
		box.style.width = width * 100 + "%";
		box.style.top = frame.depth * rowHeight + "rem";
		if (this.hasStates)
			box.style.setProperty("--stack", stripOf(frame));
		box.style.setProperty("--most", this.colour(frame));
		return box;
	}

	draw() {
		const {zoomed, boxes, flame} = this;
		const rowHeight = matchMedia("(max-width: 52rem)").matches ? 1.9 : 1.55;
		const width = flame.clientWidth || 1;
		const hadFocus = flame.contains(document.activeElement);
		let depth = 0;

		this.drawnWidth = flame.clientWidth;
		boxes.clear();
		for (let frame = zoomed.parent; frame; frame = frame.parent)
			boxes.set(frame, this.makeBox(frame, 0, 1, rowHeight, width));
		walk(zoomed, frame => {
			const part = zoomed.weight ? frame.weight / zoomed.weight : 1;

			if (part * width < 0.7)
				return true;
			boxes.set(frame, this.makeBox(frame, zoomed.weight ? (frame.at - zoomed.at) / zoomed.weight : 0, part,
				rowHeight, part * width));
			depth = Math.max(depth, frame.depth);
			return false;
		});
		if (!boxes.has(this.selected)) {
			this.selected = zoomed;
			boxes.get(zoomed).setAttribute("tabindex", 0);
		}
		flame.replaceChildren(...boxes.values());
		if (hadFocus)
			boxes.get(this.selected).focus();
		flame.style.height = (depth + 1) * rowHeight + "rem";
		this.zoomOutButton.disabled = this.zoomResetButton.disabled = zoomed === this.frames[0];
	}

	select(frame, withFocus = true) {
		const box = this.boxes.get(frame);

		if (!box)
			return false;
		this.boxes.get(this.selected)?.setAttribute("tabindex", -1);
		this.selected = frame;
		box.setAttribute("tabindex", 0);
		if (withFocus)
			box.focus();
		this.detail.replaceChildren(this.describe(frame) + " ");
		if (frame.code !== null && this.open)
			this.detail.append(element("button", {type: "button", click: () => this.open(frame.code)},
				"Source and instructions"));
		this.changed(this);
		return true;
	}

	zoom(frame, withFocus = true) {
		this.zoomed = frame;
		this.draw();
		this.select(frame, withFocus);
	}

	// Zoom in to a frame.  If it is zoomed already, open the code of its function.
	enter(frame) {
		if (frame !== this.zoomed)
			this.zoom(frame);
		else if (frame.code !== null && this.open)
			this.open(frame.code);
	}

	// Zoom out by one level.  False: the whole graph is shown already.
	zoomOut() {
		const from = this.zoomed;

		if (from === this.frames[0])
			return false;
		this.zoom(from.parent, false);
		this.select(from);
		return true;
	}

	// The next (step 1) or previous (-1) frame that is shown at the same depth, even if it has another parent.
	neighbour(frame, step) {
		const row = this.frames.filter(other => other.depth === frame.depth && this.boxes.has(other))
			.sort((a, b) => a.at - b.at || a.number - b.number);

		return row[row.indexOf(frame) + step];
	}

	takeKey(event) {
		const {zoomed, selected} = this;
		const moves = {
			ArrowUp: () => selected.parent,
			ArrowDown: () => selected.depth < zoomed.depth
				? selected.children.find(child => isIn(zoomed, child)) : selected.children[0],
			ArrowLeft: () => this.neighbour(selected, -1),
			ArrowRight: () => this.neighbour(selected, 1),
			Home: () => this.frames[0],
		};

		if (event.altKey || event.ctrlKey || event.metaKey)
			return;
		if (moves[event.key]) {
			const to = moves[event.key]();

			event.preventDefault();
			if (to)
				this.select(to);
		} else if (event.key === "Enter" || event.key === " ") {
			event.preventDefault();
			this.enter(selected);
		}
	}

	// Mark the frames whose names match; null: no search.  Returns their cycles; a match within another match is not
	// counted again.
	search(matches) {
		let cycles = 0;

		this.matches = matches;
		this.found = matches ? new Set(this.frames.filter(frame => frame.parent && matches(frame.name))) : null;
		this.flame.classList.toggle("searching", Boolean(matches));
		this.draw();
		walk(this.frames[0], frame => {
			const isFound = Boolean(this.found?.has(frame));

			cycles += isFound ? frame.weight : 0;
			return isFound;
		});
		this.cyclesFound = cycles;
		return cycles;
	}

	// The largest match that is shown.
	largestMatch() {
		return [...this.found ?? []].filter(frame => this.boxes.has(frame)).sort((a, b) => b.weight - a.weight)[0];
	}
}

// Call visit() for a frame and its descendants.  If visit() returns true, the frame's children are left out.
// Not recursive, because stacks can be deep.
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

// The frames from the outermost but one to a frame.
function pathOf(frame) {
	const path = [];

	for (; frame?.parent; frame = frame.parent)
		path.unshift(frame);
	return path;
}

function isSame(a, b) {
	return a.kind === b.kind && a.name === b.name && a.code === b.code && a.binary === b.binary;
}

// The frame at the end of a path of another tree; the outermost frame where there is none.
function frameAt(root, path) {
	const last = path.reduce((frame, next) => frame?.children.find(child => isSame(child, next)), root);

	return last ?? root;
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

// The soft colour of the state with most of the frame's cycles.
function colourOfState(frame) {
	return `var(--${states[frame.cycles.indexOf(Math.max(...frame.cycles))]}-soft)`;
}
