// SPDX-License-Identifier: BSD-2-Clause
// A flame graph: functions below their callers, each as wide as its share.
import { el } from "./dom.js";
import { percent } from "./format.js";
import { contextOf, fitted } from "./paint.js";
import { colourOf, kOnPalette, onThemeChange, themeColours } from "./theme.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

// Rows, in pixels: fingers need taller ones than a mouse.
const kForFingers = window.matchMedia("(pointer: coarse), (max-width: 480px)");
const rowHeight = () => (kForFingers.matches ? 26 : 18);
const kTallest = 420;
const kNarrowest = 0.4; // pixels: narrower ones are not drawn
const kWithText = 24; // pixels

// The tree of [stack, value] pairs. A stack is a list of names, the outermost first.
function treeOf(stacks) {
  const root = { name: "all", value: 0, children: new Map(), depth: 0, parent: null };
  let deepest = 0;
  for (const [stack, value] of stacks) {
    root.value += value;
    let node = root;
    for (const name of stack) {
      let child = node.children.get(name);
      if (child === undefined) node.children.set(name, (child = { name, value: 0, children: new Map(), depth: node.depth + 1, parent: node }));
      child.value += value;
      node = child;
    }
    deepest = Math.max(deepest, node.depth);
  }
  return { root, deepest };
}

// The names from the outermost function to this one; empty: of the root.
function pathOf(node) {
  const path = [];
  for (let at = node; at !== null && at.parent !== null; at = at.parent) path.unshift(at.name);
  return path;
}

export class FlameGraph {
  #tree = treeOf([]);
  #zoomed = null; // a node that has the whole width; null: the root
  #before = []; // paths of those that had it before, the last one last
  #focused = null; // the node that keys have reached; null: none
  #row = rowHeight();
  #boxes = []; // those drawn: { node, x, y, width }
  #frame = 0;
  #search = "";

  // `text(value)`: a value with its unit. `empty`: what is said if there is nothing. `onZoom()`: is called when another
  // function has the whole width. `onPlace(path)`: shows the function that has it on the timeline.
  constructor({ id, label, text, empty, onZoom = () => {}, onPlace }) {
    this.text = text;
    this.onZoom = onZoom;
    this.canvas = el("canvas", { role: "img", "aria-label": label });
    this.scroll = el("div", {
      class: "flame", tabindex: "0", role: "group",
      "aria-label": `${label}. Arrows move, Enter gives a function the whole width, Escape goes back, Home shows all.` }, this.canvas);
    this.all = el("button", { type: "button", disabled: true, onclick: () => this.#zoom(null) }, "All");
    this.place = el("button", {
      type: "button", disabled: true, title: "Show on the timeline when this was so, and colour its process",
      onclick: () => onPlace(this.zoomed()) }, "Timeline");
    this.status = el("output", { class: "note" });
    this.nothing = el("p", { class: "note", hidden: true }, empty);
    this.element = el("div", { id }, el("div", { class: "toolbar" }, this.all, this.place, this.status), this.scroll, this.nothing);
    new ResizeObserver(() => this.redraw()).observe(this.scroll);
    kForFingers.addEventListener("change", () => this.redraw());
    onThemeChange(() => this.redraw());
    this.#listen();
  }

  // Shows other stacks; a function that was zoomed into keeps the width if it is still there.
  show(stacks) {
    const path = this.zoomed(), focused = pathOf(this.#focused);
    this.#tree = treeOf(stacks);
    this.#zoomed = this.#at(path);
    this.#focused = this.#at(focused);
    this.nothing.hidden = this.#tree.root.value !== 0;
    this.scroll.hidden = this.#tree.root.value === 0;
    this.redraw();
  }

  // The function that has the whole width, behind those that called it; empty: all have it.
  zoomed() {
    return pathOf(this.#zoomed);
  }

  // Colours only functions with this text, which is in lower case.
  search(text) {
    this.#search = text;
    this.redraw();
  }

  redraw() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #matches(node) {
    return this.#search !== "" && node.name.toLowerCase().includes(this.#search);
  }

  // The node with this path; null: the root, or it is not there.
  #at(path) {
    let node = this.#tree.root;
    for (const name of path) node = node?.children.get(name);
    return path.length === 0 ? null : (node ?? null);
  }

  #zoom(node) {
    const to = node === null || node.parent === null ? null : node;
    if (to === null) this.#before = [];
    else if (to !== this.#zoomed) this.#before.push(this.zoomed());
    this.#show(to);
  }

  // The function that had the whole width before has it again.
  #back() {
    this.#show(this.#at(this.#before.pop() ?? []));
  }

  #show(zoomed) {
    this.#zoomed = zoomed;
    this.redraw();
    this.onZoom();
  }

