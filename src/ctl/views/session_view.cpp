// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/views.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/json_access.h"
#include "ctl/input/filter_args.h"
#include "ctl/views/count_tables.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kEventsInList = 1;
constexpr size_t kEventsInView = 40;
constexpr size_t kFilterWidth = 40;

// "kfree and 12 more"
std::string events_text(const json& session, size_t most) {
  auto names = texts_at(session, "events");
  if (names.empty()) return "none";
  const size_t more = names.size() - std::min(names.size(), most);
  names.resize(names.size() - more);
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  return more == 0 ? text : fmt::format("{} and {} more", text, grouped(more));
}

std::string filter_words(const json& session) {
  const auto args = filter_to_args(member(session, "filter"));
  return args.empty() ? "none" : fmt::format("{}", fmt::join(args, " "));
}

// "pid 812 (uid 0)"; the daemon owns some sessions itself.
std::string owner_text(const json& session) {
  const uint64_t pid = number_at(session, "pid");
  return pid == 0 ? "ktraced" : fmt::format("pid {} (uid {})", pid, number_at(session, "uid"));
}

std::string age_text(const json& session) {
  const double seconds = static_cast<double>(number_at(session, "age_ns")) / 1e9;
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// "2 x 4 MiB"
std::string rings_text(const json& session) {
  const size_t rings = list_at(session, "rings").size();
  if (rings == 0) return "-";
  return fmt::format("{} x {}", rings, bytes_text(number_at(session, "ring_bytes")));
}

Table::Cell session_state_cell(const json& session, const Colours& colours) {
  const std::string state = text_at(session, "state");
  const bool recording = state == "recording";
  return {.text = state, .paint = [recording, &colours](std::string_view text) {
            return recording ? colours.green(text) : colours.red(text);
          }};
}

// The columns that the list and the summary have in common.
const std::vector<std::string_view> kSessionColumns = {
    "SESSION", "STATE", "OWNER", ">AGE", ">RINGS", ">RECORDED", ">FILTERED", ">DROPPED", ">MISSED"};
std::vector<Table::Cell> session_row(const json& session, const Colours& colours) {
  const json& totals = member(session, "totals");
  std::vector<Table::Cell> row{{text_at(session, "name")},
                               session_state_cell(session, colours),
                               {owner_text(session)},
                               {age_text(session), true},
                               {rings_text(session), true}};
  for (const char* counter : {"recorded", "filtered", "dropped", "missed"})
    row.push_back(counter_cell(totals, counter, colours));
  return row;
}

}  // namespace

std::string session_summary(const json& sessions, const Colours& colours) {
  if (!sessions.is_array() || sessions.empty()) return "";
  Table table(headings(kSessionColumns, colours));
  for (const json& session : sessions) table.add(session_row(session, colours));
  return table.text();
}

std::string session_list_view(const json& answer, const Colours& colours) {
  const json& sessions = list_at(answer, "sessions");
  if (sessions.empty()) return "no session: nothing is recorded\n";
  std::vector<std::string_view> columns = kSessionColumns;
  columns.emplace_back("EVENTS");
  columns.emplace_back("FILTER");
  Table table(headings(columns, colours));
  for (const json& session : sessions) {
    std::vector<Table::Cell> row = session_row(session, colours);
    row.push_back({events_text(session, kEventsInList)});
    row.push_back({shortened_to(filter_words(session), kFilterWidth)});
    table.add(std::move(row));
  }
  return table.text();
}

std::string session_view(const json& session, const Colours& colours) {
  const std::string state = text_at(session, "state"), name = text_at(session, "name");
  // Sessions other than the recorder have events and a filter of their own, or those of the
  // recorder.
  const auto source = [&](const char* own) {
    return name == "recorder" || flag_at(session, own) ? "" : " (of the recorder)";
  };
  std::string out = fmt::format("session {}: {}, for {}\n", name,
                                state == "recording" ? colours.green(state) : colours.red(state),
                                age_text(session));
  out += fmt::format("owner: {}\n", owner_text(session));
  out += fmt::format("events{}: {}\n", source("own_events"), events_text(session, kEventsInView));
  out += fmt::format("filter{}: {}\n", source("own_filter"), filter_words(session));
  out += fmt::format("\n{}",
                     event_table(member(session, "counts"), member(session, "totals"), colours));
  const std::string rings = ring_table(json::array({session}), colours);
  return rings.empty() ? out : out + "\n" + rings;
}

}  // namespace ktraced
