// SPDX-License-Identifier: BSD-2-Clause
// The names of the frames of user stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decoders/symbols/debug_files.h"

namespace ktraced {

// A function at a frame. Names and paths are foreign text: make them printable() to show them.
struct FrameName {
  std::string function;  // as the source has it; empty: it has no name
  // In bytes, from the beginning of the function; 0 of an inlined one, and where only a call in the
  // function is known (start_calls()).
  uint64_t offset = 0;
  bool inlined = false;
  std::string file;   // with lines: as the compiler was given it; empty: not known
  uint32_t line = 0;  // 0: not known

  // "parse(char const*)+0x1c", "next_token [inlined]"; with a line, " at parser.c:12" follows.
  [[nodiscard]] std::string text() const;
  bool operator==(const FrameName&) const = default;
};

// Reads each file once, when its first frame is asked for, and keeps its names. Not thread-safe.
class FrameNames {
 public:
  struct Options {
    DebugFiles debug_files;
    bool lines = false;  // and inlined functions
    // In bytes, for the names of all files. Beyond it those that were not used for longest are
    // read again.
    size_t memory = size_t{256} << 20;
  };
  explicit FrameNames(Options options);
  FrameNames(const FrameNames&) = delete;
  FrameNames& operator=(const FrameNames&) = delete;
  ~FrameNames();

  // The functions at a byte of a mapped file: those that were inlined, from the inside out, and
  // last the one that has the code. Empty if it is not known; problems() then say why, unless the
  // code has no name. `path`: as this process sees the file; a name in brackets, as "[vdso]", is
  // none. `build_id`: of the file that was mapped, in lower-case hexadecimal. If the file has
  // another one now, nothing of it is used. `offset`: in the file; for a return address, ask for
  // the byte before it, which is in the call.
  [[nodiscard]] std::vector<FrameName> at(const std::string& path, const std::string& build_id,
                                          uint64_t offset);

  // What was not read, and why: one sentence each, and at most 100.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct File;
  using Id = std::pair<std::string, std::string>;  // path and build id
  File& file_of(const Id& id);
  std::unique_ptr<File> read(const Id& id);
  void read_symbols(File& file, const ElfFile* debug_file);
  void start_lines(File& file, const ElfFile* debug_file);
  void free_oldest();
  void add_problem(const std::string& problem);

  Options options_;
  std::map<Id, std::unique_ptr<File>> files_;
  uint64_t uses_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace ktraced
