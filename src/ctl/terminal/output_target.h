// SPDX-License-Identifier: BSD-2-Clause
// Where a command writes what it makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ctl/terminal/new_file.h"

namespace ktraced {

// A new file, or standard output for the name "-". Move-only.
class OutputTarget {
 public:
  static Result<OutputTarget> open(const std::string& name, const FileAccess& access);

  [[nodiscard]] Result<> write(std::string_view bytes);
  [[nodiscard]] Result<> finish() { return file_ ? file_->finish() : Result<>(); }
  // Nobody reads standard output any more.
  [[nodiscard]] bool gone() const { return gone_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  explicit OutputTarget(std::optional<NewFile> file) : file_(std::move(file)) {}

  std::optional<NewFile> file_;
  uint64_t bytes_ = 0;
  bool gone_ = false;
};

}  // namespace ktraced
