// SPDX-License-Identifier: BSD-2-Clause
// Source lines and inlined functions, read from DWARF by libdw. For a process of its own: a hostile
// file can make libdw crash, loop, or reserve all memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace ktraced {

// A function at an address, and the line of it.
struct SourceFunction {
  std::string function;  // as mangled; empty: it has no name
  std::string file;      // as the compiler was given it; empty: not known
  uint32_t line = 0;     // 0: not known

  bool operator==(const SourceFunction&) const = default;
};

// The DWARF of one file. Not thread-safe.
class LineReader {
 public:
  // Where there is no memory, libdw cannot go on: the process ends with this exit code.
  static constexpr int kOutOfMemory = 3;

  // `shared`: the file of what several files share (dwz), or -1. Both descriptors stay open.
  // Fails with ExitCode::data, also if the file has no lines.
  static Result<LineReader> open(int file, int shared);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) = delete;
  ~LineReader();

  // The functions at an address for which the file was linked: one that was inlined into the next,
  // and so on up to the one that has the code. Empty if nothing is known.
  [[nodiscard]] std::vector<SourceFunction> at(uint64_t address) const;

 private:
  struct Dwarf;
  explicit LineReader(std::unique_ptr<Dwarf> dwarf);
  std::unique_ptr<Dwarf> dwarf_;
};

}  // namespace ktraced
