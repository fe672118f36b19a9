// SPDX-License-Identifier: BSD-2-Clause
// Tables that a click on a heading sorts, and that the search box filters.
import { el } from "./dom.js";
import { clockTime, count, duration, hasClock } from "./format.js";
import { onSearch } from "./search.js";

function placeButton(show) {
  const onclick = (event) => {
    event.stopPropagation();
    show();
  };
  return el("button", { type: "button", title: "Show on the timeline", "aria-label": "Show on the timeline", onclick }, "↑");
}

// A column for the wall clock at `ns(row)` after boot, which may be null; none if the window does not have it. For `columns`: ...clockColumn().
export function clockColumn(window, ns) {
  if (!hasClock(window)) return [];
  return [{ title: "Wall clock", value: ns, text: (row) => (ns(row) === null ? "–" : (clockTime(ns(row), window) ?? "–")), help: "Local time" }];
}

// A column of numbers, which `value(row)` returns.
export const numberColumn = (title, value, help) => ({ title, value, text: (row) => count(value(row)), help });

// Columns for a time, `ns(row)` after boot: after the beginning of the window, and by the wall clock. For `columns`: ...timeColumns().
export const timeColumns = (title, window, ns, help) => [
  { title, value: ns, text: (row) => duration(ns(row) - window.begin_ns), help },
  ...clockColumn(window, ns),
];

// A column is { title, text(row), value(row), help, wide }. One without `value` is text, and is sorted by
// its text. A long text of a `wide` one is cut, and is shown whole when the pointer is on it. A row whose value is null comes last in either direction. `sorted` is the title of the
// column that sorts at first, in descending order; with null the rows keep their order.
// `pick(row)` is called when a row is clicked, and marks the row; the first row is marked at the beginning.
// `place(row)` returns a function that shows the row's place on the timeline, or null. The rows begin with a button for it, which stays
// in sight when a wide table scrolls; without `pick` a click anywhere on the row does the same.
export function table({ id, columns, rows, of = rows.length, sorted = null, pick, place }) {
  const body = el("tbody");
  const heads = columns.map((column) => headOf(column));
  let order = { column: columns.find((column) => column.title === sorted) ?? null, up: false };
  let picked = pick ? rows[0] : null;
  let search = "";
  const found = el("p", { class: "reduced", hidden: true });

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

  function cellOf(column, row) {
    const text = column.text(row);
    if (column.wide) return el("td", { class: "wide", title: text }, text);
    return el("td", { class: column.value ? "number" : undefined }, text);
  }

  function rowOf(row) {
    const cells = columns.map((column) => cellOf(column, row));
    const show = place ? place(row) : null;
    if (place) cells.unshift(el("td", { class: "place" }, show === null ? null : placeButton(show)));
    if (!pick) return el("tr", show === null ? {} : { class: "pickable", onclick: show }, ...cells);
    const choose = () => {
      picked = row;
      pick(row);
      fill();
    };
    return el("tr", { class: row === picked ? "picked" : "pickable", onclick: choose }, ...cells);
  }

  const matches = (row) => columns.some((column) => column.text(row).toLowerCase().includes(search));

  function fill() {
    const shown = search === "" ? inOrder() : inOrder().filter(matches);
    body.replaceChildren(...shown.map(rowOf));
    found.hidden = search === "";
    found.textContent = `${count(shown.length)} of ${count(rows.length)} rows match.`;
    heads.forEach((head, i) => {
      if (columns[i] === order.column) head.setAttribute("aria-sort", order.up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }

  onSearch((text) => {
    search = text;
    fill();
  });
  fill();
  return el("div", { class: "table" },
    el("div", { class: "scroll", tabindex: "0" },
      el("table", { id }, el("thead", {}, el("tr", {}, place ? el("th", { class: "place" }) : null, ...heads)), body)),
    found,
    of > rows.length ? el("p", { class: "reduced" }, `The first ${rows.length} of ${of} rows.`) : null);
}
