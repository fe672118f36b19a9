// SPDX-License-Identifier: BSD-2-Clause
// The name of a thread at a given time.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/metadata/name_table.h"

namespace ktraced {

// Room for the name of an idle task.
using CommScratch = std::array<char, 24>;

// The name of thread `tid` at `ts`; for thread 0, the idle task, "swapper/" and the CPU. Nothing if
// unknown. The bytes are the kernel's: any except NUL. Valid as long as `scratch`, and until
// `names` changes.
[[nodiscard]] inline std::optional<std::string_view> comm_at(const NameTable& names, uint32_t tid,
                                                             uint64_t ts, uint32_t cpu,
                                                             CommScratch& scratch) {
  if (tid != 0) {
    const TaskName* task = names.task_at(tid, ts);
    if (task == nullptr) return std::nullopt;
    return task->comm();
  }
  constexpr std::string_view kIdle = "swapper/";
  kIdle.copy(scratch.data(), kIdle.size());
  char* end =
      std::to_chars(scratch.data() + kIdle.size(), scratch.data() + scratch.size(), cpu).ptr;
  return std::string_view(scratch.data(), static_cast<size_t>(end - scratch.data()));
}

}  // namespace ktraced
