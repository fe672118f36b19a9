// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/trace_config_history.h"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/text/json_access.h"
#include "base/text/json_dump.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kMaxNames = 20;  // in one line of the log

std::set<std::string> names_at(const json& config, const char* key) {
  const std::vector<std::string> names = texts_at(config, key);
  return {names.begin(), names.end()};
}

std::string name_list(const std::vector<std::string>& names) {
  if (names.size() <= kMaxNames) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMaxNames, ", "),
                     names.size() - kMaxNames);
}

// The filter without its empty lists.
json values_of(const json& filter) {
  json values = json::object();
  if (!filter.is_object()) return values;
  for (const auto& [key, value] : filter.items()) {
    json kept = value.is_object() ? values_of(value) : value;
    if (!kept.empty()) values[key] = std::move(kept);
  }
  return values;
}

}  // namespace

TraceConfigHistory::TraceConfigHistory(const Ledger& ledger, bool adopted)
    : log_(ledger.configs()) {
  if (!adopted)
    log_.clear(0);
  else if (ledger.adopted())
    adopt();
  else
    mark_unknown("the earlier daemon did not log it, nor how many hits the kernel missed");
}

void TraceConfigHistory::adopt() {
  auto content = log_.read();
  if (!content) return mark_unknown(content.error().message);
  if (content->known_since_ns != 0)
    known_since_ = {.ns = content->known_since_ns, .reason = "the log holds only the last changes"};
  for (TraceConfigLog::Entry& entry : content->entries) {
    const size_t bytes = dump_json(entry.config).size();
    add(entry.ns, std::make_shared<const json>(std::move(entry.config)), bytes);
  }
  current_ = changes_.back().config;
}

void TraceConfigHistory::mark_unknown(std::string reason) {
  const uint64_t now = boottime_ns();
  changes_.clear();
  bytes_ = 0;
  if (current_) add(now, current_, dump_json(*current_).size());
  known_since_ = {.ns = now, .reason = std::move(reason)};
  log_.clear(now);
  if (current_) log_.append(now, current_->dump());
  spdlog::warn("the trace config up to now is not known: {}", known_since_.reason);
}

TraceConfigHistory::Config TraceConfigHistory::current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

std::optional<uint64_t> TraceConfigHistory::note(json config) {
  if (current_ != nullptr && *current_ == config) return std::nullopt;
  auto shared = std::make_shared<const json>(std::move(config));
  {
    std::lock_guard lock(mutex_);
    current_ = shared;
  }
  const uint64_t ns = boottime_ns();
  append(ns, std::move(shared));
  return ns;
}

void TraceConfigHistory::append(uint64_t ns, Config config) {
  // The trace config of the previous daemon applies up to now.
  if (changes_.empty() && known_since_.ns != 0) {
    known_since_.ns = ns;
    log_.clear(ns);
  }
  const std::string text = dump_json(*config);
  log_.append(ns, text);
  add(ns, std::move(config), text.size());
}

void TraceConfigHistory::add(uint64_t ns, Config config, size_t bytes) {
  changes_.push_back({.ns = ns, .config = std::move(config), .bytes = bytes});
  bytes_ += bytes;
  while (changes_.size() > kMaxChanges || (bytes_ > kMaxBytes && changes_.size() > 1)) {
    bytes_ -= changes_.front().bytes;
    changes_.pop_front();
    known_since_ = {.ns = changes_.front().ns,
                    .reason = fmt::format("only the last {} changes are kept", changes_.size())};
  }
}

json TraceConfigHistory::since(uint64_t ns) const {
  auto later = std::ranges::upper_bound(changes_, ns, {}, &Entry::ns);
  json config = json::object();
  if (later != changes_.begin())
    config = *std::prev(later)->config;
  else if (ns >= known_since_.ns && later != changes_.end())
    config = *(later++)->config;  // nothing was traced before
  for (; later != changes_.end(); ++later)
    config["changes"].push_back({{"ns", later->ns}, {"config", *later->config}});
  return config;
}

TraceConfigHistory::Change::Change(TraceConfigHistory& history) : history_(history) {
  if (history_.changing_++ == 0) history_.log_.begin_change(boottime_ns());
}

TraceConfigHistory::Change::~Change() {
  if (--history_.changing_ == 0) history_.log_.end_change();
}

std::vector<std::string> dropped_settings(const json& before, const json& now) {
  std::vector<std::string> lines;
  json filter = values_of(before.value("filter", json::object()));
  const json kept = values_of(now.value("filter", json::object()));
  for (const auto& [key, value] : kept.items())
    if (filter.value(key, json()) == value) filter.erase(key);
  if (!filter.empty()) lines.push_back(fmt::format("its filter {}", dump_json(filter)));
  const std::set<std::string> had = names_at(before, "events"), has = names_at(now, "events");
  std::vector<std::string> more, fewer;
  std::ranges::set_difference(had, has, std::back_inserter(more));
  std::ranges::set_difference(has, had, std::back_inserter(fewer));
  if (!more.empty()) lines.push_back(fmt::format("events it had enabled: {}", name_list(more)));
  if (!fewer.empty()) lines.push_back(fmt::format("events it had disabled: {}", name_list(fewer)));
  if (before.value("state", "") == "paused" && now.value("state", "") != "paused")
    lines.emplace_back("its pause");
  return lines;
}

}  // namespace ktraced
