#include "ctl/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ctl/table.h"

namespace ktraced {
namespace {

constexpr size_t kParts = 8;  // of a column
constexpr std::array<const char*, kParts> kBlocks = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::string bar(uint64_t count, uint64_t largest, bool fine) {
  const double share = static_cast<double>(count) / static_cast<double>(largest);
  const double columns = share * static_cast<double>(Bars::kWidth);
  if (!fine) {
    const auto whole = static_cast<size_t>(columns + 0.5);
    return std::string(std::max<size_t>(whole, count != 0 ? 1 : 0), '#');
  }
  size_t parts = static_cast<size_t>(columns * kParts + 0.5);
  if (count != 0) parts = std::max<size_t>(parts, 1);
  std::string out;
  for (size_t i = 0; i < parts / kParts; ++i) out += "█";
  return out + kBlocks[parts % kParts];
}

}  // namespace

bool Bars::empty() const {
  return std::ranges::all_of(rows_, [](const auto& row) { return row.second == 0; });
}

std::string Bars::text(bool fine) const {
  auto counted = [](const auto& row) { return row.second != 0; };
  const auto first = std::ranges::find_if(rows_, counted);
  const auto last = std::find_if(rows_.rbegin(), rows_.rend(), counted).base();
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
