// SPDX-License-Identifier: BSD-2-Clause
// Where system calls are made.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "analysis/intervals/call_tracker.h"
#include "analysis/stacks/stack_sums.h"

namespace ktraced {

// Sums up the selected calls of some kinds that returned, or ended their thread, by the stacks of
// their sys_enter or, if that has none, of their sys_exit. A call whose duration is not known
// counts without it.
class CallStacks : public CallSink {
 public:
  using IsChosen = std::function<bool(uint32_t abi, int32_t nr)>;

  // Takes the calls of `tracker`, which must outlive this.
  CallStacks(CallTracker& tracker, StacksBy by, IsChosen is_chosen)
      : is_chosen_(std::move(is_chosen)), sums_(by) {
    tracker.add_sink(*this);
  }
  CallStacks(const CallStacks&) = delete;
  CallStacks& operator=(const CallStacks&) = delete;

  void on_begin(const Call& call, const CallRecord& at, Unknown unknown) override;
  void on_end(const CallInterval& interval) override;
  void on_new_id(uint32_t from, uint32_t to, uint64_t ts) override;

  [[nodiscard]] const StackSums& sums() const { return sums_; }

 private:
  IsChosen is_chosen_;
  StackSums sums_;
  std::unordered_map<uint32_t, StackPlace> running_;  // the calls that have begun, by thread
};

}  // namespace ktraced
