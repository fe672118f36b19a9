// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/table.h"

#include <fmt/format.h>
#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/plain_text.h"

namespace ktraced {
namespace {

// Widths are a matter of the locale, and the program may run in one without UTF-8.
class Utf8Locale {
 public:
  Utf8Locale() {
    static const locale_t kUtf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (kUtf8 != nullptr) before_ = ::uselocale(kUtf8);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (before_ != nullptr) ::uselocale(before_);
  }

 private:
  locale_t before_ = nullptr;
};

struct Fitting {
  size_t bytes = 0, columns = 0;
};

size_t columns_of(char32_t point) {
  const int width = ::wcwidth(static_cast<wchar_t>(point));
  return width < 0 ? 1 : static_cast<size_t>(width);
}

// As much of `text` as fits into `columns`.
Fitting fitting(std::string_view text, size_t columns) {
  const bool ascii =
      std::ranges::all_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
  if (ascii) {
    const size_t count = std::min(text.size(), columns);
    return {.bytes = count, .columns = count};
  }
  const Utf8Locale utf8;
  Fitting fits;
  while (fits.bytes < text.size()) {
    const std::string_view rest = text.substr(fits.bytes);
    const size_t length = utf8_length(rest);
    const size_t width = length == 0 ? 1 : columns_of(code_point(rest.substr(0, length)));
    if (fits.columns + width > columns) break;
    fits.bytes += std::max<size_t>(length, 1);
    fits.columns += width;
  }
  return fits;
}

// Leading spaces take at most half of `columns`.
std::string shortened_behind_spaces(std::string_view text, size_t columns) {
  const size_t spaces = std::min(text.find_first_not_of(' '), text.size());
  const size_t kept = std::min(spaces, columns / 2);
  return std::string(kept, ' ') + shortened_within(text.substr(spaces), columns - kept);
}

}  // namespace

size_t text_columns(std::string_view text) { return fitting(text, SIZE_MAX).columns; }

std::string cut_to(std::string_view text, size_t columns) {
  return std::string(text.substr(0, fitting(text, columns).bytes));
}

std::string shortened_to(std::string_view text, size_t columns) {
  constexpr std::string_view kDots = "...";
  if (text_columns(text) <= columns) return std::string(text);
  return cut_to(text, columns - kDots.size()).append(kDots);
}

std::string shortened_within(std::string_view text, size_t columns) {
  constexpr std::string_view kDots = "...";
  const size_t all = text_columns(text);
  if (all <= columns) return std::string(text);
  const size_t tail = (columns - kDots.size()) / 2, head = columns - kDots.size() - tail;
  std::string_view end = text.substr(cut_to(text, all - tail).size());
  // Half of a wide character does not fit.
  if (text_columns(end) > tail) end = text.substr(cut_to(text, all - tail + 1).size());
  return cut_to(text, head).append(kDots).append(end);
}

std::string filled_to(std::string_view text, size_t columns, bool right) {
  const Fitting fits = fitting(text, columns);
  const std::string_view shown = text.substr(0, fits.bytes);
  const std::string space(columns - fits.columns, ' ');
  return right ? space + std::string(shown) : std::string(shown) + space;
}

std::string Table::text(size_t indent, size_t columns) const {
  constexpr size_t kLeast = 20;  // columns of a cell that is shortened
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], text_columns(row[i].text));
  }
  std::string out;
  for (const auto& row : rows_) {
    out.append(indent, ' ');
    size_t used = indent;
    for (size_t i = 0; i < row.size(); used += widths[i++] + 2) {
      const bool last = i + 1 == row.size();
      const std::string padded =
          last && !row[i].right
              ? shortened_behind_spaces(row[i].text,
                                        std::max(columns - std::min(columns, used), kLeast))
              : filled_to(row[i].text, widths[i], row[i].right);
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

std::vector<Table::Cell> headings(const std::vector<std::string_view>& names,
                                  const Colours& colours) {
  std::vector<Table::Cell> head;
  for (const std::string_view name : names) {
    const bool right = name.starts_with('>');
    head.push_back(heading(std::string(name.substr(right ? 1 : 0)), right, colours));
  }
  return head;
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
