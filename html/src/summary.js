// SPDX-License-Identifier: BSD-2-Clause
// The head of the page, and the section with the events of the traces.
import { el, printable } from "./dom.js";
import { count, duration, reachText, windowText } from "./format.js";
import { searchBox } from "./search.js";
import { clockColumn, numberColumn as number, table } from "./table.js";
import { toggleTheme } from "./theme.js";

const tile = (value, what, bad = false) => el("div", { class: bad ? "tile bad" : "tile" }, el("b", {}, value), el("span", {}, what));

const sourceText = (source) =>
  printable(`${source.path}: ${source.kind} of ${source.host}, Linux ${source.kernel}, ` +
    (source.complete ? "complete" : `incomplete: ${source.incomplete_because.join("; ")}`));

// The header, which stays at the top. `sections`: { id, title } of those that it leads to.
export function bar(sections) {
  return [
    el("h1", {}, "ktraced report"),
    el("nav", {}, ...sections.map(({ id, title }) => el("a", { href: `#${id}` }, title))),
    searchBox(),
    el("button", { type: "button", id: "theme", title: "Light or dark", onclick: toggleTheme }, "◐"),
  ];
}

export function head(data) {
  const { total, cpus, processes } = data.summary;
  const reach = reachText(data.window);
  return [
    el("ul", { class: "sources" }, ...data.sources.map((source) => el("li", {}, sourceText(source)))),
    el("p", { class: "when" }, windowText(data.window)),
    reach === null ? null : el("p", { class: "when" }, reach),
    el("div", { class: "tiles" },
      tile(duration(data.window.end_ns - data.window.begin_ns), "window"),
      tile(count(total.events), "events"),
      tile(count(total.lost), "events lost", total.lost !== 0),
      tile(count(total.missed), "hits skipped by the kernel", total.missed !== 0),
      tile(count(cpus.length), "CPUs"),
      tile(count(processes.of), "processes")),
    caveats(data.caveats),
  ];
}

// The caveats of a section.
export function caveats(texts) {
  if (texts.length === 0) return null;
  return el("ul", { class: "caveats" }, ...texts.map((text) => el("li", {}, printable(text))));
}


// `places`: placesOn() the timeline.
export function summarySection(data, places) {
  const { events, cpus, processes } = data.summary;
  const begin = data.window.begin_ns;
  const after = (ns) => duration(ns - begin);
  return el("section", { id: "summary" },
    el("h2", {}, "Events"),
    el("div", { class: "columns" },
      el("div", {},
        el("h3", {}, "By kind"),
        table({
          id: "events-table", sorted: "Events",
          rows: Object.entries(events).map(([name, counts]) => ({ name, ...counts })), place: places.first,
          columns: [
            { title: "Event", text: (row) => printable(row.name) },
            number("Events", (row) => row.events),
            number("Lost", (row) => row.lost, "Did not fit into a ring: missing in the trace, marked at their place"),
            number("Missed", (row) => row.missed, "Skipped by the kernel, which only counts them"),
            number("Overwritten", (row) => row.overwritten, "Older than the history of the flight recorder"),
          ],
        })),
      el("div", {},
        el("h3", {}, "By CPU"),
        table({
          id: "cpus-table", rows: cpus, place: (row) => places.cpu(row.cpu),
          columns: [
            number("CPU", (row) => row.cpu),
            number("Events", (row) => row.events),
            number("Lost", (row) => row.lost),
            ...clockColumn(data.window, (row) => row.first_ns || null),
            { title: "First after", value: (row) => row.first_ns, text: (row) => after(row.first_ns) },
            { title: "Last after", value: (row) => row.last_ns, text: (row) => after(row.last_ns) },
          ],
        }),
        el("h3", {}, "By process"),
        table({
          id: "processes-table", rows: processes.rows, of: processes.of, sorted: "Events",
          place: (row) => (row.pid === null ? places.thread(row.tid, "?") : places.process(row.pid, row.comm || "?")) ?? places.first(row),
          columns: [
            { title: "PID", value: (row) => row.pid, text: (row) => String(row.pid ?? "?") },
            { title: "Process", text: (row) => printable(row.pid === null ? `(thread ${row.tid})` : row.comm || "?") },
            number("Events", (row) => row.events),
          ],
        }))));
}
