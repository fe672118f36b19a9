// SPDX-License-Identifier: BSD-2-Clause
// The section on scheduling.
import { histogram } from "./charts.js";
import { el, printable } from "./dom.js";
import { count, duration, percent } from "./format.js";
import { caveats } from "./summary.js";
import { numberColumn as number, table, timeColumns } from "./table.js";

const time = (title, value, help) => ({ title, value, text: (row) => duration(value(row)), help });
// A value of a distribution that may be empty.
const latency = (title, key) => ({ title, value: (row) => (row.delay.count === 0 ? null : row.delay[key]), text: (row) => (row.delay.count === 0 ? "–" : duration(row.delay[key])) });

function threads(sched, places) {
  return table({
    id: "threads-table", rows: sched.threads.rows, of: sched.threads.of, sorted: "On CPU",
    place: (row) => (row.others ? null : places.thread(row.tid, row.comm || "?") ?? places.first(row)),
    columns: [
      { title: "TID", value: (row) => row.tid ?? null, text: (row) => (row.others ? "" : String(row.tid)) },
      { title: "Thread", text: (row) => (row.others ? "(others)" : printable(row.comm || "?")) },
      { title: "On CPU", value: (row) => row.on_cpu_ns, text: (row) => (row.on_cpu_ns === null ? "–" : duration(row.on_cpu_ns)), help: "Time it ran, from its first switch on" },
      number("Switches", (row) => row.switched_in, "How often it began to run"),
      number("Slept", (row) => row.slept, "How often it stopped to wait for something"),
      number("Preempted", (row) => row.preempted, "How often it stopped although it could have gone on"),
      time("For", (row) => row.preempted_ns, "How long it waited to run again after that"),
      number("Migrated", (row) => row.migrations, "Moves to another CPU"),
      latency("Delay 50 %", "p50_ns"), latency("99 %", "p99_ns"), latency("Longest", "max_ns"),
    ],
  });
}

function longest(sched, window, places) {
  return table({
    id: "delays-table", rows: sched.longest, place: (row) => places.span(row.ts, row.ns),
    columns: [
      ...timeColumns("Woken after", window, (row) => row.ts),
      time("Delay", (row) => row.ns),
      number("CPU", (row) => row.cpu),
      { title: "Thread", text: (row) => printable(`${row.comm || "?"} ${row.tid}`) },
      { title: "Ran instead", text: (row) => (row.instead === null ? "?" : printable(`${row.instead.comm || "?"} ${row.instead.tid} for ${duration(row.instead.ns)}`)) },
    ],
  });
}

// `places`: placesOn() the timeline.
export function schedSection(data, places) {
  const { sched } = data;
  const section = el("section", { id: "sched" }, el("h2", {}, "Scheduling"), caveats(sched.caveats));
  if (sched.threads.rows.length === 0) {
    section.append(el("p", { class: "note" }, "The page has no scheduling events."));
    return section;
  }
  const chart = histogram("delay-histogram", "How long threads waited from being woken to running");
  chart.show(sched.histogram);
  const { delay } = sched;
  section.append(
    el("div", { class: "columns" },
      el("div", {},
        el("h3", {}, "From being woken to running"),
        el("p", { class: "note" }, delay.count === 0 ? "No delay could be measured."
          : `${count(delay.count)} delays: half at most ${duration(delay.p50_ns)}, 99 % at most ${duration(delay.p99_ns)}, the longest ${duration(delay.max_ns)}.`),
        delay.count === 0 ? null : chart.element),
      el("div", {},
        el("h3", {}, "CPUs"),
        table({
          id: "sched-cpus-table", rows: sched.cpus, place: (row) => places.cpu(row.cpu),
          columns: [
            number("CPU", (row) => row.cpu),
            time("Busy", (row) => row.busy_ns), time("Idle", (row) => row.idle_ns), time("Unknown", (row) => row.unknown_ns),
            { title: "Busy, share", value: (row) => row.busy_ns / (row.busy_ns + row.idle_ns + row.unknown_ns || 1), text: (row) => percent(row.busy_ns, row.busy_ns + row.idle_ns + row.unknown_ns) },
            number("Switches", (row) => row.switches),
          ],
        }))),
    el("h3", {}, "Threads"), threads(sched, places),
    el("h3", {}, "Longest delays"),
    longest(sched, data.window, places));
  if (sched.uncertain !== 0)
    section.append(el("p", { class: "note" }, `${count(sched.uncertain)} times are not counted, because events are missing in them.`));
  return section;
}
