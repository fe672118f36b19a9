// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/count_tables.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text/json_access.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 5> kCounters{"recorded", "filtered", "dropped", "missed",
                                               "overwritten"};

bool is_loss(std::string_view counter) { return counter == "dropped" || counter == "missed"; }

}  // namespace

bool is_interesting(const json& event) {
  for (const char* counter : kCounters)
    if (number_at(event, counter) != 0) return true;
  return flag_at(event, "enabled");
}

Table::Cell counter_cell(const json& counts, const char* counter, const Colours& colours) {
  const uint64_t count = number_at(counts, counter);
  Table::Cell cell{.text = grouped(count), .right = true};
  if (count != 0 && is_loss(counter))
    cell.paint = [&colours](std::string_view text) { return colours.red(text); };
  return cell;
}

std::string event_table(const json& events, const json& totals, const Colours& colours) {
  Table table(
      headings({"EVENT", "STATE", ">RECORDED", ">FILTERED", ">DROPPED", ">MISSED", ">OVERWRITTEN"},
               colours));
  auto add = [&](const std::string& name, std::string state, const json& counts) {
    std::vector<Table::Cell> row{{name}, {std::move(state)}};
    for (const char* counter : kCounters) row.push_back(counter_cell(counts, counter, colours));
    table.add(std::move(row));
  };
  for (const auto& [name, event] : events.items())
    if (is_interesting(event)) add(name, flag_at(event, "enabled") ? "on" : "off", event);
  add("total", "", totals);
  return table.text();
}

std::string ring_table(const json& sessions, const Colours& colours) {
  Table table(headings({"SESSION", ">CPU", ">SIZE", ">PRODUCED", ">CONSUMED", ">UNREAD"}, colours));
  bool any = false;
  for (const json& session : sessions)
    for (const json& ring : list_at(session, "rings")) {
      any = true;
      const uint64_t produced = number_at(ring, "produced"), consumed = number_at(ring, "consumed");
      table.add({{text_at(session, "name")},
                 {std::to_string(number_at(ring, "cpu")), true},
                 {bytes_text(number_at(ring, "ring_bytes")), true},
                 {grouped(produced), true},
                 {grouped(consumed), true},
                 {grouped(produced - std::min(produced, consumed)), true}});
    }
  return any ? table.text() : "";
}

}  // namespace ktraced
