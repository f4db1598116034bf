// SPDX-License-Identifier: GPL-2.0-or-later
// The data of the page, and what its numbers are called.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
// Plain samples have only a PC: there are no cycle stacks, and the unit of the counts is that of the event.
const isPlain = report.samples > 0 && report.plain_samples === report.samples;
const isTime = report.unit === "nanoseconds";
const isOther = isPlain && report.unit === "events";
const unit = isTime ? "of time" : isOther ? "counted" : "cycles";
const unitTitle = isTime ? "Time" : isOther ? "Counted" : "Cycles";
const ofAll = isTime ? "of all time" : isOther ? "of all that was counted" : "of all cycles";

function text(number) {
	return number === null || number === undefined ? "" : report.texts[number];
}

let shownCycles = report.cycles; // of all, or of what is selected

function share(cycles) {
	return shownCycles ? cycles / shownCycles : 0;
}

// Cycles, or what else the unit is.
function amount(value) {
	return isTime ? time(value) : count(value);
}
