// SPDX-License-Identifier: BSD-2-Clause
// Numbers for people.

const kGrouped = new Intl.NumberFormat("en-US");

export const count = (n) => kGrouped.format(n);

// { ENOENT: 3, EAGAIN: 1 } as "ENOENT 3, EAGAIN 1".
export const countsText = (counts) => Object.entries(counts).map(([name, n]) => `${name} ${count(n)}`).join(", ");

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

const two = (n) => String(n).padStart(2, "0");

// What CLOCK_REALTIME is ahead at `ns` after boot: each trace has its own offset, from its beginning to that of the next; 0n if it is unknown.
const offsetAt = (ns, { clocks }) => (clocks.findLast(({ since_ns }) => since_ns <= ns) ?? clocks[0])?.offset ?? 0n;

// Is the wall clock known at any time of the window?
export const hasClock = ({ clocks }) => clocks.some(({ offset }) => offset !== 0n);

// The wall clock at `ns` after boot, local time: { date, time, zone }; null if it is unknown.
export function wallClock(ns, window) {
  const offset = offsetAt(ns, window);
  if (offset === 0n) return null;
  const microseconds = (BigInt(Math.floor(ns)) + offset) / 1000n;
  const at = new Date(Number(microseconds / 1000n));
  const zone = -at.getTimezoneOffset();
  return {
    date: `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
    time: `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(microseconds % 1000000n).padStart(6, "0")}`,
    zone: `${zone < 0 ? "-" : "+"}${two(Math.floor(Math.abs(zone) / 60))}:${two(Math.abs(zone) % 60)}`,
  };
}

// The time of day at `ns` after boot, with the date if that is not the one on which the window begins; null as wallClock().
export function clockTime(ns, window) {
  const at = wallClock(ns, window);
  if (at === null) return null;
  return at.date === wallClock(window.begin_ns, window)?.date ? at.time : `${at.date} ${at.time}`;
}

// "from 1.000000 to 2.000000 s after boot", and the wall clock if it is known.
export function windowText(window) {
  const seconds = (ns) => (ns / 1e9).toFixed(6);
  const boot = `from ${seconds(window.begin_ns)} to ${seconds(window.end_ns)} s after boot`;
  const begin = wallClock(window.begin_ns, window), end = wallClock(window.end_ns, window);
  return begin === null || end === null ? boot : `${boot}: ${begin.date} ${begin.time} to ${end.time} (UTC${begin.zone})`;
}

// How CPUs differ in the window: it is less than some have, or more than all have, or has gaps; null if they do not differ.
export function reachText({ end_ns: end, common_ns: common, furthest_ns: furthest, gaps = [] }) {
  const at = (ns) => `${(ns / 1e9).toFixed(6)} s after boot`;
  const parts = [];
  if (common !== undefined) parts.push(`Not all CPUs have all of it: the last one begins at ${at(common)}`);
  else if (furthest !== undefined) parts.push(`${duration(end - furthest)} on the CPU that reaches furthest back, from ${at(furthest)}`);
  for (const gap of gaps) parts.push(`Without ${duration(gap.end_ns - gap.begin_ns)} that not all CPUs have, from ${at(gap.begin_ns)}`);
  return parts.length === 0 ? null : parts.join("; ");
}

// 1 or 3 things: plural(3, "event").
export const plural = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
