// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/call_stacks.h"

#include <algorithm>

namespace ktraced {

void CallStacks::on_begin(const Call& call, const CallRecord& at, Unknown /*unknown*/) {
  if (is_chosen_(call.abi, call.nr))
    running_.insert_or_assign(at.record.tid(), sums_.place_of(at.record, at.names));
}

void CallStacks::on_end(const CallInterval& interval) {
  const auto begun = running_.extract(interval.tid);
  const Call* call = interval.call;
  if (begun.empty() || call == nullptr || !interval.selected()) return;
  const bool returned = interval.end == CallEnd::returned;
  if (!returned && !(call->never_returns && interval.end == CallEnd::thread_ended)) return;
  StackPlace at = begun.mapped();
  if (at.kernel == 0 && at.user == 0 && returned) {
    const CallRecord& end = interval.returned->at;
    at = sums_.place_of(end.record, end.names);
  }
  const uint64_t ns = interval.end_ns - std::min(interval.end_ns, call->begin_ns);
  sums_[sums_.row_of({.at = at}, call->begin_ns)].weight +=
      returned && interval.known() ? StackWeight::of_time(ns, call->begin_ns)
                                   : StackWeight{.count = 1};
}

void CallStacks::on_new_id(uint32_t from, uint32_t to, uint64_t /*ts*/) {
  auto call = running_.extract(from);
  if (call.empty()) return;
  call.key() = to;
  running_.erase(to);
  running_.insert(std::move(call));
}

}  // namespace ktraced
