// SPDX-License-Identifier: BSD-2-Clause
// The command lines of living processes, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ktraced {

// What a process was started with, or what it has written there since (setproctitle).
struct ProcCommand {
  uint64_t read_ns = 0;      // when it was read; ns, CLOCK_BOOTTIME
  uint64_t start_ns = 0;     // of the process, CLOCK_BOOTTIME, rounded down to proc_tick_ns()
  std::optional<uid_t> uid;  // the only user that it runs as; nothing: it has several
  std::string text;          // its arguments, in the form of LOCATED_WORD_BLANK; empty: only ''
  bool cut = false;          // they have more than ARGV_MAX bytes
  uint32_t parent = 0;       // process; 0: none, or one of another pid namespace
};

// Which program a process runs, as far as one short file of it says. An exec of a program with
// the same name changes nothing here.
struct ProcProgram {
  uint64_t start_ns = 0;  // of the process, as ProcCommand::start_ns
  std::string comm;       // the name of its main thread, as comm_of_proc()

  bool operator==(const ProcProgram&) const = default;
};

// The recorded form of the text of a "cmdline" file: of at most ARGV_MAX bytes. NULs at its end are
// left out: programs that have set a title leave some there.
[[nodiscard]] std::string command_text(std::string_view cmdline);

// The command line of a process. Nothing if it has ended, is a kernel thread, or may not be read.
// Waits while another thread of the process changes its memory map, perhaps for ever.
[[nodiscard]] std::optional<ProcCommand> proc_command(uint32_t pid);

// The program of a process. Nothing if it has ended, or is a kernel thread. Waits for no process.
[[nodiscard]] std::optional<ProcProgram> proc_program(uint32_t pid);

// Visits the ids of all processes, or of the threads in the "task" directory of one, until `visit`
// returns false.
void for_each_proc_process(const std::function<bool(uint32_t pid)>& visit,
                           const std::filesystem::path& directory = "/proc");

}  // namespace ktraced
