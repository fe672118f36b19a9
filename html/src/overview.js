// SPDX-License-Identifier: BSD-2-Clause
// An overview of the whole window: how busy all CPUs were, where events were lost, and which part is
// shown. Dragging selects another part.
import { el } from "./dom.js";
import { contextOf, fitted, gutterOf } from "./paint.js";
import { themeColours } from "./theme.js";

const kBins = 600;
const kHeight = 44;

// The share of all CPUs that was busy, in each of kBins parts of the window.
function busyBins(lanes, length) {
  const bins = new Float64Array(kBins);
  const width = length / kBins;
  for (const lane of lanes)
    for (let i = 0; i < lane.size; i += 1) {
      const span = lane.end[i] - lane.begin[i];
      if (span === 0) continue;
      const share = lane.busy(i) / span;
      const last = Math.min(kBins - 1, Math.floor(lane.end[i] / width));
      for (let bin = Math.floor(lane.begin[i] / width); bin <= last; bin += 1) {
        const from = Math.max(lane.begin[i], bin * width), to = Math.min(lane.end[i], (bin + 1) * width);
        bins[bin] += (Math.max(0, to - from) * share) / (width * lanes.length);
      }
    }
  return bins;
}

export class Overview {
  // `lanes` and `losses`: of all CPUs.
  constructor(range, lanes, losses) {
    this.range = range;
    this.losses = losses;
    this.bins = busyBins(lanes, range.length);
    this.canvas = el("canvas", { class: "overview", role: "img", "aria-label": "How busy the CPUs were over the whole window" });
    this.element = el("div", { class: "overview" }, this.canvas);
    range.onChange(() => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.element);
    this.#listen();
  }

  redraw() {
    const width = this.element.clientWidth;
    const gutter = gutterOf(width);
    if (width <= gutter) return;
    const colours = themeColours();
    const context = contextOf(this.canvas, width, kHeight);
    const plot = width - gutter, { range } = this;
    context.font = `11px ${colours.font}`;
    context.fillStyle = colours.muted;
    context.fillText(fitted(context, gutter < 168 ? "CPUs busy" : "CPUs busy, whole window", gutter - 16), 8, kHeight / 2);
    context.fillStyle = colours.lane;
    context.fillRect(gutter, 0, plot, kHeight);
    context.fillStyle = colours.faint;
    for (let bin = 0; bin < kBins; bin += 1) {
      const height = Math.min(1, this.bins[bin]) * (kHeight - 6);
      context.fillRect(gutter + (bin * plot) / kBins, kHeight - height, plot / kBins + 0.5, height);
    }
    context.fillStyle = colours.loss;
    for (const lane of this.losses)
      for (let i = 0; i < lane.size; i += 1)
        context.fillRect(gutter + (lane.begin[i] / range.length) * plot - 0.5, 0, 1.5, 6);
    this.#paintShown(context, gutter, plot, colours);
  }

  #paintShown(context, gutter, plot, colours) {
    const { range } = this;
    const left = gutter + (range.begin / range.length) * plot;
    const width = Math.max(2, (range.span / range.length) * plot);
    context.fillStyle = colours.panel;
    context.globalAlpha = 0.6;
    context.fillRect(gutter, 0, left - gutter, kHeight);
    context.fillRect(left + width, 0, gutter + plot - left - width, kHeight);
    context.globalAlpha = 1;
    context.strokeStyle = colours.accent;
    context.strokeRect(left + 0.5, 0.5, width - 1, kHeight - 1);
  }

  #timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const gutter = gutterOf(box.width);
    const share = (event.clientX - box.left - gutter) / (box.width - gutter);
    return Math.max(0, Math.min(1, share)) * this.range.length;
  }

  // A drag selects the part shown; a click moves it there.
  #listen() {
    let from = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      from = { time: this.#timeAt(event), x: event.clientX };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (from === null || Math.abs(event.clientX - from.x) < 4) return;
      const to = this.#timeAt(event);
      this.range.set(Math.min(from.time, to), Math.max(from.time, to));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (from !== null && Math.abs(event.clientX - from.x) < 4) {
        const half = this.range.span / 2;
        this.range.set(from.time - half, from.time + half);
      }
      from = null;
    });
  }
}
