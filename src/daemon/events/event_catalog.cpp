// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/event_catalog.h"

#include "base/clock.h"
#include "trace/metadata/event_records.h"

namespace ktraced {

EventGroups event_groups(const Schema& schema) {
  EventGroups groups;
  for (const Event& event : schema.events())
    if (!is_dynamic(event)) groups[event.group].push_back(event.name);
  return groups;
}

EventCatalog::EventCatalog(Schema schema, const BpfObject& object, const Ledger& ledger,
                           const Catchers& catchers, KernelSymbols& symbols)
    : schema_(std::move(schema)),
      object_(object),
      catchers_(catchers),
      tracepoints_(object),
      probes_(object, symbols),
      dynamic_(object, ledger.retired_misses()),
      calls_(object, ledger.retired_misses()),
      stacks_(object, schema_, ledger.retired_misses()) {
  dynamic_.add_kind(tracepoints_);
  dynamic_.add_kind(probes_);
  dynamic_.adopt();
  for (const Event& event : schema_.events()) built_in_.emplace(event.id, event.name);
  for (const auto& [id, event] : dynamic_.all()) schema_.add(event->event);
}

Schema EventCatalog::schema_copy() const {
  std::lock_guard lock(schema_mutex_);
  return schema_;
}

const DynamicEvent* EventCatalog::tracepoint(const std::string& name) const {
  const DynamicEvent* event = dynamic_.find(name);
  return event != nullptr && event->kind == &tracepoints_ ? event : nullptr;
}

void EventCatalog::add_defined(const std::vector<const DynamicEvent*>& events) {
  std::vector<std::byte> records;
  for (const DynamicEvent* event : events) {
    if (schema_.find(event->event.id) != nullptr) continue;
    {
      std::lock_guard lock(schema_mutex_);
      schema_.add(event->event);
    }
    const auto record = event_record(event->event, boottime_ns());
    records.insert(records.end(), record.begin(), record.end());
  }
  if (!records.empty()) announce_(records);
}

std::vector<std::byte> EventCatalog::definitions() const {
  std::vector<std::byte> records;
  for (const auto& [id, event] : dynamic_.all()) {
    const auto record = event_record(event->event, 0);
    records.insert(records.end(), record.begin(), record.end());
  }
  return records;
}

bool EventCatalog::attached(const Event& event) const {
  if (is_dynamic(event)) return dynamic_.attached(event.id);
  return object_.attached(event.name) || stacks_.attached(event.name);
}

uint64_t EventCatalog::missed(uint16_t event) const {
  if (event >= DYNAMIC_ID_FIRST) return dynamic_.missed(event);
  if (event == CALL_ENTERED) return calls_.missed(EVENT_sys_enter);
  if (event == CALL_RETURNED) return calls_.missed(EVENT_sys_exit);
  if (event >= STACK_PLACES) return stacks_.missed(event);
  const auto name = built_in_.find(event);
  if (name == built_in_.end()) return 0;
  return catchers_.missed(event, [&] { return object_.missed(name->second); });
}

RunsByProgram EventCatalog::runs() const {
  RunsByProgram runs;
  object_.add_runs(runs);
  dynamic_.add_runs(runs);
  calls_.add_runs(runs);
  stacks_.add_runs(runs);
  return runs;
}

std::map<std::string, uint64_t> EventCatalog::sums(const CountOf& count) const {
  std::map<std::string, uint64_t> sums;
  std::lock_guard lock(schema_mutex_);
  for (const Event& event : schema_.events())
    if (const uint64_t number = count(event); number != 0) sums[event.name] += number;
  return sums;
}

}  // namespace ktraced
