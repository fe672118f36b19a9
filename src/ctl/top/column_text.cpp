// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/column_text.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <cstdint>

#include "base/text/plain_text.h"

namespace ktraced {
namespace {

// Widths are a matter of the locale, and the program may run in one without UTF-8.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }

 private:
  locale_t locale_;
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

}  // namespace

size_t text_columns(std::string_view text) { return fitting(text, SIZE_MAX).columns; }

std::string cut_to(std::string_view text, size_t columns) {
  return std::string(text.substr(0, fitting(text, columns).bytes));
}

std::string filled_to(std::string_view text, size_t columns, bool right) {
  const Fitting fits = fitting(text, columns);
  const std::string_view shown = text.substr(0, fits.bytes);
  const std::string space(columns - fits.columns, ' ');
  return right ? space + std::string(shown) : std::string(shown) + space;
}

}  // namespace ktraced
