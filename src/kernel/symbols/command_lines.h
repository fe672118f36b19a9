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

// Reads the command line of each process once, in a thread of its own: to read one can take for
// ever, when the process hangs while it changes its memory map. Thread-safe.
class CommandLines {
 public:
  // Memory for the command lines of all processes. Any user can start many, and the memory that a
  // service may use is limited.
  static constexpr size_t kMaxBytes = size_t{4} << 20;
  // How long reading one process may take: after that it is taken to hang.
  static constexpr std::chrono::milliseconds kPatience{1000};
  // How long Wait::for_all waits. A snapshot keeps its bank of rings frozen until then.
  static constexpr std::chrono::milliseconds kForAll{2000};
  // How long Wait::briefly waits. Clients of the main thread get their answer within 100 ms.
  static constexpr std::chrono::milliseconds kBriefly{50};
  // A process of less than this age is read again: it may be about to run its program.
  static constexpr std::chrono::seconds kSettles{10};

  // Where they come from, for tests.
  struct Source {
    std::function<void(const std::function<bool(uint32_t pid)>& visit)> for_each_process =
        [](const auto& visit) { for_each_proc_process(visit); };
    std::function<std::optional<ProcProgram>(uint32_t pid)> program = proc_program;
    std::function<std::optional<ProcCommand>(uint32_t pid)> read = proc_command;
  };
  struct Limits {
    size_t bytes = kMaxBytes;
    std::chrono::milliseconds patience = kPatience;
    std::chrono::milliseconds for_all = kForAll;
    std::chrono::milliseconds briefly = kBriefly;
    std::chrono::seconds settles = kSettles;
  };

  CommandLines();
  CommandLines(Source source, const Limits& limits);
  CommandLines(const CommandLines&) = delete;
  CommandLines& operator=(const CommandLines&) = delete;
  // Does not wait for a process that hangs.
  ~CommandLines();

  // Reads the processes that are not known yet, and does not wait for them.
  void look() const;

  enum class Wait : uint8_t { for_all, briefly };
  // Metadata records (rec_metadata_command) of all processes, after another look(). Those that have
  // ended since the look before are among them. A process is read again when its main thread has
  // another name, as after an exec, and while it has no command line. If the time of `wait` is
  // over, a process hangs, or there was no memory to read them, some may be missing: the last
  // record (METADATA_unread_commands) says so. If there was no room for some, so does
  // METADATA_lost_commands. `only_of`: only processes that ran as no other user when they were
  // read.
  [[nodiscard]] std::vector<std::byte> records(std::optional<uid_t> only_of = std::nullopt,
                                               Wait wait = Wait::for_all) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ktraced
