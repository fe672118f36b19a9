// SPDX-License-Identifier: BSD-2-Clause
// The section on files: paths of system calls.
import { el, printable } from "./dom.js";
import { count, countsText, duration } from "./format.js";
import { caveats } from "./summary.js";
import { table, timeColumns } from "./table.js";

const number = (title, key, help) => ({ title, value: (row) => row[key] ?? null, text: (row) => (row[key] === undefined ? "" : count(row[key])), help });
const time = { title: "Time", value: (row) => (row.time.count === 0 ? null : row.time.total_ns), text: (row) => (row.time.count === 0 ? "–" : duration(row.time.total_ns)), help: "Of all calls together" };

// "fd 5: lib.so", "/a (old path)"
function pathOf(row) {
  if (row.others) return "(others)";
  let text = row.unreadable ? "(unreadable)" : printable(row.path) || '""';
  if (row.cut) text += "…";
  if (typeof row.relative_to === "number") text = `fd ${row.relative_to}: ${text}`;
  return row.role === "path" ? text : `${text} (${row.role.replace("_", " ")})`;
}

const processOf = (row) => (row.others ? "(others)" : printable(row.pid === null ? `(thread ${row.tid})` : row.comm || "?"));
const kProcess = [
  { title: "PID", value: (row) => row.pid ?? null, text: (row) => (row.others ? "" : String(row.pid ?? "?")) },
  { title: "Process", text: processOf },
];
const kUse = [
  number("Calls", "calls", "That returned"), number("Opens", "opens", "Of these, that opened it"),
  number("Failed", "failed", "With an error"), time,
];
const path = { title: "Path", wide: true, text: pathOf };
const errors = { title: "Errors", wide: true, text: (row) => countsText(row.errors) };

function failures(files, window, places) {
  return table({
    id: "failures-table", rows: files.failures.rows, of: files.failures.of, sorted: "Failed",
    place: (row) => places.moment(row.last_ns),
    columns: [
      number("Failed", "count"), path,
      { title: "Error", text: (row) => row.error ?? "" }, { title: "System call", text: (row) => row.syscall ?? "" },
      ...kProcess,
      ...timeColumns("Last after", window, (row) => row.last_ns),
    ],
  });
}

// `places`: placesOn() the timeline.
export function fileSection(data, places) {
  const { files } = data;
  const section = el("section", { id: "files" }, el("h2", {}, "Files"));
  if (files.paths.rows.length === 0) {
    section.append(el("p", { class: "note" }, "The page has no paths of system calls: the events sys_enter_string and sys_exit_string record them."));
    return section;
  }
  section.append(
    ...[caveats(files.caveats)].filter((part) => part !== null),
    el("h3", {}, "By path"),
    table({ id: "paths-table", rows: files.paths.rows, of: files.paths.of, sorted: "Calls", place: places.first, columns: [path, ...kUse, number("Processes", "processes"), errors] }));
  if (files.failures.rows.length !== 0) section.append(el("h3", {}, "What failed"), failures(files, data.window, places));
  section.append(
    el("h3", {}, "By process"),
    table({
      id: "file-processes-table", rows: files.processes.rows, of: files.processes.of, sorted: "Calls",
      place: (row) => (row.others || row.pid === null ? null : places.process(row.pid, row.comm || "?")),
      columns: [...kProcess, ...kUse, number("Paths", "paths"), errors],
    }));
  const missing = files.path_unseen + files.call_unseen;
  if (missing !== 0) section.append(el("p", { class: "note" }, `Of ${count(missing)} calls, the path or the call itself is not in the trace.`));
  return section;
}
