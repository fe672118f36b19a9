// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/html/html_timeline.h"

#include <algorithm>
#include <numeric>
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

uint64_t calls_in(const std::vector<TimelineSlice>& slices) {
  return std::accumulate(
      slices.begin(), slices.end(), uint64_t{0},
      [](uint64_t sum, const TimelineSlice& slice) { return sum + slice.count; });
}

// The threads with the most calls.
json calls_json(const CallTimeline& calls, uint64_t begin_ns) {
  const auto& lanes = calls.slices().lanes();
  std::vector<std::pair<uint64_t, size_t>> order;  // calls, lane
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    if (const uint64_t count = calls_in(lanes[lane]); count != 0) order.emplace_back(count, lane);
  std::ranges::stable_sort(order, std::ranges::greater(), &std::pair<uint64_t, size_t>::first);
  json out = account_json(calls.slices());
  uint64_t left_out = calls.other_calls();
  out["lanes"] = json::array();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto [count, lane] = order[i];
    if (i >= kDrawnThreads) {
      left_out += count;
      continue;
    }
    json drawn = lane_json(lanes[lane], begin_ns);
    const TimelineTask& thread = calls.threads()[lane];
    drawn.update(
        {{"tid", thread.tid}, {"pid", thread.pid}, {"comm", thread.comm}, {"calls", count}});
    out["lanes"].push_back(std::move(drawn));
  }
  out.update({{"threads", order.size()}, {"left_out", left_out}, {"uncertain", calls.uncertain()}});
  return out;
}

}  // namespace

json html_timeline(const RunTimeline& run, const CallTimeline& calls, const LossTimeline& losses,
                   uint64_t begin_ns) {
  json names = json::array();
  for (const CallTimeline::Kind& call : calls.calls())
    names.push_back(syscall_text(call.abi, call.nr));
  return {{"run", cpus_json(run.ran(), begin_ns)},
          {"unknown", cpus_json(run.unknown(), begin_ns)},
          {"losses", cpus_json(losses.slices(), begin_ns)},
          {"calls", calls_json(calls, begin_ns)},
          {"tasks", tasks_json(run.tasks())},
          {"syscalls", std::move(names)},
          {"lost_events", losses.events()}};
}

}  // namespace ktraced
