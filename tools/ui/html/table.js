// SPDX-License-Identifier: GPL-2.0-or-later
// A button in a column's head sorts the rows by that column: largest first, and smallest first when it is
// pressed again.  The key of a cell is its data-key, or its text if it has none.  Cells with an empty
// data-key have no known value; their rows are last.
"use strict";

function sortKey(cell) {
	const key = cell.dataset.key ?? cell.textContent;
	return key !== "" && !isNaN(key) ? Number(key) : key;
}

function compareKeys(a, b) {
	if (typeof a !== typeof b)
		return typeof a === "number" ? 1 : -1;
	return a < b ? -1 : a > b ? 1 : 0;
}

function sortTable(table, column, descending) {
	const body = table.tBodies[0];
	const rows = [...body.rows].map(row => ({row, key: sortKey(row.cells[column])}));
	rows.sort((a, b) => {
		if (a.key === "" || b.key === "")
			return (a.key === "") - (b.key === "");
		return compareKeys(a.key, b.key) * (descending ? -1 : 1);
	});
	body.append(...rows.map(({row}) => row));
	for (const head of table.tHead.rows[0].cells)
		head.removeAttribute("aria-sort");
	table.tHead.rows[0].cells[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
}

document.addEventListener("click", event => {
	const head = event.target.closest("th");
	if (!head || !event.target.closest("th button"))
		return;
	sortTable(head.closest("table"), head.cellIndex, head.getAttribute("aria-sort") !== "descending");
});
