// SPDX-License-Identifier: BSD-2-Clause
// Which paths system calls got, and how the calls ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/coverage/actor.h"
#include "analysis/coverage/limited_rows.h"
#include "analysis/intervals/call_paths.h"
#include "schema/path_arguments.h"

namespace ktraced {

// A path in the rows of a report. The same relative path may be several files.
struct FilePath {
  std::string text;  // empty if `unreadable`
  PathRole role = PathRole::path;
  bool cut = false, unreadable = false;
  std::optional<int32_t> relative_to;  // descriptor; AT_FDCWD: the working directory
};

// What calls did with paths.
struct FileUse {
  uint64_t calls = 0;                  // that returned
  uint64_t opens = 0;                  // calls that opened the file
  uint64_t failed = 0;                 // with an error
  uint64_t uncertain = 0;              // of which result and duration are not known
  std::map<int32_t, uint64_t> errors;  // by errno
  uint64_t timed = 0;                  // calls in the next two
  uint64_t total_ns = 0, max_ns = 0;
};

// Rows. `others`: all that came after the table was full; such a row has only numbers.
struct FilePathRow {
  bool others = false;
  FilePath path;
  FileUse use;
  uint64_t first_ns = 0;   // when the first call with it began
  uint64_t processes = 0;  // as far as process_paths() has rows for them
};
struct FileProcessRow {
  bool others = false;
  ActorRow process;
  FileUse use;
  uint64_t paths = 0;  // as far as process_paths() has rows for them
};
struct FileProcessPathRow {
  bool others = false;
  uint32_t path = 0, process = 0;  // index in paths() and processes()
  FileUse use;
};
struct FileCallRow {
  bool others = false;
  uint32_t abi = 0;
  int32_t nr = 0;
  FileUse use;
};
// Calls that failed in the same way.
struct FileFailureRow {
  bool others = false;
  uint32_t path = 0, process = 0;  // index in paths() and processes()
  uint32_t abi = 0;
  int32_t nr = 0, error = 0;
  uint64_t count = 0;
  uint64_t last_ns = 0;  // when the last one returned
};

// Sums up the calls of a CallPaths. A call with two paths is in the rows of both; in those of its
// process and of its kind it is one call. Memory: at most `max_rows` rows in each table, of up to
// 600 bytes.
class FileAnalysis : public PathCallSink {
 public:
  static constexpr size_t kMaxRows = 65536;

  explicit FileAnalysis(size_t max_rows = kMaxRows)
      : identities_(std::min(max_rows, kMaxRows)),
        paths_(std::min(max_rows, kMaxRows)),
        processes_(std::min(max_rows, kMaxRows)),
        process_paths_(std::min(max_rows, kMaxRows)),
        failures_(std::min(max_rows, kMaxRows)),
        calls_(std::min(max_rows, kMaxRows)) {}

  void on_path_call(const PathCall& call) override;

  [[nodiscard]] const std::vector<FilePathRow>& paths() const { return paths_.rows(); }
  [[nodiscard]] const std::vector<FileProcessRow>& processes() const { return processes_.rows(); }
  [[nodiscard]] const std::vector<FileProcessPathRow>& process_paths() const {
    return process_paths_.rows();
  }
  [[nodiscard]] const std::vector<FileFailureRow>& failures() const { return failures_.rows(); }
  [[nodiscard]] const std::vector<FileCallRow>& calls() const { return calls_.rows(); }
  // Calls of which result and duration are not known, because something was lost or changed.
  [[nodiscard]] uint64_t uncertain() const { return uncertain_; }
  // Calls about a descriptor, or nothing: with an empty path or none. They are in no row.
  [[nodiscard]] uint64_t unnamed() const { return unnamed_; }

 private:
  // How a call ended.
  struct Outcome {
    bool known = false, opened = false;
    int32_t error = 0;
    uint64_t ns = 0;
  };
  static void count(FileUse& use, const Outcome& outcome);
  // Both count_process() and count_path() return the index of the row.
  uint32_t count_process(const Actor& actor, const Outcome& outcome);
  uint32_t count_path(const PathCall& call, const CallPath& path, const Outcome& outcome);
  void count_process_path(uint32_t process, uint32_t path, const Outcome& outcome);
  void count_failure(uint32_t process, uint32_t path, const PathCall& call, int32_t error);

  ActorNumbers identities_;
  LimitedRows<FilePathRow, std::string> paths_;
  LimitedRows<FileProcessRow> processes_;
  LimitedRows<FileProcessPathRow> process_paths_;
  LimitedRows<FileFailureRow> failures_;
  LimitedRows<FileCallRow> calls_;
  PathArguments arguments_;
  uint64_t uncertain_ = 0, unnamed_ = 0;
};

}  // namespace ktraced
