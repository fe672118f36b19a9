// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/stack_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ktraced {
namespace {

size_t memory_of(const Stack& stack) {
  constexpr size_t kNode = sizeof(std::pair<const uint64_t, Stack>) + 2 * sizeof(void*);
  return kNode + stack.frames.size() * sizeof(uint64_t);
}

// Where user addresses are hidden, a frame is 0 as long as its mapping is not known: one copy of a
// stack can have frames that another one lacks. Adds those of the copy. False: it is another stack.
bool add_copy(Stack& stack, const Stack& copy) {
  if (copy.kind != stack.kind || copy.sampled != stack.sampled || copy.end != stack.end ||
      copy.frames.size() != stack.frames.size() ||
      !std::ranges::equal(stack.frames, copy.frames, [](uint64_t frame, uint64_t other) {
        return frame == other || frame == 0 || other == 0;
      }))
    return false;
  std::ranges::transform(stack.frames, copy.frames, stack.frames.begin(),
                         [](uint64_t frame, uint64_t other) { return frame != 0 ? frame : other; });
  return true;
}

}  // namespace

std::string_view name_of(StackEnd end) {
  switch (end) {
    case StackEnd::start:
      return "start";
    case StackEnd::depth:
      return "depth";
    case StackEnd::broken:
      return "broken";
    case StackEnd::unreadable:
      break;
  }
  return "unreadable";
}

std::optional<Stack> stack_of(RecordView record) {
  const auto bytes = record.bytes();
  rec_stack head{};
  if (record.id() != RECORD_STACK || bytes.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof(head));
  const auto frames = bytes.subspan(sizeof(head));
  if (frames.size() != head.length * sizeof(uint64_t)) return std::nullopt;
  if (head.kind < STACK_KERNEL || head.kind > STACK_SAMPLED) return std::nullopt;
  if (head.end < STACK_START || head.end > STACK_UNREADABLE) return std::nullopt;
  Stack stack{.kind = head.kind == STACK_USER ? StackKind::user : StackKind::kernel,
              .end = static_cast<StackEnd>(head.end),
              .frames = std::vector<uint64_t>(head.length),
              .sampled = head.kind == STACK_SAMPLED};
  if (!frames.empty()) std::memcpy(stack.frames.data(), frames.data(), frames.size());
  return stack;
}

StackTable::Stacks::iterator StackTable::insert(uint64_t number, Stack stack) {
  const size_t bytes = memory_of(stack);
  if (recent_bytes_ + bytes > max_bytes_ / 2 && !recent_.empty()) {
    evicted_ += before_.size();
    before_ = std::exchange(recent_, {});
    recent_bytes_ = 0;
  }
  recent_bytes_ += bytes;
  return recent_.emplace(number, std::move(stack)).first;
}

void StackTable::add(RecordView record) {
  auto stack = stack_of(record);
  if (!stack) return;
  uint64_t number = 0;
  std::memcpy(&number, record.bytes().data() + offsetof(rec_stack, number), sizeof(number));
  auto known = recent_.find(number);
  if (known == recent_.end()) {
    const auto older = before_.extract(number);
    known = insert(number, older.empty() ? *stack : std::move(older.mapped()));
  }
  Stack& kept = known->second;
  if (!add_copy(kept, *stack) && !std::exchange(kept.ambiguous, true)) ++ambiguous_;
}

const Stack* StackTable::find(uint64_t number) const {
  for (const Stacks* stacks : {&recent_, &before_})
    if (const auto found = stacks->find(number); found != stacks->end()) return &found->second;
  return nullptr;
}

void StackCounts::add(const Stack* stack, StackEnd end, uint64_t events) {
  if (stack == nullptr) {
    lacking += events;
    return;
  }
  by_end[end] += events;
  if (stack->ambiguous) ambiguous += events;
}

StackCounts& StackCounts::operator+=(const StackCounts& other) {
  for (const auto& [end, events] : other.by_end) by_end[end] += events;
  lacking += other.lacking;
  ambiguous += other.ambiguous;
  return *this;
}

uint64_t StackCounts::total() const {
  uint64_t sum = lacking;
  for (const auto& [end, events] : by_end) sum += events;
  return sum;
}

uint64_t StackCounts::complete() const {
  const auto found = by_end.find(StackEnd::start);
  return found == by_end.end() ? 0 : found->second;
}

}  // namespace ktraced
