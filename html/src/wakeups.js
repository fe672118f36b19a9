// SPDX-License-Identifier: BSD-2-Clause
// The section on wake-ups: who wakes whom, and how long they wait then.
import { el, printable } from "./dom.js";
import { duration } from "./format.js";
import { caveats } from "./summary.js";
import { numberColumn as number, table, timeColumns } from "./table.js";

const time = (title, value, help) => ({ title, value, text: (row) => (value(row) === null ? "–" : duration(value(row))), help });

const INTERRUPTS = { hardirq: "hard interrupt", nmi: "NMI" };

// A thread as { tid, comm }, with the context if that is "softirq"; or the other interrupts of a CPU as
// { context, cpu }; null: not known.
function nameOf(thread) {
  if (thread?.cpu !== undefined) return `${INTERRUPTS[thread.context]} (on CPU ${thread.cpu})`;
  if (thread === null || thread.tid === null) return "(unknown)";
  const inSoftInterrupt = thread.context === "softirq";
  if (thread.tid === 0) return inSoftInterrupt ? "(soft interrupt of an idle CPU)" : "(interrupt of an idle CPU)";
  return printable(`${thread.comm || "?"} ${thread.tid}`) + (inSoftInterrupt ? ", in a soft interrupt" : "");
}

function pairs(wakeups, window, places) {
  return table({
    id: "wakeup-pairs-table", rows: wakeups.pairs.rows, of: wakeups.pairs.of, sorted: "Count", place: (row) => places.span(row.max_ts, row.max_ns),
    columns: [
      { title: "Woken by", text: (row) => (row.others ? "(others)" : nameOf(row.waker)) },
      { title: "Thread", text: (row) => (row.others ? "(others)" : nameOf(row)) },
      number("Count", (row) => row.count),
      time("Waited", (row) => row.total_ns, "From being woken to running, all together"),
      time("Mean", (row) => row.total_ns / row.count),
      time("Longest", (row) => row.max_ns),
      ...timeColumns("Longest after", window, (row) => row.max_ts, "When it was woken"),
    ],
  });
}

function wakers(wakeups, places) {
  const delay = (key) => (row) => (row.delay.count === 0 ? null : row.delay[key]);
  return table({
    id: "wakers-table", rows: wakeups.wakers.rows, of: wakeups.wakers.of, sorted: "Count",
    place: (row) => (row.tid ? places.thread(row.tid, row.comm || "?") : null) ?? places.first(row),
    columns: [
      { title: "Waker", text: (row) => (row.others ? "(others)" : nameOf(row)) },
      number("Count", (row) => row.count),
      time("They waited", delay("total_ns"), "From being woken to running, all together"),
      time("50 %", delay("p50_ns")), time("99 %", delay("p99_ns")), time("Longest", delay("max_ns")),
    ],
  });
}

// `places`: placesOn() the timeline.
export function wakeupSection(data, places) {
  const { wakeups } = data;
  const section = el("section", { id: "wakeups" }, el("h2", {}, "Wake-ups"));
  if (wakeups.pairs.rows.length === 0) {
    section.append(el("p", { class: "note" }, "The page has no wake-up whose thread is known to have run then: the events sched_waking, sched_wakeup and sched_switch record them."));
    return section;
  }
  section.append(
    ...[caveats(wakeups.caveats)].filter((part) => part !== null),
    el("h3", {}, "Who wakes whom"), pairs(wakeups, data.window, places),
    el("h3", {}, "Who wakes others"), wakers(wakeups, places));
  if (wakeups.wakers_are_guessed)
    section.append(el("p", { class: "note" }, "Some wake-ups lack sched_waking: their wakers are what ran on the CPU of sched_wakeup."));
  return section;
}
