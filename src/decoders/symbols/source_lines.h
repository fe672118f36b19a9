// SPDX-License-Identifier: BSD-2-Clause
// Source lines and inlined functions, read by a process of their own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "decoders/symbols/line_reader.h"
#include "trace/symbols/elf_file.h"

namespace ktraced {

// Asks a LineReader in a child process, which can open no file, may take 4 GiB more memory than the
// file has, and 60 s of a CPU for an answer. Move-only; ends the process. Not thread-safe.
class SourceLines {
 public:
  // `shared`: what the file shares with others (DebugFiles::shared_by()), or null. Fails with
  // ExitCode::os if there can be no process.
  static Result<SourceLines> start(const ElfFile& file, const ElfFile* shared);
  SourceLines(SourceLines&& other) noexcept;
  SourceLines& operator=(SourceLines&&) = delete;
  ~SourceLines();

  // As LineReader::at(). Fails with ExitCode::data if the file has no lines, or if the process has
  // ended or was ended at this file; then it fails each time.
  [[nodiscard]] Result<std::vector<SourceFunction>> at(uint64_t address);

  // The process, for tests.
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  SourceLines(std::string name, pid_t process, Fd socket);
  [[nodiscard]] std::string why_it_ended();

  std::string name_;
  pid_t process_;  // -1: it has ended
  Fd socket_;      // of packets: an address, and its answer
  std::optional<Error> error_;
};

}  // namespace ktraced
