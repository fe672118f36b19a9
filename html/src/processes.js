// SPDX-License-Identifier: BSD-2-Clause
// The section on processes.
import { el, printable } from "./dom.js";
import { count, duration } from "./format.js";
import { caveats } from "./summary.js";
import { clockColumn, table } from "./table.js";

const known = (value, text) => (value === null || value === undefined ? "–" : text(value));
const nameOf = (process) => process.comm || "?";

function endOf({ end }) {
  if (end.how === "exited") return `exit status ${end.status}`;
  if (end.how === "unknown") return `? (${end.because})`;
  if (end.how !== "killed") return end.how;
  const { from } = end.signal;
  const sender = from === null ? "" : from === "kernel" ? " by the kernel" : ` by ${nameOf(from)} ${from.pid}`;
  return `${end.signal.name}${sender}${end.signal.core ? ", core dumped" : ""}`;
}

// Its end is not in the trace.
const isOpen = ({ end }) => end.how === "running" || end.how === "unknown";

// As runtimes show it: the first digits of a container's id, else the path.
const groupOf = ({ container, cgroup }) => (container ? container.replace(/^([0-9a-f]{12})[0-9a-f]+$/, "$1") : cgroup ?? "?");

// `places`: placesOn() the timeline.
export function processSection(data, places) {
  const { processes } = data;
  const section = el("section", { id: "processes" }, el("h2", {}, "Processes"), caveats(processes.caveats));
  if (processes.processes.rows.length === 0) {
    section.append(el("p", { class: "note" }, "The page has no events of processes."));
    return section;
  }
  section.append(table({
    id: "lives-table", rows: processes.processes.rows, of: processes.processes.of, sorted: "CPU time",
    place: (row) => (row.pid === null ? null : places.process(row.pid, nameOf(row))) ?? places.first(row),
    columns: [
      { title: "PID", value: (row) => row.pid ?? null, text: (row) => String(row.pid ?? "?") },
      { title: "Process", text: (row) => printable(row.pid === null ? `(thread ${row.tid})` : nameOf(row)) },
      { title: "Parent", text: (row) => known(row.parent, (parent) => printable(`${nameOf(parent)} ${parent.pid}`)) },
      { title: "Started after", value: (row) => (row.forked ? row.start_ns : null), text: (row) => (row.forked ? duration(Math.max(0, row.start_ns - data.window.begin_ns)) : "before"), help: "Of those that were forked in the trace" },
      ...clockColumn(data.window, (row) => row.start_ns ?? null),
      { title: "Lived", value: (row) => row.lifetime_ns, text: (row) => known(row.lifetime_ns, (ns) => (isOpen(row) ? `> ${duration(ns)}` : duration(ns))), help: "Up to the end of the trace, if it runs then: more than that" },
      { title: "CPU time", value: (row) => row.cpu_ns, text: (row) => known(row.cpu_ns, duration) },
      { title: "End", text: (row) => printable(endOf(row)) },
      { title: "Program", wide: true, text: (row) => printable(row.argv ?? row.program ?? "") },
      { title: "Threads", value: (row) => row.threads, text: (row) => count(row.threads), help: "That were created in the trace" },
      { title: "Control group", wide: true, text: (row) => printable(groupOf(row)), help: "Of a container its short id; the path is in the JSON of report processes" },
    ],
  }));
  if (processes.not_followed !== 0)
    section.append(el("p", { class: "note" }, `${count(processes.not_followed)} events are of processes beyond the limit.`));
  return section;
}
