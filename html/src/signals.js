// SPDX-License-Identifier: BSD-2-Clause
// The section on signals: who sends them to whom, and what becomes of them.
import { el, printable } from "./dom.js";
import { count, countsText } from "./format.js";
import { caveats } from "./summary.js";
import { numberColumn as number, table, timeColumns } from "./table.js";

const signal = { title: "Signal", text: (row) => row.signal ?? "(others)" };

function nameOf(process) {
  if (process === "kernel") return "(kernel)";
  return printable(process.pid === null ? `(thread ${process.tid})` : `${process.comm || "?"} ${process.pid}`);
}

// A column of processes, which `of(row)` returns.
const processColumn = (title, of) => ({ title, text: (row) => (row.others ? "" : nameOf(of(row))) });
const firstOf = (window) => timeColumns("First after", window, (row) => row.first_ns);

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
          processColumn("From", (row) => row.from),
          processColumn("To", (row) => row.to),
          number("Sent", (row) => row.count),
          { title: "What the kernel did", wide: true, text: (row) => countsText(row.results).replaceAll("_", " ") },
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
          processColumn("Process", (row) => row),
          number("Received", (row) => row.count),
          number("Handled", (row) => row.handled, "By a function of the process"),
          number("Not handled", (row) => row.count - row.handled, "By the default action of the signal"),
          ...firstOf(window),
        ],
      }));
  if (signals.lost !== 0) section.append(el("p", { class: "note" }, `${count(signals.lost)} events of signals were lost.`));
  return section;
}
