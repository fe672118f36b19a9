// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/printing/event_counter.h"

#include "decoders/text/decoder.h"

namespace ktraced {

void EventCounter::take(const PacketView& packet) {
  if (packet.header().stream_id != static_cast<uint32_t>(StreamId::events)) return;
  packet.for_each_record([this](RecordView record) { add(record); });
  for (const Lost& lost : packet.lost()) lose(lost.count);
}

nlohmann::json EventCounter::summary(const Schema& schema, double seconds) const {
  nlohmann::json by_event = nlohmann::json::object();
  for (uint32_t id = 0; id < counts_.size(); ++id)
    if (counts_[id] != 0) {
      const std::string name = event_name(schema, id);
      by_event[name] = by_event.value(name, uint64_t{0}) + counts_[id];
    }
  return {{"events", events_}, {"lost", lost_}, {"seconds", seconds}, {"by_event", by_event}};
}

}  // namespace ktraced
