// SPDX-License-Identifier: BSD-2-Clause
// Draws lanes of slices, and the axis above them, on a canvas.
import { offset } from "./format.js";
import { kRunnable, kRunning, kSleeping } from "./lanes.js";
import { kOnPalette } from "./theme.js";

// Pixels for the names of lanes, of a timeline that is `width` pixels wide.
export const gutterOf = (width) => Math.min(168, Math.floor(width / 4));

// An empty canvas in the resolution of the screen; returns its context, in CSS pixels.
export function contextOf(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  return context;
}

const kWidths = new Map(); // of texts, in pixels: measuring takes longer than drawing

function widthOf(context, text) {
  let width = kWidths.get(text);
  if (width === undefined) kWidths.set(text, (width = context.measureText(text).width));
  return width;
}

// `text`, truncated to the given width.
export function fitted(context, text, width) {
  if (widthOf(context, text) <= width) return text;
  let shown = "", room = width - widthOf(context, "…");
  for (const letter of text) {
    room -= widthOf(context, letter);
    if (room < 0) break;
    shown += letter;
  }
  return shown === "" ? "" : `${shown}…`;
}

// The smallest 1, 2 or 5 times a power of ten that is at least `least`.
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least);
}

// The times of the grid lines, and their distance.
export function ticksOf(range, width) {
  const step = niceStep((range.span * 110) / width);
  const ticks = [];
  for (let n = Math.ceil(range.begin / step); n * step <= range.end; n += 1) ticks.push(n * step);
  return { step, ticks };
}

export function paintAxis(context, range, width, height, colours) {
  const gutter = gutterOf(width), plot = width - gutter;
  const { step, ticks } = ticksOf(range, plot);
  context.font = `11px ${colours.font}`;
  context.fillStyle = colours.muted;
  context.strokeStyle = colours.line;
  for (const tick of ticks) {
    const x = gutter + ((tick - range.begin) / range.span) * plot;
    const text = offset(tick, step);
    context.fillRect(Math.round(x), height - 5, 1, 5);
    const left = Math.min(x + 4, width - context.measureText(text).width - 2);
    context.fillText(text, left, height / 2 - 1);
  }
}

// Diagonal lines on a rectangle.
function hatch(context, x, y, width, height, colour) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - height - ((x - height) % 6); at < x + width; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

// Collects slices narrower than a pixel, until the pixel is complete.
class Column {
  constructor(paint) {
    this.paint = paint;
    this.x = -1;
  }

  add(x, what, share) {
    if (x !== this.x) this.flush(x);
    this.share += share;
    if (share > this.most) [this.what, this.most] = [what, share];
  }

  flush(next = -1) {
    if (this.x >= 0) this.paint(this.x, this.what, Math.min(1, this.share));
    this.x = next;
    this.share = 0;
    this.most = -1;
  }
}

// The slices of a lane that are visible, each with fill(x, what, width, alpha). Those narrower than `narrow` pixels share columns of one
// pixel; the others are striped if they join several, and then given to over(i, x, width).
function paintLane(context, lane, range, box, colours, narrow, fill, over = () => {}) {
  const column = new Column((x, what, share) => fill(box.x + x, what, 1, 0.3 + 0.7 * share));
  const scale = box.width / range.span;
  for (let i = lane.firstAfter(range.begin); i < lane.size && lane.begin[i] < range.end; i += 1) {
    const left = Math.max(0, (lane.begin[i] - range.begin) * scale);
    const right = Math.min(box.width, (lane.end[i] - range.begin) * scale);
    const length = lane.end[i] - lane.begin[i];
    const share = length === 0 ? 1 : lane.busy(i) / length;
    if (right - left < narrow) {
      column.add(Math.floor(left), lane.what[i], Math.max(0.05, (right - left) * share));
      continue;
    }
    column.flush();
    fill(box.x + left, lane.what[i], right - left, 0.3 + 0.7 * share);
    context.globalAlpha = 1;
    if (lane.joined.has(i) && right - left > 5) stripes(context, box.x + left, box, right - left, colours);
    over(i, box.x + left, right - left);
  }
  column.flush();
  context.globalAlpha = 1;
}

