// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers formatted for people, elements, and bars of cycle stacks.  Text from a recording is used only as
// text nodes and values of attributes, never as markup.
"use strict";

const states = ["retiring", "stalled", "flushed", "drained", "unknown"];

function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1) || path;
}

function percent(share, digits = 2) {
	return (share * 100).toFixed(digits) + "%";
}

// A count: up to four digits exactly; larger ones with three significant digits and a suffix.
function count(value) {
	const suffixes = ["", "k", "M", "G", "T", "P", "E"];
	let size = 0;

	if (value < 9999.5)
		return String(Math.round(value));
	for (; value >= 999.5; value /= 1000)
		size++;
	return Number(value.toPrecision(3)).toString() + suffixes[size];
}

// A time in nanoseconds, with three significant digits and a unit.
function time(nanoseconds) {
	const units = ["ns", "\u00b5s", "ms", "s"];
	let number = 0;

	for (; number + 1 < units.length && nanoseconds >= 999.5; nanoseconds /= 1000)
		number++;
	return (nanoseconds >= 999.5 ? Math.round(nanoseconds) : Number(nanoseconds.toPrecision(3))) + units[number];
}

// Executions: fewer than ten samples are too few, as in the text.  `recording`: {exact, period}.
function executionsText(executions, recording) {
	return recording.exact || executions >= 10 * recording.period ? count(executions) : "too few";
}

// "/" goes to the search field of a page; `escape` is called on Escape.
function searchKeys(search, escape) {
	addEventListener("keydown", event => {
		if (event.altKey || event.ctrlKey || event.metaKey)
			return;
		if (event.key === "/" && document.activeElement !== search) {
			event.preventDefault();
			search.focus();
			search.select();
		} else if (event.key === "Escape") {
			escape();
		}
	});
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

function headCell(name, kind = "", sorted = undefined) {
	return element("th", {scope: "col", class: kind, "aria-sort": sorted},
		element("button", {type: "button"}, name));
}

// A bar of buckets: [{state, cause, cycles}].  A bar of `whole` cycles has the full width.
function stackBar(buckets, whole) {
	const all = buckets.reduce((sum, bucket) => sum + bucket.cycles, 0);
	const descriptions = buckets.map(bucket => bucketName(bucket) + " " + percent(bucket.cycles / all, 0));
	const bar = element("div", {class: "bar", role: "img", "aria-label": descriptions.join(", ")});

	// Sort by state, and the causes of one state by cycles.
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

// The largest buckets as text: "stalled dcache-miss 40%, retiring 20%".
function largest(buckets, most = 3) {
	const all = buckets.reduce((sum, bucket) => sum + bucket.cycles, 0);

	return [...buckets].sort((a, b) => b.cycles - a.cycles).slice(0, most)
		.filter((bucket, i) => !i || bucket.cycles >= all / 200)
		.map(bucket => bucketName(bucket) + " " + percent(bucket.cycles / all, 0)).join(", ");
}

// The buckets of a stack in the form of report --json: {state: {cause: cycles}}.
function bucketsOf(stack) {
	return Object.entries(stack).flatMap(([state, causes]) => Object.entries(causes)
		.map(([cause, cycles]) => ({state: states.indexOf(state), cause, cycles})));
}
