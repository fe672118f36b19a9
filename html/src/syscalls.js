// SPDX-License-Identifier: BSD-2-Clause
// The section on system calls.
import { histogram } from "./charts.js";
import { el, printable } from "./dom.js";
import { count, countsText, duration, plural } from "./format.js";
import { caveats } from "./summary.js";
import { numberColumn as number, table, timeColumns } from "./table.js";

const time = (title, key, help) => ({ title, value: (row) => (row.time.count === 0 ? null : row.time[key]), text: (row) => (row.time.count === 0 ? "–" : duration(row.time[key])), help });
const callOf = (row) => (row.others ? "(others)" : row.syscall);

const kTimes = [
  number("Calls", (row) => row.calls, "That returned"),
  time("Total", "total_ns"), time("Mean", "mean_ns"), time("50 %", "p50_ns"), time("90 %", "p90_ns"),
  time("99 %", "p99_ns"), time("Longest", "max_ns"),
  number("Failed", (row) => row.failed), { title: "Errors", wide: true, text: (row) => countsText(row.errors) },
];

// The distribution of the call that is selected in the table.
function timesOf(syscalls, places) {
  const chart = histogram("syscall-histogram", "How long a system call took");
  const title = el("h3", { id: "syscall-histogram-title" });
  const show = (row) => {
    title.textContent = `How long ${callOf(row)} took`;
    chart.show(row.histogram);
  };
  show(syscalls.calls.rows[0]);
  return el("div", { class: "columns wide-first" },
    el("div", {},
      el("h3", {}, "By call"), el("p", { class: "note" }, "A click on a row shows its distribution."),
      table({ id: "calls-table", rows: syscalls.calls.rows, of: syscalls.calls.of, sorted: "Total", pick: show, place: (row) => (row.others ? null : places.call(row.syscall)) ?? places.first(row), columns: [{ title: "System call", text: callOf }, ...kTimes] })),
    el("div", {}, title, chart.element));
}

function slowest(syscalls, window, places) {
  return table({
    id: "slowest-table", rows: syscalls.slowest, place: (row) => places.span(row.ts, row.ns),
    columns: [
      ...timeColumns("Began after", window, (row) => row.ts),
      { title: "Took", value: (row) => row.ns, text: (row) => duration(row.ns) },
      { title: "Thread", text: (row) => printable(`${row.comm || "?"} ${row.tid}`) },
      { title: "Call", text: (row) => `${row.syscall}(${row.args.join(", ")}) = ${row.ret}${row.error ? ` ${row.error}` : ""}` },
    ],
  });
}

// Calls without a beginning or an end.
function notes(syscalls) {
  const texts = [
    ["running", "had not returned at the end"],
    ["begun_before", "began before the window, or their beginning is missing: counted, not timed"],
    ["end_unseen", "did not end in the trace although their thread went on"],
    ["uncertain", "ran while events were lost: counted, not timed"],
  ];
  return texts.filter(([key]) => syscalls[key] !== 0).map(([key, text]) => el("p", { class: "note" }, `${plural(syscalls[key], "call")} ${text}.`));
}

// `places`: placesOn() the timeline.
export function syscallSection(data, places) {
  const { syscalls } = data;
  const section = el("section", { id: "syscalls" }, el("h2", {}, "System calls"), caveats(syscalls.caveats));
  if (syscalls.calls.rows.length === 0) {
    section.append(el("p", { class: "note" }, "The page has no system calls."));
    return section;
  }
  section.append(
    timesOf(syscalls, places),
    el("h3", {}, "By process"),
    table({
      id: "process-calls-table", rows: syscalls.processes.rows, of: syscalls.processes.of, sorted: "Total",
      place: (row) => (row.others ? null : row.pid === null ? places.thread(row.tid, "?") : places.call(row.syscall, row.pid)) ?? places.first(row),
      columns: [
        { title: "PID", value: (row) => row.pid ?? null, text: (row) => (row.others ? "" : String(row.pid ?? "?")) },
        { title: "Process", text: (row) => (row.others ? "" : printable(row.pid === null ? `(thread ${row.tid})` : row.comm ?? "?")) },
        { title: "System call", text: callOf }, ...kTimes,
      ],
    }),
    el("h3", {}, "Slowest calls"),
    slowest(syscalls, data.window, places), ...notes(syscalls));
  return section;
}
