// SPDX-License-Identifier: BSD-2-Clause
// Data that decoders prepare once for each event, by event id.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "schema/schema.h"

namespace ktraced {

// A `Plan` is made from an Event at its first record, and used for all of its records. The schema
// may grow. Used by one thread.
template <class Plan>
class EventTable {
 public:
  // `make` returns a Plan. `schema` must outlive this.
  EventTable(const Schema& schema, std::function<Plan(const Event&)> make)
      : schema_(&schema), make_(std::move(make)) {}

  // Null for an event that the schema does not have.
  [[nodiscard]] const Plan* find(uint32_t id) const {
    if (id < plans_.size() && plans_[id] != nullptr) return plans_[id].get();
    return add(id);
  }

 private:
  const Plan* add(uint32_t id) const {
    const Event* event = schema_->find(id);
    if (event == nullptr) return nullptr;
    if (id >= plans_.size()) plans_.resize(id + size_t{1});
    plans_[id] = std::make_unique<Plan>(make_(*event));
    return plans_[id].get();
  }

  const Schema* schema_;
  std::function<Plan(const Event&)> make_;
  mutable std::vector<std::unique_ptr<Plan>> plans_;  // made so far, by id
};

}  // namespace ktraced
