// SPDX-License-Identifier: BSD-2-Clause
// The section on kernel memory.
import { nodeColour, treemap } from "./charts.js";
import { el, printable } from "./dom.js";
import { bytes, count, duration, percent } from "./format.js";
import { caveats } from "./summary.js";
import { numberColumn as number, table } from "./table.js";

const size = (title, value, help) => ({ title, value, text: (row) => bytes(value(row)), help });

const kUse = [
  number("Count", (row) => row.count, "Allocations that succeeded"),
  size("Requested", (row) => row.requested),
  size("Given", (row) => row.given),
  size("Waste", (row) => row.waste, "Given, but not requested"),
  { title: "Waste, share", value: (row) => (row.given === 0 ? null : row.waste / row.given), text: (row) => percent(row.waste, row.given) },
  number("Freed", (row) => row.freed, "Freed in the window"),
  number("Elsewhere", (row) => row.freed_elsewhere, "Of these, on another CPU"),
  number("Unseen", (row) => row.freed_unseen, "Freed without an event: the address was allocated again"),
  number("Held", (row) => row.held, "Not freed up to the end of the window"),
  size("Held bytes", (row) => row.held_bytes),
  number("Uncertain", (row) => row.uncertain, "Held, but perhaps freed: the free may be missing in the trace"),
  { title: "Oldest", value: (row) => (row.held === 0 ? null : row.oldest_ns), text: (row) => (row.held === 0 ? "–" : duration(row.oldest_ns)) },
];

const siteOf = (row) => (row.others ? "(others)" : printable(row.symbol ?? row.call_site));
const functionOf = (row) => siteOf(row).replace(/\+0x.*$/, "");

const taskOf = (row) => (row.others ? "(others)" : printable(row.pid === null ? `(thread ${row.tid})` : row.comm || "?"));
const nodeOf = (node) => (node === null ? "?" : String(node));

// The tables, and the names of their rows.
const kTables = [
  ["call_sites", "By call site", [{ title: "Call site", text: siteOf }, { title: "Type", text: (row) => row.type ?? "" }]],
  ["caches", "By cache", [{ title: "Cache", text: (row) => (row.others ? "(others)" : printable(row.cache ?? `? (${row.size} bytes each)`)) }]],
  ["sizes", "By size of kmalloc", [{ title: "Bytes", value: (row) => row.size ?? null, text: (row) => (row.others ? "(others)" : count(row.size)) }]],
  ["tasks", "By process", [{ title: "PID", value: (row) => row.pid ?? null, text: (row) => String(row.pid ?? "") }, { title: "Process", text: taskOf }]],
  ["orders", "Pages by order", [{ title: "Order", value: (row) => row.order ?? null, text: (row) => String(row.order ?? "") }]],
  ["task_sites", "By process and call site", [{ title: "PID", value: (row) => row.pid ?? null, text: (row) => String(row.pid ?? "") }, { title: "Process", text: taskOf }, { title: "Call site", text: siteOf }, { title: "Type", text: (row) => row.type ?? "" }]],
  ["gfp_flags", "By GFP flags", [{ title: "Flags", text: (row) => (row.others ? "(others)" : printable(row.gfp_flags_names)) }]],
  ["nodes", "By NUMA node", [{ title: "Node", value: (row) => row.page_node, text: (row) => nodeOf(row.page_node) }, { title: "Node asked for", value: (row) => row.node, text: (row) => (row.node === null ? "any" : nodeOf(row.node)) }]],
];

// Types of memory contain functions, which contain call sites. One more node stands for the call
// sites that the table does not have.
function nodesOf(kmem, key) {
  const types = new Map();
  for (const row of kmem.call_sites.rows) {
    if (row[key] === 0) continue;
    const functions = types.get(row.type ?? "others") ?? new Map();
    types.set(row.type ?? "others", functions);
    const sites = functions.get(functionOf(row)) ?? [];
    functions.set(functionOf(row), sites);
    sites.push({
      name: siteOf(row), value: row[key], itemStyle: nodeColour(functionOf(row)),
      notes: [`${count(row.count)} allocations, ${count(row.held)} held`, `${bytes(row.waste)} wasted`],
    });
  }
  return [...types].map(([type, functions]) => {
    const children = [...functions].map(([name, sites]) => (sites.length === 1 ? sites[0] : groupOf(name, sites)));
    const listed = sum(children);
    const rest = (kmem.types[type]?.[key] ?? listed) - listed;
    if (rest > 0) children.push({ name: "call sites beyond the table", value: rest, itemStyle: nodeColour("rest") });
    return { name: type, value: listed + Math.max(0, rest), children };
  });
}

const sum = (nodes) => nodes.reduce((total, node) => total + node.value, 0);
const groupOf = (name, sites) => ({ name, value: sum(sites), itemStyle: nodeColour(name), children: sites });

function map(kmem) {
  const chart = treemap("kmem-treemap", "Bytes by call site");
  const choices = [["given", "given"], ["held_bytes", "held"], ["waste", "wasted"]];
  const buttons = choices.map(([key, text]) =>
    el("button", { type: "button", "data-key": key, onclick: () => show(key, text) }, text));
  const show = (key, text) => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.key === key)));
    chart.show(nodesOf(kmem, key), text);
  };
  show(...choices[0]);
  return [
    el("div", { class: "heading" }, el("h3", {}, "Bytes by call site"), el("span", { class: "buttons" }, ...buttons),
      el("span", { class: "note" }, "Click a box to zoom in; click the line below to go back. Pages have no call site.")),
    chart.element];
}

function totals(data, places) {
  return table({
    id: "kmem-types-table",
    rows: Object.entries(data.kmem.types).map(([type, use]) => ({ type, ...use })),
    place: (row) => (row.count === 0 ? null : placeOf(row, data, places)),
    columns: [{ title: "Type", text: (row) => row.type }, ...kUse,
      number("Unknown frees", (row) => row.frees.unknown, "The allocation was before the window, was in bulk, or is missing")],
  });
}

// Where the oldest allocation that is held was made, else the first one; a process is shown by its own times.
function placeOf(row, data, places) {
  const process = row.pid !== undefined && row.pid !== null && !row.others ? places.process(row.pid, row.comm || "?") : null;
  return process ?? (row.held === 0 ? places.first(row) : places.moment(data.window.end_ns - row.oldest_ns));
}

// `places`: placesOn() the timeline.
export function kmemSection(data, places) {
  const { kmem } = data;
  const section = el("section", { id: "kmem" }, el("h2", {}, "Kernel memory"), caveats(kmem.caveats));
  if (Object.values(kmem.types).every((use) => use.count === 0)) {
    section.append(el("p", { class: "note" }, "The page has no allocations."));
    return section;
  }
  section.append(totals(data, places));
  if (kmem.call_sites.rows.length !== 0) section.append(...map(kmem));
  for (const [key, title, columns] of kTables) {
    if (kmem[key].rows.length === 0) continue;
    section.append(el("h3", {}, title),
      table({
        id: `kmem-${key}-table`, rows: kmem[key].rows, of: kmem[key].of, sorted: "Given",
        place: (row) => placeOf(row, data, places), columns: [...columns, ...kUse],
      }));
  }
  if (kmem.lost.allocs + kmem.lost.frees !== 0)
    section.append(el("p", { class: "note" }, `${count(kmem.lost.allocs)} allocations and ${count(kmem.lost.frees)} frees were lost.`));
  if (kmem.not_followed !== 0)
    section.append(el("p", { class: "note" }, `${count(kmem.not_followed)} allocations were not followed, because too many were held.`));
  return section;
}
