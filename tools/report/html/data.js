// SPDX-License-Identifier: GPL-2.0-or-later
// What the page shows, numbers as people read them, and elements.  Text from the recording becomes
// text nodes and attributes' values only, never markup.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
// Samples that tell only where they fell: no cycle stacks, and what was counted only the event's name tells.
const isPlain = report.samples > 0 && report.plain_samples === report.samples;
const isTime = report.unit === "nanoseconds";
const unit = isTime ? "ns" : isPlain ? "counted" : "cycles";
const unitTitle = isTime ? "Time, ns" : isPlain ? "Counted" : "Cycles";
const ofAll = isTime ? "of all time" : isPlain ? "of all that was counted" : "of all cycles";
const states = ["retiring", "stalled", "flushed", "drained", "unknown"];

function text(number) {
	return number === null || number === undefined ? "" : report.texts[number];
}

function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1) || path;
}

function percent(share, digits = 2) {
	return (share * 100).toFixed(digits) + "%";
}

// Up to four digits as they are, above with three significant ones.
function count(value) {
	const signs = ["", "k", "M", "G", "T", "P", "E"];
	let size = 0;

	if (value < 9999.5)
		return String(Math.round(value));
	for (; value >= 999.5; value /= 1000)
		size++;
	return Number(value.toPrecision(3)).toString() + signs[size];
}

function share(cycles) {
	return report.cycles ? cycles / report.cycles : 0;
}

function element(tag, properties = {}, ...children) {
	const made = document.createElement(tag);

	for (const [name, value] of Object.entries(properties)) {
		if (name === "class")
			made.className = value;
		else if (name === "click")
			made.addEventListener("click", value);
		else if (value !== undefined)
			made.setAttribute(name, value);
	}
	made.append(...children);
	return made;
}

// A bar of buckets: [{state, cause, cycles}]; `whole` cycles fill it.
function stackBar(buckets, whole) {
	const all = buckets.reduce((sum, bucket) => sum + bucket.cycles, 0);
	const inWords = buckets.map(bucket => bucketName(bucket) + " " + percent(bucket.cycles / all, 0));
	const bar = element("div", {class: "bar", role: "img", "aria-label": inWords.join(", ")});

	// The states in their order, the causes of a state by size.
	for (const bucket of [...buckets].sort((a, b) => a.state - b.state || b.cycles - a.cycles)) {
		const part = element("span", {class: states[bucket.state],
			title: bucketName(bucket) + " " + percent(bucket.cycles / all, 1)});

		part.style.width = (whole ? bucket.cycles / whole * 100 : 0) + "%";
		bar.append(part);
	}
	return bar;
}

function bucketName(bucket) {
	return states[bucket.state] + (bucket.cause && bucket.cause !== "none" ? " " + bucket.cause : "");
}

// The largest buckets in words.
function largest(buckets, most = 3) {
	const all = buckets.reduce((sum, bucket) => sum + bucket.cycles, 0);

	return [...buckets].sort((a, b) => b.cycles - a.cycles).slice(0, most)
		.filter((bucket, i) => !i || bucket.cycles >= all / 200)
		.map(bucket => bucketName(bucket) + " " + percent(bucket.cycles / all, 0)).join(", ");
}

// A stack of report --json: {state: {cause: cycles}}.
function bucketsOf(stack) {
	return Object.entries(stack).flatMap(([state, causes]) => Object.entries(causes)
		.map(([cause, cycles]) => ({state: states.indexOf(state), cause, cycles})));
}
