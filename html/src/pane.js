// SPDX-License-Identifier: BSD-2-Clause
// Rows of lanes that scroll together, over a range of time.
import { el } from "./dom.js";
import { contextOf, fitted, gutterOf, paintBand, paintLosses, paintSlices, paintStates, paintUnknown, ticksOf } from "./paint.js";
import { themeColours } from "./theme.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const kRow = 24; // pixels
const kStrip = 4; // pixels
const kNarrow = 120; // pixels: a gutter without room for notes
const kApart = 10; // pixels: two fingers this near to each other do not zoom
const kNear = 3; // pixels: a slice this near to the pointer is hit

// A row is { label, ending, note, lane, states, tall, unknown, losses, name(what), colour(what), matches(what, highlight),
// keyOf(what), keyOfAll, describe(i), describeState(i), describeLoss(i) }; ending, note, states, unknown and losses may be missing. The
// ending of a label is never cut. The states are a strip at the foot of the row; with `tall` they fill it.
export class Pane {
  #rows = [];
  #frame = 0;
  #cursor = null;

  // Lanes of losses that apply to all rows.
  bands = [];

  // `shared` is { range, highlight, cursor, pick(key), moved(ns) } of all panes of a timeline.
  constructor(shared, tallest, label) {
    this.shared = shared;
    this.tallest = tallest;
    this.canvas = el("canvas", { role: "img", "aria-label": label });
    this.spacer = el("div", {}, this.canvas);
    this.element = el("div", { class: "pane", tabindex: "0" }, this.spacer);
    this.element.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.element);
    this.#listen();
  }

  set rows(rows) {
    this.#rows = rows;
    const height = Math.max(1, rows.length) * kRow;
    this.spacer.style.height = `${height}px`;
    this.element.style.height = `${Math.min(height, this.tallest)}px`;
    this.redraw();
  }

  // Shows the row with that index.
  scrollTo(row) {
    this.element.scrollTop = row * kRow;
  }

  redraw() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#frame = 0;
    const width = this.element.clientWidth, height = this.element.clientHeight;
    const gutter = gutterOf(width);
    if (width <= gutter) return;
    const colours = themeColours();
    const context = contextOf(this.canvas, width, height);
    const { range } = this.shared;
    context.font = `11px ${colours.font}`;
    this.#paintGrid(context, width, height, colours);
    const first = Math.floor(this.element.scrollTop / kRow);
    for (let i = first; i < this.#rows.length; i += 1) {
      const y = i * kRow - this.element.scrollTop;
      if (y > height) break;
      this.#paintRow(context, this.#rows[i], y, width, range, colours);
    }
    const all = { x: gutter, y: 0, width: width - gutter, height };
    for (const lane of this.bands) paintBand(context, lane, range, all, colours);
    this.#paintCursor(context, width, height, colours);
  }

  #paintGrid(context, width, height, colours) {
    const { range } = this.shared;
    context.fillStyle = colours.line;
    const gutter = gutterOf(width), plot = width - gutter;
    for (const tick of ticksOf(range, plot).ticks)
      context.fillRect(Math.round(gutter + ((tick - range.begin) / range.span) * plot), 0, 1, height);
  }

  #paintRow(context, row, y, width, range, colours) {
    const gutter = gutterOf(width);
    const box = { x: gutter, y: y + 3, width: width - gutter, height: kRow - 5 };
    const { highlight } = this.shared;
    context.fillStyle = colours.text;
    this.#paintNames(context, row, gutter, y + kRow / 2, colours);
    context.fillStyle = colours.lane;
    context.fillRect(box.x, box.y, box.width, box.height);
    if (row.unknown) paintUnknown(context, row.unknown, range, box, colours);
    const strip = row.states ? (row.tall ? box.height : kStrip) : 0;
    paintSlices(context, row, range, { ...box, height: Math.max(0, box.height - strip - Number(strip !== 0)) }, colours, highlight);
    if (row.states) paintStates(context, row.states, range, { ...box, y: box.y + box.height - strip, height: strip }, colours, highlight !== null && !row.matches(undefined, highlight));
    if (row.losses) paintLosses(context, row.losses, range, box, colours);
  }

  // The label, and the note at the right end.
  #paintNames(context, row, gutter, y, colours) {
    const note = row.note === undefined || gutter <= kNarrow ? "" : fitted(context, row.note, gutter - 70);
    const room = note === "" ? 0 : context.measureText(note).width + 8;
    context.fillStyle = colours.text;
    const ending = row.ending ?? "", name = row.label.slice(0, row.label.length - ending.length);
    context.fillText(fitted(context, name, gutter - 16 - room - context.measureText(ending).width) + ending, 8, y);
    context.fillStyle = colours.muted;
    context.textAlign = "right";
    context.fillText(note, gutter - 8, y);
    context.textAlign = "left";
  }

  #paintCursor(context, width, height, colours) {
    const { range, cursor } = this.shared;
    if (cursor === null || cursor < range.begin || cursor > range.end) return;
    context.fillStyle = colours.accent;
    const gutter = gutterOf(width);
    context.fillRect(Math.round(gutter + ((cursor - range.begin) / range.span) * (width - gutter)), 0, 1, height);
  }

  // The time at a pointer.
  #timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const { range } = this.shared;
    const gutter = gutterOf(box.width);
    return range.begin + ((event.clientX - box.left - gutter) / (box.width - gutter)) * range.span;
  }

  // The object at a pointer: { row, slice }, { row, state } or { row, loss }.
  #hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const gutter = gutterOf(box.width);
    if (event.clientX < box.left + gutter) return null;
    const row = this.#rows[Math.floor((event.clientY - box.top + this.element.scrollTop) / kRow)];
    if (row === undefined) return null;
    const at = this.#timeAt(event);
    const near = (kNear * this.shared.range.span) / (box.width - gutter);
    const loss = row.losses?.find(at, 2 * near) ?? -1;
    if (loss >= 0) return { row, loss };
    const slice = row.lane.find(at, near);
    const state = row.states?.find(at, near) ?? -1;
    const onStrip = (event.clientY - box.top + this.element.scrollTop) % kRow >= kRow - kStrip - 2;
    if (state >= 0 && (onStrip || slice < 0)) return { row, state };
    if (slice >= 0) return { row, slice };
    return row.unknown && row.unknown.find(at) >= 0 ? { row, unknown: true } : { row };
  }

  #listen() {
    const { range } = this.shared;
    let drag = null;
    const fingers = new Map(); // those that touch, by pointer: their places
    this.element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.offsetX < gutterOf(this.element.clientWidth)) return;
      if (event.pointerType === "touch") fingers.set(event.pointerId, event.clientX);
      drag = { x: event.clientX, begin: range.begin, end: range.end, moved: fingers.size > 1 };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (fingers.size > 1) this.#pinch(event, fingers);
      else if (drag !== null) this.#drag(event, drag);
      else this.#hover(event);
    });
    this.element.addEventListener("pointerup", (event) => {
      if (drag !== null && !drag.moved) this.#click(event);
      this.#lift(event, fingers);
      drag = null;
    });
    this.element.addEventListener("pointercancel", (event) => {
      this.#lift(event, fingers);
      drag = null;
    });
    this.element.addEventListener("pointerleave", () => {
      hideTooltip();
      this.shared.moved(null);
    });
    this.element.addEventListener("dblclick", (event) => range.zoom(0.25, this.#timeAt(event)));
    this.element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  #drag(event, drag) {
    if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
    if (!drag.moved) return;
    hideTooltip();
    const { width } = this.canvas.getBoundingClientRect();
    const by = ((drag.x - event.clientX) / (width - gutterOf(width))) * (drag.end - drag.begin);
    this.shared.range.set(drag.begin + by, drag.end + by);
  }

  // The times below two fingers stay there: what is between them is moved and stretched.
  #pinch(event, fingers) {
    if (!fingers.has(event.pointerId)) return;
    hideTooltip();
    const { range } = this.shared;
    const box = this.canvas.getBoundingClientRect();
    const left = box.left + gutterOf(box.width), scale = range.span / (box.right - left);
    const [from, other] = [fingers.get(event.pointerId), [...fingers].find(([id]) => id !== event.pointerId)[1]];
    fingers.set(event.pointerId, event.clientX);
    if (Math.abs(event.clientX - other) < kApart || Math.abs(from - other) < kApart) return;
    const at = range.begin + (other - left) * scale;
    range.zoom(Math.abs(from - other) / Math.abs(event.clientX - other), at);
  }

  // A finger that touches no longer does not hover either.
  #lift(event, fingers) {
    if (fingers.delete(event.pointerId) && fingers.size === 0) this.shared.moved(null);
  }

  #hover(event) {
    const hit = this.#hit(event);
    this.shared.moved(hit === null ? null : this.#timeAt(event));
    const lines = hit === null ? null : describe(hit);
    if (lines === null) hideTooltip();
    else showTooltip(event, lines);
  }

  #click(event) {
    const hit = this.#hit(event);
    if (hit?.slice !== undefined) this.shared.pick(hit.row.keyOf(hit.row.lane.what[hit.slice]));
    else this.shared.pick(hit?.state === undefined ? null : hit.row.keyOfAll);
  }

  // The wheel without Ctrl scrolls the page, as usual.
  #wheel(event) {
    const { range } = this.shared;
    if (event.ctrlKey || event.metaKey) range.zoom(Math.exp(event.deltaY / 300), this.#timeAt(event));
    else if (event.shiftKey) range.pan((event.deltaY || event.deltaX) / 800);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) range.pan(event.deltaX / 800);
    else return;
    event.preventDefault();
  }

  #key(event) {
    const { range } = this.shared;
    const actions = {
      w: () => range.zoom(0.5), s: () => range.zoom(2), a: () => range.pan(-0.25), d: () => range.pan(0.25),
      ArrowLeft: () => range.pan(-0.25), ArrowRight: () => range.pan(0.25),
      "+": () => range.zoom(0.5), "-": () => range.zoom(2), Home: () => range.reset(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    actions[event.key]();
    event.preventDefault();
  }
}

// Lines of a tooltip, the first is the heading; null if there is no tooltip.
function describe({ row, slice, state, loss, unknown }) {
  if (loss !== undefined) return row.describeLoss(loss);
  if (slice !== undefined) return row.describe(slice);
  if (state !== undefined) return row.describeState(state);
  if (unknown) return ["Not known", "The traces do not show what ran here, because of losses, a filter, or ktraced itself."];
  return null;
}
