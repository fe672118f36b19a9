// What a decoder has prepared for each event, found by number.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schema/schema.h"

namespace ktraced {

// `Plan` is made from an Event once and then used for each of its records.
template <class Plan>
class EventTable {
 public:
  // `make(const Event&)` gives a Plan.
  template <class Make>
  EventTable(const Schema& schema, Make&& make) {
    for (const Event& event : schema.events()) {
      if (event.id >= plans_.size()) plans_.resize(event.id + 1U);
      plans_[event.id] = std::make_unique<Plan>(make(event));
    }
  }

  // Null for an event that the schema does not have.
  [[nodiscard]] const Plan* find(uint16_t id) const {
    return id < plans_.size() ? plans_[id].get() : nullptr;
  }

 private:
  std::vector<std::unique_ptr<Plan>> plans_;
};

}  // namespace ktraced
