// SPDX-License-Identifier: BSD-2-Clause
// Histograms on the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ktraced {

// Bars with labels and counts. The longest bar uses the full width. Empty rows before the first and
// after the last bar are left out.
class Bars {
 public:
  static constexpr size_t kWidth = 40;  // columns of the longest

  void add(std::string label, uint64_t count) { rows_.emplace_back(std::move(label), count); }
  // True if there are no bars.
  [[nodiscard]] bool empty() const;
  // One line per bar. `fine`: with Unicode blocks of an eighth of a column; otherwise with '#'.
  [[nodiscard]] std::string text(bool fine) const;

 private:
  std::vector<std::pair<std::string, uint64_t>> rows_;
};

}  // namespace ktraced
