// SPDX-License-Identifier: BSD-2-Clause
// Histograms on the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ktraced {

// Bars beside their labels and counts, the longest as wide as there is room for. Rows of nothing
// before the first and after the last bar are left out.
class Bars {
 public:
  static constexpr size_t kWidth = 40;  // columns of the longest

  void add(std::string label, uint64_t count) { rows_.emplace_back(std::move(label), count); }
  // Is there nothing to be drawn?
  [[nodiscard]] bool empty() const;
  // A line each. `fine`: with Unicode blocks of an eighth of a column; else with '#'.
  [[nodiscard]] std::string text(bool fine) const;

 private:
  std::vector<std::pair<std::string, uint64_t>> rows_;
};

}  // namespace ktraced
