// SPDX-License-Identifier: BSD-2-Clause
// The command lines of all living processes, for the metadata of traces.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernel/symbols/proc_commands.h"

namespace ktraced {

// Reads them in a thread of its own: to read that of a process can take for ever, when the process
// hangs while it changes its memory map. Thread-safe.
class CommandLines {
 public:
  static constexpr size_t kMaxBytes = size_t{4} << 20;  // of all records
  static constexpr std::chrono::milliseconds kPatience{200};

  // Where they come from, for tests.
  struct Source {
    std::function<void(const std::function<bool(uint32_t pid)>& visit)> for_each_process =
        [](const auto& visit) { for_each_proc_process(visit); };
    std::function<std::optional<ProcCommand>(uint32_t pid)> read = proc_command;
  };

  CommandLines();
  CommandLines(Source source, std::chrono::milliseconds patience);
  CommandLines(const CommandLines&) = delete;
  CommandLines& operator=(const CommandLines&) = delete;
  // Does not wait for a process that hangs.
  ~CommandLines();

  // Metadata records (rec_metadata_command) of all processes, read now. If that takes longer than
  // kPatience, some were read earlier, or are missing. `only_of`: only processes that run as no
  // other user.
  [[nodiscard]] std::vector<std::byte> records(std::optional<uid_t> only_of = std::nullopt) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::chrono::milliseconds patience_ = kPatience;
};

}  // namespace ktraced
