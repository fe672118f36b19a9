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

std::vector<uint32_t> StackNames::texts_of(const StackPlace& at, uint64_t ts) {
  std::vector<uint32_t> texts;
  for (const auto& frames : {kernel_frames(at, ts), user_frames(at, ts)})
    for (const Frame& frame : frames) texts.push_back(frame.text);
  return texts;
}

std::vector<StackNames::Frame> StackNames::kernel_frames(const StackPlace& at, uint64_t ts) {
  std::vector<Frame> frames;
  if (at.kernel == 0) return frames;
  const Stack* stack = table_.find(at.kernel);
  bool in_tracing = true;
  if (has_frames(stack))
    for (const uint64_t address : stack->frames)
      for (const uint32_t function : functions_at(
               {0, 0, address}, {.kind = StackKind::kernel, .address = address, .ts = ts})) {
        in_tracing = in_tracing && is_tracing_function(text(function).function);
        if (!in_tracing) frames.push_back({.address = address, .text = function});
      }
  append_end(stack, frames);
  return frames;
}

std::vector<StackNames::Frame> StackNames::user_frames(const StackPlace& at, uint64_t ts) {
  std::vector<Frame> frames;
  if (at.user == 0) return frames;
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
      for (const uint32_t function : functions_at({at.pid, program, place.address}, place))
        frames.push_back({.address = place.address, .text = function});
    }
  append_end(stack, frames);
  return frames;
}

void StackNames::append_end(const Stack* stack, std::vector<Frame>& frames) {
  if (const char* why = end_text(stack); why != nullptr)
    frames.push_back({.text = number_of({.function = why, .module = {}})});
}

std::span<const uint32_t> StackNames::functions_at(const Address& where, const FramePlace& place) {
  if (functions_.size() >= kMaxTexts) functions_.clear();
  const auto [known, is_new] = functions_.try_emplace(where);
  if (is_new)
    for (const FrameText& function : namer_(place)) known->second.push_back(number_of(function));
  return known->second;
}

uint32_t StackNames::number_of(const FrameText& text) {
  static const FrameText kOthers{.function = "[too many functions]", .module = {}};
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  const FrameText& kept = texts_.size() < kMaxTexts ? text : kOthers;
  const auto [known, is_new] = numbers_.try_emplace(kept, static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(&known->first);
  return known->second;
}

}  // namespace ktraced
