"use strict";
// Tables sort by their headers and are filtered by words and by choice. Nothing is hidden from
// readers without scripts: all of it is added here.
(() => {
  const MISSING = "–", FEWEST = 8; // rows below which nobody needs to look for one
  const COLLATOR = new Intl.Collator("en", { numeric: true });

  function make(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function keyOf(cell) {
    const text = (cell.dataset.value ?? cell.textContent).trim();
    if (text === MISSING || text === "") return null;
    const value = text.replace(/^± | \([^()]*\)$/g, ""); // without its error
    const number = Number(value.replaceAll(",", "").replace(/^(-?)(inf|∞)$/, "$1Infinity"));
    return Number.isNaN(number) ? text : number;
  }

  function compared(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b || 0;
    return COLLATOR.compare(String(a), String(b));
  }

  function sortBy(table, at, header) {
    const body = table.tBodies[0], down = header.getAttribute("aria-sort") === "ascending";
    const keyed = [...body.rows].map((row) => [keyOf(row.cells[at]), row]);
    const there = keyed.filter(([key]) => key !== null);
    there.sort(([a], [b]) => (down ? compared(b, a) : compared(a, b)));
    const missing = keyed.filter(([key]) => key === null); // last, whichever way
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...[...there, ...missing].map(([, row]) => row));
  }

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((header, at) => {
      const button = make("button", { type: "button" }, ...header.childNodes);
      button.addEventListener("click", () => sortBy(table, at, header));
      header.append(button);
    });
  }

  function choiceOf(table, at, name) {
    const texts = [...table.tBodies[0].rows].map((row) => row.cells[at].textContent.trim());
    const options = [...new Set(texts)].map((text) => make("option", { value: "=" + text }, text));
    const select = make("select", {}, make("option", { value: "" }, "all"), ...options);
    return [make("label", {}, name + " ", select), (row, text) => text[at], select];
  }

  function filterable(table) {
    const rows = [...table.tBodies[0].rows];
    const texts = new Map(rows.map((row) => [row, [...row.cells].map((c) => c.textContent.trim())]));
    const found = make("output", { "aria-live": "polite" });
    const words = make("input", { type: "search", placeholder: "words of a row" });
    const headers = [...table.tHead.rows[0].cells];
    const chosen = headers
      .map((header, at) => [header, at])
      .filter(([header]) => header.hasAttribute("data-choice"))
      .map(([header, at]) => [at, ...choiceOf(table, at, header.textContent.trim())]);

    function apply() {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, cells] of texts) {
        const all = cells.join(" ").toLowerCase();
        const fits =
          wanted.every((word) => all.includes(word)) &&
          chosen.every(([at, , , select]) => !select.value || select.value === "=" + cells[at]);
        row.hidden = !fits;
        shown += fits;
      }
      const of = rows.length.toLocaleString("en");
      found.value = shown === rows.length ? of + " rows" : shown.toLocaleString("en") + " of " + of + " rows";
    }

    const labels = chosen.map(([, label]) => label);
    const tools = make("div", { class: "tools" }, make("label", {}, "Filter ", words), ...labels, found);
    for (const tool of [words, ...chosen.map((each) => each[3])]) tool.addEventListener("input", apply);
    table.closest(".box").before(tools);
    apply();
  }

  for (const table of document.querySelectorAll("table[data-sorts]")) {
    const n = table.tBodies[0].rows.length;
    if (n >= FEWEST) filterable(table);
    if (n > 1) sortable(table);
  }
})();
