// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/stack_account.h"

#include <algorithm>
#include <cstring>

namespace ktraced {

// Null: the table is full.
StackAccount::Stack* StackAccount::find(uint64_t number, StackKind kind) {
  const auto known = stacks_.find(number);
  if (known != stacks_.end()) return &known->second;
  if (stacks_.size() >= max_stacks_) return nullptr;
  return &stacks_.emplace(number, Stack{.kind = kind}).first->second;
}

void StackAccount::count_event(uint64_t number, StackKind kind) {
  if (number == 0) return;
  if (Stack* stack = find(number, kind); stack != nullptr)
    ++stack->events;
  else
    ++(kind == StackKind::kernel ? other_kernel_ : other_user_);
}

void StackAccount::on_record(const RecordOrigin& from, RecordView record) {
  if (!record.has_stacks() || !is_selected(from, record)) return;
  const stack_numbers numbers = record.stacks();
  count_event(numbers.kernel, StackKind::kernel);
  count_event(numbers.user, StackKind::user);
}

void StackAccount::on_stack(const RecordOrigin& /*from*/, RecordView record) {
  const auto written = stack_of(record);
  if (!written) return;
  uint64_t number = 0;
  std::memcpy(&number, record.bytes().data() + offsetof(rec_stack, number), sizeof(number));
  Stack* const stack = find(number, written->kind);
  if (stack != nullptr) ++stack->written;
}

bool StackAccount::lacks_any() const {
  return std::ranges::any_of(stacks_, [](const auto& entry) { return entry.second.written == 0; });
}

StackAccount::OfKind StackAccount::of(StackKind kind, const StackTable& elsewhere) const {
  const uint64_t others = kind == StackKind::kernel ? other_kernel_ : other_user_;
  OfKind sum{.events = others, .others = others};
  for (const auto& [number, stack] : stacks_) {
    if (stack.kind != kind) continue;
    sum.events += stack.events;
    sum.different += stack.written != 0 ? 1 : 0;
    sum.written += stack.written;
    if (stack.written == 0 && elsewhere.find(number) == nullptr) sum.lacking += stack.events;
  }
  return sum;
}

}  // namespace ktraced
