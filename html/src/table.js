// SPDX-License-Identifier: BSD-2-Clause
// Tables that a click on a heading sorts.
import { el } from "./dom.js";

// A column is { title, text(row), value(row), help }. One without `value` is text, and is sorted by
// its text. A row whose value is null comes last in either direction. `sorted` is the title of the
// column that sorts at first, in descending order; with null the rows keep their order.
// `pick(row)` is called when a row is clicked. With `keeps` that row stays marked, and the first row
// is marked at the beginning.
export function table({ id, columns, rows, of = rows.length, sorted = null, pick, keeps = false }) {
  const body = el("tbody");
  const heads = columns.map((column) => headOf(column));
  let order = { column: columns.find((column) => column.title === sorted) ?? null, up: false };
  let picked = keeps ? rows[0] : null;

  function headOf(column) {
    const button = el("button", { type: "button", title: column.help, onclick: () => sortBy(column) }, column.title);
    return el("th", { scope: "col", class: column.value ? "number" : undefined }, button);
  }

  // Numbers are first sorted in descending order, names in ascending order.
  function sortBy(column) {
    order = { column, up: order.column === column ? !order.up : !column.value };
    fill();
  }

  function inOrder() {
    const { column, up } = order;
    if (column === null) return rows;
    const key = column.value ?? column.text;
    const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
    const nothing = (row) => Number(key(row) === null);
    return [...rows].sort((a, b) =>
      nothing(a) - nothing(b) || (nothing(a) ? 0 : (up ? 1 : -1) * compare(key(a), key(b))));
  }

  function rowOf(row) {
    const cells = columns.map((column) => el("td", { class: column.value ? "number" : undefined }, column.text(row)));
    if (!pick) return el("tr", {}, ...cells);
    const choose = () => {
      if (keeps) picked = row;
      pick(row);
      fill();
    };
    return el("tr", { class: row === picked ? "picked" : "pickable", onclick: choose }, ...cells);
  }

  function fill() {
    body.replaceChildren(...inOrder().map(rowOf));
    heads.forEach((head, i) => {
      if (columns[i] === order.column) head.setAttribute("aria-sort", order.up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }

  fill();
  return el("div", { class: "table" },
    el("div", { class: "scroll", tabindex: "0" },
      el("table", { id }, el("thead", {}, el("tr", {}, ...heads)), body)),
    of > rows.length ? el("p", { class: "reduced" }, `The first ${rows.length} of ${of} rows.`) : null);
}
