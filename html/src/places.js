// SPDX-License-Identifier: BSD-2-Clause
// The places of table rows on the timeline. Each function returns one that shows the place, or null where there is none.

// Ranges by key.
class Ranges {
  #ranges = new Map();

  get(key) {
    return this.#ranges.get(key) ?? null;
  }

  // Makes the range of `key` contain this one.
  extend(key, begin, end) {
    const range = this.#ranges.get(key);
    if (range === undefined) this.#ranges.set(key, [begin, end]);
    else [range[0], range[1]] = [Math.min(range[0], begin), Math.max(range[1], end)];
  }

  // Replaces the range of `key` by this one if this one is longer.
  lengthen(key, begin, end) {
    const range = this.#ranges.get(key);
    if (range === undefined || end - begin > range[1] - range[0]) this.#ranges.set(key, [begin, end]);
  }
}

const eachSlice = (lane, visit) => {
  for (let i = 0; i < lane.size; i += 1) visit(lane.what[i], lane.begin[i], lane.end[i]);
};

// One pass over all slices, for all rows of all tables.
function rangesOf({ cpus, threads, data }) {
  const ranges = { threads: new Ranges(), processes: new Ranges(), calls: new Ranges(), callsOf: new Ranges() };
  const add = ({ tid, pid }, begin, end) => {
    ranges.threads.extend(tid, begin, end);
    ranges.processes.extend(pid, begin, end);
  };
  for (const row of cpus) eachSlice(row.lane, (what, begin, end) => add(data.timeline.tasks[what], begin, end));
  for (const row of threads)
    eachSlice(row.lane, (call, begin, end) => {
      add(row, begin, end);
      ranges.calls.lengthen(call, begin, end);
      ranges.callsOf.lengthen(`${row.pid} ${call}`, begin, end);
    });
  return ranges;
}

export function placesOn(drawn) {
  const { timeline, window } = drawn.data;
  const ranges = rangesOf(drawn);
  const showing = (range, key) => (range === null ? null : () => drawn.show(range, key));
  return {
    // From the first to the last time in which it ran or was in a system call.
    thread: (tid, name) => showing(ranges.threads.get(tid), { tid, text: `${name}, thread ${tid}` }),
    process: (pid, name) => showing(ranges.processes.get(pid), { pid, text: `${name}, process ${pid}` }),
    // The longest call of that name that is drawn; with `pid` of that process.
    call(name, pid) {
      const call = timeline.syscalls.indexOf(name);
      return showing(pid === undefined ? ranges.calls.get(call) : ranges.callsOf.get(`${pid} ${call}`), { call, text: name });
    },
    // What happened at a time, with a hundredth of the window around it.
    moment: (ts) => () => drawn.go(ts, (window.end_ns - window.begin_ns) / 100),
    // The same at the first event of a row, if that is known.
    first: ({ first_ns: ts }) => (ts === null || ts === undefined ? null : () => drawn.go(ts, (window.end_ns - window.begin_ns) / 100)),
    span: (ts, ns) => () => drawn.go(ts, ns),
    // A part of the window, after its beginning, and a process; null: unknown. It has a hundredth of the window at least.
    part([begin, end], pid, name) {
      const middle = (begin + end) / 2, half = Math.max(end - begin, (window.end_ns - window.begin_ns) / 100) / 2;
      const range = [middle - half, middle + half];
      return () => (pid === null ? drawn.go(range[0] + window.begin_ns, 2 * half) : drawn.show(range, { pid, text: name }));
    },
    cpu: (cpu) => () => drawn.showCpu(cpu),
  };
}
