// A click on a column's header sorts its table: numbers from the largest first, texts from A; again turns it round.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const header = button.closest("th");
    const numeric = header.classList.contains("number");
    const before = header.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numeric;
    for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");

    const key = row => row.children[header.cellIndex].dataset.sort;
    const compare = numeric ? (a, b) => a - b : (a, b) => a.localeCompare(b, undefined, { numeric: true });
    const body = header.closest("table").tBodies[0];
    const known = [...body.rows].filter(row => key(row) !== undefined);
    const missing = [...body.rows].filter(row => key(row) === undefined);
    known.sort((a, b) => (down ? -1 : 1) * compare(key(a), key(b)));
    body.append(...known, ...missing);
  });
}