  #draw() {
    this.#frame = 0;
    this.#showStatus();
    const width = this.scroll.clientWidth;
    if (width === 0) return;
    const { root, deepest } = this.#tree;
    this.#row = rowHeight();
    const height = (deepest + 1) * this.#row;
    this.scroll.style.height = `${Math.min(height + 2, kTallest)}px`;
    const colours = themeColours();
    const context = contextOf(this.canvas, width, height);
    context.font = `11px ${colours.font}`;
    this.#boxes = [];
    const top = this.#zoomed ?? root;
    for (let node = top.parent; node !== null; node = node.parent) this.#paint(context, node, 0, width, colours);
    this.#place(context, top, 0, width, colours);
    const focused = this.#boxOf(this.#focused);
    if (focused !== undefined) this.#outline(context, focused, colours);
  }

  #boxOf(node) {
    return this.#boxes.find((box) => box.node === node);
  }

  #outline(context, { x, y, width }, colours) {
    context.lineWidth = 2;
    context.strokeStyle = colours.text;
    context.strokeRect(x + 1, y + 1, Math.max(width - 2.5, 1), this.#row - 3);
  }

  // A node and those below it. Equal functions are in the same order in every graph.
  #place(context, node, x, width, colours) {
    if (width < kNarrowest) return;
    this.#paint(context, node, x, width, colours);
    let at = x;
    for (const child of [...node.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const part = (child.value / node.value) * width;
      this.#place(context, child, at, part, colours);
      at += part;
    }
  }

  #paint(context, node, x, width, colours) {
    const y = node.depth * this.#row;
    this.#boxes.push({ node, x, y, width });
    const bright = node.parent !== null && (this.#search === "" || this.#matches(node));
    context.fillStyle = bright ? colourOf(node.name) : colours.dimmed;
    context.fillRect(x, y, Math.max(width - 0.5, kNarrowest), this.#row - 1);
    if (width < kWithText) return;
    context.fillStyle = bright ? kOnPalette : colours.text;
    context.fillText(fitted(context, node.name, width - 8), x + 4, y + this.#row / 2);
  }

  // What share of all stacks has a function that matches; once if several do.
  #matching(node) {
    if (this.#matches(node)) return node.value;
    let sum = 0;
    for (const child of node.children.values()) sum += this.#matching(child);
    return sum;
  }

  #showStatus() {
    const { root } = this.#tree;
    this.all.disabled = this.#zoomed === null;
    this.place.disabled = this.#zoomed === null;
    const parts = [root.value === 0 ? "" : this.text(root.value)];
    if (this.#zoomed !== null) parts.push(`${percent(this.#zoomed.value, root.value)} in ${this.#zoomed.name}`);
    if (this.#focused !== null && this.#focused !== this.#zoomed)
      parts.push(`at ${this.#focused.name}: ${this.text(this.#focused.value)}, ${percent(this.#focused.value, root.value)}`);
    if (this.#search !== "" && root.value !== 0) parts.push(`${percent(this.#matching(root), root.value)} with “${this.#search}”`);
    this.status.textContent = parts.filter((part) => part !== "").join(" · ");
  }

  #hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    return this.#boxes.find((each) => y >= each.y && y < each.y + this.#row && x >= each.x && x < each.x + each.width)?.node ?? null;
  }

  #listen() {
    this.canvas.addEventListener("pointermove", (event) => {
      const node = this.#hit(event);
      if (node === null) return hideTooltip();
      const { root } = this.#tree;
      const lines = [node.name, `${this.text(node.value)}, ${percent(node.value, root.value)} of all`];
      if (node.parent !== null && node.parent !== root) lines.push(`${percent(node.value, node.parent.value)} of ${node.parent.name}`);
      showTooltip(event, lines);
    });
    this.canvas.addEventListener("pointerleave", hideTooltip);
    this.canvas.addEventListener("click", (event) => {
      this.#focused = null;
      this.#zoom(this.#hit(event));
    });
    this.scroll.addEventListener("blur", () => this.#focus(null));
    this.scroll.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || !this.#key(event.key)) return;
      event.preventDefault();
    });
  }

  // Does what a key asks for; false: nothing.
  #key(key) {
    const at = this.#boxOf(this.#focused)?.node ?? null;
    const start = this.#zoomed ?? this.#tree.root;
    const moves = {
      ArrowUp: () => at.parent, ArrowDown: () => this.#widestBelow(at),
      ArrowLeft: () => this.#beside(at, -1), ArrowRight: () => this.#beside(at, 1),
    };
    if (Object.hasOwn(moves, key)) this.#focus(at === null ? start : (moves[key]() ?? at));
    else if (key === "Enter" || key === " ") this.#zoom(at ?? start);
    else if (key === "Escape") this.#back();
    else if (key === "Home") this.#zoom(null);
    else return false;
    return true;
  }

  // Only what is drawn can be reached.
  #widestBelow(node) {
    const below = this.#boxes.filter((box) => box.node.parent === node).sort((a, b) => b.width - a.width);
    return below[0]?.node ?? null;
  }

  #beside(node, by) {
    const row = this.#boxes.filter((box) => box.node.depth === node.depth).sort((a, b) => a.x - b.x);
    return row[row.findIndex((box) => box.node === node) + by]?.node ?? null;
  }

  #focus(node) {
    this.#focused = node;
    if (node !== null) {
      const row = this.#row, y = node.depth * row;
      const { scrollTop, clientHeight } = this.scroll;
      if (y < scrollTop) this.scroll.scrollTop = y;
      else if (y + row > scrollTop + clientHeight) this.scroll.scrollTop = y + row - clientHeight;
    }
    this.redraw();
  }
}
