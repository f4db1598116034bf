// SPDX-License-Identifier: GPL-2.0-or-later
// A press on an example of a finding opens the region with that instruction, and goes to its row.
"use strict";

function showExample() {
	const row = location.hash && document.getElementById(location.hash.slice(1));
	const region = row && row.closest("details");

	if (!region)
		return;
	region.hidden = false;
	region.open = true;
	row.tabIndex = -1;
	row.focus();
	row.scrollIntoView({block: "center"});
}

addEventListener("hashchange", showExample);
document.addEventListener("click", event => {
	// The same example again changes no hash.
	if (event.target.closest("a")?.hash === location.hash)
		showExample();
});
showExample();
