// SPDX-License-Identifier: BSD-2-Clause
// The section with flame graphs: where CPU time went, where threads sleep, and beside it who wakes them.
import { el, printable } from "./dom.js";
import { FlameGraph } from "./flame.js";
import { count, duration, percent, plural } from "./format.js";
import { onSearch } from "./search.js";
import { caveats } from "./summary.js";

const kMost = 100; // processes to choose from

// How complete the stacks of events are, or of who `of` says.
function endsText({ user, kernel, without_user_stack: none }, of = (n) => plural(n, "event")) {
  const part = (ends, what) => {
    if (ends.events === 0) return null;
    const share = (n) => percent(n, ends.events);
    const missing = ends.lacking === 0 ? "" : `, ${share(ends.lacking)} not in the traces`;
    return `${what} stacks of ${of(ends.events)}: ${share(ends.start)} complete, ${share(ends.depth)} deeper than recorded, ` +
      `${share(ends.broken + ends.unreadable)} ended early${missing}.`;
  };
  return [part(user, "User"), part(kernel, "Kernel"), none === 0 ? null : `${of(none)} without a user stack.`]
    .filter((each) => each !== null).join(" ");
}

// A stack behind its owner, by name, the outermost function first.
const named = ({ stacks, functions, owners }, owner, stack) =>
  [printable(owners[owner]), ...stacks[stack].map((each) => printable(functions[each]))];

// The events that are shown of one kind, as [stack, value]. `chosen` has `owner` or `cpu`, or neither, and `below`: names with
// which the stack begins. `of`: the columns with the stacks, which are those of the events or of their wakers.
function shown(data, points, { owner, cpu, below = [] }, range, of = { owner: "owner", stack: "stack" }) {
  const { stacks } = data;
  const sums = new Map(), chosen = new Map();
  const isBelow = (ownerOf, stackOf) => {
    const key = ownerOf * stacks.length + stackOf;
    if (!chosen.has(key)) {
      const names = named(data, ownerOf, stackOf);
      chosen.set(key, below.every((name, i) => names[i] === name));
    }
    return chosen.get(key);
  };
  const isWhole = range.span >= range.length;
  for (let i = 0; i < points.ts.length; i += 1) {
    if (owner !== undefined && points.owner[i] !== owner) continue;
    if (cpu !== undefined && points.cpu[i] !== cpu) continue;
    if (below.length !== 0 && !isBelow(points.owner[i], points.stack[i])) continue;
    let value = points.ns.length === 0 ? 1 : points.ns[i];
    if (!isWhole) {
      const begin = points.ts[i], end = begin + (points.ns[i] ?? 0);
      if (end < range.begin || begin > range.end) continue;
      if (points.ns.length !== 0) value = Math.min(end, range.end) - Math.max(begin, range.begin);
    }
    if (value === 0) continue;
    const key = points[of.owner][i] * stacks.length + points[of.stack][i];
    sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return [...sums].map(([key, value]) => [named(data, Math.floor(key / stacks.length), key % stacks.length), value]);
}

// What can be chosen: all, processes (those with the most events first) and CPUs.
function choices({ owners, samples, sleeps }) {
  const counts = owners.map(() => 0), cpus = new Set();
  for (const points of [samples, sleeps])
    points.owner.forEach((owner, i) => {
      counts[owner] += 1;
      cpus.add(points.cpu[i]);
    });
  const order = [...owners.keys()].filter((owner) => counts[owner] !== 0).sort((a, b) => counts[b] - counts[a]).slice(0, kMost);
  const option = (value, text) => el("option", { value }, text);
  return [
    option("", "All processes and CPUs"),
    el("optgroup", { label: "Process" }, ...order.map((owner) => option(`owner ${owner}`, printable(owners[owner])))),
    el("optgroup", { label: "CPU" }, ...[...cpus].sort((a, b) => a - b).map((cpu) => option(`cpu ${cpu}`, `CPU ${cpu}`))),
  ];
}

const leftOut = (points, what) =>
  (points.of > points.ts.length ? `The page has the first ${count(points.ts.length)} of ${plural(points.of, what)}. ` : "");

// `range`: the part shown on the timeline. Null if the traces have no stacks.
export function stackSection({ stacks }, places, range) {
  if (stacks === undefined || stacks.samples.of + stacks.sleeps.of === 0) return null;
  const wakers = new FlameGraph({
    id: "flame-wakers", label: "Time asleep by the functions that ended it", text: duration, empty: "No sleeps here." });
  const sleeping = new FlameGraph({
    id: "flame-offcpu", label: "Time asleep by function", text: duration, empty: "No sleeps here.", onZoom: () => showWakers() });
  const graphs = [
    [stacks.samples, "Where CPU time went", "sample", new FlameGraph({
      id: "flame-cpu", label: "Samples of CPUs by function", text: (value) => plural(value, "sample"), empty: "No samples here." })],
    [stacks.sleeps, "Where threads sleep", "sleep", sleeping],
  ];
  const chosen = el("select", { id: "stacks-of", "aria-label": "Whose stacks", onchange: () => show() }, ...choices(stacks));
  const whole = { span: 1, length: 1 };
  const linked = el("input", { type: "checkbox", id: "stacks-here", checked: true, onchange: () => show() });
  const chosenOf = () => {
    const [kind, number] = chosen.value.split(" ");
    return kind === "" ? {} : { [kind]: Number(number) };
  };
  const shownRange = () => (linked.checked ? range : whole);
  // Of the sleeps below the function that has the whole width.
  const showWakers = () => wakers.show(shown(stacks, stacks.sleeps, { ...chosenOf(), below: sleeping.zoomed() }, shownRange(),
    { owner: "waker", stack: "waker_stack" }));
  const show = () => {
    for (const [points, , , graph] of graphs) graph.show(shown(stacks, points, chosenOf(), shownRange()));
    showWakers();
  };
  let timer = 0;
  range.onChange(() => {
    if (!linked.checked) return;
    clearTimeout(timer);
    timer = setTimeout(show, 50); // not for every step of a drag
  });
  onSearch((text) => [...graphs.map(([, , , graph]) => graph), wakers].forEach((graph) => graph.search(text)));
  show();
  const [samplesPart, sleepsPart] = graphs.map(([points, title, what, graph]) =>
    el("div", {}, el("h3", {}, title), graph.element, el("p", { class: "note" }, leftOut(points, what) + endsText(points.ends))));
  return el("section", { id: "stacks" }, el("h2", {}, "Stacks"), ...[caveats(stacks.caveats)].filter((part) => part !== null),
    el("div", { class: "heading" }, chosen, el("label", {}, linked, " only the part shown on the timeline"),
      el("span", { class: "note" }, "A click on a function gives it the whole width; the search box colours functions.")),
    samplesPart, el("div", { class: "columns" }, sleepsPart,
      el("div", {}, el("h3", {}, "Who wakes them"), wakers.element,
        el("p", { class: "note" }, "The stacks of the threads that ended these sleeps, by the time asleep. A function chosen beside it leaves its sleeps. ",
          endsText(stacks.sleeps.waker_ends, (n) => `the wakers of ${plural(n, "sleep")}`)))));
}
