// SPDX-License-Identifier: GPL-2.0-or-later
// Shows only the regions of functions whose name contains the text in the filter field.
"use strict";

const filter = document.getElementById("filter");

filter.closest("p").hidden = false;
filter.addEventListener("input", () => {
	for (const region of document.querySelectorAll("details"))
		region.hidden = !region.dataset.name.includes(filter.value);
});
