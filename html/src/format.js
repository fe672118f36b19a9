// SPDX-License-Identifier: BSD-2-Clause
// Numbers for people.

const kGrouped = new Intl.NumberFormat("en-US");

export const count = (n) => kGrouped.format(n);

// Three significant digits, and its unit.
function scaled(value, step, units) {
  let unit = 0;
  while (value >= step && unit + 1 < units.length) {
    value /= step;
    unit += 1;
  }
  const digits = unit === 0 && Number.isInteger(value) ? 0 : value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

export const duration = (ns) => scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
export const bytes = (n) => scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
export const percent = (part, whole) => (whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)} %`);

// A time after the beginning of the window, with the digits that `step` (ns) needs.
export function offset(ns, step) {
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9))));
  return `+${(ns / 1e9).toFixed(digits)} s`;
}

// 1 or 3 things: plural(3, "event").
export const plural = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
