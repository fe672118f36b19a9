// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/stack_names.h"

namespace ktraced {
namespace {

// Why a stack that ends like this has no more frames; null: it has all.
const char* end_text(const Stack* stack, StackEnd end) {
  if (stack == nullptr) return "[frames not in the trace]";
  if (stack->ambiguous) return "[one of several stacks]";
  switch (end) {
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

FrameCode::Kind kind_of(CodePlace::Kind kind) {
  switch (kind) {
    case CodePlace::Kind::file:
      return FrameCode::Kind::file;
    case CodePlace::Kind::anonymous:
      return FrameCode::Kind::anonymous;
    case CodePlace::Kind::vdso:
      break;
  }
  return FrameCode::Kind::vdso;
}

}  // namespace

std::vector<StackNames::Frame> StackNames::frames(const StackPlace& at, uint64_t ts) {
  std::vector<Frame> all = kernel_frames(at, ts);
  const std::vector<Frame> user = user_frames(at, ts);
  all.insert(all.end(), user.begin(), user.end());
  return all;
}

std::vector<uint32_t> StackNames::texts_of(const StackPlace& at, uint64_t ts) {
  std::vector<uint32_t> texts;
  for (const Frame& frame : frames(at, ts)) texts.push_back(frame.text);
  return texts;
}

std::vector<StackNames::Frame> StackNames::kernel_frames(const StackPlace& at, uint64_t ts) {
  std::vector<Frame> frames;
  if (at.kernel == 0) return frames;
  const Stack* stack = table().find(at.kernel);
  bool in_tracing = stack != nullptr && !stack->sampled;
  bool is_return = in_tracing;  // a sample is where the CPU was
  if (has_frames(stack))
    for (const uint64_t address : stack->frames) {
      const FrameCode code{.is_return = is_return, .at = address};
      for (const uint32_t function : functions_at(code)) {
        is_return = !is_interrupt_entry(text(function).function);
        in_tracing = in_tracing && is_tracing_function(text(function).function);
        if (!in_tracing) frames.push_back({.address = address, .text = function, .code = code});
      }
    }
  append_end(end_text(stack, end_of(stack, at, ts)), frames);
  return frames;
}

std::vector<StackNames::Frame> StackNames::user_frames(const StackPlace& at, uint64_t ts) {
  std::vector<Frame> frames;
  if (at.user == 0) return frames;
  const Stack* stack = table().find(at.user);
  if (has_frames(stack))
    for (size_t i = 0; i < stack->frames.size(); ++i) {
      const FrameCode code = code_of(*stack, i, at, ts);
      for (const uint32_t function : functions_at(code))
        frames.push_back({.address = stack->frames[i], .text = function, .code = code});
    }
  append_end(end_text(stack, end_of(stack, at, ts)), frames);
  return frames;
}

StackEnd StackNames::end_of(const Stack* stack, const StackPlace& at, uint64_t ts) {
  if (stack == nullptr) return StackEnd::unreadable;
  const bool may_be_whole = stack->end == StackEnd::start || stack->end == StackEnd::broken;
  if (stack->kind == StackKind::kernel || !may_be_whole) return stack->end;
  return reaches_start(*stack, at, ts) ? StackEnd::start : StackEnd::broken;
}

bool StackNames::reaches_start(const Stack& stack, const StackPlace& at, uint64_t ts) {
  if (!has_frames(&stack) || stack.frames.empty()) return false;
  const size_t last = stack.frames.size() - 1;
  const FrameCode code = code_of(stack, last, at, ts);
  const FrameText& outermost = text(functions_at(code).back());
  return outermost.is_named && code.jit == nullptr &&
         is_start_function(outermost.function, last == 0);
}

// The mapping of a return address is that of the call before it.
FrameCode StackNames::code_of(const Stack& stack, size_t frame, const StackPlace& at,
                              uint64_t ts) const {
  FrameCode code{
      .kind = FrameCode::Kind::nowhere, .is_return = frame != 0, .at = stack.frames[frame]};
  if (at.pid == 0) return code;
  const ProcessId process{.tgid = at.pid, .start_ns = at.start_ns};
  const auto place = stacks_.mappings().find(process, ts, code.byte());
  if (!place) return code;
  code.kind = kind_of(place->kind);
  code.file = place->file;
  if (code.kind == FrameCode::Kind::anonymous)
    code.jit = stacks_.jit_function(process, code.byte());
  const bool is_file = code.kind == FrameCode::Kind::file;
  code.at = is_file ? place->offset + (code.at - code.byte()) : 0;
  if (!is_file) code.is_return = false;
  return code;
}

void StackNames::append_end(const char* why, std::vector<Frame>& frames) {
  if (why != nullptr)
    frames.push_back(
        {.text =
             number_of({.function = why, .module = {}, .is_named = false, .is_function = false})});
}

std::span<const uint32_t> StackNames::functions_at(const FrameCode& code) {
  if (functions_.size() >= kMaxTexts) functions_.clear();
  const auto [known, is_new] = functions_.try_emplace(code);
  if (is_new)
    for (const FrameText& function : namer_(code)) known->second.push_back(number_of(function));
  return known->second;
}

uint32_t StackNames::number_of(const FrameText& text) {
  static const FrameText kOthers{
      .function = "[too many functions]", .module = {}, .is_named = false};
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  const FrameText& kept = texts_.size() < kMaxTexts ? text : kOthers;
  const auto [known, is_new] = numbers_.try_emplace(kept, static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(&known->first);
  return known->second;
}

void StackEnds::add(const StackPlace& at, uint64_t ts, uint64_t events, StackNames& names) {
  if (at.kernel != 0) {
    const Stack* stack = names.table().find(at.kernel);
    kernel.add(stack, names.end_of(stack, at, ts), events);
  }
  if (at.user == 0) {
    none += events;
  } else {
    const Stack* stack = names.table().find(at.user);
    user.add(stack, names.end_of(stack, at, ts), events);
  }
}

StackEnds& StackEnds::operator+=(const StackEnds& other) {
  kernel += other.kernel;
  user += other.user;
  none += other.none;
  return *this;
}

StackEnds ends_of(const std::vector<StackRow>& rows, StackNames& names) {
  StackEnds ends;
  for (const StackRow& row : rows)
    if (!row.others && row.weight.count != 0) ends.add(row.key.at, row.ts, row.weight.count, names);
  return ends;
}

StackEnds ends_of_wakers(const std::vector<StackRow>& rows, StackNames& names) {
  StackEnds ends;
  for (const StackRow& row : rows)
    if (!row.others && row.weight.count != 0 && row.key.waker.owner != StackKey::kNobody)
      ends.add(row.key.waker, row.waker_ts, row.weight.count, names);
  return ends;
}

}  // namespace ktraced