// One lane. `row` is described at Pane.
export function paintSlices(context, row, range, box, colours, highlight) {
  const { lane } = row;
  const isDim = (what) => highlight !== null && !row.matches(what, highlight);
  const fill = (x, what, width, alpha) => {
    context.fillStyle = isDim(what) ? colours.dimmed : row.colour(what);
    context.globalAlpha = alpha;
    const gap = width > 4 ? 0.5 : 0; // keeps neighbours of one colour apart
    context.fillRect(x, box.y, width - gap, box.height);
  };
  paintLane(context, lane, range, box, colours, 1.5, fill, (i, x, width) => {
    if (width > 26) label(context, row.name(lane.what[i]), x, box, width, isDim(lane.what[i]) ? { ink: colours.text } : { ink: kOnPalette, plate: row.colour(lane.what[i]) });
  });
}

// Several slices drawn as one.
function stripes(context, x, box, width, colours) {
  context.fillStyle = colours.panel;
  context.globalAlpha = 0.35;
  for (let at = 2; at < width - 1; at += 4) context.fillRect(x + at, box.y, 1, box.height);
  context.globalAlpha = 1;
}

// A slice that is mostly idle is pale: the name has a plate in its full colour, if there is one.
function label(context, text, x, box, width, { ink, plate }) {
  const shown = fitted(context, text, width - 8);
  if (shown.length < 5 && shown !== text) return;
  if (plate !== undefined) {
    context.fillStyle = plate;
    context.fillRect(x + 2, box.y, widthOf(context, shown) + 4, box.height);
  }
  context.fillStyle = ink;
  context.fillText(shown, x + 4, box.y + box.height / 2 + 0.5);
}

// Times of unknown activity.
export function paintUnknown(context, lane, range, box, colours) {
  eachVisible(lane, range, box, (left, right) => {
    if (right - left >= 1) hatch(context, left, box.y, right - left, box.height, colours.hatch);
  });
}

// The states of a thread. They differ in height too, for those who do not see the colours.
export function paintStates(context, lane, range, box, colours, dim) {
  const looks = [];
  looks[kRunning] = { colour: colours.running, height: box.height };
  looks[kRunnable] = { colour: colours.runnable, height: Math.ceil(0.6 * box.height) };
  looks[kSleeping] = { colour: colours.hatch, height: Math.max(1, Math.floor(0.15 * box.height)) };
  const fill = (x, what, width, alpha) => {
    const { colour, height } = looks[what];
    context.fillStyle = colour;
    context.globalAlpha = dim ? 0.3 * alpha : alpha;
    context.fillRect(x, box.y + box.height - height, width, height);
  };
  paintLane(context, lane, range, box, colours, 1, fill);
}

// Losses have a minimal width, so that they stay visible.
export function paintLosses(context, lane, range, box, colours) {
  context.fillStyle = colours.loss;
  eachVisible(lane, range, box, (left, right) => {
    const width = Math.max(2, right - left);
    context.globalAlpha = 0.25;
    context.fillRect(left, box.y, width, box.height);
    context.globalAlpha = 1;
    context.fillRect(left, box.y, width, 3);
    context.beginPath();
    context.moveTo(left - 3, box.y - 2);
    context.lineTo(left + 5, box.y - 2);
    context.lineTo(left + 1, box.y + 5);
    context.fill();
  });
}

// Losses as a background of several lanes.
export function paintBand(context, lane, range, box, colours) {
  context.fillStyle = colours.loss;
  context.globalAlpha = 0.18;
  eachVisible(lane, range, box, (left, right) => context.fillRect(left, box.y, Math.max(1.5, right - left), box.height));
  context.globalAlpha = 1;
}

function eachVisible(lane, range, box, paint) {
  const scale = box.width / range.span;
  for (let i = lane.firstAfter(range.begin); i < lane.size && lane.begin[i] <= range.end; i += 1) {
    const left = Math.max(0, (lane.begin[i] - range.begin) * scale);
    const right = Math.min(box.width, (lane.end[i] - range.begin) * scale);
    paint(box.x + left, box.x + right);
  }
}
