// SPDX-License-Identifier: BSD-2-Clause
// The JSON of reports: their rows, and threads and processes, of which unknown values are null, and
// "?" in text.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/coverage/actor.h"
#include "base/text/json_access.h"
#include "ctl/input/report_text.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

[[nodiscard]] inline nlohmann::json comm_json(const std::string& comm) {
  return comm.empty() ? nlohmann::json() : nlohmann::json(comm);
}

// {"pid","comm","start_ns"} of a process, without "start_ns" if it is unknown. For a thread whose
// process is unknown {"pid":null,"tid","comm"}.
[[nodiscard]] inline nlohmann::json actor_json(const ActorRow& row) {
  if (!row.known) return {{"pid", nullptr}, {"tid", row.pid}, {"comm", comm_json(row.comm)}};
  nlohmann::json actor = {{"pid", row.pid},
                          {"comm", row.pid == 0 ? "swapper" : comm_json(row.comm)}};
  if (row.start_ns != 0) actor["start_ns"] = row.start_ns;
  return actor;
}

// The name in an object with "comm".
[[nodiscard]] inline std::string comm_text(const nlohmann::json& row,
                                           const nlohmann::json& /*report*/ = {}) {
  const std::string comm = text_at(row, "comm");
  return comm.empty() ? "?" : printable(comm);
}

// The process id in actor_json(); "?" if the process is unknown, nothing for all others.
[[nodiscard]] inline std::string pid_text(const nlohmann::json& actor,
                                          const nlohmann::json& /*report*/ = {}) {
  if (flag_at(actor, "others")) return "";
  return member(actor, "pid").is_null() ? "?" : std::to_string(number_at(actor, "pid"));
}
// The name in actor_json(); "(thread 815)" if the process is unknown.
[[nodiscard]] inline std::string actor_name(const nlohmann::json& actor,
                                            const nlohmann::json& /*report*/ = {}) {
  if (flag_at(actor, "others")) return "(others)";
  if (!member(actor, "pid").is_null()) return comm_text(actor);
  return fmt::format("(thread {})", number_at(actor, "tid"));
}
// The columns of actor_json(); `name`: what texts have as the name of the process.
[[nodiscard]] inline TableColumns actor_columns(CellText name = actor_name) {
  return make_columns(columns::number("pid", "PID", pid_text), "tid",
                      columns::text("comm", "PROCESS", name), "start_ns");
}

// Id and name together: "nginx 812", "(thread 815)".
[[nodiscard]] inline std::string actor_label(const nlohmann::json& actor) {
  std::string name = actor_name(actor);
  if (member(actor, "pid").is_null()) return name;
  return fmt::format("{} {}", name, number_at(actor, "pid"));
}

// {"rows","of"}: at most `top` of the rows in the order of `before`, each as `make` makes it, and
// the number of all.
template <class Row, class Before, class Make>
[[nodiscard]] nlohmann::json first_of(std::vector<const Row*> rows, uint64_t top, Before before,
                                      Make make) {
  const size_t shown = std::min<size_t>(rows.size(), top);
  std::ranges::stable_sort(rows, [&](const Row* a, const Row* b) { return before(*a, *b); });
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < shown; ++i) list.push_back(make(*rows[i]));
  return {{"rows", std::move(list)}, {"of", rows.size()}};
}
template <class Row, class Before, class Make>
[[nodiscard]] nlohmann::json first_rows(const std::vector<Row>& all, uint64_t top, Before before,
                                        Make make) {
  std::vector<const Row*> rows;
  rows.reserve(all.size());
  for (const Row& row : all) rows.push_back(&row);
  return first_of(std::move(rows), top, before, make);
}

// The sort keys of rows, pairs of a name and what it sorts by: their names.
template <class Keys>
[[nodiscard]] std::vector<std::string> key_names(const Keys& keys) {
  std::vector<std::string> names;
  for (const auto& [name, value] : keys) names.emplace_back(name);
  return names;
}
// The sort key with a name; the first one if there is none of that name.
template <class Keys>
[[nodiscard]] const auto& key_named(const Keys& keys, std::string_view name) {
  for (const auto& key : keys)
    if (name == key.first) return key;
  return *std::begin(keys);
}

}  // namespace ktraced
