// SPDX-License-Identifier: BSD-2-Clause
// The section on signals: who sends them to whom, and what becomes of them.
import { el, printable } from "./dom.js";
import { count, duration } from "./format.js";
import { caveats } from "./summary.js";
import { clockColumn, table } from "./table.js";

const number = (title, value, help) => ({ title, value, text: (row) => count(value(row)), help });
const signal = { title: "Signal", text: (row) => row.signal ?? "(others)" };

function nameOf(process) {
  if (process === "kernel") return "(kernel)";
  return printable(process.pid === null ? `(thread ${process.tid})` : `${process.comm || "?"} ${process.pid}`);
}

const resultsOf = (row) => Object.entries(row.results).map(([result, n]) => `${result.replaceAll("_", " ")} ${count(n)}`).join(", ");

const firstOf = (window) => [
  { title: "First after", value: (row) => row.first_ns, text: (row) => duration(row.first_ns - window.begin_ns) },
  ...clockColumn(window, (row) => row.first_ns),
];

// `places`: placesOn() the timeline.
export function signalSection(data, places) {
  const { signals, window } = data;
  const section = el("section", { id: "signals" }, el("h2", {}, "Signals"), caveats(signals.caveats));
  if (signals.sent.rows.length === 0 && signals.received.rows.length === 0) {
    section.append(el("p", { class: "note" }, "The page has no signals: the events signal_generate and signal_deliver record them."));
    return section;
  }
  if (signals.sent.rows.length !== 0)
    section.append(
      el("h3", {}, "Who sends signals to whom"),
      table({
        id: "sent-signals-table", rows: signals.sent.rows, of: signals.sent.of, sorted: "Sent", place: places.first,
        columns: [
          signal,
          { title: "From", text: (row) => (row.others ? "" : nameOf(row.from)) },
          { title: "To", text: (row) => (row.others ? "" : nameOf(row.to)) },
          number("Sent", (row) => row.count),
          { title: "What the kernel did", wide: true, text: resultsOf },
          ...firstOf(window),
        ],
      }));
  if (signals.received.rows.length !== 0)
    section.append(
      el("h3", {}, "Whom they reach"),
      table({
        id: "received-signals-table", rows: signals.received.rows, of: signals.received.of, sorted: "Received", place: places.first,
        columns: [
          signal,
          { title: "Process", text: (row) => (row.others ? "" : nameOf(row)) },
          number("Received", (row) => row.count),
          number("Handled", (row) => row.handled, "By a function of the process"),
          number("Not handled", (row) => row.count - row.handled, "By the default action of the signal"),
          ...firstOf(window),
        ],
      }));
  if (signals.lost !== 0) section.append(el("p", { class: "note" }, `${count(signals.lost)} events of signals were lost.`));
  return section;
}
