// SPDX-License-Identifier: BSD-2-Clause
// Fields that lines of the log have in the journal, besides their text.
#pragma once

#include <string>
#include <vector>

namespace ktraced {

// Adds "NAME=value" fields to all lines that this thread logs while it exists. Not nested.
class LogFields {
 public:
  explicit LogFields(std::vector<std::string> fields);
  LogFields(const LogFields&) = delete;
  LogFields& operator=(const LogFields&) = delete;
  ~LogFields();

  // The fields of this thread.
  [[nodiscard]] static const std::vector<std::string>& current();
};

}  // namespace ktraced
