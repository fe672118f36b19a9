// SPDX-License-Identifier: BSD-2-Clause
// Counts events without decoding them.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

class EventCounter {
 public:
  void take(const PacketView& packet);
  void add(RecordView record) {
    if (is_stack_record(record.id())) return;
    ++events_;
    if (record.id() < counts_.size()) ++counts_[record.id()];
  }
  void lose(uint64_t count) { lost_ += count; }
  // {"events":…,"lost":…,"seconds":…,"by_event":{"kmalloc":…}}
  [[nodiscard]] nlohmann::json summary(const Schema& schema, double seconds) const;

 private:
  std::array<uint64_t, EVENT_ID_MAX> counts_{};
  uint64_t events_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace ktraced
