// SPDX-License-Identifier: BSD-2-Clause
// The section with the timeline: CPUs above, system calls of threads below.
import { el, printable } from "./dom.js";
import { count, duration, offset, percent, plural, wallClock } from "./format.js";
import { kNoLane, Lane, lanesByCpu } from "./lanes.js";
import { Overview } from "./overview.js";
import { contextOf, paintAxis } from "./paint.js";
import { Pane } from "./pane.js";
import { placesOn } from "./places.js";
import { TimeRange } from "./range.js";
import { onSearch } from "./search.js";
import { colouring, distinctColours, onThemeChange, themeColours } from "./theme.js";

const kAxis = 24; // pixels
const kTallestCpus = 360, kTallestThreads = 432;

const taskName = (task) => (task.others ? "(others)" : task.comm || "?");
const taskText = (task) => (task.others ? "threads beyond the limit" : `${task.comm || "?"}, thread ${task.tid}`);

// Begin and length of a slice, and the contents of a joined one.
function timesOf(lane, i, what) {
  const length = lane.end[i] - lane.begin[i];
  const lines = [`${duration(length)} from ${offset(lane.begin[i], 1e3)}`];
  const joined = lane.joined.get(i);
  if (joined)
    lines.push(
      `${count(joined.count)} ${what} drawn as one, together ${duration(joined.busy)}`,
      `of that, this one at least ${percent(joined.whatNs, joined.busy)}`);
  return lines;
}

// How long each task of a lane ran.
function timesByTask(lane, tasks) {
  const times = new Float64Array(tasks);
  for (let i = 0; i < lane.size; i += 1) times[lane.what[i]] += lane.busy(i);
  return times;
}

// [name, time] of tasks with these times, the longest first.
function timesByName(times, names) {
  const byName = new Map();
  times.forEach((ns, task) => { if (ns !== 0) byName.set(names[task], (byName.get(names[task]) ?? 0) + ns); });
  return [...byName].sort((a, b) => b[1] - a[1]);
}

// The rows of the CPUs; `legend`: [name, colour] of what has a colour of its own, of the longest time first.
function cpuRows({ timeline }, cpus, length) {
  const ran = lanesByCpu(timeline.run), unknown = lanesByCpu(timeline.unknown), losses = lanesByCpu(timeline.losses);
  const all = new Lane({ gap: [0], ns: [length], what: [0], joined: [] });
  const names = timeline.tasks.map((task) => printable(taskName(task)));
  const times = new Map([...ran].map(([cpu, lane]) => [cpu, timesByTask(lane, names.length)]));
  const together = names.map((_, task) => [...times.values()].reduce((sum, each) => sum + each[task], 0));
  const distinct = distinctColours(timesByName(together, names).map(([name]) => name));
  const colours = names.map(colouring(distinct));
  const mostOf = (cpu) => timesByName(times.get(cpu) ?? [], names)[0]?.[0];
  const rows = cpus.map((cpu) => ({
    label: `CPU ${cpu}`,
    most: mostOf(cpu),
    cpu,
    lane: ran.get(cpu) ?? kNoLane,
    unknown: unknown.get(cpu) ?? (ran.has(cpu) ? kNoLane : all),
    losses: losses.get(cpu) ?? kNoLane,
    name: (what) => names[what],
    colour: (what) => colours[what],
    keyOf: (what) => ({ tid: timeline.tasks[what].tid, text: taskText(timeline.tasks[what]) }),
    matches(what, key) {
      if (key.name !== undefined) return names[what] === key.name;
      if (key.pid !== undefined) return timeline.tasks[what].pid === key.pid;
      return key.tid === undefined || timeline.tasks[what].tid === key.tid;
    },
    describe(i) {
      const task = timeline.tasks[this.lane.what[i]];
      const process = task.pid ? [`process ${task.pid}, on CPU ${cpu}`] : [`on CPU ${cpu}`];
      return [taskText(task), ...process, ...timesOf(this.lane, i, "times on the CPU")];
    },
    describeLoss(i) {
      const { count: lost, whatNs: most } = this.losses.joined.get(i) ?? { count: 1, whatNs: 1 };
      return [
        `${plural(lost, "event")} lost on CPU ${cpu}`,
        `${most === lost ? "all" : count(most)} of ${timeline.lost_events[this.losses.what[i]]}`,
        `within ${duration(this.losses.end[i] - this.losses.begin[i])} from ${offset(this.losses.begin[i], 1e3)}`,
      ];
    },
  }));
  return { rows, legend: [...distinct] };
}

// The times when each thread ran on a CPU, where they are drawn exactly.
function runsByThread(timeline) {
  const runs = new Map();
  for (const columns of timeline.run.lanes) {
    const lane = new Lane(columns);
    for (let i = 0; i < lane.size; i += 1) {
      if (lane.joined.has(i)) continue;
      const { tid } = timeline.tasks[lane.what[i]];
      if (!runs.has(tid)) runs.set(tid, []);
      runs.get(tid).push([lane.begin[i], lane.end[i]]);
    }
  }
  return runs;
}

