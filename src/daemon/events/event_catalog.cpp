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

EventCatalog::EventCatalog(Schema schema, const BpfObject& object, KernelSymbols& symbols)
    : schema_(std::move(schema)),
      object_(object),
      tracepoints_(object),
      probes_(object, symbols),
      dynamic_(object),
      kept_misses_(KeptMisses::open(object.pins(), "replaced_misses")) {
  dynamic_.add_kind(tracepoints_);
  dynamic_.add_kind(probes_);
  dynamic_.adopt();
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
  return is_dynamic(event) ? dynamic_.attached(event.id) : object_.attached(event.name);
}

uint64_t EventCatalog::missed(const Event& event) const {
  if (is_dynamic(event)) return dynamic_.missed(event.id);
  std::lock_guard lock(missed_mutex_);
  return object_.missed(event.name) + kept_misses_.of(event.id);
}

void EventCatalog::replace_programs(const std::vector<std::string>& events,
                                    const std::function<void()>& replace) {
  std::lock_guard lock(missed_mutex_);
  for (const std::string& name : events)
    if (const Event* event = schema_.find(name)) kept_misses_.add(event->id, object_.missed(name));
  replace();
}

std::map<std::string, uint64_t> EventCatalog::missed() const {
  std::map<std::string, uint64_t> counts;
  std::lock_guard lock(schema_mutex_);
  for (const Event& event : schema_.events())
    if (const uint64_t count = missed(event); count != 0) counts[event.name] += count;
  return counts;
}

}  // namespace ktraced
