// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/html/html_template.h"

#ifdef KTRACED_HTML_PAGE

// The assembler includes the file directly; compiling it as an array would be slow.
asm(R"(
  .pushsection .rodata, "a", @progbits
ktraced_html_page:
  .incbin ")" KTRACED_HTML_PAGE R"("
ktraced_html_page_end:
  .popsection
)");
extern const char ktraced_html_page[];
extern const char ktraced_html_page_end[];

namespace ktraced {

HtmlTemplate html_template() {
  constexpr std::string_view kPlace = "@KTRACED_DATA@";
  const std::string_view page(ktraced_html_page,
                              static_cast<size_t>(ktraced_html_page_end - ktraced_html_page));
  const size_t place = page.find(kPlace);
  if (place == std::string_view::npos) return {};
  return {page.substr(0, place), page.substr(place + kPlace.size())};
}

}  // namespace ktraced

#else

namespace ktraced {

HtmlTemplate html_template() { return {}; }

}  // namespace ktraced

#endif
