// SPDX-License-Identifier: BSD-2-Clause
// A flame graph: functions below their callers, each as wide as its share.
import { el } from "./dom.js";
import { percent } from "./format.js";
import { contextOf, fitted } from "./paint.js";
import { colourOf, kOnPalette, onThemeChange, themeColours } from "./theme.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const kRow = 18; // pixels
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

export class FlameGraph {
  #tree = treeOf([]);
  #zoomed = null; // a node that has the whole width; null: the root
  #boxes = []; // those drawn: { node, x, y, width }
  #frame = 0;
  #search = "";

  // `text(value)`: a value with its unit. `empty`: what is said if there is nothing. `onZoom()`: is called when another
  // function has the whole width.
  constructor({ id, label, text, empty, onZoom = () => {} }) {
    this.text = text;
    this.onZoom = onZoom;
    this.canvas = el("canvas", { role: "img", "aria-label": label });
    this.scroll = el("div", { class: "flame", tabindex: "0" }, this.canvas);
    this.all = el("button", { type: "button", disabled: true, onclick: () => this.#zoom(null) }, "All");
    this.status = el("output", { class: "note" });
    this.nothing = el("p", { class: "note", hidden: true }, empty);
    this.element = el("div", { id }, el("div", { class: "toolbar" }, this.all, this.status), this.scroll, this.nothing);
    new ResizeObserver(() => this.redraw()).observe(this.scroll);
    onThemeChange(() => this.redraw());
    this.#listen();
  }

  // Shows other stacks; a function that was zoomed into keeps the width if it is still there.
  show(stacks) {
    const path = this.zoomed();
    this.#tree = treeOf(stacks);
    let node = this.#tree.root;
    for (const name of path) node = node?.children.get(name);
    this.#zoomed = path.length === 0 ? null : (node ?? null);
    this.nothing.hidden = this.#tree.root.value !== 0;
    this.scroll.hidden = this.#tree.root.value === 0;
    this.redraw();
  }

  // The function that has the whole width, behind those that called it; empty: all have it.
  zoomed() {
    const path = [];
    for (let node = this.#zoomed; node !== null && node.parent !== null; node = node.parent) path.unshift(node.name);
    return path;
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

  #zoom(node) {
    this.#zoomed = node === null || node.parent === null ? null : node;
    this.redraw();
    this.onZoom();
  }

  #draw() {
    this.#frame = 0;
    this.#showStatus();
    const width = this.scroll.clientWidth;
    if (width === 0) return;
    const { root, deepest } = this.#tree;
    const height = (deepest + 1) * kRow;
    this.scroll.style.height = `${Math.min(height + 2, kTallest)}px`;
    const colours = themeColours();
    const context = contextOf(this.canvas, width, height);
    context.font = `11px ${colours.font}`;
    this.#boxes = [];
    const top = this.#zoomed ?? root;
    for (let node = top.parent; node !== null; node = node.parent) this.#paint(context, node, 0, width, colours);
    this.#place(context, top, 0, width, colours);
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
    const y = node.depth * kRow;
    this.#boxes.push({ node, x, y, width });
    const bright = node.parent !== null && (this.#search === "" || this.#matches(node));
    context.fillStyle = bright ? colourOf(node.name) : colours.dimmed;
    context.fillRect(x, y, Math.max(width - 0.5, kNarrowest), kRow - 1);
    if (width < kWithText) return;
    context.fillStyle = bright ? kOnPalette : colours.text;
    context.fillText(fitted(context, node.name, width - 8), x + 4, y + kRow / 2);
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
    const parts = [root.value === 0 ? "" : this.text(root.value)];
    if (this.#zoomed !== null) parts.push(`${percent(this.#zoomed.value, root.value)} in ${this.#zoomed.name}`);
    if (this.#search !== "" && root.value !== 0) parts.push(`${percent(this.#matching(root), root.value)} with “${this.#search}”`);
    this.status.textContent = parts.filter((part) => part !== "").join(" · ");
  }

  #hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    return this.#boxes.find((each) => y >= each.y && y < each.y + kRow && x >= each.x && x < each.x + each.width)?.node ?? null;
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
    this.canvas.addEventListener("click", (event) => this.#zoom(this.#hit(event)));
    this.scroll.addEventListener("keydown", (event) => { if (event.key === "Escape" || event.key === "Home") this.#zoom(null); });
  }
}
