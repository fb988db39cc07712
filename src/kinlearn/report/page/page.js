// Sorting is an extra: without this script the tables stand as they are.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const valueOf = (row, k) => {
    const cell = row.cells[k];
    const number = parseFloat(cell.dataset.sort);
    return Number.isNaN(number) ? cell.textContent.trim() : number;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });
  headings.forEach((heading, k) => {
    const button = document.createElement("button");
    button.type = "button";
    const picture = heading.querySelector("svg");
    button.append(...[...heading.childNodes].filter((node) => node !== picture));
    heading.prepend(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => compare(valueOf(a, k), valueOf(b, k)));
      body.append(...(down ? rows.reverse() : rows));
    });
  });
}
