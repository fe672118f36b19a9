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

// The columns with the stacks of events, or of those who woke their threads.
const kOwn = { owner: "owner", stack: "stack" }, kWaker = { owner: "waker", stack: "waker_stack" };

// A function that says whether a stack begins with these names.
function beginningWith(data, names) {
  const known = new Map();
  return (owner, stack) => {
    const key = owner * data.stacks.length + stack;
    if (!known.has(key)) {
      const all = named(data, owner, stack);
      known.set(key, names.every((name, i) => all[i] === name));
    }
    return known.get(key);
  };
}

// The events that are shown of one kind, as [index, value]. `chosen` has `owner` or `cpu`, or neither, and `below`: pairs of
// names with which a stack begins, and the columns of that stack.
function* eventsOf(data, points, { owner, cpu, below = [] }, range) {
  const tests = below.filter(([names]) => names.length !== 0).map(([names, of]) => [beginningWith(data, names), points[of.owner], points[of.stack]]);
  const isWhole = range.span >= range.length;
  for (let i = 0; i < points.ts.length; i += 1) {
    if (owner !== undefined && points.owner[i] !== owner) continue;
    if (cpu !== undefined && points.cpu[i] !== cpu) continue;
    if (!tests.every(([isBelow, owners, stacks]) => isBelow(owners[i], stacks[i]))) continue;
    let value = points.ns[i] ?? 1;
    if (!isWhole) {
      const begin = points.ts[i], end = begin + (points.ns[i] ?? 0);
      if (end < range.begin || begin > range.end) continue;
      if (points.ns.length !== 0) value = Math.min(end, range.end) - Math.max(begin, range.begin);
    }
    if (value !== 0) yield [i, value];
  }
}

// They, as [stack, value].
function shown(data, points, chosen, range, of = kOwn) {
  const { stacks } = data;
  const sums = new Map();
  for (const [i, value] of eventsOf(data, points, chosen, range)) {
    const key = points[of.owner][i] * stacks.length + points[of.stack][i];
    sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return [...sums].map(([key, value]) => [named(data, Math.floor(key / stacks.length), key % stacks.length), value]);
}

// From the beginning of the first of them to the end of the last one.
function partOf(data, points, chosen, range) {
  let begin = Infinity, end = 0;
  for (const [i] of eventsOf(data, points, chosen, range)) {
    begin = Math.min(begin, points.ts[i]);
    end = Math.max(end, points.ts[i] + (points.ns[i] ?? 0));
  }
  return [begin, end];
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
  // Shows a function on the timeline; `below`: the others that events must have.
  const place = (points, of, below = () => []) => (path) => {
    const part = partOf(stacks, points, { ...chosenOf(), below: [[path, of], ...below()] }, shownRange());
    const owner = stacks.owners.findIndex((name) => printable(name) === path[0]);
    if (part[0] <= part[1]) places.part(part, stacks.pids[owner] ?? null, path[0])();
  };
  const wakers = new FlameGraph({
    id: "flame-wakers", label: "Time asleep by the functions that ended it", text: duration, empty: "No sleeps here.",
    onPlace: place(stacks.sleeps, kWaker, () => [[sleeping.zoomed(), kOwn]]) });
  const sleeping = new FlameGraph({
    id: "flame-offcpu", label: "Time asleep by function", text: duration, empty: "No sleeps here.", onZoom: () => showWakers(),
    onPlace: place(stacks.sleeps, kOwn) });
  const graphs = [
    [stacks.samples, "Where CPU time went", "sample", new FlameGraph({
      id: "flame-cpu", label: "Samples of CPUs by function", text: (value) => plural(value, "sample"), empty: "No samples here.",
      onPlace: place(stacks.samples, kOwn) })],
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
  const showWakers = () => wakers.show(shown(stacks, stacks.sleeps, { ...chosenOf(), below: [[sleeping.zoomed(), kOwn]] }, shownRange(), kWaker));
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
      el("span", { class: "note" }, "A click on a function gives it the whole width; the search box colours functions. ",
        el("span", { class: "for-mouse" }, "With the keyboard arrows move, Enter chooses, Escape goes back, / searches."))),
    samplesPart, el("div", { class: "columns" }, sleepsPart,
      el("div", {}, el("h3", {}, "Who wakes them"), wakers.element,
        el("p", { class: "note" }, "The stacks of the threads that ended these sleeps, by the time asleep. A function chosen beside it leaves its sleeps. ",
          endsText(stacks.sleeps.waker_ends, (n) => `the wakers of ${plural(n, "sleep")}`)))));
}
