// SPDX-License-Identifier: BSD-2-Clause
// The part of the window that is shown. Several drawings share it.

const kShortest = 100; // ns

export class TimeRange {
  #listeners = [];

  constructor(length) {
    this.length = Math.max(length, kShortest);
    this.begin = 0;
    this.end = this.length;
  }

  get span() { return this.end - this.begin; }

  onChange(listener) { this.#listeners.push(listener); }

  // Limited to the window, and at least kShortest long.
  set(begin, end) {
    const span = Math.min(this.length, Math.max(kShortest, end - begin));
    const from = Math.max(0, Math.min(begin, this.length - span));
    if (from === this.begin && from + span === this.end) return;
    this.begin = from;
    this.end = from + span;
    for (const listener of this.#listeners) listener();
  }

  // Shows a range `factor` times as long; `at` keeps its place.
  zoom(factor, at = (this.begin + this.end) / 2) {
    const span = Math.min(this.length, Math.max(kShortest, this.span * factor));
    const begin = at - ((at - this.begin) / this.span) * span;
    this.set(begin, begin + span);
  }

  // Moves by a share of the range shown.
  pan(share) { this.set(this.begin + share * this.span, this.end + share * this.span); }

  reset() { this.set(0, this.length); }
}
