// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

constexpr size_t kParts = 8;  // of a column
constexpr std::array<const char*, kParts> kBlocks = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

// `count` relative to `largest`, scaled to `whole`; at least one if `count` is not zero.
uint64_t share(uint64_t count, uint64_t largest, uint64_t whole) {
  if (count == 0) return 0;
  return std::max<uint64_t>(1, (count * whole + largest / 2) / largest);
}

std::string bar(uint64_t count, uint64_t largest, bool fine) {
  if (!fine) return std::string(share(count, largest, Bars::kWidth), '#');
  const uint64_t parts = share(count, largest, Bars::kWidth * kParts);
  std::string out;
  for (uint64_t i = 0; i < parts / kParts; ++i) out += "█";
  return out + kBlocks[parts % kParts];
}

}  // namespace

bool Bars::empty() const {
  return std::ranges::all_of(rows_, [](const auto& row) { return row.second == 0; });
}

std::string Bars::text(bool fine) const {
  auto counted = [](const auto& row) { return row.second != 0; };
  const auto first = std::ranges::find_if(rows_, counted);
  const auto last = std::ranges::find_if(rows_ | std::views::reverse, counted).base();
  size_t label_width = 0, count_width = 0;
  uint64_t largest = 1;
  for (auto row = first; row < last; ++row) {
    label_width = std::max(label_width, row->first.size());
    count_width = std::max(count_width, grouped(row->second).size());
    largest = std::max(largest, row->second);
  }
  std::string out;
  for (auto row = first; row < last; ++row) {
    std::string line =
        fmt::format("  {:>{}}  {:>{}}  {}", row->first, label_width, grouped(row->second),
                    count_width, bar(row->second, largest, fine));
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace ktraced
