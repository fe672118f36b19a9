// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text/json_access.h"
#include "ctl/input/filter_args.h"
#include "ctl/rates/reading.h"
#include "ctl/terminal/table.h"
#include "ctl/views/count_tables.h"
#include "ctl/views/views.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

namespace {

using nlohmann::json;

constexpr std::array<const char*, 3> kCpuCounters{"recorded", "filtered", "dropped"};

// Up to this many unavailable events are explained without --verbose.
constexpr size_t kExplained = 4;

// Disabled events without counts, and why some are not available; otherwise their numbers.
std::string other_events(const json& status, bool verbose) {
  std::vector<std::string> off;
  std::string reasons;
  size_t missing = 0;
  for (const auto& [name, event] : member(status, "events").items()) {
    if (!flag_at(event, "available")) {
      ++missing;
      reasons += fmt::format("not available: {} ({})\n", name, text_at(event, "reason"));
    } else if (!is_interesting(event)) {
      off.push_back(name);
    }
  }
  if (off.empty() && missing == 0) return "";
  if (!verbose && missing <= kExplained)
    return fmt::format("more events off: {} (--verbose lists them)\n{}", off.size(), reasons);
  if (!verbose)
    return fmt::format("more events off: {}, not available: {} (--verbose lists them)\n",
                       off.size(), missing);
  return off.empty() ? reasons : fmt::format("off: {}\n{}", fmt::join(off, ", "), reasons);
}

// What events lack on this kernel.
std::string unknown_text(const json& status) {
  std::string out;
  for (const json& each : list_at(status, "unknown"))
    out += fmt::format("not available: {} ({})\n", text_at(each, "what"), text_at(each, "reason"));
  return out;
}

// Programs of no event that the kernel has refused.
std::string helpers_text(const json& status, const Colours& colours) {
  std::string out;
  for (const json& helper : list_at(status, "unavailable_helpers"))
    out += colours.red(fmt::format("not available: {} ({}): {}", text_at(helper, "program"),
                                   text_at(helper, "reason"), text_at(helper, "effect"))) +
           "\n";
  return out;
}

// How samples are taken; empty: none is.
std::string sampling_text(const json& status) {
  const json& sampling = member(status, "sampling");
  if (!flag_at(sampling, "enabled")) return "";
  const uint64_t missing = number_at(sampling, "missing");
  std::string out = fmt::format(
      "sampling: each {} on {} CPUs, {} samples, ", printable(text_at(sampling, "period")),
      list_at(sampling, "cpus").size(), grouped(number_at(sampling, "samples")));
  if (missing == 0) return out + "none missing\n";
  return out +
         fmt::format("{} missing (idle CPUs pause; kernel.perf_event_max_sample_rate is {})\n",
                     grouped(missing), grouped(number_at(sampling, "max_rate")));
}

// What the machine keeps stacks from having.
std::string stacks_text(const json& status, const Colours& colours) {
  const json& stacks = member(status, "stacks");
  const uint64_t depth = number_at(stacks, "depth"), of_kernel = number_at(stacks, "kernel_depth");
  if (number_at(stacks, "bytes") == 0 || of_kernel >= depth) return "";
  return colours.red(fmt::format("stacks of the kernel have at most {} frames, not {}: "
                                 "kernel.perf_event_max_stack allows no more",
                                 of_kernel, depth)) +
         "\n";
}

std::string cpu_event_table(const json& status, const Colours& colours) {
  Table table(headings({"EVENT", ">CPU", ">RECORDED", ">FILTERED", ">DROPPED"}, colours));
  for (const auto& [name, event] : member(status, "events").items()) {
    if (!is_interesting(event)) continue;
    for (const json& counts : list_at(event, "per_cpu")) {
      std::vector<Table::Cell> row{{name}, {std::to_string(number_at(counts, "cpu")), true}};
      for (const char* counter : kCpuCounters)
        row.push_back(counter_cell(counts, counter, colours));
      table.add(std::move(row));
    }
  }
  return table.text();
}

std::string span_text(uint64_t ns) {
  if (ns < 1'000'000'000) return duration_text(ns);
  const double seconds = static_cast<double>(ns) / 1e9;
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// What this daemon could not adopt when it began.
std::string replaced_text(const json& status, const Colours& colours) {
  std::string out;
  for (const json& old : list_at(status, "replaced")) {
    const uint64_t since = number_at(old, "since_ns"), until = number_at(old, "until_ns");
    out += colours.red(fmt::format("lost, except for what is on disk: the last {} of {}: {}",
                                   span_text(until - std::min(since, until)),
                                   text_at(old, "object"), text_at(old, "reason"))) +
           "\n";
  }
  return out;
}

// What the limits for snapshots have removed; empty if nothing.
std::string retention_text(const json& flight, const Colours& colours) {
  std::string out;
  if (const uint64_t evicted = number_at(flight, "evicted"); evicted != 0)
    out = fmt::format("removed by flight.max_snapshots or flight.max_total_mb: {} snapshots, {}\n",
                      grouped(evicted), bytes_text(number_at(flight, "evicted_bytes")));
  if (const uint64_t exceeded = number_at(flight, "limits_exceeded"); exceeded != 0)
    out +=
        colours.red(fmt::format("kept snapshots exceeded the limits {} times", grouped(exceeded))) +
        "\n";
  return out;
}

// How far back the flight recorder reaches, with the snapshot that ends where it begins.
std::string memory_text(const json& flight) {
  const uint64_t reach = number_at(flight, "reach_ns");
  const json& last = snapshot_before_history(flight);
  if (last.is_null()) return fmt::format("holds the last {}", span_text(reach));
  const uint64_t begin = number_at(last, "begin_ns"), end = number_at(last, "end_ns");
  const uint64_t saved = end - std::min(begin, end);
  return fmt::format("the last {} are known: up to {} ago they are saved in snapshot {}",
                     span_text(saved + reach), span_text(reach), printable(text_at(last, "name")));
}

std::string flight_text(const json& flight, const Colours& colours) {
  if (!flag_at(flight, "enabled")) return "off\n" + retention_text(flight, colours);
  std::string out =
      fmt::format("on, {}, {}\n", bytes_text(number_at(flight, "bytes")), memory_text(flight));
  if (const std::string unsaved = text_at(flight, "unsaved"); !unsaved.empty())
    out += colours.red("what an earlier daemon recorded is not on disk yet: " + unsaved) + "\n";
  if (const std::string unknown = text_at(flight, "snapshots_unknown"); !unknown.empty())
    out += colours.red("how many snapshots there are is unknown: " + unknown) + "\n";
  return out + retention_text(flight, colours);
}

std::string output_text(const json& output, const Colours& colours) {
  const uint64_t lost = number_at(output, "lost_events");
  const std::string trace = text_at(output, "trace"), last = text_at(output, "last_trace");
  const std::string text =
      fmt::format("recording to {}: {}, {} so far, {} of {} traces, {} events lost",
                  text_at(output, "directory"),
                  !trace.empty()  ? trace
                  : !last.empty() ? fmt::format("{} is finished", last)
                                  : "no trace yet",
                  bytes_text(number_at(output, "bytes")), number_at(output, "files"),
                  number_at(output, "max_files"), grouped(lost));
  std::string out = fmt::format("{}\n", lost == 0 ? text : colours.red(text));
  if (flag_at(output, "failing"))
    out += fmt::format("{}\n", colours.red("recording fails: " + text_at(output, "last_error")));
  else if (lost != 0 && text_at(output, "last_error").empty())
    out +=
        "events are lost because they come faster than they can be written; enable or filter for "
        "fewer\n";
  return out;
}

// Where metrics are served; empty: nowhere.
std::string metrics_line(const json& status) {
  std::vector<std::string> places;
  for (const json& place : list_at(status, "metrics"))
    places.push_back(printable(text_at(place, "address")) +
                     (flag_at(place, "passed") ? " (passed by the service manager)" : ""));
  return places.empty() ? "" : fmt::format("metrics: {}\n", fmt::join(places, ", "));
}

std::string overview(const json& status, const Colours& colours) {
  const json& stream = member(status, "stream");
  std::string state = text_at(status, "state");
  std::string out = fmt::format("ktraced {} (pid {}) on Linux {}: {}\n", text_at(status, "version"),
                                number_at(status, "pid"), text_at(status, "kernel"),
                                state == "running" ? colours.green(state) : colours.red(state));
  if (const json& output = member(stream, "output"); flag_at(output, "enabled"))
    out += output_text(output, colours);
  out += "flight recorder: " + flight_text(member(status, "flight"), colours);
  out += replaced_text(status, colours);
  auto filter = filter_to_args(member(status, "filter"));
  out += fmt::format("filter: {}\n",
                     filter.empty() ? "none" : fmt::format("{}", fmt::join(filter, " ")));
  if (auto only = texts_at(member(status, "filter"), "syscalls_only"); !only.empty())
    out += fmt::format("system calls: only {}\n", fmt::join(only, ", "));
  out += sampling_text(status);
  out += metrics_line(status);
  for (const json& reader : list_at(status, "subscribers")) {
    const uint64_t lost = number_at(reader, "lost_events");
    if (lost == 0) continue;
    out += colours.red(fmt::format("pid {} (uid {}) reads too slowly: {} waiting, {} events lost",
                                   number_at(reader, "pid"), number_at(reader, "uid"),
                                   bytes_text(number_at(reader, "queued_bytes")), grouped(lost))) +
           "\n";
  }
  const std::string sessions = session_summary(member(status, "sessions"), colours);
  return sessions.empty() ? out : out + "\n" + sessions;
}

}  // namespace

std::string status_view(const json& status, const StatusCommand& command, const Colours& colours) {
  std::string out =
      fmt::format("{}\n{}{}{}{}{}", overview(status, colours),
                  event_table(member(status, "events"), member(status, "totals"), colours),
                  other_events(status, command.verbose), unknown_text(status),
                  helpers_text(status, colours), stacks_text(status, colours));
  if (!command.per_cpu) return out;
  out += fmt::format("\n{}", cpu_event_table(status, colours));
  const std::string rings = ring_table(list_at(status, "sessions"), colours);
  return rings.empty() ? out : out + "\n" + rings;
}

}  // namespace ktraced
