// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/stack_names.h"

namespace ktraced {
namespace {

// Why a stack has no more frames than these; null: it has all.
const char* end_text(const Stack* stack) {
  if (stack == nullptr) return "[frames not in the trace]";
  if (stack->ambiguous) return "[one of several stacks]";
  switch (stack->end) {
    case StackEnd::start:
      return nullptr;
    case StackEnd::depth:
      return "[deeper than recorded]";
    case StackEnd::broken:
      return "[ended early: no frame pointer]";
    case StackEnd::unreadable:
      break;
  }
  return "[ended early: memory not present]";
}

// Of an ambiguous number, the frames may be those of another stack.
bool has_frames(const Stack* stack) { return stack != nullptr && !stack->ambiguous; }

}  // namespace

std::vector<uint32_t> StackNames::frames_of(const StackPlace& at, uint64_t ts) {
  std::vector<uint32_t> frames;
  if (at.kernel != 0) append_kernel(at, ts, frames);
  if (at.user != 0) append_user(at, ts, frames);
  return frames;
}

void StackNames::append_kernel(const StackPlace& at, uint64_t ts, std::vector<uint32_t>& frames) {
  const Stack* stack = table_.find(at.kernel);
  bool in_tracing = true;
  if (has_frames(stack))
    for (const uint64_t address : stack->frames)
      for (const uint32_t function : functions_at(
               {0, 0, address}, {.kind = StackKind::kernel, .address = address, .ts = ts})) {
        in_tracing = in_tracing && is_tracing_function(text(function).function);
        if (!in_tracing) frames.push_back(function);
      }
  append_end(stack, frames);
}

void StackNames::append_user(const StackPlace& at, uint64_t ts, std::vector<uint32_t>& frames) {
  const Stack* stack = table_.find(at.user);
  if (has_frames(stack))
    for (size_t i = 0; i < stack->frames.size(); ++i) {
      const FramePlace place{.kind = StackKind::user,
                             .address = stack->frames[i],
                             .is_return = i != 0,
                             .pid = at.pid,
                             .ts = ts};
      // A return address and an instruction at the same place may be of different functions.
      const uint64_t program = at.program << 1 | (place.is_return ? 1 : 0);
      const auto functions = functions_at({at.pid, program, place.address}, place);
      frames.insert(frames.end(), functions.begin(), functions.end());
    }
  append_end(stack, frames);
}

void StackNames::append_end(const Stack* stack, std::vector<uint32_t>& frames) {
  if (const char* why = end_text(stack); why != nullptr)
    frames.push_back(number_of({.function = why, .module = {}}));
}

std::span<const uint32_t> StackNames::functions_at(const Address& where, const FramePlace& place) {
  const auto [known, is_new] = functions_.try_emplace(where);
  if (is_new)
    for (const FrameText& function : namer_(place)) known->second.push_back(number_of(function));
  return known->second;
}

uint32_t StackNames::number_of(const FrameText& text) {
  const auto [known, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(&known->first);
  return known->second;
}

}  // namespace ktraced
