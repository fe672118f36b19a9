// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ktraced {

std::string Table::text(size_t indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].text.size());
  }
  std::string out;
  for (const auto& row : rows_) {
    out.append(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      bool last = i + 1 == row.size();
      size_t width = last && !row[i].right ? 0 : widths[i];
      std::string padded = row[i].right ? fmt::format("{:>{}}", row[i].text, width)
                                        : fmt::format("{:<{}}", row[i].text, width);
      out += row[i].paint ? row[i].paint(padded) : padded;
      if (!last) out += "  ";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

Table::Cell heading(std::string text, bool right, const Colours& colours) {
  return {std::move(text), right, [&colours](std::string_view cell) { return colours.bold(cell); }};
}

void add_headings(std::vector<Table::Cell>& head, std::initializer_list<const char*> names,
                  bool right, const Colours& colours) {
  for (const char* name : names) head.push_back(heading(name, right, colours));
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string bytes_text(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string duration_text(uint64_t ns) {
  constexpr std::array<std::pair<uint64_t, std::string_view>, 3> kUnits{
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}};
  if (ns >= 1000 * kUnits[0].first) return fmt::format("{} s", ns / kUnits[0].first);
  for (const auto& [unit, name] : kUnits)
    if (ns >= unit)
      return fmt::format("{:.4g} {}", static_cast<double>(ns) / static_cast<double>(unit), name);
  return fmt::format("{} ns", ns);
}

}  // namespace ktraced
