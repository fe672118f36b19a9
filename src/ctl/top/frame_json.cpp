// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/layout.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "ctl/terminal/json_text.h"
#include "ctl/top/view_names.h"

namespace ktraced {
namespace {

using nlohmann::json;

// "RECORDED/S" → "recorded_per_s", "CPU %" → "cpu_percent", "SYSTEM CALL" → "system_call"
std::string key_of(std::string title) {
  if (title.ends_with("/S")) title.replace(title.size() - 2, 2, "_per_s");
  if (title.ends_with(" %")) title.replace(title.size() - 2, 2, "_percent");
  std::ranges::transform(title, title.begin(), [](unsigned char letter) {
    return letter == ' ' ? '_' : static_cast<char>(std::tolower(letter));
  });
  return title;
}

json row_json(const TopTable& table, const TopRow& row) {
  json out = json::object();
  for (size_t i = 0; i < row.size(); ++i) {
    const TopColumn& column = table.columns[i];
    out[key_of(column.title)] = column.is_text ? json(row[i].text) : json(row[i].number);
  }
  return out;
}

}  // namespace

std::string frame_json(const TopFrame& frame, TopView view) {
  const HitRates& rates = frame.header.rates;
  json rows = json::array();
  for (const TopRow& row : frame.table.rows) rows.push_back(row_json(frame.table, row));
  return json_text({{"view", view_name(view)},
                    {"state", frame.header.state},
                    {"rates",
                     {{"recorded_per_s", rates.recorded},
                      {"filtered_per_s", rates.filtered},
                      {"dropped_per_s", rates.dropped},
                      {"missed_per_s", rates.missed}}},
                    {"overhead", frame.header.overhead},
                    {"flight_reach_ns",
                     frame.header.flight_reach_ns ? json(*frame.header.flight_reach_ns) : json()},
                    {"sessions", frame.header.sessions},
                    {"rows", std::move(rows)}},
                   -1);
}

}  // namespace ktraced
