// SPDX-License-Identifier: BSD-2-Clause
// The places of table rows on the timeline. Each function returns one that shows the place, or null where there is none.

// From the first to the last slice of a lane that `matches`; null: there is none.
function extent(lane, matches = () => true) {
  let first = -1, last = -1;
  for (let i = 0; i < lane.size; i += 1) {
    if (!matches(lane.what[i])) continue;
    if (first < 0) first = i;
    last = i;
  }
  return first < 0 ? null : [lane.begin[first], lane.end[last]];
}

const union = (extents) => {
  const known = extents.filter((each) => each !== null);
  return known.length === 0 ? null : [Math.min(...known.map(([begin]) => begin)), Math.max(...known.map(([, end]) => end))];
};

// The longest slice of the lanes that `matches`; null: there is none.
function longest(lanes, matches) {
  let best = null;
  for (const lane of lanes)
    for (let i = 0; i < lane.size; i += 1)
      if (matches(lane.what[i]) && (best === null || lane.end[i] - lane.begin[i] > best[1] - best[0])) best = [lane.begin[i], lane.end[i]];
  return best;
}

export function placesOn(drawn) {
  const { timeline, window } = drawn.data;
  const showing = (range, key) => (range === null ? null : () => drawn.show(range, key));

  // All times of the tasks and of the threads that match.
  const ofTasks = (matches) => union([
    ...drawn.cpus.map((row) => extent(row.lane, (what) => matches(timeline.tasks[what]))),
    ...drawn.threads.filter(matches).map((row) => extent(row.lane)),
  ]);

  return {
    thread: (tid, name) => showing(ofTasks((task) => task.tid === tid), { tid, text: `${name}, thread ${tid}` }),
    process: (pid, name) => showing(ofTasks((task) => task.pid === pid), { pid, text: `${name}, process ${pid}` }),
    // The longest call of that name that is drawn; with `pid` of that process.
    call(name, pid) {
      const call = timeline.syscalls.indexOf(name);
      const lanes = drawn.threads.filter((row) => pid === undefined || row.pid === pid).map((row) => row.lane);
      return showing(longest(lanes, (what) => what === call), { call, text: name });
    },
    // What happened at a time, with a hundredth of the window around it.
    moment: (ts) => () => drawn.go(ts, (window.end_ns - window.begin_ns) / 100),
    span: (ts, ns) => () => drawn.go(ts, ns),
    cpu: (cpu) => () => drawn.showCpu(cpu),
  };
}
