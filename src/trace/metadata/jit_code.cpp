// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/jit_code.h"

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// Ranges of several processes can overlap: so many are tried.
constexpr int kTries = 16;

auto order_of(const JitFunction& function) {
  return std::pair(function.process.tgid, function.address);
}

}  // namespace

void sort_jit_functions(std::vector<JitFunction>& functions) {
  std::ranges::stable_sort(functions, {}, order_of);
}

const JitFunction* find_jit_function(std::span<const JitFunction> functions,
                                     const ProcessId& process, uint64_t address) {
  auto next = std::ranges::upper_bound(functions, std::pair(process.tgid, address), {}, order_of);
  for (int i = 0; i < kTries && next != functions.begin(); ++i) {
    --next;
    if (next->process.tgid != process.tgid) break;
    if (address - next->address < next->size && is_same_process(next->process, process))
      return &*next;
  }
  return nullptr;
}

void JitCode::add(const rec_mapping& mapping) {
  if (mapping.file != MAPPING_ANONYMOUS) return;
  const Key key(mapping.start, mapping.tgid, mapping.process_start);
  const auto known = ends_.find(key);
  if (known != ends_.end())
    known->second = std::max<uint64_t>(known->second, mapping.end);
  else if (ends_.size() < kMaxMappings)
    ends_.emplace(key, mapping.end);
}

bool JitCode::contains(uint64_t address) const {
  auto next = ends_.upper_bound(Key(address, UINT32_MAX, UINT64_MAX));
  for (int i = 0; i < kTries && next != ends_.begin(); ++i)
    if ((--next)->second > address) return true;
  return false;
}

void JitCode::add(const Stack& stack) {
  if (stack.kind != StackKind::user || ends_.empty()) return;
  for (size_t i = 0; i < stack.frames.size(); ++i) {
    const uint64_t address = stack.frames[i] - (i == 0 ? 0 : 1);
    if (addresses_.size() < kMaxAddresses && contains(address)) addresses_.insert(address);
  }
}

std::vector<JitCode::Mapping> JitCode::mappings() const {
  std::vector<Mapping> mappings;
  size_t left = kMaxAddresses;  // children of a process have its mappings and its addresses
  for (const auto& [key, end] : ends_) {
    const auto& [start, tgid, process_start] = key;
    Mapping mapping{
        .process = {.tgid = tgid, .start_ns = process_start}, .start = start, .end = end};
    for (auto next = addresses_.lower_bound(start);
         left > 0 && next != addresses_.end() && *next < end; ++next, --left)
      mapping.addresses.push_back(*next);
    if (!mapping.addresses.empty()) mappings.push_back(std::move(mapping));
  }
  std::ranges::stable_sort(mappings, {}, [](const Mapping& mapping) {
    return std::pair(mapping.process.tgid, mapping.process.start_ns);
  });
  return mappings;
}

}  // namespace ktraced