// The runs of a thread as a lane: those of one thread do not overlap.
function runLane(slices = []) {
  slices.sort((a, b) => a[0] - b[0]);
  const before = (i) => (i === 0 ? 0 : slices[i - 1][1]);
  return new Lane({ gap: slices.map(([begin], i) => begin - before(i)), ns: slices.map(([begin, end]) => end - begin), what: slices.map(() => 0), joined: [] });
}

function threadRows({ timeline, syscalls }) {
  const runs = runsByThread(timeline);
  const colours = timeline.syscalls.map(colouring(distinctColours(syscalls.calls.rows.map((row) => row.syscall))));
  return timeline.calls.lanes.map((columns) => ({
    label: printable(`${columns.comm || "?"} ${columns.tid}`),
    tid: columns.tid,
    pid: columns.pid,
    runs: runLane(runs.get(columns.tid)),
    lane: new Lane(columns),
    name: (what) => timeline.syscalls[what],
    colour: (what) => colours[what],
    keyOf: (what) => ({ call: what, text: timeline.syscalls[what] }),
    matches(what, key) {
      if (key.call !== undefined) return key.call === what;
      if (key.name !== undefined) return printable(taskName(columns)) === key.name;
      return key.pid !== undefined ? columns.pid === key.pid : columns.tid === key.tid;
    },
    describe(i) {
      return [timeline.syscalls[this.lane.what[i]], taskText(columns), ...timesOf(this.lane, i, "calls")];
    },
  }));
}

// Sentences on what the drawing leaves out.
export function reductions(timeline) {
  const { run, calls, losses } = timeline;
  const joined = (what, table, items) =>
    table.grain_ns === 0
      ? `All ${count(table.of)} ${what} are drawn as they happened.`
      : `${count(table.of)} ${what} are drawn as ${count(table.slices)} ${items}: those shorter than ` +
        `${duration(table.grain_ns)} may be joined with their neighbours (striped). Counts and times are exact; ` +
        `the name is the one with the most time.`;
  const sentences = [];
  if (run.of !== 0) sentences.push(joined("times that a thread ran", run, "slices"));
  if (calls.of !== 0) sentences.push(joined("system calls", calls, "slices"));
  if (calls.left_out !== 0)
    sentences.push(
      `${count(calls.left_out)} calls are not drawn: of ${count(calls.threads)} threads with calls or more, ` +
      `the ${count(calls.lanes.length)} with the most have a lane.`);
  if (calls.uncertain !== 0)
    sentences.push(`${plural(calls.uncertain, "call")} ${calls.uncertain === 1 ? "is" : "are"} not drawn, because the beginning or the end is not in the trace.`);
  if (losses.grain_ns !== 0)
    sentences.push(`Losses closer than ${duration(losses.grain_ns)} to each other have one mark.`);
  return sentences;
}

class Timeline {
  constructor(data) {
    const length = data.window.end_ns - data.window.begin_ns;
    this.range = new TimeRange(length);
    this.data = data;
    this.highlight = null;
    this.shown = { text: "", here: false };
    this.cursor = null;
    const cpus = data.summary.cpus.map((cpu) => cpu.cpu);
    ({ rows: this.cpus, legend: this.legend } = cpuRows(data, cpus, length));
    this.threads = threadRows(data);
    this.axis = el("canvas", { class: "axis" });
    this.status = el("output", { class: "status", id: "timeline-status" });
    this.picked = el("span", { class: "chosen", id: "timeline-picked" });
    this.overview = new Overview(this.range, this.cpus.map((row) => row.lane), this.cpus.map((row) => row.losses));
    this.cpuPane = new Pane(this, kTallestCpus, "What ran on each CPU");
    this.threadPane = new Pane(this, kTallestThreads, "System calls of threads");
    this.cpuPane.rows = this.cpus;
    this.threadPane.rows = this.threads;
    this.threadPane.bands = this.cpus.map((row) => row.losses);
    this.range.onChange(() => this.redraw());
    onThemeChange(() => { this.overview.redraw(); this.redraw(); });
    new ResizeObserver(() => this.#drawAxis()).observe(this.cpuPane.element);
    this.#showStatus();
  }

  redraw() {
    if (this.shown.here) this.filter({});
    this.cpuPane.redraw();
    this.threadPane.redraw();
    this.#drawAxis();
    this.#showStatus();
  }

  // The pointer is at a time of the window, or null.
  moved(ns) {
    this.cursor = ns;
    this.cpuPane.redraw();
    this.threadPane.redraw();
    this.#showStatus();
  }

  // Highlights all runs of a thread, or all calls of a kind; a second click removes the highlight.
  pick(key) {
    const same = key !== null && this.highlight?.text === key.text;
    this.highlight = same ? null : key;
    this.picked.textContent = this.highlight === null ? "" : `Only ${printable(this.highlight.text)} is coloured; click beside it for all.`;
    this.redraw();
  }

  // Rows of threads with `text` in their name or number; with `here` only those that were active
  // in the part shown.
  filter({ text = this.shown.text, here = this.shown.here }) {
    this.shown = { text, here };
    const { begin, end } = this.range;
    const inPart = (lane) => {
      const i = lane.firstAfter(begin);
      return i < lane.size && lane.begin[i] < end;
    };
    this.threadPane.rows = this.threads.filter((row) => row.label.toLowerCase().includes(text.toLowerCase()) && (!here || inPart(row.lane) || inPart(row.runs)));
  }

  // Shows a time and its surroundings.
  go(ts, ns) {
    const begin = ts - this.data.window.begin_ns;
    this.range.set(begin - 0.3 * ns, begin + 1.3 * ns);
    this.cpuPane.element.closest("section").scrollIntoView();
  }

  // Shows a range, and colours only what `key` matches.
  show([begin, end], key) {
    if (this.highlight?.text !== key.text) this.pick(key);
    this.go(begin + this.data.window.begin_ns, end - begin);
  }

  // Shows the row of a CPU, over the whole window.
  showCpu(cpu) {
    this.range.reset();
    this.cpuPane.scrollTo(this.cpus.findIndex((row) => row.cpu === cpu));
    this.cpuPane.element.closest("section").scrollIntoView();
  }

  #drawAxis() {
    const width = this.cpuPane.element.clientWidth;
    if (width === 0) return;
    paintAxis(contextOf(this.axis, width, kAxis), this.range, width, kAxis, themeColours());
  }

