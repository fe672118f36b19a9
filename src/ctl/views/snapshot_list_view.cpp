// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/views.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/text/json_access.h"
#include "ctl/input/report_text.h"
#include "ctl/terminal/table.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kNameWidth = 30;
constexpr size_t kListWidth = 120;

// "2026-07-31 14:22:33" in UTC, as in the names.
std::string time_text(uint64_t realtime_ns) {
  if (realtime_ns == 0) return "-";
  const auto seconds = static_cast<time_t>(realtime_ns / 1'000'000'000U);
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
  return text;
}

// In the format of a report's window.
std::string seconds_text(uint64_t ns) {
  return ns == 0 ? "-" : fmt::format("{:.6f}", static_cast<double>(ns) / 1e9);
}

std::string state_word(const json& snapshot) {
  if (flag_at(snapshot, "unreadable")) return "unreadable";
  return flag_at(snapshot, "complete") ? "complete" : "incomplete";
}

std::string listed_state(const json& snapshot) {
  return state_word(snapshot) + (flag_at(snapshot, "kept") ? ", kept" : "");
}

// Does some CPU reach further back than the window, which all CPUs have?
bool any_differs(const json& snapshots) {
  return std::ranges::any_of(snapshots, [](const json& snapshot) {
    return member(snapshot, "window").contains("furthest_ns");
  });
}

// How long the CPU that reaches furthest back covers.
std::string furthest_span_text(const json& window) {
  const uint64_t begin = number_at(window, "furthest_ns"), end = number_at(window, "end_ns");
  return window.contains("furthest_ns") ? duration_text(end - std::min(begin, end)) : "-";
}

bool any_has_previous(const json& snapshots) {
  return std::ranges::any_of(
      snapshots, [](const json& snapshot) { return !text_at(snapshot, "previous").empty(); });
}

// The snapshot before one. `above`: the name in the row above, where it mostly is.
std::string previous_name(const json& snapshot, const std::string& above, size_t name_width) {
  const std::string previous = text_at(snapshot, "previous");
  if (previous.empty()) return "-";
  return previous == above ? "above" : shortened_to(printable(previous), name_width);
}

// `differs`: with the column for how far CPUs differ.
std::vector<Table::Cell> row_of(const json& snapshot, size_t name_width, bool differs,
                                const Colours& colours) {
  const bool complete = flag_at(snapshot, "complete");
  const json& window = member(snapshot, "window");
  std::vector<Table::Cell> row = {{shortened_to(printable(text_at(snapshot, "name")), name_width)},
                                  {time_text(number_at(snapshot, "taken_realtime_ns"))},
                                  {seconds_text(number_at(window, "begin_ns")), true},
                                  {seconds_text(number_at(window, "end_ns")), true}};
  if (differs) row.push_back({furthest_span_text(window), true});
  row.push_back({grouped(number_at(snapshot, "records")), true});
  row.push_back({bytes_text(number_at(snapshot, "bytes")), true});
  row.push_back(
      {.text = listed_state(snapshot), .paint = [complete, &colours](std::string_view text) {
         return complete ? colours.green(text) : colours.red(text);
       }});
  return row;
}

// "4.000000123" of CLOCK_BOOTTIME, as events are shown; empty for a CPU without records.
std::string boottime_text(uint64_t ns) {
  constexpr uint64_t kSecond = 1'000'000'000;
  return ns == 0 ? "-" : fmt::format("{}.{:09}", ns / kSecond, ns % kSecond);
}

// The part of each CPU in a snapshot. The kernel counts missed hits for all CPUs together.
std::string cpus_text(const json& snapshot, const Colours& colours) {
  Table table(headings({">CPU", ">FIRST", ">LAST", ">RECORDS", ">OVERWRITTEN", ">LOST", ">MISSED"},
                       colours));
  for (const json& cpu : list_at(snapshot, "cpus"))
    table.add({{std::to_string(number_at(cpu, "cpu")), true},
               {boottime_text(number_at(cpu, "first_ns")), true},
               {boottime_text(number_at(cpu, "last_ns")), true},
               {grouped(number_at(cpu, "records")), true},
               {grouped(number_at(cpu, "overwritten")), true},
               {grouped(number_at(cpu, "lost")), true},
               {"", true}});
  table.add({{"all", true},
             {boottime_text(number_at(snapshot, "begin_ns")), true},
             {boottime_text(number_at(snapshot, "end_ns")), true},
             {grouped(number_at(snapshot, "records")), true},
             {grouped(number_at(snapshot, "overwritten")), true},
             {grouped(number_at(snapshot, "lost")), true},
             {grouped(number_at(snapshot, "missed")), true}});
  return table.text(2);
}

std::string counts_text(const json& counts) {
  return fmt::format("{} records, {}", grouped(number_at(counts, "records")),
                     printable(completeness_text(flag_at(counts, "complete"),
                                                 texts_at(counts, "incomplete_because"))));
}

// The snapshot before it, and what both have.
std::string previous_text(const json& answer) {
  const json& both = member(answer, "with_previous");
  if (!both.is_object()) return "no snapshot has what came right before it\n";
  const json& window = member(both, "window");
  return fmt::format("what came before is in {}: {}\nboth, from {} to {} s: {}\n",
                     printable(text_at(both, "path")), printable(text_at(both, "show")),
                     seconds_text(number_at(window, "begin_ns")),
                     seconds_text(number_at(window, "end_ns")), counts_text(both));
}

// Details that do not fit into the table.
std::string details_text(const json& snapshot) {
  std::string out;
  if (!flag_at(snapshot, "unreadable"))
    out = fmt::format("  reason: {} (requested by {})\n  overwritten {}, lost {}, missed {}\n",
                      printable(text_at(snapshot, "reason")),
                      printable(text_at(snapshot, "requested_by")),
                      grouped(number_at(snapshot, "overwritten")),
                      grouped(number_at(snapshot, "lost")), grouped(number_at(snapshot, "missed")));
  if (const std::string previous = text_at(snapshot, "previous"); !previous.empty())
    out += fmt::format("  what came before is in {}\n", printable(previous));
  for (const std::string& why : texts_at(snapshot, "incomplete_because"))
    out += fmt::format("  {}: {}\n", state_word(snapshot), printable(why));
  return out;
}

std::string unreadable_text(const json& snapshot) {
  if (!flag_at(snapshot, "unreadable")) return "";
  return shortened_to(
             printable(fmt::format("unreadable: {}",
                                   fmt::join(texts_at(snapshot, "incomplete_because"), "; "))),
             kListWidth) +
         "\n";
}

std::string table_text(const json& snapshots, size_t name_width, const Colours& colours) {
  const bool differs = any_differs(snapshots), previous = any_has_previous(snapshots);
  std::vector<std::string_view> columns{"NAME", "TAKEN (UTC)", ">FROM (s)", ">TO (s)"};
  if (differs) columns.emplace_back(">FURTHEST");
  columns.insert(columns.end(), {">RECORDS", ">SIZE", "STATE"});
  if (previous) columns.emplace_back("PREVIOUS");
  Table table(headings(columns, colours));
  std::string above;
  for (const json& snapshot : snapshots) {
    std::vector<Table::Cell> row = row_of(snapshot, name_width, differs, colours);
    if (previous) row.push_back({previous_name(snapshot, above, name_width)});
    table.add(std::move(row));
    above = text_at(snapshot, "name");
  }
  return table.text();
}

// The width of names with which no line of the table is longer than kListWidth.
size_t fitting_name_width(const json& snapshots) {
  const std::string text = table_text(snapshots, kNameWidth, Colours(false));
  size_t longest = 0;
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    longest = std::max(longest, text_columns(std::string_view(text).substr(at, end - at)));
  return kNameWidth - std::min(kNameWidth * 2 / 3, longest - std::min(longest, kListWidth));
}

}  // namespace

std::string snapshot_taken_view(const json& answer, bool with_previous) {
  const std::string path = printable(text_at(answer, "path"));
  if (!answer.contains("complete")) return fmt::format("{} is being written\n", path);
  return fmt::format("{}: {}\n{}", path, counts_text(answer),
                     with_previous ? previous_text(answer) : "");
}

std::string snapshot_list_view(const json& answer, const SnapshotListOptions& options,
                               const Colours& colours) {
  const json& snapshots = list_at(answer, "snapshots");
  std::string out;
  if (!snapshots.empty())
    out =
        table_text(snapshots, options.verbose ? SIZE_MAX : fitting_name_width(snapshots), colours);
  for (const json& snapshot : snapshots) {
    if (!options.per_cpu && !options.verbose) {
      out += unreadable_text(snapshot);
      continue;
    }
    out += fmt::format("\n{}:\n", printable(text_at(snapshot, "name")));
    if (options.verbose) out += details_text(snapshot);
    if (options.per_cpu) out += cpus_text(snapshot, colours);
  }
  for (const std::string& name : texts_at(answer, "writing"))
    out += fmt::format("being written: {}\n", printable(name));
  return out.empty() ? "no snapshots\n" : out;
}

}  // namespace ktraced
