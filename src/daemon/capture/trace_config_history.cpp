// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/trace_config_history.h"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
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

// Header of an entry of the log; the text follows.
struct EntryHeader {
  uint64_t ns;
  uint32_t bytes;  // of the text
  uint32_t checksum;
};

// A hash of everything else in an entry; finds torn entries, not forged ones.
uint32_t checksum_of(uint64_t position, uint64_t ns, std::string_view text) {
  Hash hash;
  hash.add(std::as_bytes(std::span(&position, 1)));
  hash.add(std::as_bytes(std::span(&ns, 1)));
  hash.add(std::as_bytes(std::span(text)));
  return static_cast<uint32_t>(hash.value());
}

void copy_in(ConfigLog& log, uint64_t position, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) log.data[position++ % log.data.size()] = byte;
}

void copy_out(const ConfigLog& log, uint64_t position, std::span<std::byte> bytes) {
  for (std::byte& byte : bytes) byte = log.data[position++ % log.data.size()];
}

}  // namespace

TraceConfigHistory::TraceConfigHistory(ConfigLog& log, bool adopted) : log_(log) {
  if (adopted)
    adopt();
  else
    clear_log(0);
}

void TraceConfigHistory::adopt() {
  if (log_.head == 0)
    return mark_unknown("the earlier daemon did not log it, nor how many hits the kernel missed");
  if (log_.changing != 0)
    return mark_unknown("an earlier daemon ended while it changed the trace config");
  if (!read_log()) return mark_unknown("the log of trace configs is damaged");
  if (log_.known_since_ns != 0)
    known_since_ = {.ns = log_.known_since_ns, .reason = "the log holds only the last changes"};
  current_ = changes_.back().config;
}

// False if the log is damaged.
bool TraceConfigHistory::read_log() {
  const uint64_t head = log_.head;
  if (log_.tail >= head || head - log_.tail > log_.data.size()) return false;
  for (uint64_t position = log_.tail; position != head;) {
    EntryHeader entry{};
    if (head - position < sizeof(entry)) return false;
    copy_out(log_, position, std::as_writable_bytes(std::span(&entry, 1)));
    if (entry.bytes > head - position - sizeof(entry)) return false;
    std::string text(entry.bytes, '\0');
    copy_out(log_, position + sizeof(entry), std::as_writable_bytes(std::span(text)));
    if (entry.checksum != checksum_of(position, entry.ns, text)) return false;
    auto config = json::parse(text, nullptr, false);
    if (!config.is_object() || (!changes_.empty() && entry.ns < changes_.back().ns)) return false;
    ++logged_;
    add({.ns = entry.ns,
         .config = std::make_shared<const json>(std::move(config)),
         .bytes = entry.bytes});
    position += sizeof(entry) + entry.bytes;
  }
  return true;
}

void TraceConfigHistory::mark_unknown(std::string reason) {
  changes_.clear();
  bytes_ = 0;
  known_since_ = {.ns = boottime_ns(), .reason = std::move(reason)};
  clear_log(known_since_.ns);
  spdlog::warn("the trace config up to now is not known: {}", known_since_.reason);
}

void TraceConfigHistory::clear_log(uint64_t known_since_ns) {
  logged_ = 0;
  store_in_order(log_.head, 0);  // nothing is there
  store_in_order(log_.tail, 0);
  store_in_order(log_.changing, changing_ != 0 ? 1 : 0);
  store_in_order(log_.known_since_ns, known_since_ns);
}

TraceConfigHistory::Config TraceConfigHistory::current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

std::optional<uint64_t> TraceConfigHistory::note(json config) {
  if (current_ != nullptr && *current_ == config) return std::nullopt;
  const std::string text = dump_json(config);
  auto shared = std::make_shared<const json>(std::move(config));
  {
    std::lock_guard lock(mutex_);
    current_ = shared;
  }
  const uint64_t ns = boottime_ns();
  // The trace config of the previous daemon applies up to now.
  if (changes_.empty() && known_since_.ns != 0) {
    known_since_.ns = ns;
    clear_log(ns);
  }
  write(ns, text);
  add({.ns = ns, .config = std::move(shared), .bytes = text.size()});
  return ns;
}

// Evicts the oldest entry of the log; `next_ns`: of the entry behind it, if it is the only one. A
// daemon that ends here leaves a log with less than the truth, never more.
void TraceConfigHistory::evict_logged(uint64_t next_ns) {
  const auto oldest = changes_.end() - static_cast<ptrdiff_t>(logged_--);
  store_in_order(log_.known_since_ns, logged_ != 0 ? std::next(oldest)->ns : next_ns);
  store_in_order(log_.tail, log_.tail + sizeof(EntryHeader) + oldest->bytes);
}

// The entry exists once the head is behind it. A config that does not fit even into an empty log
// leaves a gap up to the next one.
void TraceConfigHistory::write(uint64_t ns, std::string_view text) {
  const size_t bytes = sizeof(EntryHeader) + text.size();
  while (logged_ != 0 && log_.head + bytes - log_.tail > log_.data.size()) evict_logged(ns);
  if (logged_ == 0 && !changes_.empty()) store_in_order(log_.known_since_ns, ns);
  if (bytes > log_.data.size()) return;
  const EntryHeader entry{.ns = ns,
                          .bytes = static_cast<uint32_t>(text.size()),
                          .checksum = checksum_of(log_.head, ns, text)};
  copy_in(log_, log_.head, std::as_bytes(std::span(&entry, 1)));
  copy_in(log_, log_.head + sizeof(entry), std::as_bytes(std::span(text)));
  store_in_order(log_.head, log_.head + bytes);
  ++logged_;
}

void TraceConfigHistory::add(Entry change) {
  bytes_ += change.bytes;
  changes_.push_back(std::move(change));
  while (changes_.size() > kMaxChanges || (bytes_ > kMaxBytes && changes_.size() > 1)) {
    if (logged_ == changes_.size()) evict_logged(changes_.back().ns);
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
  if (history_.changing_++ == 0) store_in_order(history_.log_.changing, 1);
}

TraceConfigHistory::Change::~Change() {
  if (--history_.changing_ == 0) store_in_order(history_.log_.changing, 0);
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
