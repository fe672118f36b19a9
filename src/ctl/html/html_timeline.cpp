// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/html/html_timeline.h"

#include <algorithm>
#include <utility>

#include "ctl/reports/call_names.h"

namespace ktraced {
namespace {

using nlohmann::json;

// Slices take most of the page, so they are stored as columns of differences: `gap` from the end of
// the previous slice, length `ns`, content `what`. For each slice that stands for several, `joined`
// has four numbers: its index, their number, their total time, and the part of it that is `what`.
json lane_json(const std::vector<TimelineSlice>& slices, uint64_t begin_ns) {
  std::vector<uint64_t> gap, ns, what, joined;
  uint64_t last = 0;
  for (const TimelineSlice& slice : slices) {
    const uint64_t begin = std::max(slice.begin_ns, begin_ns) - begin_ns;
    const uint64_t end = std::max(slice.end_ns, begin_ns) - begin_ns;
    if (slice.count != 1)
      joined.insert(joined.end(), {gap.size(), slice.count, slice.busy_ns, slice.what_ns});
    gap.push_back(begin - std::min(last, begin));
    ns.push_back(end - begin);
    what.push_back(slice.what);
    last = end;
  }
  return {{"gap", std::move(gap)},
          {"ns", std::move(ns)},
          {"what", std::move(what)},
          {"joined", std::move(joined)}};
}

// How the slices were reduced.
json account_json(const TimelineSlices& slices) {
  return {{"of", slices.added()}, {"slices", slices.size()}, {"grain_ns", slices.grain_ns()}};
}

// One lane per CPU.
json cpus_json(const TimelineSlices& slices, uint64_t begin_ns) {
  json out = account_json(slices);
  out["lanes"] = json::array();
  for (size_t cpu = 0; cpu < slices.lanes().size(); ++cpu) {
    if (slices.lanes()[cpu].empty()) continue;
    json lane = lane_json(slices.lanes()[cpu], begin_ns);
    lane["cpu"] = cpu;
    out["lanes"].push_back(std::move(lane));
  }
  return out;
}

json tasks_json(const TimelineTasks& tasks) {
  json list = json::array();
  for (const TimelineTask& task : tasks.list())
    list.push_back(task.others ? json{{"others", true}}
                               : json{{"tid", task.tid}, {"pid", task.pid}, {"comm", task.comm}});
  return list;
}

// A lane of slices; without any if the lane has none.
json one_lane_json(const TimelineSlices& slices, size_t lane, uint64_t begin_ns) {
  static const std::vector<TimelineSlice> kNone;
  return lane_json(lane < slices.lanes().size() ? slices.lanes()[lane] : kNone, begin_ns);
}

// The threads with the most CPU time, and of equals those with the most calls, or with states only.
json drawn_threads_json(const ThreadTimeline& threads, uint64_t begin_ns) {
  std::vector<size_t> order;
  for (size_t lane = 0; lane < threads.threads().size(); ++lane)
    if (const auto& states = threads.states().lanes();
        threads.threads()[lane].calls != 0 || (lane < states.size() && !states[lane].empty()))
      order.push_back(lane);
  std::ranges::stable_sort(order, std::ranges::greater(), [&threads](size_t lane) {
    const ThreadTimeline::Thread& thread = threads.threads()[lane];
    return std::pair(thread.ran_ns, thread.calls);
  });
  uint64_t left_out = threads.other_calls();
  json lanes = json::array();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [task, calls, ran_ns] = threads.threads()[order[i]];
    if (i >= kDrawnThreads) {
      left_out += calls;
      continue;
    }
    lanes.push_back({{"tid", task.tid},
                     {"pid", task.pid},
                     {"comm", task.comm},
                     {"ran_ns", ran_ns},
                     {"calls", one_lane_json(threads.calls(), order[i], begin_ns)},
                     {"states", one_lane_json(threads.states(), order[i], begin_ns)}});
  }
  return {{"lanes", std::move(lanes)},
          {"of", order.size()},
          {"left_out_calls", left_out},
          {"uncertain_calls", threads.uncertain()},
          {"calls", account_json(threads.calls())},
          {"states", account_json(threads.states())}};
}

}  // namespace

json html_timeline(const RunTimeline& run, const ThreadTimeline& threads,
                   const LossTimeline& losses, uint64_t begin_ns) {
  json names = json::array();
  for (const ThreadTimeline::Kind& call : threads.kinds())
    names.push_back(syscall_text(call.abi, call.nr));
  return {{"run", cpus_json(run.ran(), begin_ns)},
          {"unknown", cpus_json(run.unknown(), begin_ns)},
          {"losses", cpus_json(losses.slices(), begin_ns)},
          {"threads", drawn_threads_json(threads, begin_ns)},
          {"tasks", tasks_json(run.tasks())},
          {"syscalls", std::move(names)},
          {"lost_events", losses.events()}};
}

}  // namespace ktraced