  #showStatus() {
    const { range, cursor, data } = this;
    const shown = range.span >= range.length ? `All ${duration(range.length)}` : `${duration(range.span)} of ${duration(range.length)}, from ${offset(range.begin, range.span / 1000)}`;
    const at = cursor === null ? "" : ` · pointer at ${offset(cursor, range.span / 10000)}, ${((data.window.begin_ns + cursor) / 1e9).toFixed(6)} s after boot`;
    const clock = cursor === null ? null : wallClock(data.window.begin_ns + cursor, data.window);
    this.status.textContent = shown + at + (clock === null ? "" : `, ${clock.time}`);
  }
}

function toolbar(timeline) {
  const { range } = timeline;
  const button = (id, text, title, action) => el("button", { id, type: "button", title, onclick: action }, text);
  return el("div", { class: "toolbar" },
    button("zoom-in", "+", "Zoom in (Ctrl and wheel, double click, or W)", () => range.zoom(0.5)),
    button("zoom-out", "−", "Zoom out (Ctrl and wheel, or S)", () => range.zoom(2)),
    button("pan-left", "←", "Earlier (drag, or A)", () => range.pan(-0.5)),
    button("pan-right", "→", "Later (drag, or D)", () => range.pan(0.5)),
    button("zoom-all", "All", "Show the whole window (Home)", () => range.reset()),
    timeline.status);
}

// `items`: [class of the key, text].
const legend = (items) => el("p", { class: "legend" }, ...items.map(([key, text]) => el("span", {}, el("i", { class: `key ${key}` }), text)));

// The colours of names on the CPUs; a click colours only the threads of that name.
function namesLegend(timeline) {
  const key = ([name, colour]) =>
    el("button", { type: "button", title: "Colour only these", onclick: () => timeline.pick({ name, text: name }) }, el("i", { class: "key", style: `background: ${colour}` }), el("span", {}, name));
  return el("div", { class: "names", id: "names-legend" }, ...timeline.legend.map(key));
}

// One of them is shown, by the style.
const hints = [
  el("span", { class: "for-mouse" }, "Ctrl and wheel zooms, dragging moves, a click colours only that thread or call. "),
  el("span", { class: "for-fingers" }, "Two fingers zoom, one finger moves, a tap colours only that thread or call. "),
];

export function timelineSection(data) {
  const { timeline } = data;
  const drawn = new Timeline(data);
  const section = el("section", { id: "timeline" }, el("h2", {}, "Timeline"));
  if (timeline.run.of === 0) section.append(el("p", { class: "note" }, "The page has no sched_switch, so it is not known what ran on the CPUs."));
  section.append(
    toolbar(drawn),
    el("div", { class: "timeline" }, drawn.overview.element, drawn.axis, drawn.cpuPane.element),
    namesLegend(drawn),
    legend([["unknown", "not known what ran"], ["loss", "events were lost"], ["joined", "several drawn as one"], ["idle", "idle"]]),
    el("p", { class: "note", id: "timeline-hint" }, ...hints, drawn.picked));
  if (drawn.threads.length !== 0)
    section.append(
      el("div", { class: "heading" }, el("h3", {}, "System calls of threads"),
        el("input", { type: "search", id: "thread-filter", placeholder: "Threads named…", "aria-label": "Show only threads with this in their name", oninput: (event) => drawn.filter({ text: event.target.value }) }),
        el("label", {}, el("input", { type: "checkbox", id: "threads-here", onchange: (event) => drawn.filter({ here: event.target.checked }) }), " only those that were active in the part shown"),
        legend([["running", "it ran on a CPU"]])),
      el("div", { class: "timeline" }, drawn.threadPane.element));
  section.append(el("ul", { class: "reduced", id: "reduced" }, ...reductions(timeline).map((text) => el("li", {}, text))));
  onSearch((text) => drawn.filter({ text }));
  return { element: section, places: placesOn(drawn) };
}
