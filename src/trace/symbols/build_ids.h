// SPDX-License-Identifier: BSD-2-Clause
// What is found out about the code of processes when a trace ends: the build ids of the files that
// they had mapped, and the names of functions that they had made.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/directory/trace_writer.h"
#include "trace/metadata/mapped_file.h"

namespace ktraced {

// The build id of a file, or empty: it has none, or the file of that inode and change time is not
// found. It is looked for at its path, then, through the process that had mapped it (0: not known),
// at its path there and among the files that this one has mapped now, also if they were deleted.
// That takes a right to look into the process. Waits for file systems, perhaps for ever.
[[nodiscard]] std::string read_build_id(const MappedFile& file, uint32_t process);

// Reads each file once, in a thread of its own: any user can run a file that hangs when it is
// opened. The thread reads other files of users too. Thread-safe.
class BuildIds {
 public:
  using Read = std::function<std::string(const MappedFile& file, uint32_t process)>;
  struct Limits {
    size_t known = 65536;  // results; then all files are read again
    size_t asked = 4096;   // files that are not read yet; others are left out
    // Threads that hang and are left behind. While there are so many, the next one that hangs is
    // waited for.
    size_t hanging = 4;
    std::chrono::milliseconds patience{1000};  // how long one file may take
    std::chrono::milliseconds for_all{2000};   // how long wait() waits
  };

  BuildIds();
  BuildIds(Read read, const Limits& limits);
  BuildIds(const BuildIds&) = delete;
  BuildIds& operator=(const BuildIds&) = delete;
  // Does not wait for a file that hangs.
  ~BuildIds();

  // Reads the file if it is not known yet, and does not wait.
  void ask(const MappedFile& file, uint32_t process) const;
  // Makes another read that may hang, and does not wait. Returns the number of its result.
  [[nodiscard]] uint64_t ask(std::function<std::string()> read) const;
  // Waits until the files that were asked for are read, or it has taken too long.
  void wait() const;
  // The build id of a file by its number, empty if it has none or could not be read; nothing if it
  // was not read.
  [[nodiscard]] std::optional<std::string> find(uint64_t number) const;
  // What find() returns, which is not known any more then. If it is not read yet, it is not kept
  // when it is.
  [[nodiscard]] std::optional<std::string> take(uint64_t number) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The address at which a mapping is that a trace shows at `start`; nothing: it is not known.
using RealStart = std::function<std::optional<uint64_t>(uint64_t start)>;

// Adds to a trace, before it is finished, the build ids of all mapped files, and the names of
// functions that processes had made, as their perf maps have them. Waits for that. `real`: of a
// trace with pseudonyms of user addresses; null: it has the addresses. Returns what could not be
// read, a sentence each, without its end: the trace has its events all the same.
[[nodiscard]] std::vector<std::string> add_user_code(const BuildIds& ids, TraceWriter& writer,
                                                     const RealStart& real = nullptr);

}  // namespace ktraced
