// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/ring_account.h"

#include <algorithm>
#include <map>

namespace ktraced {
namespace {

// The smallest and largest size of a number of records of an event, in bytes.
struct Bytes {
  uint64_t min = 0;
  uint64_t max = 0;
};

bool has_variable_size(const Event& event) {
  return std::ranges::any_of(event.fields, [](const Field& field) { return field.count == 0; });
}

// All events of one name: accounts do not distinguish several definitions of an event.
struct EventsOfName {
  uint64_t written = 0;
  Bytes record{.min = UINT64_MAX, .max = 0};

  // `more`: bytes that some of the records may have behind their fields.
  void add(const Event& event, uint64_t records, uint64_t more) {
    if (records == 0 && record.max != 0) return;
    written += records;
    record.min = std::min<uint64_t>(record.min, event.size);
    record.max = std::max<uint64_t>(
        record.max, has_variable_size(event) ? uint64_t{RECORD_MAX} : event.size + more);
  }
};

void add(Bytes& sum, const EventsOfName& events, uint64_t records) {
  sum.min += records * events.record.min;
  sum.max += records * events.record.max;
}

// Without "events" it is not known what was traced.
bool may_have_traced(const nlohmann::json& config, const std::string& event) {
  const auto events = config.find("events");
  if (events == config.end()) return true;
  return config.value("state", "") != "paused" &&
         std::ranges::any_of(*events, [&](const auto& name) { return name == event; });
}

std::string on(const CpuAccount& account, std::string_view what) {
  return fmt::format("CPU {}: {}", account.cpu, what);
}

}  // namespace

std::vector<std::string> balance(const Schema& schema, const RingContent& ring,
                                 CpuAccount& account) {
  std::vector<std::string> problems;
  auto problem = [&](std::string_view what) { problems.push_back(on(account, what)); };
  if (!ring.intact) problem("damaged bytes in the flight ring end its history early");

  const bool wrapped = ring.written_bytes > ring.capacity;
  Bytes overwritten;
  std::map<std::string_view, EventsOfName> by_name;
  // Of the records with stacks, at least the first ones since the ring was empty came with stacks.
  const uint64_t stacks = ring.written[RECORD_STACK];
  for (const Event& event : schema.events())
    by_name[event.name].add(event, ring.written[event.id], stacks != 0 ? sizeof(stack_numbers) : 0);
  for (const Event& record : stack_records())
    if (const uint64_t count = ring.written[record.id]; count != 0)
      by_name[record.name].add(record, count,
                               record.id == RECORD_STACK ? STACK_DEPTH_MAX * sizeof(uint64_t) : 0);
  for (const auto& [name, events] : by_name) {
    const auto found = account.events.find(std::string(name));
    const uint64_t records = found == account.events.end() ? 0 : found->second.records;
    if (events.written == records) continue;
    if (events.written < records) {
      problem(fmt::format("{} {} records where {} were counted", records, name, events.written));
      continue;
    }
    account.events[std::string(name)].overwritten = events.written - records;
    add(overwritten, events, events.written - records);
    if (!wrapped)
      problem(fmt::format("{} {} records are missing, though nothing was overwritten",
                          events.written - records, name));
  }

  const uint64_t bytes = ring.written_bytes - ring.found_bytes;
  if (bytes < overwritten.min || bytes > overwritten.max)
    problem(fmt::format("{} bytes were overwritten, but the counters say {}", bytes,
                        overwritten.min == overwritten.max
                            ? std::to_string(overwritten.min)
                            : fmt::format("{} to {}", overwritten.min, overwritten.max)));
  return problems;
}

void restrict_to_window(Manifest& manifest) {
  using nlohmann::json;
  json& config = manifest.config;
  const uint64_t begin_ns = window_of(manifest).furthest_ns;
  json later = json::array();
  for (json& change : config.value("changes", json::array())) {
    if (change["ns"] <= begin_ns)
      config = std::move(change["config"]);
    else
      later.push_back(std::move(change));
  }
  config.erase("changes");
  std::erase_if(manifest.missed, [&](const auto& missed) {
    return !may_have_traced(config, missed.first) &&
           std::ranges::none_of(later, [&](const json& change) {
             return may_have_traced(change["config"], missed.first);
           });
  });
  if (!later.empty()) config["changes"] = std::move(later);
}

}  // namespace ktraced
