// SPDX-License-Identifier: GPL-2.0-or-later
// The trace in the page: instructions in the order of the program, and the states of the retire stage.
"use strict";

const trace = JSON.parse(document.getElementById("data").textContent);
const APART = 137.5; // degrees between the hues of two stages

function instructionOf([pc, text, hart, fetch, ended, retired, ...stages], number) {
	const entries = [];
	let last = 0;

	for (let i = 0; i < stages.length; i += 2) {
		entries.push({stage: stages[i], start: fetch + stages[i + 1]});
		last = fetch + stages[i + 1] + 1;
	}
	const end = ended === null ? last : fetch + ended + 1;

	// A stage ends where the next one begins.
	entries.forEach((entry, i) => { entry.end = Math.max(entry.start, i + 1 < entries.length ? entries[i + 1].start : end); });
	return {number, pc: pc === null ? "" : pc.toString(16), text: text === null ? "" : trace.texts[text], hart, fetch, end,
		retired: Boolean(retired), entries};
}

const every = trace.instructions.map(instructionOf);
const harts = [...new Set(every.map(one => one.hart))].sort((a, b) => a - b);

// The states of a hart's retire stage: [{start, end, state, cause}], in the order of time.
function trackOf(hart) {
	return trace.retire_stage.filter(([of]) => of === hart)
		.map(([, start, cycles, state, cause]) => ({start, end: start + cycles, state, cause}))
		.sort((a, b) => a.start - b.start);
}

// The index of the last of sorted elements whose key is at most `value`; -1: none.
function lastAt(elements, key, value) {
	let low = 0, high = elements.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (key(elements[middle]) <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

function colourOfStage(stage) {
	return `hsl(${(200 + stage * APART) % 360} var(--hue-soft))`;
}
