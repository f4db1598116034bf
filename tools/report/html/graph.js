// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph of the page, and what is chosen for it.
"use strict";

const BINARIES_SHOWN = 8; // in the legend
const COLOURS_APART = 137.5; // degrees between the hues of two binaries, so that neighbours differ
const readFrame = readFrames(report.frames, report.frame_kinds, text);

// Binaries with their own cycles, largest first.
const binaries = [...readFrame.reduce((sums, frame) => frame.binary === null ? sums
	: sums.set(frame.binary, (sums.get(frame.binary) ?? 0) + frame.own.reduce((sum, one) => sum + one, 0)), new Map())]
	.sort((a, b) => b[1] - a[1]);
const numberOfBinary = new Map(binaries.map(([binary], number) => [binary, number]));

function colourOfBinary(binary) {
	return numberOfBinary.has(binary)
		? `hsl(${(30 + numberOfBinary.get(binary) * COLOURS_APART) % 360} var(--hue-soft))` : "var(--empty)";
}

function frameText(frame) {
	const parts = frame.cycles.map((cycles, state) => ({state, cycles})).filter(part => part.cycles > 0)
		.map(part => states[part.state] + " " + percent(part.cycles / frame.weight, 0));
	const what = ["all", "unattributed"].includes(frame.kind) ? "" : frame.kind + ", ";
	const where = ["function", "inlined"].includes(frame.kind) && frame.binary !== null ? `in ${frame.binary}, ` : "";

	return `${frame.name}: ${what}${where}${percent(share(frame.weight))} ${ofAll}, ${amount(frame.weight)}` +
		(frame.kind === "unattributed" || isPlain || !frame.weight ? "" : "; " + parts.join(", "));
}

const graph = new FlameGraph({
	flame: document.getElementById("flame"), detail: document.getElementById("detail"),
	zoomOutButton: document.getElementById("zoom-out"), zoomResetButton: document.getElementById("zoom-reset"),
	describe: frameText, colour: isPlain ? frame => colourOfBinary(frame.binary) : colourOfState,
	hasStates: !isPlain, open: number => openCode(number),
});
const inverted = document.getElementById("inverted"), byProcess = document.getElementById("by-process");

function showFrames() {
	graph.show(arrangeFrames(readFrame, frame => selected ? selected.own.get(frame) ?? null : frame.own, {inverted: inverted.checked, byProcess: byProcess.checked}));
}

// There is a choice only if processes share a name.
const processes = new Set(readFrame.filter(frame => frame.kind === "process").map(frame => frame.name));
byProcess.parentElement.hidden = processes.size === new Set([...processes].map(name => name.replace(PROCESS_NUMBER, ""))).size;
for (const choice of [inverted, byProcess])
	choice.addEventListener("change", showFrames);
