// SPDX-License-Identifier: GPL-2.0-or-later
// Shows the regions of the functions whose name has what is typed.
"use strict";

const filter = document.getElementById("filter");

filter.closest("p").hidden = false;
filter.addEventListener("input", () => {
	for (const region of document.querySelectorAll("details"))
		region.hidden = !region.dataset.name.includes(filter.value);
});
