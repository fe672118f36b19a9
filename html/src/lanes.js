// SPDX-License-Identifier: BSD-2-Clause
// Lanes of slices of the page's data, prepared for fast search and drawing.

export class Lane {
  // Columns of differences become times from the beginning of the window, in ns.
  constructor(columns) {
    const n = columns.gap.length;
    this.size = n;
    this.begin = new Float64Array(n);
    this.end = new Float64Array(n);
    this.what = Uint32Array.from(columns.what);
    let at = 0;
    for (let i = 0; i < n; i += 1) {
      this.begin[i] = at + columns.gap[i];
      at = this.end[i] = this.begin[i] + columns.ns[i];
    }
    // Slices that join several.
    this.joined = new Map();
    for (let j = 0; j < columns.joined.length; j += 4) {
      const [index, count, busy, whatNs] = columns.joined.slice(j, j + 4);
      this.joined.set(index, { count, busy, whatNs });
    }
  }

  // The first slice that ends after `ns`.
  firstAfter(ns) {
    let low = 0, high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] <= ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The slice nearest to `ns` that is at most `reach` away; -1 if there is none. Of several, the
  // longest.
  find(ns, reach = 0) {
    let best = -1, bestLength = -1;
    for (let i = this.firstAfter(ns - reach); i < this.size && this.begin[i] <= ns + reach; i += 1) {
      if (this.begin[i] <= ns && ns < this.end[i]) return i;
      const length = this.end[i] - this.begin[i];
      if (length > bestLength) [best, bestLength] = [i, length];
    }
    return best;
  }

  // The busy time of a slice, without the gaps between joined ones.
  busy(i) {
    return this.joined.get(i)?.busy ?? this.end[i] - this.begin[i];
  }
}

// What a lane of states is made of.
export const kStates = ["running", "runnable", "sleeping"];
export const [kRunning, kRunnable, kSleeping] = kStates.keys();

export const kNoLane = new Lane({ gap: [], ns: [], what: [], joined: [] });

// Lanes by CPU.
export function lanesByCpu(table) {
  return new Map(table.lanes.map((lane) => [lane.cpu, new Lane(lane)]));
}
