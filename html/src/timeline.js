// SPDX-License-Identifier: BSD-2-Clause
// The section with the timeline: CPUs above, system calls of threads below.
import { el, printable } from "./dom.js";
import { count, duration, offset, percent, plural, wallClock } from "./format.js";
import { kNoLane, kSleeping, kStates, Lane, lanesByCpu } from "./lanes.js";
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
    note: mostOf(cpu),
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

function threadRows({ timeline, syscalls }) {
  const colours = timeline.syscalls.map(colouring(distinctColours(syscalls.calls.rows.map((row) => row.syscall))));
  return timeline.threads.lanes.map((thread) => ({
    label: printable(`${thread.comm || "?"} ${thread.tid}`),
    ending: ` ${thread.tid}`, // distinguishes threads of one name
    note: timeline.run.of === 0 ? undefined : duration(thread.ran_ns),
    tid: thread.tid,
    pid: thread.pid,
    lane: new Lane(thread.calls),
    states: new Lane(thread.states),
    tall: thread.calls.gap.length === 0, // there is nothing else in it
    name: (what) => timeline.syscalls[what],
    colour: (what) => colours[what],
    keyOf: (what) => ({ call: what, text: timeline.syscalls[what] }),
    keyOfAll: { tid: thread.tid, text: taskText(thread) },
    matches(what, key) {
      if (key.call !== undefined) return key.call === what;
      if (key.name !== undefined) return printable(taskName(thread)) === key.name;
      return key.pid !== undefined ? thread.pid === key.pid : thread.tid === key.tid;
    },
    describe(i) {
      return [timeline.syscalls[this.lane.what[i]], taskText(thread), ...timesOf(this.lane, i, "calls")];
    },
    describeState(i) {
      return [kStates[this.states.what[i]], taskText(thread), ...timesOf(this.states, i, "states")];
    },
  }));
}

// A word as a shell takes it.
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const are = (n, what) => `${plural(n, what)} ${n === 1 ? "is" : "are"}`;

// What the drawing leaves out: a list of sentences for each part of it, and of those that do not belong to one. A part that does not draw
// all that happened says with which command all of it is shown.
function reductions({ timeline, sources }) {
  const { run, threads, losses } = timeline;
  const paths = sources.map(({ path }) => quoted(printable(path))).join(" ");
  const sentences = { cpus: [], threads: [], all: [] };
  const drawn = (part, what, table, tables) => {
    if (table.of === 0) return;
    if (table.grain_ns === 0) {
      sentences.all.push(`All ${count(table.of)} ${what} are drawn as they happened.`);
      return;
    }
    const sql = tables.map((name) => `SELECT * FROM ${name}`).join("; ");
    sentences[part].push(
      `${count(table.of)} ${what} are drawn as ${count(table.slices)} slices: those shorter than ` +
      `${duration(table.grain_ns)} may be joined with their neighbours (striped). Counts and times are exact; ` +
      `the name is the one with the most time. All of them: ktracectl query ${paths} "${sql}"`);
  };
  drawn("cpus", "times that a thread ran", run, ["runs"]);
  drawn("threads", "states of threads", threads.states, ["runs", "waits"]);
  drawn("threads", "system calls", threads.calls, ["calls"]);
  if (threads.of > threads.lanes.length)
    sentences.threads.push(
      `Of ${count(threads.of)} threads or more, the ${count(threads.lanes.length)} with the most ${run.of === 0 ? "calls" : "CPU time"} have a lane; ` +
      `${are(threads.left_out_calls, "call")} of the others, and not drawn. One of them: ktracectl report html ${paths} --tid TID -o thread.html`);
  if (threads.uncertain_calls !== 0)
    sentences.all.push(`${are(threads.uncertain_calls, "call")} not drawn, because the beginning or the end is not in the trace.`);
  if (losses.grain_ns !== 0)
    sentences.all.push(`Losses closer than ${duration(losses.grain_ns)} to each other have one mark.`);
  return sentences;
}

// No element if there are none.
const listOf = (id, sentences) => (sentences.length === 0 ? [] : [el("ul", { class: "reduced", id }, ...sentences.map((text) => el("li", {}, text)))]);

class Timeline {
  constructor(data) {
    const length = data.window.end_ns - data.window.begin_ns;
    this.range = new TimeRange(length);
    this.data = data;
    this.highlight = null;
    this.nameButtons = []; // of the legend: { name, button }
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
    this.threadPane = new Pane(this, kTallestThreads, "States and system calls of threads");
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
    for (const { name, button } of this.nameButtons) button.setAttribute("aria-pressed", String(this.highlight?.name === name));
    this.picked.textContent = this.highlight === null ? "" : `Only ${printable(this.highlight.text)} is coloured; click beside it for all.`;
    this.redraw();
  }

  // Rows of threads with `text` in their name or number; with `here` only those that were active
  // in the part shown.
  filter({ text = this.shown.text, here = this.shown.here }) {
    this.shown = { text, here };
    const { begin, end } = this.range;
    const inPart = (lane, isActive = () => true) => {
      for (let i = lane.firstAfter(begin); i < lane.size && lane.begin[i] < end; i += 1) if (isActive(lane.what[i])) return true;
      return false;
    };
    this.threadPane.rows = this.threads.filter((row) => row.label.toLowerCase().includes(text.toLowerCase()) && (!here || inPart(row.lane) || inPart(row.states, (state) => state !== kSleeping)));
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

const statesLegend = ({ timeline: { threads } }) => legend([
  ...(threads.states.of === 0 ? [] : [["running", "running"], ["runnable", "runnable, waits for a CPU"], ["sleeping", "sleeping"]]),
  ...(threads.calls.of === 0 ? [] : [["call", "in a system call"]]),
]);

// The colours of names on the CPUs; a click colours only the threads of that name.
function namesLegend(timeline) {
  const key = ([name, colour]) =>
    el("button", { type: "button", title: "Colour only these", "aria-pressed": "false", onclick: () => timeline.pick({ name, text: name }) }, el("i", { class: "key", style: `background: ${colour}` }), el("span", {}, name));
  timeline.nameButtons = timeline.legend.map((of) => ({ name: of[0], button: key(of) }));
  return el("div", { class: "names", id: "names-legend" }, ...timeline.nameButtons.map(({ button }) => button));
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
  const left = reductions(data);
  section.append(
    toolbar(drawn),
    ...listOf("reduced-cpus", left.cpus),
    el("div", { class: "timeline" }, drawn.overview.element, drawn.axis, drawn.cpuPane.element),
    namesLegend(drawn),
    legend([["unknown", "not known what ran"], ["loss", "events were lost"], ["joined", "several drawn as one"], ["idle", "idle"]]),
    el("p", { class: "note", id: "timeline-hint" }, ...hints, drawn.picked));
  if (drawn.threads.length !== 0)
    section.append(
      el("div", { class: "heading" }, el("h3", {}, "Threads"),
        el("input", { type: "search", id: "thread-filter", placeholder: "Threads named…", "aria-label": "Show only threads with this in their name", oninput: (event) => drawn.filter({ text: event.target.value }) }),
        el("label", {}, el("input", { type: "checkbox", id: "threads-here", onchange: (event) => drawn.filter({ here: event.target.checked }) }), " only those that were active in the part shown"),
        statesLegend(data)),
      ...listOf("reduced-threads", left.threads),
      el("div", { class: "timeline" }, drawn.threadPane.element));
  section.append(...listOf("reduced", left.all));
  onSearch((text) => drawn.filter({ text }));
  return { element: section, places: placesOn(drawn), range: drawn.range };
}
